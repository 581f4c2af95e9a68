//! One side of a comparison: all launches of a name, a folder or a file.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use thiserror::Error;

use super::launch::{Launch, Remarks};
use crate::model::file;
use crate::model::kernels::{Past, PastError, SUMMARY};
use crate::model::{Exported, ExportedError, Inputs, Location, RecordsError, Selection};

/// One side.
#[derive(Debug, Clone, Default)]
pub struct Side {
    /// As it was asked for.
    pub name: String,
    /// In the order in which they were measured.
    pub launches: Vec<Launch>,
}

/// Why there is no side.
#[derive(Debug, Error)]
pub enum SideError {
    /// There are no records.
    #[error(transparent)]
    Records(#[from] RecordsError),
    /// An exported file that cannot be used.
    #[error(transparent)]
    Exported(#[from] ExportedError),
    /// A summary of an earlier report that cannot be used.
    #[error(transparent)]
    Past(#[from] PastError),
    /// A folder that cannot be read.
    #[error("{}: {cause}", .path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// Nothing of the kind.
    #[error(
        "`{name}` is no side of a comparison: neither a baseline in {}, nor criterion's folder with a \
         `{}` beside it, nor a folder with a {SUMMARY}, nor an exported file{}", .records.display(), Location::RECORDS,
        known(.name, .names)
    )]
    Unknown {
        /// What was asked for.
        name: String,
        /// Where baselines were looked for.
        records: PathBuf,
        /// Those that are there.
        names: Vec<String>,
    },
}

fn known(name: &str, names: &[String]) -> String {
    if names.is_empty() {
        return "; there is no baseline at all: save one with `cargo bench -- --save-baseline NAME`"
            .to_owned();
    }
    // Launches go by the name that they have in common.
    let names: BTreeSet<&str> =
        names.iter().map(|name| all_launches(name).unwrap_or(name)).collect();
    format!("\n  {}", plan::UnknownWord::new("baseline", name, names).remedy)
}

impl Side {
    /// Reads what `name` is: a baseline with records, with its launches `NAME@1`, `NAME@2` and so
    /// on; else a file that results were exported to, or a folder, of which `of_folder` is the
    /// baseline.
    ///
    /// # Errors
    /// When it is none of these, or nothing in it can be used.
    pub fn read(
        name: &str,
        location: &Location,
        of_folder: &str,
        selection: Selection<'_>,
    ) -> Result<(Self, Remarks), SideError> {
        let folder = Path::new(name);
        let is_name =
            !name.is_empty() && !name.contains(['/', '\\']) && ![".", ".."].contains(&name);
        if is_name && !launches(&location.records, name)?.is_empty() {
            return Self::of_baseline(name, name, location, selection);
        }
        if folder.is_file() {
            return Self::of_file(name, folder, selection);
        }
        let summary = folder.join(SUMMARY);
        if summary.is_file() {
            return Self::of_summary(name, &summary, selection);
        }
        // A folder of records may lie beside any folder; one inside it is surely its own.
        for criterion in [folder.join("criterion"), folder.to_owned()] {
            let other = Location::at(criterion);
            if folder.is_dir() && other.records.is_dir() && other.criterion.is_dir() {
                return Self::of_baseline(name, of_folder, &other, selection);
            }
        }
        Err(SideError::Unknown {
            name: name.to_owned(),
            records: location.records.clone(),
            names: names(&location.records)?,
        })
    }

    fn of_baseline(
        name: &str,
        baseline: &str,
        location: &Location,
        selection: Selection<'_>,
    ) -> Result<(Self, Remarks), SideError> {
        let mut found = launches(&location.records, baseline)?;
        let mut remarks = Remarks::default();
        let alone = found.iter().position(|(launch, _)| *launch == 0);
        if let (Some(alone), true) = (alone, found.len() > 1) {
            found.remove(alone);
            remarks.warnings.push(format!(
                "`{baseline}` is left out: its launches {} are compared",
                range(&found)
            ));
        }
        if found.is_empty() {
            found.push((0, baseline.to_owned()));
        }
        let mut side = Self { name: name.to_owned(), launches: Vec::new() };
        let read = |(_, launch): &(u64, String)| {
            let inputs = Inputs::read(location, launch, &selection)?;
            Ok(Launch::of_inputs(inputs, launch, selection))
        };
        let read: Result<Vec<_>, RecordsError> = found.par_iter().map(read).collect();
        for (launch, said) in read? {
            remarks.extend(said);
            side.launches.push(launch);
        }
        remarks.warnings.extend(side.of_several_revisions());
        Ok((side, remarks))
    }

