//! A/A: a case against itself, built a second time. Whatever is found is not there.

use std::path::Path;

use criterion_torch::workload::{Workload, prepare};
use plan::{Case, Device, Plan};

use crate::check::{Check, Finding};
use crate::sides::pair;

pub const CHECK: Check = Check {
    name: "same",
    what: "every baseline of the default suite against itself, built twice",
    run,
};

pub const UPSTREAM: Check = Check {
    name: "upstream",
    what: "the same by the mean of 100 calls, one side after the other, as torchao measured",
    run: upstream,
};

/// Seconds for one pair, about what a default case takes by itself.
const BUDGET_S: f64 = 1.0;
/// A/A speed-ups within this are what a group owes.
const WITHIN: f64 = 0.02;

/// The plan of the `inference` target, as it was built.
pub fn plan() -> Plan {
    serde_json::from_str(include_str!(concat!(env!("OUT_DIR"), "/inference.json")))
        .expect("the build script wrote it")
}

fn baselines() -> Vec<Case> {
    let groups = plan().groups.into_iter();
    let cases = groups.filter_map(|group| group.cases.into_iter().next());
    cases.filter(|case| case.device == Device::Cpu).collect()
}

fn step(workload: &dyn Workload) -> Result<(), criterion_torch::refusal::Refusal> {
    drop(std::hint::black_box(workload.step()?));
    Ok(())
}

fn run() -> Vec<Finding> {
    retain();
    let (mut findings, mut ratios) = (Vec::new(), Vec::new());
    for case in baselines() {
        tch::set_num_threads(1);
        let (first, second) = match (prepare(&case), prepare(&case)) {
            (Ok(first), Ok(second)) => (first, second),
            (Err(error), _) | (_, Err(error)) => {
                findings.push(Finding::error(case.full_id(), error));
                continue;
            }
        };
        let mut a = || step(first.as_ref());
        let mut b = || step(second.as_ref());
        let mut old = Vec::new();
        let mut rebuild = || {
            for side in [&first, &second] {
                old.extend(side.rebuild()?);
            }
            Ok(())
        };
        match pair(&mut a, &mut b, &mut rebuild, BUDGET_S) {
            Ok(paired) => {
                let ratio = match paired.ratio {
                    Ok(found) => found.ratio,
                    Err(none) => {
                        findings.push(Finding::error(case.full_id(), format!("{none:?}")));
                        continue;
                    }
                };
                eprintln!(
                    "  {}: {:.4} [{:.4}, {:.4}], {} builds of {} blocks in {:.2} s",
                    case.id,
                    ratio.ratio,
                    ratio.low,
                    ratio.high,
                    paired.builds,
                    paired.log_ratios.len() / paired.builds,
                    paired.seconds
                );
                ratios.push(ratio);
            }
            Err(error) => findings.push(Finding::error(case.full_id(), error)),
        }
    }
    let groups = ratios.len();
    let within = ratios.iter().filter(|it| (it.ratio - 1.0).abs() <= WITHIN).count();
    let alarms = ratios
        .iter()
        .filter(|ratio| {
            let verdict = statistics::verdict(ratio);
            matches!(verdict, statistics::Verdict::Faster | statistics::Verdict::Slower)
        })
        .count();
    let hold = ratios.iter().filter(|it| (it.low..=it.high).contains(&1.0)).count();
    findings.push(Finding::new(
        "A/A",
        format!(
            "{within} of {groups} groups within ±2 %, {alarms} called different; {hold} intervals \
             hold 1"
        ),
        "19 of 20 within ±2 %, at most 1 of 20 called different",
        within * 20 >= groups * 19 && alarms * 20 <= groups.max(20),
    ));
    findings
}

/// Two identical linears, twelve times: how far apart means of 100 calls lie.
fn upstream() -> Vec<Finding> {
    const TRIES: usize = 12;
    retain();
    let text = "model_params: { matrix_shapes: [{ name: custom, shapes: [[1, 4096, 4096]] }] }";
    let config = plan::Config::parse(Path::new("same.yml"), text).expect("a valid config");
    let case = plan::expand(&[config]).expect("a valid plan").groups.remove(0).cases.remove(0);
    let mut furthest: f64 = 0.0;
    for _ in 0..TRIES {
        let mean = || -> Result<f64, criterion_torch::refusal::Refusal> {
            let workload = prepare(&case)?;
            let calls = || step(workload.as_ref());
            for _ in 0..100 {
                step(workload.as_ref())?;
            }
            let clock = &mut criterion_torch::harness::clock::HostClock;
            Ok(criterion_torch::harness::clock::time(clock, calls, None, 100)?.as_secs_f64())
        };
        match (mean(), mean()) {
            (Ok(first), Ok(second)) => furthest = furthest.max((first / second - 1.0).abs()),
            (Err(error), _) | (_, Err(error)) => return vec![Finding::error("upstream", error)],
        }
    }
    vec![Finding::new(
        "two identical linears 1x4096x4096",
        format!("up to {:.1} % apart in {TRIES} tries", furthest * 100.0),
        "whatever it is: this is the method that pairs replace",
        true,
    )]
}

/// The default of a case: freed memory stays mapped.
pub fn retain() {
    if let Err(error) = criterion_torch::native::allocator::retain() {
        eprintln!("note: freed memory is not retained: {error}");
    }
}
