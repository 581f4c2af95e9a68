//! Reads everything that runs left under one name.

use anyhow::Result;
use plan::Mode;

use crate::parallel;
use crate::read::criterion_files::Remarks;
use crate::read::saved::Saved;
use crate::read::{Inputs, Location, ResultFolders, Selection, read_runs};

impl Inputs {
    /// Reads what lies at `location` under `baseline`, of the modes that are asked for: of all runs
    /// that were saved under the name with a number each, if there are such.
    pub fn read(location: &Location, baseline: &str, selection: &Selection<'_>) -> Result<Self> {
        let Saved { names, left_out } = Saved::under(&location.records, baseline)?;
        if names.iter().all(|name| name == baseline) {
            return Self::read_run(location, baseline, selection);
        }
        // The mean of runs and its interval follow from their samples.
        let selection = Selection { only_times: false, ..*selection };
        let read = |name: String| {
            let inputs = Self::read_run(location, &name, &selection)?;
            Ok((name, inputs))
        };
        let read = parallel::map_into(names, read).into_iter().collect::<Result<_>>()?;
        let mut inputs = Self::of_runs(read);
        inputs.warnings.extend(left_out);
        Ok(inputs)
    }

    fn read_run(location: &Location, baseline: &str, selection: &Selection<'_>) -> Result<Self> {
        let ((read, (runs, unusable)), found) = rayon::join(
            || (Self::of_records(&location.records, baseline), read_runs(&location.records)),
            || ResultFolders::under(&location.criterion, baseline),
        );
        let mut inputs = read?;
        inputs.runs = runs;
        inputs.unreadable.extend(unusable);
        let Remarks { foreign, unusable } = found.read(&mut inputs.cases, selection);
        inputs.foreign = foreign;
        inputs.unreadable.extend(unusable);
        inputs.retain(selection);
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
}
