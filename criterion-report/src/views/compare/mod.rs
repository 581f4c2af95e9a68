//! A comparison of two sides: for a terminal, for a comment on a pull request, for programs.

pub mod markdown;
pub mod table;
pub mod text;

use std::io::Write;

use anyhow::Result;

use crate::compare::{
    ASSUMED, Compared, Comparison, FloorSource, Limits, Policy, Rule, SideFacts, Verdict,
};
use crate::render::json_text::{self, Style};
use crate::render::object::document;

/// Formats of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Aligned columns, the worst first
    Table,
    /// Fit for a comment on a pull request
    Markdown,
    /// One document with every case and measure
    Json,
    /// One page for a browser, with a line for each interval
    Html,
}

#[derive(Debug, Clone, Copy)]
pub struct Look {
    pub all: bool,
    /// Show the cautions of all cases that are shown, not only of those that differ.
    pub details: bool,
    pub colour: bool,
    pub width: Option<usize>,
}

/// Writes the JSON document.
pub fn json(comparison: &Comparison, out: &mut dyn Write) -> Result<()> {
    json_text::write(&Document::of(comparison), Style::Pretty, out)?;
    Ok(out.write_all(b"\n")?)
}

const SCHEMA: &str = "criterion-torch/comparison";
const VERSION: u32 = 1;

document! {
    /// The document of `criterion-report compare --format json`: B is judged against A.
    pub struct Document<'a> = of(comparison: &'a Comparison) {
        /// `criterion-torch/comparison`.
        #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
        schema: &'static str = SCHEMA,
        /// 1; counts incompatible changes.
        #[cfg_attr(feature = "schema", schemars(extend("const" = VERSION)))]
        version: u32 = VERSION,
        /// The rule.
        policy: Policy = comparison.policy,
        /// The thresholds of cases that no rule matches.
        thresholds: Limits = comparison.thresholds.limits,
        /// The last rule that matches an id and names a measure decides it.
        rules: &'a [Rule] = &comparison.thresholds.rules,
        /// The side that is compared with.
        a: &'a SideFacts = &comparison.a,
        /// The side that is judged.
        b: &'a SideFacts = &comparison.b,
        /// The noise floors that widened the intervals of sides with one run.
        floors: Vec<Floor> = {
            let floors = comparison.floors.iter();
            let widening = floors.filter(|(source, _)| **source != FloorSource::Ignored);
            widening.map(|(source, cases)| Floor::of(*source, *cases)).collect()
        },
        /// Cases of each verdict, the worst first; all verdicts are there.
        counts: Vec<Count> = Verdict::ALL.iter().map(|it| Count::of(*it, comparison)).collect(),
        /// In the order of A, then those that only B has.
        cases: &'a [Compared] = &comparison.cases,
    }

    struct Floor = of(of: FloorSource, cases: usize) [
        (source, runs, known_cases, sigma) = match of {
            FloorSource::Case { runs } => ("case", Some(runs), None, None),
            FloorSource::Pooled { cases } => ("pooled", None, Some(cases), None),
            FloorSource::Assumed => ("assumed", None, None, Some(ASSUMED)),
            FloorSource::Ignored => ("ignored", None, None, None),
        };
    ] {
        /// `case`: the case's own; `pooled`: that of other cases of the machine; `assumed`: nothing is
        /// known of the machine.
        #[cfg_attr(feature = "schema", schemars(extend("enum" = ["case", "pooled", "assumed"])))]
        source: &'static str = source,
        /// Runs that showed it; for `case` only.
        #[serde(rename = "launches")]
        runs: Option<usize> = runs,
        /// Cases that it comes from; for `pooled` only.
        known_cases: Option<usize> = known_cases,
        /// Standard deviation of the logarithm between runs; for `assumed` only.
        sigma: Option<f64> = sigma,
        /// Cases that were widened by it.
        cases: usize = cases,
    }

    struct Count = of(verdict: Verdict, comparison: &Comparison) {
        /// The verdict.
        verdict: Verdict = verdict,
        /// Cases that have it.
        cases: usize = comparison.count(verdict),
    }
}
