//! `merge`: the results of shards as those of one run of the plan.

#[path = "../common/mod.rs"]
mod common;
mod fixture;
mod incomplete;
mod machines;
mod places;
mod whole;
