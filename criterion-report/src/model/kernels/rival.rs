//! What another implementation is worth, where the kernel's own runs.

use std::collections::BTreeMap;

use statistics::Verdict;

use super::result::KernelResult;
use crate::model::Speedup;

/// An implementation against `kernel.rs`, over all that `kernel.rs` was measured on.
#[derive(Debug, Clone, PartialEq)]
pub struct Rival<'a> {
    /// The kernel.
    pub kernel: &'a str,
    /// Name of the implementation.
    pub implementation: &'a str,
    /// Its cases that are faster, the most so first.
    pub faster: Vec<(&'a str, Speedup)>,
    /// Cases of `kernel.rs` at which it is slower, was not measured or not compared with it, or has
    /// no reference that proves its output.
    pub not: Vec<&'a str>,
}

/// The implementations that are faster anywhere, those that gain most first.
pub fn rivals<'a>(results: &[KernelResult<'a>]) -> Vec<Rival<'a>> {
    let mut groups: BTreeMap<(&str, &str), Vec<&KernelResult<'a>>> = BTreeMap::new();
    let is_own = |result: &KernelResult<'_>| result.implementation == plan::KernelWork::BASELINE;
    for result in results.iter().filter(|result| !is_own(result)) {
        groups.entry((result.kernel, result.implementation)).or_default().push(result);
    }
    let rival = |((kernel, implementation), cases): (_, Vec<&KernelResult<'a>>)| {
        let own = results.iter().filter(|it| it.kernel == kernel && is_own(it));
        let own = own.filter(|it| it.measured().is_some());
        let holds = |own: &KernelResult<'_>| cases.iter().any(|case| stands_for(case, own));
        let not = own.filter(|own| !holds(own)).map(|own| own.full_id).collect();
        let gains = cases.iter().filter_map(|case| Some((case.full_id, *case.speedup()?)));
        let mut faster: Vec<_> =
            gains.filter(|(_, speedup)| speedup.verdict() == Verdict::Faster).collect();
        faster.sort_by(|(_, a), (_, b)| b.ratio.total_cmp(&a.ratio));
        Rival { kernel, implementation, faster, not }
    };
    let mut rivals: Vec<Rival<'a>> = groups.into_iter().map(rival).collect();
    rivals.retain(|rival| !rival.faster.is_empty());
    rivals.sort_by(|a, b| b.faster[0].1.ratio.total_cmp(&a.faster[0].1.ratio));
    rivals
}

/// Whether a case could be run in the place of one of `kernel.rs`: of the same group and parameter,
/// so that it is compared with it; its output passed; and it is not slower.
fn stands_for(case: &KernelResult<'_>, own: &KernelResult<'_>) -> bool {
    let baseline = case.entry.and_then(|entry| entry.baseline).map(|row| row.full_id());
    baseline == Some(own.full_id)
        && case.measured().is_some()
        && case.has_reference()
        && case.speedup().is_some_and(|speedup| speedup.verdict() != Verdict::Slower)
}
