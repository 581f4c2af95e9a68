//! The folder of merged results: made beside its place, and renamed when it is complete.
//!
//! ```text
//! merge.txt                                    what `merge` said
//! criterion/…/<baseline>/                      criterion's files of each measured case
//! criterion-torch/<baseline>/<target>.jsonl    the records, in the plan's order
//! criterion-torch/<baseline>/machines/<host>/  results of each machine's calibration
//! criterion-torch/runs/                        the manifests of all runs
//! criterion-torch/profiles/                    files of profiled cases
//! ```

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use super::carry::{numbered, put};
use super::cases::MergedCases;
use super::manifests;
use super::output::MergeOutput;
use super::results::{Host, Results};
use crate::compare::Remarks;
use crate::read::{Location, file};

/// The file that tells a folder of merged results from others.
const SAID: &str = "merge.txt";

/// Folders in which results are merged are named so.
const PREFIX: &str = ".merge.";
const SUFFIX: &str = ".tmp";

/// The place of the merged results.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Refuses a place where something else lies, or the results themselves.
    pub fn new(output: &Path, folders: &[PathBuf]) -> Result<Self> {
        let mut known = HashSet::new();
        for folder in folders {
            let real = folder.canonicalize().map_err(|why| file::unusable(folder, why))?;
            if !real.is_dir() {
                bail!("{}: not a folder; name folders of results", folder.display());
            }
            if output.canonicalize().is_ok_and(|output| real.starts_with(output)) {
                bail!(
                    "--output {}: the results in {} lie there: name another folder",
                    output.display(),
                    folder.display()
                );
            }
            if !known.insert(real) {
                bail!("{}: named twice; name each folder of results once", folder.display());
            }
        }
        let failed = |why| file::unusable(output, why);
        let is_file = fs::symlink_metadata(output).is_ok_and(|about| !about.is_dir());
        let entries = if is_file { Vec::new() } else { file::entries(output).map_err(failed)? };
        let is_merged = entries.iter().any(|entry| entry.file_name() == SAID);
        if is_file || !(entries.is_empty() || is_merged) {
            bail!(
                "--output {}: something other than merged results lies there: name another folder, or \
                 remove it",
                output.display()
            );
        }
        if output.file_name().is_none() {
            bail!("--output {}: name a folder that merged results can replace", output.display());
        }
        Ok(Self(output.to_owned()))
    }

    /// Writes everything; what of it cannot be used or is not there.
    pub fn write(
        &self,
        baseline: &str,
        results: &[Results],
        chosen: &MergedCases<'_>,
        said: &str,
    ) -> Result<Remarks> {
        let failed = || format!("cannot write {}", self.0.display());
        let parent = self.0.parent().filter(|it| *it != Path::new("")).unwrap_or(Path::new("."));
        fs::create_dir_all(parent).with_context(failed)?;
        remove_left_over(parent).with_context(failed)?;
        let beside = tempfile::Builder::new().prefix(PREFIX).suffix(SUFFIX).tempdir_in(parent);
        let beside = beside.with_context(failed)?;
        // Held until this ends, in whatever way. Where folders cannot be locked, none is ever found free.
        let held = File::open(beside.path()).with_context(failed)?;
        held.lock().ok();
        // In the temporary folder, which only its owner may read, lies one with the usual permissions.
        let new = beside.path().join("new");
        let location = Location::at(new.join("criterion"));
        let output = MergeOutput { location, baseline, results, remarks: Remarks::default() };
        let remarks = write_all(output, chosen).with_context(failed)?;
        put(&new.join(SAID), said.as_bytes()).with_context(failed)?;
        self.replace(&new, beside).with_context(failed)?;
        Ok(remarks)
    }

    /// Puts a complete folder in the place of an earlier one, which is moved away before it is removed.
    fn replace(&self, new: &Path, beside: TempDir) -> Result<()> {
        let old = beside.path().join("old");
        match fs::rename(&self.0, &old) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        if let Err(error) = fs::rename(new, &self.0) {
            if old.exists() && fs::rename(&old, &self.0).is_err() {
                let kept = beside.keep();
                bail!("{error}; the earlier results are in {}", kept.join("old").display());
            }
            return Err(error.into());
        }
        Ok(beside.close()?)
    }
}

/// Removes the folders of merges that were interrupted: no process holds them any more.
fn remove_left_over(parent: &Path) -> io::Result<()> {
    for entry in file::entries(parent)? {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_merge = name.starts_with(PREFIX) && name.ends_with(SUFFIX);
        if !(is_merge && entry.file_type()?.is_dir()) {
            continue;
        }
        let path = entry.path();
        // Another user's, or gone meanwhile.
        let Ok(folder) = File::open(&path) else { continue };
        // An empty one is about to be held. One with both was left between two renames, and has the only copy of the
        // earlier results.
        let is_partial = || path.join("new").exists() != path.join("old").exists();
        if folder.try_lock().is_ok() && is_partial() {
            fs::remove_dir_all(&path)?;
        }
    }
    Ok(())
}

/// Writes the rows, and below their records the calibration of each machine.
fn write_all(mut output: MergeOutput<'_>, chosen: &MergedCases<'_>) -> Result<Remarks> {
    fs::create_dir_all(&output.location.criterion)?;
    let rows = chosen.rows.iter().map(|(_, found)| found.full_id.as_str());
    let planned = rows.chain(chosen.missing.iter().map(|(id, _)| *id)).collect();
    output.write(&chosen.rows, &planned)?;
    manifests::whole_plan(&output.location.records, output.baseline, output.results, chosen)?;
    let mut names = HashSet::new();
    for (host, calibration) in &chosen.calibrations {
        let location = output.location.machine(output.baseline, &slug(host, &mut names));
        let ids = calibration.iter().map(|(_, found)| found.full_id.as_str()).collect();
        let mut machine = MergeOutput { location, remarks: Remarks::default(), ..output };
        machine.write(calibration, &ids)?;
        output.remarks.extend(machine.remarks);
    }
    Ok(output.remarks)
}

/// A name for the folder of a machine, which no other has: that of the host.
fn slug(host: &Host, known: &mut HashSet<String>) -> String {
    let is_kept = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '.';
    let word: String =
        host.hostname.chars().map(|letter| if is_kept(letter) { letter } else { '_' }).collect();
    let word = match word.trim_matches('.') {
        "" => "host",
        some => some,
    };
    let name = numbered(word).find(|name| !known.contains(name)).unwrap_or_default();
    known.insert(name.clone());
    name
}

#[cfg(test)]
#[path = "folder_tests.rs"]
mod tests;
