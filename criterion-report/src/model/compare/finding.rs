//! What was found of a case: measure by measure, and all together.

use super::pairing::Pairing;
use super::thresholds::Limits;
use super::verdict::{Measure, Verdict};
use crate::model::Interval;

/// One measure of a case on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The measure.
    pub measure: Measure,
    /// Its name where the measure has several: `relative_error` or `rmse`.
    pub name: &'static str,
    /// Value of A, over its launches, in the measure's unit.
    pub a: Option<f64>,
    /// Value of B.
    pub b: Option<f64>,
    /// B over A.
    pub ratio: Option<f64>,
    /// Interval of the ratio.
    pub interval: Option<Interval>,
    /// Its level: 95 %, or of single launches by the policy `within` criterion's.
    pub confidence_level: Option<f64>,
    /// Two-sided p of no difference.
    pub p: Option<f64>,
    /// The same for all cases at once, by Holm's method.
    pub adjusted_p: Option<f64>,
    /// What follows.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
}

impl Finding {
    /// One without numbers.
    pub fn new(measure: Measure, verdict: Verdict, reason: impl Into<String>) -> Self {
        Self {
            measure,
            name: measure.word(),
            a: None,
            b: None,
            ratio: None,
            interval: None,
            confidence_level: None,
            p: None,
            adjusted_p: None,
            verdict,
            reason: reason.into(),
        }
    }

    /// How much it is, to sort by: what has no number comes first, then the factor either way.
    pub fn weight(&self) -> f64 {
        match (self.measure, self.ratio) {
            (Measure::Outcome, _) => f64::INFINITY,
            (_, Some(ratio)) if ratio > 0.0 => ratio.ln().abs(),
            _ => 0.0,
        }
    }
}

/// The reasons of these, each once, with the measures that give it.
pub fn reasons<'a>(findings: impl Iterator<Item = &'a Finding>) -> Vec<(Vec<Measure>, &'a str)> {
    let mut reasons: Vec<(Vec<Measure>, &str)> = Vec::new();
    for finding in findings {
        match reasons.iter_mut().find(|(_, reason)| *reason == finding.reason) {
            Some((measures, _)) => measures.push(finding.measure),
            None => reasons.push((vec![finding.measure], &finding.reason)),
        }
    }
    reasons
}

const NOTHING: &str = "nothing was measured on both sides";

/// A case of both sides, or of one.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// Criterion's id.
    pub full_id: String,
    /// Launches in which A measured it.
    pub launches_a: usize,
    /// Launches in which B did.
    pub launches_b: usize,
    /// From when on its measures are another.
    pub limits: Limits,
    /// Its measures.
    pub findings: Vec<Finding>,
    /// The worst of its measures' verdicts.
    pub verdict: Verdict,
    /// The reason of each measure with that verdict.
    pub reason: String,
    /// What qualifies the numbers.
    pub cautions: Vec<String>,
}

impl Compared {
    /// Sums the measures up.
    ///
    /// The worst decides. An energy that is left open counts only where its values differ by more than
    /// the threshold: one launch hardly ever shows more, and nobody may have asked for it.
    pub fn of(pairing: &Pairing<'_>, findings: Vec<Finding>, cautions: Vec<String>) -> Self {
        let limits = pairing.limits;
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
            launches_a: pairing.a.len(),
            launches_b: pairing.b.len(),
            limits,
            findings,
            verdict,
            reason,
            cautions,
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

    /// What was found of a measure.
    pub fn of_measure(&self, measure: Measure) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.measure == measure)
    }
}
