//! Two sides, each of one launch or several, compared case by case and measure by measure.

mod aa;
mod asked;
mod comparison;
mod counted;
mod finding;
mod floor;
mod hud;
mod launch;
mod noisy;
mod outcomes;
mod pairing;
mod point;
mod policy;
mod quasim;
mod ratio_test;
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
pub use launch::{Launch, Remarks};
pub use outcomes::{Hosts, Words};
pub use pairing::{Doubts, Pairing};
pub use point::{Bytes, Disturbances, Estimate, Point, TESTED};
pub use policy::Policy;
pub use ratio_test::{launches_for, p_text};
pub use side::Side;
pub use thresholds::{Limits, Rule, Thresholds, threshold};
pub use verdict::{Measure, Verdict};
