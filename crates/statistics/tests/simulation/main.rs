//! The statistics tried on thousands of simulated runs, all from fixed seeds.

mod blocks;
mod budget;
mod builds;
mod cell;
mod h100;
mod lockstep;
mod noise;
mod pairs;
mod planning;
mod quotients;
mod runs;
mod shifts;
mod sides;
