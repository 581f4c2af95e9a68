//! The statistics of criterion-torch: paired ratios with bootstrap intervals, when to stop taking
//! more of them, and how many samples a case needs. Pure functions of numbers, no clock, no torch.

mod paired;
mod planner;
mod quantile;
mod stopping;
mod verdict;

pub use paired::{CONFIDENCE_LEVEL, MIN_BLOCKS, Ratio, block, ratio};
pub use planner::{Limit, Limits, Pilot, SamplePlan, plan, sample_iters};
pub use quantile::{mad_sd, median, quantile, required_calls};
pub use stopping::Stopping;
pub use verdict::{NOISE_THRESHOLD, Verdict, verdict};
