//! Summaries of earlier runs, as files keep them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use plan::Stat;
use serde::Deserialize;
use thiserror::Error;

use crate::model::compare::{Estimate, Point};
use crate::model::{Interval, file, possible};

/// Name of a summary in its folder.
pub const SUMMARY: &str = "summary.json";
/// Schema of a summary.
pub const SCHEMA: &str = "criterion-torch/kernels";
/// Version of the schema that this code reads and writes.
pub const VERSION: u32 = 1;

/// An earlier run.
#[derive(Debug, Clone, PartialEq)]
pub struct Past {
    /// When it was, RFC 3339 in UTC.
    pub timestamp: String,
    /// Its cases.
    pub points: Vec<Point>,
}

/// Why a file is no summary that can be used.
#[derive(Debug, Error)]
pub enum PastError {
    /// It cannot be read.
    #[error("{}: {cause}", .path.display())]
    Io {
        /// File or folder.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// It is something else.
    #[error("{}: not a summary.json of `criterion-report kernels`: {cause}", .path.display())]
    Foreign {
        /// File.
        path: PathBuf,
        /// What is wrong with it.
        cause: serde_json::Error,
    },
    /// A case of it has a time that there cannot be.
    #[error(
        "{}: the time of `{full_id}` is none: a median and its bounds are positive and in their \
         order; leave the file out, or write it anew with `criterion-report kernels`", .path.display()
    )]
    Impossible {
        /// File.
        path: PathBuf,
        /// The case.
        full_id: String,
    },
    /// The file has another schema or a newer version.
    #[error(
        "{}: schema `{schema}`, version {version}, but this criterion-report reads `{SCHEMA}`, \
         version {VERSION}", .path.display()
    )]
    Other {
        /// File.
        path: PathBuf,
        /// Its schema.
        schema: String,
        /// Its version.
        version: u32,
    },
}

impl Past {
    /// Reads a summary.
    ///
    /// # Errors
    /// When it is none.
    pub fn read(path: &Path) -> Result<Self, PastError> {
        let path = || path.to_owned();
        let text =
            file::read_all(&path()).map_err(|cause| PastError::Io { path: path(), cause })?;
        let foreign = |cause| PastError::Foreign { path: path(), cause };
        let Stamp { schema, version } = serde_json::from_slice(&text).map_err(foreign)?;
        if schema != SCHEMA || version != VERSION {
            return Err(PastError::Other { path: path(), schema, version });
        }
        let Summary { timestamp, results } = serde_json::from_slice(&text).map_err(foreign)?;
        if let Some(result) = results.iter().find(|result| !result.is_possible()) {
            let full_id = result.full_id.clone();
            return Err(PastError::Impossible { path: path(), full_id });
        }
        Ok(Self { timestamp, points: results.into_iter().map(Point::from).collect() })
    }
}

/// Every `*.json` of a folder, the earliest first, and why some are left out.
///
/// # Errors
/// When the folder cannot be read.
pub fn history(folder: &Path) -> Result<(Vec<Past>, Vec<PastError>), PastError> {
    let failed = |cause| PastError::Io { path: folder.to_owned(), cause };
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            paths.push(path);
        }
    }
    paths.sort_unstable();
    let (mut all, mut errors) = (Vec::new(), Vec::new());
    for path in paths {
        match Past::read(&path) {
            Ok(past) => all.push(past),
            Err(error) => errors.push(error),
        }
    }
    all.sort_by(|a: &Past, b| a.timestamp.cmp(&b.timestamp));
    Ok((all, errors))
}

#[derive(Deserialize)]
struct Stamp {
    schema: String,
    version: u32,
}

#[derive(Deserialize)]
struct Summary {
    timestamp: String,
    results: Vec<PastResult>,
}

#[derive(Deserialize)]
struct PastResult {
    full_id: String,
    host_fingerprint: Option<String>,
    outcome: String,
    error_message: Option<String>,
    git_revision: Option<String>,
    #[serde(default)]
    earlier: bool,
    criterion: Option<PastTime>,
    accuracy: Option<PastAccuracy>,
}

#[derive(Deserialize)]
struct PastTime {
    median_ms: f64,
    low_ms: Option<f64>,
    high_ms: Option<f64>,
    confidence_level: f64,
}

#[derive(Deserialize)]
struct PastAccuracy {
    rmse: Option<Stat>,
    relative_error: Option<Stat>,
}

impl PastResult {
    fn is_possible(&self) -> bool {
        self.criterion.as_ref().is_none_or(|time| {
            let bounds = [time.low_ms, Some(time.median_ms), time.high_ms];
            let given: Vec<f64> = bounds.into_iter().flatten().collect();
            // In nanoseconds they have to be possible, too.
            given.iter().all(|ms| possible::positive(*ms) && possible::positive(ms * 1e6))
                && time.low_ms.zip(time.high_ms).is_none_or(|(low, high)| low <= high)
                && possible::level(time.confidence_level)
        })
    }
}

impl From<PastResult> for Point {
    fn from(result: PastResult) -> Self {
        let time = result.criterion.map(|time| {
            let bounds = time.low_ms.zip(time.high_ms);
            let interval = bounds.map(|(low, high)| Interval { low: low * 1e6, high: high * 1e6 });
            Estimate::of_interval(time.median_ms * 1e6, interval, time.confidence_level)
        });
        let accuracy = result.accuracy.as_ref();
        let number = |stat: Option<Stat>| stat.map(|stat| stat.0);
        Self {
            relative_error: number(accuracy.and_then(|it| it.relative_error)),
            rmse: number(accuracy.and_then(|it| it.rmse)),
            full_id: result.full_id,
            host: result.host_fingerprint,
            status: result.outcome,
            reason: result.error_message,
            earlier: result.earlier,
            revision: result.git_revision,
            time,
            ..Self::default()
        }
    }
}
