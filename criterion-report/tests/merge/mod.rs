//! `merge`: the results of shards as those of one run of the plan.

mod fixture;
mod incomplete;
mod kept;
mod machines;
mod places;
mod whole;
