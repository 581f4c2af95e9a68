//! The comparison for programs: one document, versioned, with every case and measure.
//! `docs/schema/comparison-v1.schema.json` is made of these types.

use std::io::Write;

use plan::Stat;
use schemars::JsonSchema;
use serde::Serialize;

use crate::model::Interval;
use crate::model::compare::{
    ASSUMED, Compared, Comparison, Finding, FloorSource, Limits, Measure, Policy, Rule, SideFacts,
    Verdict,
};

/// Schema of the document.
const SCHEMA: &str = "criterion-torch/comparison";
/// Version of the schema.
const VERSION: u32 = 1;

/// What `criterion-report compare --format json` writes. A is what is compared with, B what is judged.
#[derive(Serialize, JsonSchema)]
pub struct Document<'a> {
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    #[schemars(extend("const" = VERSION))]
    version: u32,
    policy: Policy,
    /// From which difference on a case is another, where no rule says otherwise.
    thresholds: Limits,
    /// Of those whose filter matches an id, the last that names a measure decides it.
    rules: &'a [Rule],
    a: &'a SideFacts,
    b: &'a SideFacts,
    /// What the intervals of sides of one launch were widened by.
    floors: Vec<Floor>,
    /// Cases of each verdict, the worst first; all verdicts are there.
    counts: Vec<Count>,
    /// In the order of A, those of B alone behind.
    cases: Vec<Case<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct Floor {
    /// `case`: the case's own; `pooled`: that of other cases of the machine; `assumed`: nothing is
    /// known of the machine.
    #[schemars(extend("enum" = ["case", "pooled", "assumed"]))]
    source: &'static str,
    /// Launches that showed it; of `case` alone.
    launches: Option<usize>,
    /// Cases that it is of; of `pooled` alone.
    known_cases: Option<usize>,
    /// Standard deviation of the logarithm between launches; of `assumed` alone.
    sigma: Option<f64>,
    /// Cases that were widened by it.
    cases: usize,
}

#[derive(Serialize, JsonSchema)]
struct Count {
    verdict: Verdict,
    cases: usize,
}

#[derive(Serialize, JsonSchema)]
struct Case<'a> {
    /// Criterion's id.
    full_id: &'a str,
    /// The worst of its measures'.
    verdict: Verdict,
    reason: &'a str,
    /// Launches in which A measured it.
    launches_a: usize,
    /// Launches in which B did.
    launches_b: usize,
    /// What qualifies the numbers.
    cautions: &'a [String],
    measures: Vec<Measured<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct Measured<'a> {
    measure: Measure,
    /// The measure, or which error an accuracy is: `relative_error` or `rmse`.
    name: &'static str,
    unit: Option<&'static str>,
    /// Value of A, over its launches.
    a: Option<Stat>,
    /// Value of B.
    b: Option<Stat>,
    /// B over A.
    ratio: Option<Stat>,
    /// Lower bound of the ratio's interval.
    low: Option<Stat>,
    /// Upper bound.
    high: Option<Stat>,
    /// Level of the interval: 0.95, or of single launches by the policy `within` criterion's.
    #[schemars(range(min = 0.0, max = 1.0))]
    confidence_level: Option<f64>,
    /// From which difference on it is another; null where the policy has bounds of its own.
    #[schemars(range(min = 0.0))]
    threshold: Option<f64>,
    /// Two-sided p of no difference.
    #[schemars(range(min = 0.0, max = 1.0))]
    p: Option<f64>,
    /// The same for all cases at once, by Holm's method.
    #[schemars(range(min = 0.0, max = 1.0))]
    adjusted_p: Option<f64>,
    verdict: Verdict,
    reason: &'a str,
}

/// Writes the document.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(comparison: &Comparison, out: &mut dyn Write) -> serde_json::Result<()> {
    let counts = Verdict::ALL.into_iter();
    let document = Document {
        schema: SCHEMA,
        version: VERSION,
        policy: comparison.policy,
        thresholds: comparison.thresholds.limits,
        rules: &comparison.thresholds.rules,
        a: &comparison.a,
        b: &comparison.b,
        floors: comparison
            .floors
            .iter()
            .filter_map(|(source, cases)| floor(*source, *cases))
            .collect(),
        counts: counts.map(|it| Count { verdict: it, cases: comparison.count(it) }).collect(),
        cases: comparison.cases.iter().map(|it| case(it, comparison.policy)).collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    out.write_all(b"\n").map_err(serde_json::Error::io)
}

/// None where nothing was widened.
fn floor(source: FloorSource, cases: usize) -> Option<Floor> {
    let of = |source, launches, known_cases, sigma| Floor {
        source,
        launches,
        known_cases,
        sigma,
        cases,
    };
    Some(match source {
        FloorSource::Case { launches } => of("case", Some(launches), None, None),
        FloorSource::Pooled { cases } => of("pooled", None, Some(cases), None),
        FloorSource::Assumed => of("assumed", None, None, Some(ASSUMED)),
        FloorSource::Ignored => return None,
    })
}

fn case(case: &Compared, policy: Policy) -> Case<'_> {
    Case {
        full_id: &case.full_id,
        verdict: case.verdict,
        reason: &case.reason,
        launches_a: case.launches_a,
        launches_b: case.launches_b,
        cautions: &case.cautions,
        measures: case.findings.iter().map(|it| measured(it, case.limits, policy)).collect(),
    }
}

fn measured(finding: &Finding, limits: Limits, policy: Policy) -> Measured<'_> {
    let stat = |value: Option<f64>| value.map(Stat);
    Measured {
        measure: finding.measure,
        name: finding.name,
        unit: match finding.measure {
            Measure::Time => Some("ns"),
            Measure::Memory => Some("B"),
            Measure::Energy => Some("J"),
            Measure::Accuracy | Measure::Speedup | Measure::Outcome => None,
        },
        a: stat(finding.a),
        b: stat(finding.b),
        ratio: stat(finding.ratio),
        low: stat(finding.interval.map(|Interval { low, .. }| low)),
        high: stat(finding.interval.map(|Interval { high, .. }| high)),
        confidence_level: finding.confidence_level,
        threshold: match finding.measure {
            _ if policy == Policy::Hud => None,
            Measure::Time => Some(limits.latency),
            Measure::Memory => Some(limits.memory),
            Measure::Accuracy => Some(limits.accuracy),
            Measure::Energy => Some(limits.energy),
            Measure::Speedup | Measure::Outcome => None,
        },
        p: finding.p,
        adjusted_p: finding.adjusted_p,
        verdict: finding.verdict,
        reason: &finding.reason,
    }
}
