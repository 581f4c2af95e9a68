#![doc = include_str!("../README.md")]
//!
//! Two cases are compared in blocks of four batches (ABBA and BAAB by turns). Each [`block`] gives one
//! ln(speed-up).
//!
//! - [`builds_ratio`] takes the blocks of one run, from several fresh builds of both sides. Its interval
//!   says where other runs would find the ratio. This is what the harness reports.
//! - [`runs_ratio`] takes several runs, which show themselves how much runs differ.
//! - [`quotient`] compares two cases that were each compared with the same third.
//! - [`ratio`] takes the blocks of one build, as many as [`Stopping`] asks for, and says nothing of another
//!   build: Huber's M-estimator ("Robust estimation of a location parameter", 1964) with the interval
//!   that a test by sign flips (Fisher, "The design of experiments", 1935) does not reject. The comparison
//!   with torchao uses it.
//!
//! Two revisions are compared by runs, each a process that measured: [`sides_ratio`] has the interval,
//! [`mann_whitney`] the test that assumes nothing, [`holm`] the correction for many tests at once.
//!
//! # How often the intervals hold the true ratio
//!
//! `tests/simulation` tries them under nine kinds of noise, each of four sizes, with the harness's rule
//! of stopping. Builds and runs differ there, too: as `builds.rs` assumes, in other ways, and not at all.
//! These are the percentages that 95 % intervals reach over all noises together:
//!
//! | how builds and runs differ | 1 build of 2, 4, 6 blocks | 2 to 8 builds of 2 | of 4 or 6 | 2 to 8 runs¹ | quotient² |
//! |---|---|---|---|---|---|
//! | as assumed | 82, 93, 96 | 92 to 96 | 97 to 98 | 97 to 99 | 98 |
//! | as assumed on average, from case to case by chance³ | 77, 88, 91 | 89 to 93 | 94 to 95 | 95 to 96 | 94 to 95 |
//! | builds half as much⁴ | 83, 95, 97 | 93 to 96 | 98 to 99 | 98 to 99 | |
//! | builds twice as much⁴ | 78, 89, 93 | 90 to 95 | 95 to 97 | 96 to 98 | 97 |
//! | as on a shared host: runs differ, builds hardly | 85, 95, 98 | 92 to 94 | 96 to 98 | 97 to 99 | 96 to 99 |
//! | builds of two kinds, 10 % apart | 50, 54, 56 | 73 to 93 | 74 to 94 | 89 to 94 | |
//! | not at all | 91, 99, 100 | 98 to 100 | 100 | 100 | |
//!
//! ¹ of 4 builds of 4 blocks. ² of two ratios from 2 or 8 builds of 4 blocks. ³ as widely as the prior's three
//! degrees of freedom say. ⁴ in variance.
//!
//! - One build of two blocks does not know how much blocks differ: its interval is too often too narrow.
//! - A case compared with itself is called faster or slower in 2 to 3 of 100 runs of several builds of 4
//!   or 6 blocks that differ as assumed, in 5 to 6 where they do so by chance, and in 14 to 19 of one
//!   build of two blocks.
//! - Builds of two kinds are the limit. One build does not know of the other kind, and three are of one
//!   kind a quarter of the time: where blocks are quiet, their interval is narrow enough to stop there,
//!   and holds the true ratio in three quarters of the runs.
//! - Where nothing differs, the interval of several builds is still 81 to 91 % as wide as where they differ
//!   as assumed, because one run cannot show how much runs differ. That of 8 runs is 69 % as wide.
//! - [`ratio`] holds the ratio of its one build in 93 to 97 of 100 runs, from 8, 12, 30 or 100 blocks; a case
//!   compared with itself is called faster or slower in at most 5.

mod band;
mod builds;
mod distribution;
mod drift;
mod hierarchical;
mod holm;
pub mod lockstep;
mod mann_whitney;
mod paired;
mod planner;
mod quantile;
mod quotient;
mod stopping;
mod verdict;

pub use band::{Band, Benefit};
pub use builds::{
    BLOCKS_PER_BUILD, BuildsRatio, Processor, Run, RunsRatio, builds_ratio, runs_ratio,
};
pub use drift::{Drift, drift};
pub use hierarchical::{Floor, MIN_SAMPLES, RunMedian, SidesRatio, between_variance, sides_ratio};
pub use holm::holm;
pub use mann_whitney::{EXACT, MannWhitney, least_p, mann_whitney};
pub use paired::{CONFIDENCE_LEVEL, Interval, MIN_BLOCKS, Ratio, block, ratio};
pub use planner::{
    Limit, Limits, Pilot, SamplePlan, plan, plan_in_twos, sample_iters, single_calls,
};
pub use quantile::{
    mad_sd, mean, median, population_sd, quantile, required_calls, sample_variance,
};
pub use quotient::quotient;
pub use stopping::Stopping;
pub use verdict::{NOISE_THRESHOLD, Verdict, verdict};
