//! Why the interval of a speed-up is wide.

use std::fmt;

use crate::units;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wide {
    /// The values that widen the interval most.
    pub level: Level,
    pub sigma: f64,
    /// The standard deviation of the other level: of blocks, or of builds beside blocks.
    pub other: Option<f64>,
}

/// The values that a speed-up is the mean of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Blocks inside several builds.
    Blocks,
    /// Blocks of one build: the time sufficed for no second one.
    BlocksOfOneBuild,
    /// Builds inside a run.
    Builds,
    Runs(usize),
}

impl Wide {
    /// The values, those of the other level, and what would make the interval narrower.
    fn words(&self) -> (&'static str, &'static str, String) {
        match self.level {
            Level::Blocks => {
                let remedy = "a quieter machine or more sampling.measurement_s helps";
                ("blocks", "builds", remedy.to_owned())
            }
            Level::BlocksOfOneBuild => {
                let remedy = "more sampling.measurement_s fits more builds";
                ("blocks of the only build", "builds", remedy.to_owned())
            }
            Level::Builds => {
                let remedy = "several runs say more (cargo torch-bench bench --repeat 4)";
                ("builds", "blocks", remedy.to_owned())
            }
            Level::Runs(count) => {
                let remedy =
                    format!("more runs narrow it (cargo torch-bench bench --repeat {})", 2 * count);
                ("runs", "blocks", remedy)
            }
        }
    }

    /// The text without figures, which rows share, and this row's: `4.5 (1.4)`.
    pub fn kind(&self) -> (String, Option<String>) {
        let (values, others, remedy) = self.words();
        let others = self.other.map(|_| format!(" (of {others})")).unwrap_or_default();
        let figures = self.other.map(|other| format!(" ({})", percent(other))).unwrap_or_default();
        let text = format!("wide: σ of {values}{others} in %; {remedy}");
        (text, Some(percent(self.sigma) + &figures))
    }
}

impl fmt::Display for Wide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (values, others, remedy) = self.words();
        write!(
            f,
            "the speed-up's interval is wide as {values} differ by σ {} %",
            percent(self.sigma)
        )?;
        if let Some(other) = self.other {
            write!(f, " ({others} {} %)", percent(other))?;
        }
        write!(f, ": {remedy}")
    }
}

/// A standard deviation of logarithms in percent: `2.4`.
fn percent(sigma: f64) -> String {
    units::significant(sigma * 100.0, 2)
}