    /// That what differs between launches may be the code.
    fn of_several_revisions(&self) -> Option<String> {
        let revisions: Vec<&str> = self.revisions().into_iter().collect();
        let differ = self.launches.len() > 1 && revisions.len() > 1;
        differ.then(|| {
            format!(
                "the launches of `{}` are of {} revisions ({}): what they differ in may be the code",
                self.name,
                revisions.len(),
                revisions.join(", ")
            )
        })
    }

    /// An export of ours, or of critcmp.
    fn of_file(
        name: &str,
        file: &Path,
        selection: Selection<'_>,
    ) -> Result<(Self, Remarks), SideError> {
        let (launch, remarks) = match Inputs::read_file(file)? {
            Exported::Report { mut inputs, baseline } => {
                inputs.retain(&selection);
                Launch::of_inputs(*inputs, &baseline, selection)
            }
            Exported::Critcmp(baseline) => {
                let unreadable = baseline.unreadable.clone();
                let remarks = Remarks { unreadable, ..Remarks::default() };
                (Launch::of_critcmp(baseline, selection), remarks)
            }
        };
        Ok((Self { name: name.to_owned(), launches: vec![launch] }, remarks))
    }

    fn of_summary(
        name: &str,
        summary: &Path,
        selection: Selection<'_>,
    ) -> Result<(Self, Remarks), SideError> {
        let mut points = Past::read(summary)?.points;
        points.retain(|point| selection.names(&point.full_id));
        let launches = vec![Launch::new(SUMMARY, points)];
        Ok((Self { name: name.to_owned(), launches }, Remarks::default()))
    }

    /// Revisions of its measured cases, each once.
    pub fn revisions(&self) -> BTreeSet<&str> {
        let points = self.launches.iter().flat_map(|launch| &launch.points);
        points
            .filter(|point| point.is_measured())
            .filter_map(|point| point.revision.as_deref())
            .collect()
    }

    /// Machines that its measured cases are of, each once.
    pub fn hosts(&self) -> BTreeSet<&str> {
        let points = self.launches.iter().flat_map(|launch| &launch.points);
        points
            .filter(|point| point.is_measured())
            .filter_map(|point| point.host.as_deref())
            .collect()
    }
}

/// The launches of a name with the folders that hold their records, in their order; the name itself,
/// without a number, is 0.
fn launches(records: &Path, name: &str) -> Result<Vec<(u64, String)>, SideError> {
    let mut found = BTreeMap::new();
    for folder in names(records)? {
        let number = match folder.strip_prefix(name) {
            Some("") => Some(0),
            Some(rest) => rest.strip_prefix('@').and_then(launch_number),
            None => None,
        };
        found.extend(number.map(|number| (number, folder)));
    }
    Ok(found.into_iter().collect())
}

/// From 1 on, written as the benchmarks write it, so that no two names have the same.
fn launch_number(text: &str) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    (number > 0 && number.to_string() == text).then_some(number)
}

/// `main` of `main@3`; nothing of a name that is not that of a launch.
pub(super) fn all_launches(launch: &str) -> Option<&str> {
    let (name, number) = launch.rsplit_once('@')?;
    launch_number(number).filter(|_| !name.is_empty()).map(|_| name)
}

/// `main@1` to `main@8`.
fn range(launches: &[(u64, String)]) -> String {
    match launches {
        [] => String::new(),
        [(_, only)] => format!("`{only}`"),
        [(_, first), .., (_, last)] => format!("`{first}` to `{last}`"),
    }
}

/// Names under which there are records.
fn names(records: &Path) -> Result<Vec<String>, SideError> {
    let failed = |cause| SideError::Io { path: records.to_owned(), cause };
    let mut names = Vec::new();
    for entry in file::entries(records).map_err(failed)? {
        // The manifests of runs lie beside the baselines.
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() && name != "runs" {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_have_numbers_from_1_on_each_written_in_one_way() {
        for (text, number) in
            [("1", Some(1)), ("12", Some(12)), ("0", None), ("01", None), ("+1", None), ("", None)]
        {
            assert_eq!(launch_number(text), number, "{text}");
        }
    }

    #[test]
    fn a_launch_is_one_of_a_name() {
        for (launch, name) in [
            ("main@3", Some("main")),
            ("a@1@2", Some("a@1")),
            ("main", None),
            ("main@", None),
            ("main@0", None),
            ("@1", None),
        ] {
            assert_eq!(all_launches(launch), name, "{launch}");
        }
    }
}
