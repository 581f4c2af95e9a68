//! `compare` and `aa`: the rule under simulated noise, one of each verdict, and the commands.

#[path = "../common/mod.rs"]
mod common;
#[path = "../kernels/fixture.rs"]
mod fixture;
mod folder;
mod formats;
mod gates;
mod limits;
mod noise;
mod numbers;
mod origins;
mod policies;
mod rules;
#[cfg(feature = "schema")]
mod schema;
mod sides;
mod simulation;
mod thresholds;
