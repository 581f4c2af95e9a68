//! Two sides, each of one run or several, compared case by case and measure by measure.

mod aa;
pub mod branch;
mod compared;
mod comparison;
mod counted;
mod finding;
mod floor;
mod lockstep;
mod noisy;
mod outcomes;
mod pairing;
pub mod past;
mod point;
mod policy;
mod side;
mod thresholds;
mod upstream;
mod within;

pub use aa::{Aa, AaCase, aa};
pub use compared::Compared;
pub use comparison::{Comparison, Difference, Settings, SideFacts, compare};
pub use finding::{Finding, Measure, Verdict, reasons};
pub use floor::{
    ASSUMED, CaseNoise, FILE, FloorSource, Floors, HostNoise, NoiseFloor, Profile, Sigmas,
};
pub use lockstep::{LOCKSTEP, with_times};
pub use outcomes::{Hosts, SideLabels};
pub use point::{Estimate, Point, TESTED};
pub use policy::Policy;
pub use side::{Remarks, Side, SideRun};
pub use thresholds::{Limits, Rule, Thresholds, threshold};
