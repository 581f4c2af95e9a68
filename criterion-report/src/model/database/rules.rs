//! The rules that a writer of records has to keep as well.

use std::borrow::Cow;
use std::path::Path;

pub fn has_upload_name(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "json")
}

/// Whether the database can hold the value: its columns have 32 bits, and JSON no infinity.
pub fn is_storable(value: f64) -> bool {
    (value as f32).is_finite()
}

/// By what dashboards know a series; the branch is the upload's.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Series<'a>([Cow<'a, str>; 9]);

impl<'a> Series<'a> {
    /// In this order: dtype, arch, device, backend, metric, mode, model, use_compile, without which
    /// dashboards of torchao take `false`, and the benchmark, by which each dashboard has its own.
    pub fn new(parts: [Option<&'a str>; 9]) -> Self {
        let mut parts = parts.map(|part| Cow::Borrowed(part.unwrap_or_default()));
        if parts[7].is_empty() {
            parts[7] = "false".into();
        }
        Self(parts)
    }

    pub fn into_owned(self) -> Series<'static> {
        Series(self.0.map(|part| Cow::Owned(part.into_owned())))
    }

    pub fn metric(&self) -> &str {
        &self.0[4]
    }

    pub fn model(&self) -> &str {
        &self.0[6]
    }

    /// The same time in the finer unit, if this one is in ms.
    pub fn in_microseconds(&self) -> Option<Self> {
        let mut finer = self.clone();
        finer.0[4] = finer.0[4].strip_suffix("(ms)").map(|name| format!("{name}(us)"))?.into();
        Some(finer)
    }
}
