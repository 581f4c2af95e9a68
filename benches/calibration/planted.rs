//! Pairs whose ratio is known: the same work, and 2, 5 and 10 % more of it.

use criterion_torch::refusal::Refusal;
use statistics::Verdict;
use tch::{Device, Kind, Tensor};

use crate::check::{Check, Finding};
use crate::sides::pair;

pub const CHECK: Check = Check {
    name: "planted",
    what: "pairs of known ratio: 200 products of small matrices against 200, 204, 210, 220",
    run,
};

/// Products in the candidate's step.
const PRODUCTS: u32 = 200;
/// Pairs of each kind.
const REPEATS: usize = 20;
const BUDGET_S: f64 = 0.5;

fn run() -> Vec<Finding> {
    let small = Tensor::ones([64, 64], (Kind::Float, Device::Cpu));
    tch::set_num_threads(1);
    [0, 2, 5, 10].map(|percent| planted(&small, percent)).into()
}

/// The baseline does `percent` more work, so the candidate is that much faster.
fn planted(small: &Tensor, percent: u32) -> Finding {
    let name = format!("planted +{percent} %");
    let truth = f64::from(PRODUCTS + PRODUCTS * percent / 100) / f64::from(PRODUCTS);
    let work = |products: u32| {
        move || -> Result<(), Refusal> {
            for _ in 0..products {
                drop(std::hint::black_box(small.f_mm(small)?));
            }
            Ok(())
        }
    };
    let (mut covered, mut faster, mut other, mut ratios) = (0, 0, 0, Vec::new());
    for _ in 0..REPEATS {
        let (mut more, mut plain) = (work(PRODUCTS + PRODUCTS * percent / 100), work(PRODUCTS));
        let paired = match pair(&mut more, &mut plain, BUDGET_S) {
            Ok(paired) => paired,
            Err(error) => return Finding::error(name, error),
        };
        let Some(ratio) = paired.ratio else {
            return Finding::error(name, "too few blocks for an interval");
        };
        covered += usize::from((ratio.low..=ratio.high).contains(&truth));
        match statistics::verdict(&ratio) {
            Verdict::Faster => faster += 1,
            Verdict::Slower => other += 1,
            Verdict::Same | Verdict::Inconclusive => {}
        }
        ratios.push(ratio.ratio);
    }
    let median = statistics::median(&ratios);
    let (expected, holds) = if percent == 0 {
        ("no difference found in 19 of 20, median within ±1 %", faster + other <= 1)
    } else if percent < 5 {
        ("median within ±1 % of the truth", true)
    } else {
        ("found in 18 of 20, median within ±1 % of the truth", faster >= 18)
    };
    Finding::new(
        name,
        format!(
            "median {median:.4}, truth {truth:.4}; in {covered} of {REPEATS} intervals, called \
             faster {faster} times, slower {other} times"
        ),
        expected,
        holds && (median / truth - 1.0).abs() <= 0.01,
    )
}
