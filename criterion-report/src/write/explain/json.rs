//! The document of `explain --format json`.

use serde::Serialize;

use crate::model::explain::Explanation;

/// The document of `--format json`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document<'a> {
    /// `criterion-torch/explain`.
    schema: &'static str,
    /// 1; counts incompatible changes.
    version: u32,
    /// The name of the results that were read.
    baseline: &'a str,
    /// The cases with a time.
    cases: Vec<Explained<'a>>,
}

/// A case with its statements as sentences.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Explained<'a> {
    #[serde(flatten)]
    of: &'a Explanation,
    /// The statements in words, in their order.
    sentences: Vec<String>,
}

impl<'a> Document<'a> {
    pub fn of(baseline: &'a str, all: &'a [Explanation]) -> Self {
        let explained = |of: &'a Explanation| {
            let sentences = of.statements.iter().map(ToString::to_string).collect();
            Explained { of, sentences }
        };
        let cases = all.iter().map(explained).collect();
        Self { schema: "criterion-torch/explain", version: 1, baseline, cases }
    }
}
