//! The verdict on a case: its findings summed up.

use serde::Serialize;

use super::finding::{Finding, Measure, Verdict, reasons};
use super::pairing::Pairing;
use super::policy::Policy;

const NOTHING: &str = "nothing was measured on both sides";

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Case"))]
pub struct Compared {
    /// Criterion's id.
    pub full_id: String,
    /// The worst of its measures'.
    pub verdict: Verdict,
    /// The reason for the verdict, or why there is none.
    pub reason: String,
    /// Runs in which A measured it.
    pub launches_a: usize,
    /// Runs in which B did.
    pub launches_b: usize,
    /// Cautions on the numbers.
    pub cautions: Vec<String>,
    /// The measures that were compared.
    #[serde(rename = "measures")]
    pub findings: Vec<Finding>,
}

impl Compared {
    /// Sums the measures up.
    ///
    /// The worst decides. An energy that is left open counts only where its values differ by more than
    /// the threshold: one run hardly ever shows more, and nobody may have asked for it.
    pub fn new(
        pairing: &Pairing<'_>,
        mut findings: Vec<Finding>,
        cautions: Vec<String>,
        policy: Policy,
    ) -> Self {
        let limits = pairing.limits;
        for finding in findings.iter_mut().filter(|_| policy != Policy::Hud) {
            finding.threshold = limits.threshold(finding.measure);
        }
        let beyond = |ratio: f64| ratio.ln().abs() > limits.energy.ln_1p();
        let counts = |finding: &&Finding| {
            finding.measure != Measure::Energy
                || finding.verdict != Verdict::Inconclusive
                || finding.ratio.is_some_and(beyond)
        };
        let counting: Vec<&Finding> = findings.iter().filter(counts).collect();
        let verdict = counting.iter().map(|finding| finding.verdict).min();
        // Equal memory says nothing of a time that nobody has.
        let no_time =
            |it: &Finding| it.measure == Measure::Time && it.verdict == Verdict::NotCompared;
        let verdict = match verdict.unwrap_or(Verdict::NotCompared) {
            Verdict::Equivalent if findings.iter().any(no_time) => Verdict::NotCompared,
            verdict => verdict,
        };
        let reason = Self::why(verdict, &counting);
        Self {
            full_id: pairing.full_id.to_owned(),
            verdict,
            reason,
            launches_a: pairing.a.len(),
            launches_b: pairing.b.len(),
            cautions,
            findings,
        }
    }

    /// The reasons of all measures with the verdict, each with its name where there are several.
    fn why(verdict: Verdict, findings: &[&Finding]) -> String {
        // If all is within its threshold, the first reason says enough.
        let most = if verdict == Verdict::Equivalent { 1 } else { usize::MAX };
        let deciding = findings.iter().copied().filter(|finding| finding.verdict == verdict);
        let reasons =
            reasons(deciding.take(most)).into_iter().map(|(measures, reason)| match measures[0] {
                Measure::Outcome | Measure::Time => reason.to_owned(),
                _ if findings.len() == 1 => reason.to_owned(),
                first => format!("{}: {reason}", first.word()),
            });
        let reasons: Vec<String> = reasons.collect();
        if reasons.is_empty() { NOTHING.to_owned() } else { reasons.join("; ") }
    }

    /// The finding that decided.
    pub fn worst(&self) -> Option<&Finding> {
        let same = |finding: &&Finding| finding.verdict == self.verdict;
        self.findings.iter().find(same)
    }

    pub fn of_measure(&self, measure: Measure) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.measure == measure)
    }
}
