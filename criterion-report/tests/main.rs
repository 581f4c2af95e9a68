//! The report as its library and as a program: what it reads, and every text that it writes.

mod bad_input;
mod calibration;
mod cli;
mod common;
mod compare;
mod compiled;
mod database_traps;
mod estimates;
mod explain;
mod export;
mod fusion;
mod fusion_products;
mod hostile_text;
mod html;
mod intervals;
mod invalid_records;
mod kernels;
mod merge;
mod model;
mod operators;
#[cfg(feature = "schema")]
mod pages;
mod profile;
mod recommend;
mod runs;
mod several_runs;
mod summary;
mod torchao_output;
mod training;
mod writers;
