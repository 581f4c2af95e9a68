//! The document of `explain --format json`.

use crate::render::object::document;
use crate::views::explain::Explanation;

document! {
    /// The document of `--format json`.
    pub struct Document<'a> = of(baseline: &'a str, all: &'a [Explanation]) {
        /// `criterion-torch/explain`.
        schema: &'static str = "criterion-torch/explain",
        /// 1; counts incompatible changes.
        version: u32 = 1,
        /// The name of the results that were read.
        baseline: &'a str = baseline,
        /// The cases with a time.
        cases: Vec<Explained<'a>> = all.iter().map(Explained::of).collect(),
    }

    /// A case with its statements as sentences.
    struct Explained<'a> = of(of: &'a Explanation) {
        #[serde(flatten)]
        of: &'a Explanation = of,
        /// The statements in words, in their order.
        sentences: Vec<String> = of.statements.iter().map(ToString::to_string).collect(),
    }
}
