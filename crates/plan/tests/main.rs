//! The public API: from the text of configs to plans, costs and errors.

mod architectures;
mod common;
mod compiled;
mod costs;
mod documents;
mod errors;
mod expansion;
mod kernels;
mod libraries;
mod limits;
mod pages;
mod training;
mod user_files;
mod works;
