//! How long the cases of a run are expected to take.

use std::path::Path;

use plan::Case;
use plan::estimate::{Estimate, Estimator};

use super::args::Args;
use crate::workload;

/// The times of cases as earlier runs predict them.
fn estimator(records: &Path) -> Result<Estimator, String> {
    let (estimator, unread) = Estimator::of_folder(records).map_err(|error| error.to_string())?;
    for it in unread {
        let (path, lines, why) = (it.path.display(), it.lines, it.why);
        eprintln!("note: estimates of time leave out {lines} lines of {path}: {why}");
    }
    Ok(estimator)
}

/// How long the cases are expected to take: nothing, if they will be refused before they start. Where the fastest of each
/// group is looked for, no pair is needed: those that are not worth their time have none.
pub fn estimates<'c>(
    records: &Path,
    args: &Args,
    selected: &[&'c Case],
) -> Result<Vec<(&'c Case, Estimate)>, String> {
    let estimator = estimator(records)?;
    let estimate = |case: &Case| match workload::preflight(case) {
        Ok(()) => {
            let estimate = estimator.estimate(&args.applied_to(case));
            match args.flags.fastest {
                true => Estimate { least_s: estimate.alone_s, ..estimate },
                false => estimate,
            }
        }
        Err(_) => Estimate::NOTHING,
    };
    Ok(selected.iter().map(|&case| (case, estimate(case))).collect())
}
