//! criterion-torch.

pub mod device;
pub mod inputs;
pub mod refusal;

pub mod recipes;

pub mod models;

pub mod verify;
pub mod workload;
