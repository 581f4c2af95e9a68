//! One folder of results as it is written: that of all rows, or that of a machine's calibration.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Write};

use anyhow::{Context, Result};

use super::carry::{carry_file, carry_folder};
use super::cases::Source;
use super::manifests;
use super::results::Results;
use crate::compare::Remarks;
use crate::parallel;
use crate::read::Location;

/// A folder of results that is being written.
pub struct MergeOutput<'r> {
    pub location: Location,
    pub baseline: &'r str,
    pub results: &'r [Results],
    pub remarks: Remarks,
}

impl MergeOutput<'_> {
    /// Writes records, estimates and profiles of the sources, and the manifests of the runs that selected `ids`.
    pub fn write(&mut self, sources: &[Source<'_>], ids: &HashSet<&str>) -> Result<()> {
        self.records(sources)?;
        manifests::carry(&self.location.records, self.results, sources, ids)?;
        self.estimates(sources)?;
        self.profiles(sources)
    }

    /// The records as they stand, by bench target.
    fn records(&self, sources: &[Source<'_>]) -> Result<()> {
        let folder = self.location.records.join(self.baseline);
        fs::create_dir_all(&folder)?;
        let mut targets: BTreeMap<&str, Vec<&[u8]>> = BTreeMap::new();
        for (_, found) in sources {
            targets.entry(&found.target).or_default().push(&found.line);
        }
        for (target, lines) in targets {
            let mut file =
                io::BufWriter::new(File::create_new(folder.join(format!("{target}.jsonl")))?);
            for line in lines {
                file.write_all(line)?;
                file.write_all(b"\n")?;
            }
            file.into_inner()?.sync_all()?;
        }
        Ok(())
    }

    /// Criterion's files of the measured cases.
    fn estimates(&self, sources: &[Source<'_>]) -> Result<()> {
        let carry = |(place, found): &Source<'_>| -> Result<()> {
            let Some(Ok(folder)) = &found.time else { return Ok(()) };
            let [from, to] = [&self.results[*place].location, &self.location]
                .map(|it| it.criterion.join(folder));
            carry_folder(&from, to).with_context(|| from.display().to_string())
        };
        parallel::map(sources, carry).into_iter().collect()
    }

    /// The files of profiled cases.
    fn profiles(&mut self, sources: &[Source<'_>]) -> Result<()> {
        for (place, found) in sources {
            for path in &found.profile {
                let Some(from) = self.results[*place].profile_file(path) else {
                    let folder = self.results[*place].folder.display();
                    self.remarks.unreadable.push(format!(
                        "{folder}: {}: no file `{path}` of its profile; profile it again",
                        found.full_id
                    ));
                    continue;
                };
                let to = self.location.records.join(path);
                fs::create_dir_all(to.parent().unwrap_or(&self.location.records))?;
                carry_file(&from, &to).with_context(|| from.display().to_string())?;
            }
        }
        Ok(())
    }
}
