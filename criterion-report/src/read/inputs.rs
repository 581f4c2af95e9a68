//! The files of one baseline, before anything is joined.

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;

use crate::model::Row;
use crate::read::{Run, Selection};

/// Everything that runs left under one name.
#[derive(Debug, Default)]
pub struct Inputs {
    /// The inputs of each run by its name, if several runs were saved under the baseline's name with
    /// a number each. Cases and runs are then here alone; the remarks of all are in the
    /// other fields.
    pub of_runs: Vec<(String, Inputs)>,
    /// The cases that have a record by `full_id`, in the order of the targets' names and of the
    /// lines. Of several records of a case the last wins, as it does for the writer.
    pub cases: IndexMap<String, Row>,
    /// The `full_id`s whose last record is of an older version, and so not among them.
    pub older: HashSet<String>,
    /// The runs whose record of a case, the last one, cannot be used, by its `full_id`.
    pub cut_off: HashMap<String, String>,
    /// The runs that wrote any line of records, a line that was replaced later included.
    pub recorded: HashSet<String>,
    /// All runs, whatever they saved under, the oldest first.
    pub runs: Vec<Run>,
    /// Calibrations of the machines of merged results, with the same ids on all of them.
    pub calibrations: Vec<Row>,
    /// The cases that the filter of an exported file left out, which are not to be shown.
    pub left_out: HashSet<String>,
    /// Ids in criterion's folder that no record has: other benchmarks of the same package.
    pub foreign: Vec<String>,
    /// Skipped input that can be measured again.
    pub warnings: Vec<String>,
    /// Files and lines that should be results and cannot be used, each with its place.
    pub unreadable: Vec<String>,
}

impl Inputs {
    /// The files of several runs, by name.
    pub fn of_runs(mut of_runs: Vec<(String, Self)>) -> Self {
        let mut all = Self::default();
        for (_, run) in &mut of_runs {
            all.older.extend(run.older.iter().cloned());
            all.cut_off.extend(run.cut_off.clone());
            all.left_out.extend(run.left_out.iter().cloned());
            // Runs of one folder share their defects.
            for (all, of_run) in [
                (&mut all.foreign, &mut run.foreign),
                (&mut all.warnings, &mut run.warnings),
                (&mut all.unreadable, &mut run.unreadable),
            ] {
                let new: Vec<String> =
                    of_run.drain(..).filter(|line| !all.contains(line)).collect();
                all.extend(new);
            }
        }
        Self { of_runs, ..all }
    }

    /// Leaves out the cases of modes that are not asked for, as [`Self::read`] does.
    pub fn retain(&mut self, selection: &Selection<'_>) {
        self.cases.retain(|_, row| selection.reads(row.record.case.mode));
        self.of_runs.iter_mut().for_each(|(_, run)| run.retain(selection));
    }
}
