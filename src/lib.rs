//! criterion-torch: what quantization, fusion and compilation really buy on libtorch.
//!
//! The modules are floors, lowest first; a file imports only from floors below its own.
//!
//! | floor | modules |
//! |---|---|
//! | 2 | [`native`] |
//! | 3 | [`measurement`] |
//! | 7 | [`harness`]: the only place that names criterion, and the only timing loop |

pub mod native;

pub mod measurement;

pub mod harness;

/// The `main` of a bench target: runs what the build script generated for `$target`.
///
/// ```ignore
/// // benches/inference.rs, with `plan::build::main(&[plan::Mode::Inference])` in build.rs
/// criterion_torch::bench_target!("inference");
/// ```
#[macro_export]
macro_rules! bench_target {
    ($target:literal) => {
        use $crate::harness::{Criterion, Session};

        include!(concat!(env!("OUT_DIR"), "/", $target, ".rs"));

        fn main() -> ::std::process::ExitCode {
            const PLAN: &str = include_str!(concat!(env!("OUT_DIR"), "/", $target, ".json"));
            $crate::harness::main($target, PLAN, GROUPS)
        }
    };
}
