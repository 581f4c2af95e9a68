//! What the allocator costs: a 50 MB output with freed memory kept, and with it given back.

use std::process::ExitCode;

use criterion_torch::measurement::counters;
use criterion_torch::native::huge_pages;
use tch::{Device, Kind, Tensor};

use crate::check::{Check, Finding};
use crate::{child, same};

pub const CHECK: Check = Check {
    name: "faults",
    what: "GELU with a 50 MB output: page faults and time under both allocators",
    run,
};

/// Parts in processes of their own: retention cannot be undone.
pub const RETAINED: &str = "faults-retained";
pub const SYSTEM: &str = "faults-system";

const ELEMENTS: i64 = 12_582_912;

pub fn retained() -> ExitCode {
    same::retain();
    print()
}

pub fn system() -> ExitCode {
    // As in a program that asks for none.
    if let Err(error) = huge_pages::allow(false) {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    print()
}

fn print() -> ExitCode {
    tch::set_num_threads(1);
    let _no_gradients = tch::no_grad_guard();
    let input = Tensor::rand([ELEMENTS], (Kind::Float, Device::Cpu));
    let mut step = || {
        drop(input.f_gelu("none")?);
        Ok(())
    };
    // First until the heap has found its shape.
    let counted = counters::count(20, &mut step).and_then(|_| counters::count(20, &mut step));
    match counted {
        Ok(counters) => {
            println!("{}", serde_json::to_string(&counters).expect("numbers are JSON"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Vec<Finding> {
    let home = std::env::temp_dir();
    let count = |part: &str| -> Result<plan::Counters, String> {
        let ended = child::start(part, &home, &[])?;
        serde_json::from_str(ended.stdout.trim()).map_err(|error| error.to_string())
    };
    match (count(RETAINED), count(SYSTEM)) {
        (Ok(retained), Ok(system)) => vec![Finding::new(
            "GELU of 12.6 million floats",
            format!(
                "{:.2} ms with {:.0} faults retained, {:.2} ms with {:.0} faults by the system",
                retained.wall_ns / 1e6,
                retained.minor_faults,
                system.wall_ns / 1e6,
                system.minor_faults
            ),
            "hardly any faults where memory is retained",
            retained.minor_faults < 100.0,
        )],
        (Err(error), _) | (_, Err(error)) => vec![Finding::error("faults", error)],
    }
}
