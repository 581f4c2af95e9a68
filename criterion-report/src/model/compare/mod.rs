//! Two sides, each of one run or several, compared case by case and measure by measure.

mod aa;
mod asked;
mod comparison;
mod counted;
mod finding;
mod floor;
mod hud;
mod noisy;
mod outcomes;
mod pairing;
mod point;
mod policy;
mod quasim;
mod ratio_test;
mod run;
mod side;
mod thresholds;
mod verdict;
mod within;

pub use aa::{Aa, AaCase, aa};
pub use comparison::{Comparison, Settings, SideFacts, compare};
pub use finding::{Compared, Finding, reasons};
pub use floor::{
    ASSUMED, CaseNoise, FILE, FloorSource, Floors, HostNoise, KnownFloor, Profile, Sigmas,
};
pub use outcomes::{Hosts, Words};
pub use pairing::{Doubts, Pairing};
pub use point::{Bytes, Disturbances, Estimate, Point, TESTED};
pub use policy::Policy;
pub use ratio_test::{p_text, runs_for};
pub use run::{Remarks, SideRun};
pub use side::Side;
pub use thresholds::{Limits, Rule, Thresholds, threshold};
pub use verdict::{Measure, Verdict};
