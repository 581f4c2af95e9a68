//! Summaries of earlier runs, as files keep them, and how times went over these.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Result;
use plan::JsonFloat;
use serde::Deserialize;

use super::point::{Estimate, Point};
use crate::model::{Interval, possible};
use crate::order::Order as _;
use crate::read::file;

pub const SUMMARY: &str = "summary.json";
pub const SCHEMA: &str = "criterion-torch/kernels";
pub const VERSION: u32 = 1;

/// An earlier run.
#[derive(Debug, Clone, PartialEq)]
pub struct Past {
    /// When it was, RFC 3339 in UTC.
    pub timestamp: String,
    /// The measured commit, if the file has it.
    pub commit: Option<String>,
    pub points: Vec<Point>,
}

impl Past {
    pub fn read(path: &Path) -> Result<Self> {
        let text = file::read_all(path).map_err(|cause| file::unusable(path, cause))?;
        Self::of_text(&text, path)
    }

    /// Reads a file from its text; messages name `path`.
    pub fn of_text(text: &[u8], path: &Path) -> Result<Self> {
        let foreign = |cause| {
            let why = format!("not a summary.json of `criterion-report kernels`: {cause}");
            file::unusable(path, why)
        };
        let Stamp { schema, version } = serde_json::from_slice(text).map_err(foreign)?;
        if schema != SCHEMA || version != VERSION {
            let why = format!(
                "schema `{schema}`, version {version}, but this criterion-report reads `{SCHEMA}`, \
                 version {VERSION}"
            );
            return Err(file::unusable(path, why));
        }
        let Summary { timestamp, commit, results } =
            serde_json::from_slice(text).map_err(foreign)?;
        if let Some(PastResult { full_id, .. }) = results.iter().find(|it| !it.is_possible()) {
            let why = format!(
                "the time of `{full_id}` is invalid: a median and its bounds must be positive and \
                 in order; remove the file, or write it again with `criterion-report kernels`"
            );
            return Err(file::unusable(path, why));
        }
        let mut points: Vec<Point> = results.into_iter().map(Point::from).collect();
        for point in &mut points {
            // A history file stores the revision once for all points.
            point.revision = point.revision.take().or_else(|| commit.clone());
        }
        Ok(Self { timestamp, commit, points })
    }
}

/// Every `*.json` of a folder, the earliest first, and why some are left out.
pub fn history(folder: &Path) -> Result<(Vec<Past>, Vec<anyhow::Error>)> {
    let failed = |cause| file::unusable(folder, cause);
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
    all.order_by(|a: &Past, b| a.timestamp.cmp(&b.timestamp));
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
    #[serde(default)]
    commit: Option<String>,
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
    rmse: Option<JsonFloat>,
    relative_error: Option<JsonFloat>,
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
        let number = |stat: Option<JsonFloat>| stat.map(|stat| stat.0);
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

/// Medians of one case on one machine, the earliest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Trend {
    pub full_id: String,
    pub host: String,
    /// Medians in nanoseconds, with the moments of their runs.
    pub medians: Vec<(String, f64)>,
}

impl Trend {
    pub fn first(&self) -> f64 {
        self.medians[0].1
    }

    pub fn last(&self) -> f64 {
        self.medians[self.medians.len() - 1].1
    }

    pub fn best(&self) -> f64 {
        self.medians.iter().map(|(_, ns)| *ns).fold(f64::INFINITY, f64::min)
    }

    /// The latest over the earliest, less 1.
    pub fn change(&self) -> f64 {
        self.last() / self.first() - 1.0
    }
}

/// The trends of the cases that `now` has a time of, over the earlier runs and now; where there was
/// only one, there is none. A run that is among the earlier ones is not counted twice.
pub fn trends(history: &[Past], now: &Past) -> Vec<Trend> {
    // Files may be of one moment, each with cases of its own. Now comes last, and a stable sort keeps
    // it so.
    let mut runs: Vec<&Past> =
        history.iter().filter(|past| past.timestamp <= now.timestamp).collect();
    runs.order_by(|a, b| a.timestamp.cmp(&b.timestamp));
    runs.push(now);
    let mut trends: BTreeMap<(&str, &str), Vec<(String, f64)>> = BTreeMap::new();
    for run in runs {
        for point in &run.points {
            if let (Some(host), Some(time)) = (&point.host, &point.time) {
                let medians = trends.entry((&point.full_id, host)).or_default();
                medians.retain(|(moment, _)| *moment != run.timestamp);
                medians.push((run.timestamp.clone(), time.median_ns));
            }
        }
    }
    let current = |medians: &[(String, f64)]| {
        medians.len() > 1 && medians.last().is_some_and(|(moment, _)| *moment == now.timestamp)
    };
    trends
        .into_iter()
        .filter(|(_, medians)| current(medians))
        .map(|((full_id, host), medians)| Trend {
            full_id: full_id.to_owned(),
            host: host.to_owned(),
            medians,
        })
        .collect()
}
