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
pub mod catalogue;
#[doc(hidden)]
pub mod compile;
pub mod kernel;
pub mod recipes;

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
#[path = "../tests/common/program.rs"]
mod program;

/// The `main` of a bench target: runs what the build script generated. `main!()` measures everything that the package
/// has, `main!("inference")` one mode.
///
/// ```text
/// // benches/torch.rs, with `criterion_torch_build::main()` in build.rs
/// criterion_torch::main!();
/// ```
///
/// Memory that Rust allocates is counted for kernels. A program that has any brings the allocator that counts; it costs
/// every other allocation one relaxed load.
#[macro_export]
macro_rules! main {
    () => {
        $crate::main!(@counting "all");
    };
    ("kernels") => {
        $crate::main!(@counting "kernels");
    };
    ($mode:literal) => {
        $crate::main!(@program $mode);
    };
    (@counting $name:literal) => {
        #[global_allocator]
        static ALLOCATOR: $crate::measurement::rust_memory::Counting =
            $crate::measurement::rust_memory::Counting;

        $crate::main!(@program $name);
    };
    (@program $name:literal) => {
        use $crate::harness::{Criterion, GroupFn, Session};
        use $crate::workload::generated;

        include!(concat!(env!("OUT_DIR"), "/", $name, ".rs"));

        fn main() -> ::std::process::ExitCode {
            const PLAN: &str = include_str!(concat!(env!("OUT_DIR"), "/", $name, ".json"));
            if let Some(outdated) = generated::outdated(UNSEEN) {
                return outdated;
            }
            generated::register(RECIPES, MODELS, KERNELS);
            $crate::harness::main(env!("CARGO_CRATE_NAME"), PLAN, GROUPS, prepare)
        }
    };
}
