//! The folders in which results lie.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::file;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// Criterion's root, e.g. `target/criterion`.
    pub criterion: PathBuf,
    /// Records and run manifests, e.g. `target/criterion-torch`.
    pub records: PathBuf,
}

impl Location {
    /// Name of the folder of records, beside criterion's root.
    pub const RECORDS: &str = "criterion-torch";
    /// Name of the folder of calibrations in that of a baseline's records.
    const MACHINES: &str = "machines";

    pub fn at(criterion: PathBuf) -> Self {
        // `.` and `..` have no file name to replace; the real path has.
        let real = criterion.canonicalize().unwrap_or_else(|_| criterion.clone());
        let beside = if criterion.file_name().is_some() { &criterion } else { &real };
        Self { records: beside.with_file_name(Self::RECORDS), criterion }
    }

    /// The folder of each machine's calibration, which `merge` puts beside the records of `baseline`.
    pub(crate) fn machine(&self, baseline: &str, machine: &str) -> Self {
        Self::at(self.records.join(baseline).join(Self::MACHINES).join(machine).join("criterion"))
    }

    /// All of them; none where results are of one machine.
    pub(crate) fn machines(&self, baseline: &str) -> Result<Vec<Self>> {
        let folder = self.records.join(baseline).join(Self::MACHINES);
        let failed = |why| file::unusable(&folder, why);
        let entries = file::entries(&folder).map_err(failed)?.into_iter();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.collect();
        names.sort_unstable();
        Ok(names.into_iter().map(|name| self.machine(baseline, &name)).collect())
    }

    /// Finds criterion's root as the benchmarks do: `CRITERION_HOME`, else `CARGO_TARGET_DIR`,
    /// else `target` of the nearest folder upwards of `cwd` that has a `Cargo.lock` or a `target`.
    pub fn find(environment: impl Fn(&str) -> Option<OsString>, cwd: &Path) -> Self {
        if let Some(home) = environment("CRITERION_HOME") {
            return Self::at(home.into());
        }
        let target = match environment("CARGO_TARGET_DIR") {
            Some(target) => target.into(),
            None => cwd
                .ancestors()
                .find(|folder| {
                    folder.join("Cargo.lock").is_file() || folder.join("target").is_dir()
                })
                .unwrap_or(cwd)
                .join("target"),
        };
        Self::at(target.join("criterion"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_lie_beside_criterions_root() {
        for (criterion, records) in [
            ("target/criterion", "target/criterion-torch"),
            ("/ci/results/", "/ci/criterion-torch"),
            ("results", "criterion-torch"),
        ] {
            assert_eq!(Location::at(criterion.into()).records, Path::new(records), "{criterion}");
        }
    }

    #[test]
    fn variables_come_before_the_workspace() {
        let cwd = Path::new("/nowhere/in/particular");
        let find = |set: &[(&str, &str)]| {
            let get = |name: &str| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
            };
            Location::find(get, cwd).criterion
        };
        assert_eq!(find(&[]), cwd.join("target/criterion"));
        assert_eq!(find(&[("CARGO_TARGET_DIR", "/t")]), Path::new("/t/criterion"));
        let both = [("CARGO_TARGET_DIR", "/t"), ("CRITERION_HOME", "/c/home")];
        assert_eq!(find(&both), Path::new("/c/home"));
    }

    #[test]
    fn a_sub_folder_of_the_workspace_finds_the_workspaces_target() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let deep = root.path().join("crates/plan");
        std::fs::create_dir_all(&deep).expect("created");
        std::fs::write(root.path().join("Cargo.lock"), "").expect("written");
        let found = Location::find(|_| None, &deep);
        assert_eq!(found.criterion, root.path().join("target/criterion"));
    }
}
