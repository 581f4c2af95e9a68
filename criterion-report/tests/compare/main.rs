//! `compare` and `aa`: the rule under simulated noise, one of each verdict, and the command.

mod numbers;
mod simulation;
