#![doc = include_str!("README.md")]

// The modules are floors: a file imports only from floors below its own, and `tests/floors.rs` holds it to that.
// `measurement` reads clocks, counters and memory; `recipes`, `models` and `kernel` are what is measured; `workload` makes
// a case of a plan into something that can be timed; `harness` is the only place that names criterion, and has the only
// timing loop. Hidden modules are for this package's own benchmarks and tests, and for generated code.

#[doc(hidden)]
pub use ::kernels;
#[doc(hidden)]
pub use ::native::{self, refusal};

#[doc(hidden)]
pub mod device;
#[doc(hidden)]
pub mod inputs;
#[doc(hidden)]
pub mod threads;

#[doc(hidden)]
pub mod measurement;

#[doc(hidden)]
pub mod compile;
pub mod kernel;
#[doc(hidden)]
pub mod recipes;

#[doc(hidden)]
pub mod models;

#[doc(hidden)]
pub mod verify;
#[doc(hidden)]
pub mod workload;

#[doc(hidden)]
pub mod harness;

#[cfg(test)]
#[path = "../tests/common/skip.rs"]
mod skip;

#[cfg(test)]
#[path = "../tests/common/fake_python.rs"]
mod fake_python;

/// The `main` of a bench target: runs what the build script generated for `$target`.
///
/// ```text
/// // benches/inference.rs, with `plan::build::main(&[plan::Mode::Inference])` in build.rs
/// criterion_torch::bench_target!("inference");
/// ```
///
/// The target of kernels is written the same way. There the build script generates what prepares a
/// case, too, and memory that Rust allocates is counted.
#[macro_export]
macro_rules! bench_target {
    ("kernels") => {
        use $crate::harness::{Criterion, GroupFn, Session};
        use $crate::workload::generated;

        #[global_allocator]
        static ALLOCATOR: $crate::measurement::rust_memory::Counting =
            $crate::measurement::rust_memory::Counting;

        include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

        fn main() -> ::std::process::ExitCode {
            const PLAN: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.json"));
            $crate::harness::main("kernels", PLAN, GROUPS, prepare)
        }
    };
    ($target:literal) => {
        use $crate::harness::{Criterion, GroupFn, Session};

        include!(concat!(env!("OUT_DIR"), "/", $target, ".rs"));

        fn main() -> ::std::process::ExitCode {
            const PLAN: &str = include_str!(concat!(env!("OUT_DIR"), "/", $target, ".json"));
            $crate::harness::main($target, PLAN, GROUPS, $crate::workload::prepare)
        }
    };
}
