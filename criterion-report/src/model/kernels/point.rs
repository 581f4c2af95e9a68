//! A case as it was at one time: what is compared with another time.

use statistics::Ratio;

use crate::model::Interval;

/// Criterion's estimate of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Median, in nanoseconds.
    pub median_ns: f64,
    /// Its interval; absent in quick mode.
    pub interval: Option<Interval>,
    /// Level of the interval.
    pub confidence_level: f64,
}

impl Estimate {
    /// This time over an earlier one, with an interval: the noises of both are independent.
    ///
    /// # Errors
    /// Says why there is none.
    pub fn over(&self, earlier: &Self) -> Result<Ratio, String> {
        let quick = "has no interval: it was measured in quick mode";
        let bounds = |of: &Self| of.interval.map(|it| (of.median_ns, it));
        let (now, now_interval) = bounds(self).ok_or_else(|| format!("its time {quick}"))?;
        let (then, then_interval) =
            bounds(earlier).ok_or_else(|| format!("its earlier time {quick}"))?;
        if self.confidence_level != earlier.confidence_level {
            return Err(format!(
                "its interval is of level {}, the earlier one of {}",
                self.confidence_level, earlier.confidence_level
            ));
        }
        let ratio = |ratio, Interval { low, high }| Ratio { ratio, low, high };
        let over = statistics::quotient(&ratio(now, now_interval), &ratio(then, then_interval));
        Ok(Ratio { ratio: now / then, ..over })
    }
}

/// A case as it was at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Criterion's id.
    pub full_id: String,
    /// The machine; not known of a case without a record.
    pub host: Option<String>,
    /// How it ended, in one word.
    pub status: String,
    /// Why it was not measured, or has no time.
    pub reason: Option<String>,
    /// Criterion's estimate.
    pub time: Option<Estimate>,
    /// Whether it is of an earlier run than the latest, which did not select it.
    pub earlier: bool,
    /// Revision of the sources, as git says it, with `-dirty` behind where there were changes.
    pub revision: Option<String>,
    /// ‖out − ref‖₂ / ‖ref‖₂; absent without a reference.
    pub relative_error: Option<f64>,
    /// √(mean (out − ref)²)
    pub rmse: Option<f64>,
}

impl Point {
    /// Whether it was measured.
    pub fn is_measured(&self) -> bool {
        self.status == "measured"
    }

    /// Whether the case itself is to blame that it was not: not the machine, and not who ran it.
    pub fn is_broken(&self) -> bool {
        matches!(self.status.as_str(), "failed" | "timeout" | "oom" | "unsupported")
    }

    /// `failed: out of patience`, or the status alone.
    pub fn ended(&self) -> String {
        match &self.reason {
            Some(reason) => format!("{}: {reason}", self.status),
            None => self.status.clone(),
        }
    }
}
