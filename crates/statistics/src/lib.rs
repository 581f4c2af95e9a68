//! The statistics of criterion-torch: paired ratios with their intervals, when to stop taking more
//! of them, and how many samples a case needs. Pure functions of numbers, no clock, no torch.
//!
//! Two cases are compared in blocks of four batches (ABBA and BAAB by turns), each of which gives
//! one ln(speed-up). Their centre is Huber's M-estimator ("Robust estimation of a location
//! parameter", 1964), the interval what a test by sign flips (Fisher, "The design of experiments",
//! 1935) does not reject. Nothing is random: the same blocks give the same interval.
//!
//! `tests/simulation` tests what it is worth under nine kinds of noise, each of four sizes:
//! - Where there is time for 8, 12, 30 or 100 blocks, adaptive stopping included, it holds the true
//!   ratio in 93 to 97 of 100 runs.
//! - Where there was time for 4, 5 or 7 and each is taken for two (A B and B A), it does so in 93 at
//!   least, and in 97.5 at most unless halves deviate in opposite pairs, as under a drift or where
//!   blocks start slowly; it is too wide then, up to never missing. Where blocks start slowly and
//!   their number is odd, the ratio is off as well: by up to 0.3 % where a start is 2 % slower.
//! - In both, a case compared with itself is called faster or slower in at most 5 of 100 runs, and
//!   the ratio is otherwise off by less than 0.2 % in the mean.
//! - The quotient of two such ratios, of 12 or 30 blocks each, holds the true quotient in 95 to 98 of
//!   100 runs, whether the noise of both is the same or that of one three times the other's.
//!
//! Two revisions are compared by launches, processes that measured: [`sides_ratio`] has the interval,
//! [`mann_whitney`] the test that assumes nothing, [`holm`] what many tests at once allow.

mod band;
mod builds;
mod distribution;
mod drift;
mod hierarchical;
mod holm;
mod mann_whitney;
mod paired;
mod planner;
mod quantile;
mod quotient;
mod stopping;
mod verdict;

pub use band::{Band, Benefit};
pub use builds::{BLOCKS_PER_BUILD, BuildsRatio, Run, RunsRatio, builds_ratio, runs_ratio};
pub use drift::{Drift, drift};
pub use hierarchical::{Floor, Launch, MIN_SAMPLES, SidesRatio, between_variance, sides_ratio};
pub use holm::holm;
pub use mann_whitney::{EXACT, MannWhitney, least_p, mann_whitney};
pub use paired::{CONFIDENCE_LEVEL, MIN_BLOCKS, Ratio, block, ratio};
pub use planner::{Limit, Limits, Pilot, SamplePlan, plan, sample_iters};
pub use quantile::{mad_sd, mean, median, population_sd, quantile, required_calls};
pub use quotient::quotient;
pub use stopping::Stopping;
pub use verdict::{NOISE_THRESHOLD, Verdict, verdict};
