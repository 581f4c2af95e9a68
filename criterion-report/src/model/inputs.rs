//! The files of one baseline, before anything is joined.

use std::collections::{HashMap, HashSet};

use anyhow::Result;
use indexmap::IndexMap;
use plan::{Mode, Record};

use super::criterion_files::ResultFolders;
use super::criterion_result::CriterionResult;
use super::location::Location;
use super::records::read_runs;
use super::row::NoTime;
use super::runs::Run;
use super::saved::Saved;
use super::selection::Selection;
use crate::parallel;

/// The files of one case.
#[derive(Debug)]
pub struct CaseFiles {
    pub record: Box<Record>,
    /// Criterion's results of this id. A folder left by an older run can claim it a second time.
    pub results: Vec<Box<CriterionResult>>,
    /// Why a case of an exported file has no time, which follows from results that the file leaves
    /// out.
    pub no_time: Option<NoTime>,
}

impl From<Box<Record>> for CaseFiles {
    fn from(record: Box<Record>) -> Self {
        Self { record, results: Vec::new(), no_time: None }
    }
}

/// Everything that runs left under one name.
#[derive(Debug, Default)]
pub struct Inputs {
    /// The inputs of each run by its name, if several runs were saved under the baseline's name with
    /// a number each. Cases and runs are then here alone; the remarks of all are in the
    /// other fields.
    pub of_runs: Vec<(String, Inputs)>,
    /// The cases that have a record by `full_id`, in the order of the targets' names and of the
    /// lines. Of several records of a case the last wins, as it does for the writer.
    pub cases: IndexMap<String, CaseFiles>,
    /// The `full_id`s whose last record is of an older version, and so not among them.
    pub older: HashSet<String>,
    /// The runs whose record of a case, the last one, cannot be used, by its `full_id`.
    pub cut_off: HashMap<String, String>,
    /// The runs that wrote any line of records, a line that was replaced later included.
    pub recorded: HashSet<String>,
    /// All runs, whatever they saved under, the oldest first.
    pub runs: Vec<Run>,
    /// What the machines of merged results left of their calibrations, which have the same ids on all of them.
    pub calibrations: Vec<CaseFiles>,
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
    /// Reads what lies at `location` under `baseline`, of the modes that are asked for: of all runs
    /// that were saved under the name with a number each, if there are such.
    pub fn read(location: &Location, baseline: &str, selection: &Selection<'_>) -> Result<Self> {
        let Saved { names, left_out } = Saved::under(&location.records, baseline)?;
        if names.iter().all(|name| name == baseline) {
            return Self::read_run(location, baseline, selection);
        }
        let read = |name: String| {
            let inputs = Self::read_run(location, &name, selection)?;
            Ok((name, inputs))
        };
        let read = parallel::map_into(names, read).into_iter().collect::<Result<_>>()?;
        let mut inputs = Self::of_runs(read);
        inputs.warnings.extend(left_out);
        Ok(inputs)
    }

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

    fn read_run(location: &Location, baseline: &str, selection: &Selection<'_>) -> Result<Self> {
        let (read, found) = rayon::join(
            || Self::of_records(&location.records, baseline),
            || ResultFolders::under(&location.criterion, baseline),
        );
        let mut inputs = read?;
        let (runs, unusable) = read_runs(&location.records);
        inputs.runs = runs;
        inputs.unreadable.extend(unusable);
        inputs.foreign = found.foreign(&inputs.cases);
        inputs.retain(selection);
        inputs.unreadable.extend(found.read(&mut inputs.cases));
        if selection.reads(Mode::Calibration) {
            inputs.read_calibrations(location, baseline)?;
        }
        Ok(inputs)
    }

    /// Reads the calibration of each machine that `merge` has put beside the records.
    fn read_calibrations(&mut self, location: &Location, baseline: &str) -> Result<()> {
        let selection = Selection { modes: Some(&[Mode::Calibration]), ..Selection::default() };
        let read = |machine: Location| Self::read_run(&machine, baseline, &selection);
        let machines = location.machines(baseline)?;
        for machine in parallel::map_into(machines, read) {
            match machine {
                Ok(mut machine) => {
                    self.calibrations.extend(machine.cases.into_values());
                    self.warnings.append(&mut machine.warnings);
                    self.unreadable.append(&mut machine.unreadable);
                }
                Err(why) => self.unreadable.push(why.to_string()),
            }
        }
        Ok(())
    }

    /// Leaves out the cases of modes that are not asked for, as [`Self::read`] does.
    pub fn retain(&mut self, selection: &Selection<'_>) {
        self.cases.retain(|_, files| selection.reads(files.record.case.mode));
        self.of_runs.iter_mut().for_each(|(_, run)| run.retain(selection));
    }
}
