//! What a narrower precision is worth.

use plan::{Dtype, Settings};
use statistics::{Ratio, Verdict, verdict};

use super::point::Estimate;
use super::result::KernelResult;

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
    results.iter().filter_map(|narrow| gain(narrow, results)).collect()
}

fn gain<'a>(narrow: &KernelResult<'a>, results: &[KernelResult<'a>]) -> Option<PrecisionGain<'a>> {
    let own = narrow.precision?;
    let siblings = results.iter().filter(|wide| same_but_precision(narrow, wide));
    let wider = siblings.filter(|wide| wide.precision.is_some_and(|it| it.bits() > own.bits()));
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

fn same_but_precision(a: &KernelResult<'_>, b: &KernelResult<'_>) -> bool {
    let config = |it: &KernelResult<'_>| it.case.map(|case| case.config.clone());
    let settings =
        |it: &KernelResult<'_>| -> Option<Settings> { it.case.map(|case| case.settings.clone()) };
    (a.kernel, a.backend, a.implementation) == (b.kernel, b.backend, b.implementation)
        && a.problem_size() == b.problem_size()
        && a.host() == b.host()
        && config(a) == config(b)
        && settings(a) == settings(b)
}
