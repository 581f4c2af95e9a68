//! How the time of a case went over several runs.

use std::collections::BTreeMap;

use super::past::Past;

/// Medians of one case on one machine, the earliest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Trend {
    /// Criterion's id.
    pub full_id: String,
    /// The machine.
    pub host: String,
    /// Medians in nanoseconds, with the moments of their runs.
    pub medians: Vec<(String, f64)>,
}

impl Trend {
    /// The earliest median, in nanoseconds.
    pub fn first(&self) -> f64 {
        self.medians[0].1
    }

    /// The latest one.
    pub fn last(&self) -> f64 {
        self.medians[self.medians.len() - 1].1
    }

    /// The shortest one.
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
    runs.sort_by(|a, b| a.timestamp.cmp(&b.timestamp));
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
