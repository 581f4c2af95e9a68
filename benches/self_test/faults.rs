//! The cost of the allocator: a 50 MB output with freed memory kept, and with it given back.

use std::process::ExitCode;

use criterion_torch::measurement::{counters, page_fault};
use criterion_torch::native::huge_pages;
use criterion_torch::refusal::Refusal;
use tch::{Device, Kind, Tensor};

use crate::check::{Check, Finding};
use crate::{child, same};

pub const CHECK: Check = Check {
    name: "faults",
    what: "GELU with a 50 MB output: page faults and time under both allocators",
    device: plan::Device::Cpu,
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

fn findings(retained: &plan::Counters, system: &plan::Counters) -> Result<Vec<Finding>, Refusal> {
    let figures = |counters: &plan::Counters| {
        format!("{:.2} ms with {:.0} faults", counters.wall_ns / 1e6, counters.minor_faults)
    };
    let pages = 4.0 * ELEMENTS as f64 / page_fault::page_bytes().map_err(Refusal::Failed)? as f64;
    // The pages of the page table are faults of the same kind, and few.
    let each_page_once = (pages..1.02 * pages).contains(&system.minor_faults);
    Ok(vec![
        Finding::new(
            "GELU of 12.6 million floats, memory retained",
            figures(retained),
            "hardly any faults",
            retained.minor_faults < 100.0,
        ),
        Finding::new(
            "GELU of 12.6 million floats, memory by the system",
            figures(system),
            format!("a fault for each of its {pages:.0} pages, and hardly any more"),
            each_page_once,
        ),
    ])
}

fn run() -> Result<Vec<Finding>, Refusal> {
    let count = |part: &str| -> Result<plan::Counters, Refusal> {
        let ended = child::start(part, &std::env::temp_dir(), &[])?;
        let counters = serde_json::from_str(ended.stdout.trim());
        counters.map_err(|error| Refusal::Failed(format!("{part}: {error}")))
    };
    findings(&count(RETAINED)?, &count(SYSTEM)?)
}
