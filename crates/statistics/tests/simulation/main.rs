//! The statistics tried on thousands of simulated runs, all from fixed seeds.

mod noise;
mod pairs;
mod planning;
