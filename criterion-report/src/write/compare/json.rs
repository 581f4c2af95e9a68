//! The comparison for programs: one document, versioned, with every case and measure.
//! `schema/comparison-v1.schema.json` is made of these types.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use crate::json_text::{self, Style};
use crate::model::compare::{
    ASSUMED, Compared, Comparison, FloorSource, Limits, Policy, Rule, SideFacts, Verdict,
};

const SCHEMA: &str = "criterion-torch/comparison";
const VERSION: u32 = 1;

/// The document of `criterion-report compare --format json`: B is judged against A.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document<'a> {
    /// `criterion-torch/comparison`.
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    schema: &'static str,
    /// 1; counts incompatible changes.
    #[cfg_attr(feature = "schema", schemars(extend("const" = VERSION)))]
    version: u32,
    /// The rule.
    policy: Policy,
    /// The thresholds of cases that no rule matches.
    thresholds: Limits,
    /// The last rule that matches an id and names a measure decides it.
    rules: &'a [Rule],
    /// The side that is compared with.
    a: &'a SideFacts,
    /// The side that is judged.
    b: &'a SideFacts,
    /// The noise floors that widened the intervals of sides with one run.
    floors: Vec<Floor>,
    /// Cases of each verdict, the worst first; all verdicts are there.
    counts: Vec<Count>,
    /// In the order of A, then those that only B has.
    cases: &'a [Compared],
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Floor {
    /// `case`: the case's own; `pooled`: that of other cases of the machine; `assumed`: nothing is
    /// known of the machine.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["case", "pooled", "assumed"])))]
    source: &'static str,
    /// Runs that showed it; for `case` only.
    #[serde(rename = "launches")]
    runs: Option<usize>,
    /// Cases that it comes from; for `pooled` only.
    known_cases: Option<usize>,
    /// Standard deviation of the logarithm between runs; for `assumed` only.
    sigma: Option<f64>,
    /// Cases that were widened by it.
    cases: usize,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Count {
    /// The verdict.
    verdict: Verdict,
    /// Cases that have it.
    cases: usize,
}

pub fn write(comparison: &Comparison, out: &mut dyn Write) -> Result<()> {
    let counts = Verdict::ALL.iter();
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
        counts: counts.map(|&it| Count { verdict: it, cases: comparison.count(it) }).collect(),
        cases: &comparison.cases,
    };
    json_text::write(&document, Style::Pretty, out)?;
    Ok(out.write_all(b"\n")?)
}

/// None where nothing was widened.
fn floor(source: FloorSource, cases: usize) -> Option<Floor> {
    let of = |source, runs, known_cases, sigma| Floor { source, runs, known_cases, sigma, cases };
    Some(match source {
        FloorSource::Case { runs } => of("case", Some(runs), None, None),
        FloorSource::Pooled { cases } => of("pooled", None, Some(cases), None),
        FloorSource::Assumed => of("assumed", None, None, Some(ASSUMED)),
        FloorSource::Ignored => return None,
    })
}
