//! Kernels of an author's own: from a folder of files to a plan and generated source.

mod bench_errors;
mod conditions;
mod discovery;
mod errors;
mod expansion;
mod ids;
mod package;
