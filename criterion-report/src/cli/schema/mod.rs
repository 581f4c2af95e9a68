//! `schema`: the JSON Schemas of the files that are written, as published in this package's `schema`.

#[cfg(feature = "schema")]
mod generate;

/// A file that has a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Schema {
    /// The document of `export json`; `export jsonl` writes the same in lines
    Report,
    /// The document of `compare --format json`
    Compare,
    /// The document of `summary --format json`
    Summary,
    /// The document of `training --format json`
    Training,
    /// The document of `fusion --format json`
    Fusion,
    /// The array of `operators --format json`
    Operators,
    /// The document of `explain --format json`
    Explain,
    /// The records that `dashboard` writes and `validate` checks
    PytorchOssBenchmarkV3,
}

impl Schema {
    /// Its file in the folder `schema`.
    pub const fn file(self) -> &'static str {
        match self {
            Self::Report => "report-v1.schema.json",
            Self::Compare => "comparison-v1.schema.json",
            Self::Summary => "summary-v1.schema.json",
            Self::Training => "training-v1.schema.json",
            Self::Fusion => "fusion-v1.schema.json",
            Self::Operators => "operators-v1.schema.json",
            Self::Explain => "explain-v1.schema.json",
            Self::PytorchOssBenchmarkV3 => "pytorch-oss-benchmark-v3.schema.json",
        }
    }

    /// The published schema, JSON of draft 2020-12.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Report => include_str!("../../../schema/report-v1.schema.json"),
            Self::Compare => include_str!("../../../schema/comparison-v1.schema.json"),
            Self::Summary => include_str!("../../../schema/summary-v1.schema.json"),
            Self::Training => include_str!("../../../schema/training-v1.schema.json"),
            Self::Fusion => include_str!("../../../schema/fusion-v1.schema.json"),
            Self::Operators => include_str!("../../../schema/operators-v1.schema.json"),
            Self::Explain => include_str!("../../../schema/explain-v1.schema.json"),
            Self::PytorchOssBenchmarkV3 => crate::read::database::SCHEMA,
        }
    }
}
