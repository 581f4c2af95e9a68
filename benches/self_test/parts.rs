//! The parts of a training step against the whole: forward and backward by themselves take as long together
//! as one after the other in one step.

use std::path::Path;

use criterion_torch::refusal::Refusal;
use criterion_torch::workload::{Workload, prepare};
use plan::{Case, Device, Pass};

use crate::check::{Check, Finding};
use crate::same::retain;
use crate::sides::pair;

pub const CHECK: Check = Check {
    name: "parts",
    what: "forward and backward of a training step, by themselves against one after the other",
    device: Device::Cpu,
    run,
};

/// Seconds for one pair.
const BUDGET_S: f64 = 2.0;
/// The two may be as far apart: in the whole, the backward pass finds what forward left in the cache.
const WITHIN: f64 = 0.05;

const CONFIG: &str = "
benchmark_mode: training
quantization_config_recipe_names: [float8dq-tensor]
passes: [forward, backward, forward_backward]
model_params:
  - matrix_shapes: [{ name: custom, shapes: [[64, 1024, 1024], [512, 512, 512]] }]
  - model_type: ln_linear_gelu
    matrix_shapes: [{ name: custom, shapes: [[256, 512, 512]] }]
";

fn run() -> Result<Vec<Finding>, Refusal> {
    retain();
    tch::set_num_threads(1);
    let config = plan::Config::parse(Path::new("parts.yml"), CONFIG).expect("a valid config");
    let plan = plan::expand(&[config]).expect("a valid plan");
    let whole = plan.cases().filter(|case| pass(case) == Some(Pass::ForwardBackward));
    whole.map(compared).collect()
}

fn pass(case: &Case) -> Option<Pass> {
    case.work.model().and_then(|work| work.pass)
}

/// The case of the same model whose step is another part.
fn part(whole: &Case, pass: Pass) -> Result<Box<dyn Workload>, Refusal> {
    let mut case = whole.clone();
    if let plan::Work::Model(work) = &mut case.work {
        work.pass = Some(pass);
    }
    prepare(&case)
}

fn compared(whole: &Case) -> Result<Finding, Refusal> {
    let parts = [part(whole, Pass::Forward)?, part(whole, Pass::Backward)?];
    let both = prepare(whole)?;
    let step = |workload: &dyn Workload| -> Result<(), Refusal> {
        drop(std::hint::black_box(workload.step()?));
        Ok(())
    };
    let mut rebuild = || -> Result<(), Refusal> {
        for workload in parts.iter().chain([&both]) {
            drop(workload.rebuild()?);
        }
        Ok(())
    };
    let mut apart = || parts.iter().try_for_each(|part| step(part.as_ref()));
    let found = pair(&mut apart, &mut || step(both.as_ref()), &mut rebuild, BUDGET_S)?;
    let ratio = match found.ratio {
        Ok(found) => found.ratio,
        Err(none) => return Ok(Finding::error(whole.full_id(), format!("{none:?}"))),
    };
    Ok(Finding::new(
        whole.full_id(),
        format!(
            "forward + backward over both {:.3} [{:.3}, {:.3}]",
            ratio.ratio, ratio.low, ratio.high
        ),
        format!("1 ± {WITHIN}, or an interval that holds 1"),
        (ratio.ratio - 1.0).abs() <= WITHIN || (ratio.low..=ratio.high).contains(&1.0),
    ))
}
