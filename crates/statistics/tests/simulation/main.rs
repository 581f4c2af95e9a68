//! The statistics tried on thousands of simulated runs, all from fixed seeds.

mod blocks;
mod cell;
mod launches;
mod noise;
mod pairs;
mod planning;
mod quotients;
