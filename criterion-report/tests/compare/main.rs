//! `compare` and `aa`: the rule under simulated noise, one of each verdict, and the commands.

mod command;
#[path = "../common/mod.rs"]
mod common;
#[path = "../kernels/fixture.rs"]
mod fixture;
mod limits;
mod numbers;
mod rules;
mod sides;
mod simulation;
