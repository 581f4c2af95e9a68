//! The profile of a machine: its peaks, measured or given, what of them operations reach, and what
//! fusing is worth on it.

mod calibrate;
mod fusion;
mod limit;
mod memory;
mod operation;
mod placement;
mod preset;
mod profile;
mod request;
mod roofs;
mod schema;
mod select;
pub mod text;

pub use calibrate::calibrate;
pub use limit::{Best, Limit, PeakSource, Spread};
pub(crate) use memory::Memory;
pub use memory::{BEYOND_LAST, Caches, Level, LevelBandwidth};
pub use operation::{Operation, OperationKey};
pub use placement::{Headroom, NoPlacement, Placement, RooflineSet, compulsory_bytes};
pub use preset::{Bandwidth, Precision, Preset, PresetPeak};
pub use profile::Products;
pub use request::{OperationKind, Request};
pub(crate) use roofs::ABOVE;
pub use roofs::Roofline;
pub use schema::{
    CallOverhead, Finding, FusionCalibration, LaunchLatency, Metadata, OperationCalibration,
    PeakSources, Profile,
};
