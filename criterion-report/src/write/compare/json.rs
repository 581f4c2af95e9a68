//! The comparison for programs: one document, versioned, with every case and measure.
//! `docs/schema/comparison-v1.schema.json` describes it.

use std::io::Write;

use plan::Stat;
use serde::Serialize;

use crate::model::Interval;
use crate::model::compare::{
    ASSUMED, Compared, Comparison, Finding, FloorSource, Limits, Policy, Rule, SideFacts, Verdict,
};

/// Schema of the document.
const SCHEMA: &str = "criterion-torch/comparison";
/// Version of the schema.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    version: u32,
    policy: &'static str,
    thresholds: Thresholds,
    rules: Vec<RuleLine<'a>>,
    a: Side<'a>,
    b: Side<'a>,
    floors: Vec<Floor>,
    counts: Vec<Count>,
    cases: Vec<Case<'a>>,
}

#[derive(Serialize)]
struct Thresholds {
    latency: f64,
    memory: f64,
    accuracy: f64,
    energy: f64,
}

#[derive(Serialize)]
struct RuleLine<'a> {
    filter: &'a str,
    latency: Option<f64>,
    memory: Option<f64>,
    accuracy: Option<f64>,
    energy: Option<f64>,
}

#[derive(Serialize)]
struct Side<'a> {
    name: &'a str,
    launches: &'a [String],
    revisions: &'a [String],
    hosts: &'a [String],
}

#[derive(Serialize)]
struct Floor {
    source: &'static str,
    launches: Option<usize>,
    known_cases: Option<usize>,
    sigma: Option<f64>,
    cases: usize,
}

#[derive(Serialize)]
struct Count {
    verdict: &'static str,
    cases: usize,
}

#[derive(Serialize)]
struct Case<'a> {
    full_id: &'a str,
    verdict: &'static str,
    reason: &'a str,
    launches_a: usize,
    launches_b: usize,
    cautions: &'a [String],
    measures: Vec<Measure<'a>>,
}

#[derive(Serialize)]
struct Measure<'a> {
    measure: &'static str,
    name: &'static str,
    unit: Option<&'static str>,
    a: Option<Stat>,
    b: Option<Stat>,
    ratio: Option<Stat>,
    low: Option<Stat>,
    high: Option<Stat>,
    confidence_level: Option<f64>,
    threshold: Option<f64>,
    p: Option<f64>,
    adjusted_p: Option<f64>,
    verdict: &'static str,
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
        policy: comparison.policy.word(),
        thresholds: thresholds(comparison.thresholds.limits),
        rules: comparison.thresholds.rules.iter().map(rule).collect(),
        a: side(&comparison.a),
        b: side(&comparison.b),
        floors: comparison
            .floors
            .iter()
            .filter_map(|(source, cases)| floor(*source, *cases))
            .collect(),
        counts: counts
            .map(|it| Count { verdict: it.word(), cases: comparison.count(it) })
            .collect(),
        cases: comparison.cases.iter().map(|it| case(it, comparison.policy)).collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    out.write_all(b"\n").map_err(serde_json::Error::io)
}

const fn thresholds(limits: Limits) -> Thresholds {
    let Limits { latency, memory, accuracy, energy } = limits;
    Thresholds { latency, memory, accuracy, energy }
}

fn rule(rule: &Rule) -> RuleLine<'_> {
    let Rule { filter, latency, memory, accuracy, energy } = rule;
    let (latency, memory, accuracy, energy) = (*latency, *memory, *accuracy, *energy);
    RuleLine { filter: filter.as_str(), latency, memory, accuracy, energy }
}

fn side(side: &SideFacts) -> Side<'_> {
    Side {
        name: &side.name,
        launches: &side.launches,
        revisions: &side.revisions,
        hosts: &side.hosts,
    }
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
        verdict: case.verdict.word(),
        reason: &case.reason,
        launches_a: case.launches_a,
        launches_b: case.launches_b,
        cautions: &case.cautions,
        measures: case.findings.iter().map(|it| measure(it, case.limits, policy)).collect(),
    }
}

fn measure(finding: &Finding, limits: Limits, policy: Policy) -> Measure<'_> {
    use crate::model::compare::Measure as Of;
    let stat = |value: Option<f64>| value.map(Stat);
    Measure {
        measure: finding.measure.word(),
        name: finding.name,
        unit: match finding.measure {
            Of::Time => Some("ns"),
            Of::Memory => Some("B"),
            Of::Energy => Some("J"),
            Of::Accuracy | Of::Speedup | Of::Outcome => None,
        },
        a: stat(finding.a),
        b: stat(finding.b),
        ratio: stat(finding.ratio),
        low: stat(finding.interval.map(|Interval { low, .. }| low)),
        high: stat(finding.interval.map(|Interval { high, .. }| high)),
        confidence_level: finding.confidence_level,
        threshold: match finding.measure {
            _ if policy == Policy::Hud => None,
            Of::Time => Some(limits.latency),
            Of::Memory => Some(limits.memory),
            Of::Accuracy => Some(limits.accuracy),
            Of::Energy => Some(limits.energy),
            Of::Speedup | Of::Outcome => None,
        },
        p: finding.p,
        adjusted_p: finding.adjusted_p,
        verdict: finding.verdict.word(),
        reason: &finding.reason,
    }
}
