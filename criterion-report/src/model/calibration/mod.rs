//! The profile of a machine: its peaks, measured or given, what of them operations reach, and what
//! fusing is worth on it.

mod calibrate;
mod fusion;
mod headroom;
mod level;
mod memory;
mod operation;
mod placement;
mod preset;
mod profile;
mod request;
mod roofline;
mod roofs;
mod schema;
mod select;

pub use calibrate::calibrate;
pub use level::{BEYOND_LAST, Caches, Level};
pub(super) use memory::{Memory, name as level_name};
pub use operation::{Operation, OperationKey};
pub use placement::{Headroom, NoPlacement, Placement, Skyline, compulsory_bytes};
pub use preset::{Bandwidth, Precision, Preset, PresetPeak};
pub use profile::{Products, Spread};
pub use request::{OperationKind, Request};
pub use roofline::{Best, Limit, PeakSource, Roofline};
pub use schema::{
    CallOverhead, Finding, FusionCalibration, LaunchLatency, LevelBandwidth, Metadata,
    OperationCalibration, PeakSources, Profile,
};
