//! `schema`: the JSON Schemas of the files that are written, as published in this package's `schema`.

#[cfg(feature = "schema")]
mod generate;

/// A file that has a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Schema {
    /// The document of `export json`
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
    /// The `summary.json` of `kernels`
    Kernels,
    /// The profile of a machine that `calibration` writes
    Calibration,
    /// The document of `recommend --format json`
    Recommendation,
    /// The document of `explain --format json`
    Explain,
    /// Records of `dashboard`, which `validate` checks
    PytorchOssBenchmarkV3,
}

/// A file of the folder `schema`, and its text.
macro_rules! published {
    ($file:literal) => {
        ($file, include_str!(concat!("../../../schema/", $file)))
    };
}

impl Schema {
    const fn published(self) -> (&'static str, &'static str) {
        match self {
            Self::Report => published!("report-v1.schema.json"),
            Self::Compare => published!("comparison-v1.schema.json"),
            Self::Summary => published!("summary-v1.schema.json"),
            Self::Training => published!("training-v1.schema.json"),
            Self::Fusion => published!("fusion-v1.schema.json"),
            Self::Operators => published!("operators-v1.schema.json"),
            Self::Kernels => published!("kernels-v1.schema.json"),
            Self::Calibration => published!("calibration-v1.schema.json"),
            Self::Recommendation => published!("recommendation-v1.schema.json"),
            Self::Explain => published!("explain-v1.schema.json"),
            Self::PytorchOssBenchmarkV3 => {
                ("pytorch-oss-benchmark-v3.schema.json", crate::read::database::SCHEMA)
            }
        }
    }

    /// Its file in the folder `schema`.
    pub const fn file(self) -> &'static str {
        self.published().0
    }

    /// The published schema, JSON of draft 2020-12.
    pub const fn text(self) -> &'static str {
        self.published().1
    }
}
