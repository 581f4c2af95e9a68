//! The profile of a machine: its peaks, measured or given, what of them operations reach, and what
//! fusing is worth on it.

mod calibrate;
mod fusion;
mod memory;
mod operation;
mod placement;
mod preset;
mod profile;
mod request;
mod roofs;
mod schema;
mod select;

pub use calibrate::calibrate;
pub(super) use memory::Memory;
pub use memory::{Caches, Level};
pub use operation::{Operation, OperationKey};
pub(super) use placement::by_machine;
pub use placement::{Headroom, NoPlacement, Placement, Skyline, compulsory_bytes};
pub use preset::{Bandwidth, Precision, Preset, PresetPeak};
pub use profile::{Products, Spread};
pub use request::{OperationKind, Request};
pub(super) use roofs::{ABOVE, Roofs};
pub use roofs::{Best, Limit, PeakSource, Roofline};
pub use schema::{
    CallOverhead, Finding, FusionCalibration, LaunchLatency, LevelBandwidth, Metadata,
    OperationCalibration, PeakSources, Profile,
};
