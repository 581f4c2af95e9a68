//! The folders in which results lie.

use std::path::PathBuf;

use anyhow::Result;
use plan::results;

use crate::read::file;

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
        Self { records: results::records(&criterion), criterion }
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
}
