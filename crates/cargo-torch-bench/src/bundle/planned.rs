//! The plan of a bundle: what is read of the list that `criterion-report plan` has printed.

use std::path::Path;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::manifest::PLAN;
use crate::error::{Error, Result};
use crate::files;

/// A case.
#[derive(Debug, Deserialize)]
pub struct Planned {
    pub full_id: String,
    /// The first part of its id.
    pub target: String,
    pub device: String,
    pub dtype: Option<String>,
    /// The limit that it measures, where it is of calibration.
    pub probe: Option<String>,
    /// The mode of compilation.
    pub compile: Option<serde_json::Value>,
    #[serde(default)]
    pub memory_bytes: Option<u64>,
    /// Estimated seconds.
    #[serde(deserialize_with = "seconds")]
    pub seconds: f64,
    /// Estimated seconds with the fewest samples.
    #[serde(default, deserialize_with = "seconds")]
    pub seconds_at_least: f64,
}

/// An estimate that can be summed and is a time: thirty years at most.
fn seconds<'d, D: Deserializer<'d>>(from: D) -> std::result::Result<f64, D::Error> {
    const MOST: f64 = 1e9;
    let seconds = f64::deserialize(from)?;
    if (0.0..=MOST).contains(&seconds) {
        return Ok(seconds);
    }
    Err(D::Error::custom(format!("estimated seconds are from 0 to {MOST:e}, and not {seconds:e}")))
}

impl Planned {
    pub fn is_on_gpu(&self) -> bool {
        self.device.starts_with("cuda")
    }

    /// Its group at its shape, which no shard divides: the id without the variant.
    pub fn unit(&self) -> (&str, &str) {
        let mut parts = self.full_id.rsplitn(3, '/');
        let parameter = parts.next().unwrap_or_default();
        let _variant = parts.next();
        (parts.next().unwrap_or_default(), parameter)
    }
}

/// The cases of an unpacked bundle.
pub fn read(bundle: &Path) -> Result<Vec<Planned>> {
    let path = bundle.join(PLAN);
    serde_json::from_str(&files::read(&path)?).map_err(|error| {
        Error::new(format!("{}: {error}", path.display())).remedy("unpack the bundle again")
    })
}
