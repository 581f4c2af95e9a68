//! The records of a baseline joined with criterion's estimates: a row for each case, of one run or of
//! several.

use indexmap::IndexMap;

use crate::model::{InRun, Row};
use crate::read::{Inputs, Missing, Runs};

/// The parts of rows, before any is compared with another.
pub struct Joined {
    /// One per case that has a record.
    pub rows: Vec<Row>,
    /// The runs that concern the baseline.
    pub runs: Runs,
    /// Cases without a record.
    pub missing: Vec<Missing>,
    /// The calibrations of the machines of merged results.
    pub calibrations: Vec<Row>,
}

impl Joined {
    /// Takes the cases and runs out of what was read.
    pub fn new(inputs: &mut Inputs, baseline: &str) -> Self {
        let of_runs = std::mem::take(&mut inputs.of_runs);
        if of_runs.is_empty() {
            return Self::of_run(inputs, baseline);
        }
        let join = |(name, mut inputs): (String, Inputs)| {
            let joined = Self::of_run(&mut inputs, &name);
            (name, joined)
        };
        Self::of_runs(of_runs.into_iter().map(join).collect())
    }

    fn of_run(inputs: &mut Inputs, baseline: &str) -> Self {
        let Inputs { cases, calibrations, older, cut_off, recorded, runs, .. } = inputs;
        let mut calibrations = std::mem::take(calibrations);
        let mut rows: Vec<Row> = std::mem::take(cases).into_values().collect();
        let written = rows.iter().map(|row| (row.full_id(), row.record.run_id.as_str()));
        let lost = cut_off.iter().map(|(id, run_id)| (id.as_str(), run_id.as_str()));
        let written = written.chain(lost).collect();
        let runs = Runs::new(std::mem::take(runs), baseline, recorded, &written);
        place(&mut rows, &runs);
        place(&mut calibrations, &runs);
        let missing = runs.unreached(&mut rows, older, cut_off);
        Self { rows, runs, missing, calibrations }
    }

    /// One row per case, of all runs that selected it.
    fn of_runs(each: Vec<(String, Self)>) -> Self {
        let mut cases: IndexMap<String, Vec<InRun>> = IndexMap::new();
        let mut all = Vec::new();
        let mut calibrations = Vec::new();
        for (name, Self { rows, runs, missing, calibrations: of_run }) in each {
            calibrations.extend(of_run);
            let rows = rows.into_iter().map(|row| (row.record.full_id.clone(), Ok(row)));
            let missing = missing.into_iter().map(|case| (case.full_id, Err(case.reason)));
            for (full_id, row) in rows.chain(missing) {
                cases.entry(full_id).or_default().push(InRun { name: name.clone(), row });
            }
            all.push(runs);
        }
        let runs = Runs::of_all(all);
        let (mut rows, mut missing) = (Vec::new(), Vec::new());
        for (full_id, of_runs) in cases {
            match Row::of_runs(of_runs) {
                Ok(row) => rows.push(row),
                Err(reason) => missing.push(Missing { full_id, reason }),
            }
        }
        place(&mut rows, &runs);
        place(&mut calibrations, &runs);
        Self { rows, runs, missing, calibrations }
    }
}

fn place(rows: &mut [Row], runs: &Runs) {
    let places = runs.places();
    for row in rows {
        row.run_place = places.get(row.record.run_id.as_str()).copied().unwrap_or(0);
    }
}
