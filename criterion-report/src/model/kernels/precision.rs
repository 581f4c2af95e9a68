//! What a narrower precision is worth.

use std::collections::HashMap;

use plan::Dtype;
use statistics::{Ratio, Verdict, verdict};

use super::result::KernelResult;
use crate::model::compare::Estimate;

/// The time of a case in one precision against the same in the next wider one.
#[derive(Debug, Clone, PartialEq)]
pub struct PrecisionGain<'a> {
    /// Criterion's id of the narrower one.
    pub full_id: &'a str,
    /// Its precision.
    pub narrow: Dtype,
    /// The other's.
    pub wide: Dtype,
    /// The wider one's time over the narrower one's, from two moments.
    pub gain: Ratio,
    /// Whether the narrower one's output was compared with a reference, and passed.
    pub proven: bool,
}

impl PrecisionGain<'_> {
    /// What the interval lets one say.
    pub fn verdict(&self) -> Verdict {
        verdict(&self.gain)
    }
}

/// Every case with a time whose next wider sibling has one, too: same implementation, problem,
/// machine, config and settings.
pub fn precision_gains<'a>(results: &[KernelResult<'a>]) -> Vec<PrecisionGain<'a>> {
    let mut siblings: HashMap<Key<'a>, Vec<&KernelResult<'a>>> = HashMap::new();
    for result in results {
        siblings.entry(key(result)).or_default().push(result);
    }
    results.iter().filter_map(|narrow| gain(narrow, &siblings[&key(narrow)])).collect()
}

/// The key that siblings share, but for their settings: kernel, backend, implementation, config,
/// problem and machine.
type Key<'a> = (&'a str, &'a str, &'a str, Option<&'a str>, String, Option<String>);

fn key<'a>(result: &KernelResult<'a>) -> Key<'a> {
    let config = result.case.map(|case| case.config.as_str());
    let problem = result.problem_key();
    (result.kernel, result.backend, result.implementation, config, problem, result.host())
}

fn gain<'a>(
    narrow: &KernelResult<'a>,
    siblings: &[&KernelResult<'a>],
) -> Option<PrecisionGain<'a>> {
    let own = narrow.precision?;
    let settings = |it: &KernelResult<'a>| it.case.map(|case| &case.settings);
    let wider = siblings.iter().filter(|wide| {
        wide.precision.is_some_and(|it| it.bits() > own.bits())
            && settings(wide) == settings(narrow)
    });
    let wide = wider.min_by_key(|wide| wide.precision.map(Dtype::bits))?;
    let (time, other) = (estimate(narrow)?, estimate(wide)?);
    Some(PrecisionGain {
        full_id: narrow.full_id,
        narrow: own,
        wide: wide.precision?,
        gain: other.over(&time).ok()?,
        proven: narrow.has_reference(),
    })
}

fn estimate(result: &KernelResult<'_>) -> Option<Estimate> {
    result.point().time
}
