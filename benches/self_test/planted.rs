//! Pairs whose ratio is known: the same work, and 2, 5 and 10 % more of it.

use criterion_torch::refusal::Refusal;
use statistics::{Ratio, Verdict};
use tch::{Device, Kind, Tensor};

use crate::check::{Check, Finding};
use crate::sides::pair;

pub const CHECK: Check = Check {
    name: "planted",
    what: "pairs of known ratio: 0, 2, 5 and 10 % more of the same work",
    device: plan::Device::Cpu,
    run,
};

/// Pairs of each kind.
const REPEATS: usize = 20;
const BUDGET_S: f64 = 0.5;
/// The truth itself is no better known: a longer loop is not longer in exact proportion.
const EXACT: f64 = 0.005;

fn run() -> Result<Vec<Finding>, Refusal> {
    tch::set_num_threads(1);
    let small = Tensor::ones([64, 64], (Kind::Float, Device::Cpu));
    let products = |times: u64| {
        for _ in 0..times {
            drop(std::hint::black_box(small.f_mm(&small)?));
        }
        Ok(())
    };
    let percents = [0, 2, 5, 10];
    let chains =
        percents.map(|percent| planted("chain of multiplications", 100_000, percent, &chain));
    let products = percents.map(|percent| planted("small products", 200, percent, &products));
    chains.into_iter().chain(products).collect()
}

/// Multiplications that each wait for the last.
fn chain(times: u64) -> Result<(), Refusal> {
    let mut value = std::hint::black_box(1_u64);
    for step in 0..times {
        value = value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(step);
    }
    std::hint::black_box(value);
    Ok(())
}

/// The baseline does `percent` more of the work, so the candidate is that much faster.
fn planted(
    what: &str,
    times: u64,
    percent: u64,
    work: &dyn Fn(u64) -> Result<(), Refusal>,
) -> Result<Finding, Refusal> {
    let name = format!("{what}, planted +{percent} %");
    let more = times + times * percent / 100;
    let truth = more as f64 / times as f64;
    let mut ratios = Vec::new();
    for _ in 0..REPEATS {
        let (mut baseline, mut candidate) = (|| work(more), || work(times));
        // Neither side has memory that could lie elsewhere.
        match pair(&mut baseline, &mut candidate, &mut || Ok(()), BUDGET_S)?.ratio {
            Ok(found) => ratios.push(found.ratio),
            Err(none) => return Ok(Finding::error(name, format!("{none:?}"))),
        }
    }
    let count = |is: &dyn Fn(&Ratio) -> bool| ratios.iter().filter(|ratio| is(ratio)).count();
    let covered = count(&|it| it.low <= truth * (1.0 + EXACT) && truth * (1.0 - EXACT) <= it.high);
    let faster = count(&|it| statistics::verdict(it) == Verdict::Faster);
    let slower = count(&|it| statistics::verdict(it) == Verdict::Slower);
    let median = statistics::median(&ratios.iter().map(|it| it.ratio).collect::<Vec<_>>());
    let (expected, holds) = match percent {
        0 => ("called different once at most", faster + slower <= 1),
        1..=4 => ("median within ±1 %", true),
        _ => ("called faster 18 times at least", faster >= 18 && slower == 0),
    };
    Ok(Finding::new(
        name,
        format!(
            "median {median:.4} of {truth:.4}; {covered} of {REPEATS} intervals hold it (±0.5 %), \
             called faster {faster} times, slower {slower}"
        ),
        format!("{expected}, 18 intervals at least, median within ±1 %"),
        holds && covered >= 18 && (median / truth - 1.0).abs() <= 0.01,
    ))
}
