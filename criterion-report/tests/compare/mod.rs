//! `compare` and `aa`: the rule under simulated noise, one of each verdict, and the commands.

mod folder;
mod formats;
mod gates;
mod limits;
mod lockstep;
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
