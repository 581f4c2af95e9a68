//! `schema`: the JSON Schemas of the files that are written, as published.

/// A file that has a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Schema {
    /// What `export json` writes; `export jsonl` writes the same in lines
    Report,
    /// What `compare --format json` writes
    Compare,
    /// What `dashboard` writes, and what `validate` checks
    PytorchOssBenchmarkV3,
}

impl Schema {
    /// The schema, JSON of draft 2020-12.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Report => include_str!("../../docs/schema/report-v1.schema.json"),
            Self::Compare => include_str!("../../docs/schema/comparison-v1.schema.json"),
            Self::PytorchOssBenchmarkV3 => {
                include_str!("../../docs/schema/pytorch-oss-benchmark-v3.schema.json")
            }
        }
    }
}
