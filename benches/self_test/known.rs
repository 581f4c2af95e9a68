//! Steps whose time is known: a spin, a sleep, a copy.

use std::time::{Duration, Instant};

use criterion_torch::refusal::Refusal;

use crate::check::{Check, Finding};
use crate::sides::median_ns;

pub const CHECK: Check = Check {
    name: "known",
    what: "steps of known time: spins, sleeps, a copy that is timed by hand as well",
    device: plan::Device::Cpu,
    run,
};

fn run() -> Result<Vec<Finding>, Refusal> {
    let mut findings = Vec::new();
    for micros in [10, 100, 1000] {
        // Half a percent, and the clock's own two readings.
        let late = 0.005 + 0.1 / micros as f64;
        findings.push(check_within(format!("spin of {micros} µs"), micros, late, &mut || {
            let start = Instant::now();
            while start.elapsed() < Duration::from_micros(micros) {
                std::hint::spin_loop();
            }
            Ok(())
        })?);
    }
    for micros in [1000, 10_000] {
        // The kernel wakes a sleeper up to 50 µs late by default, and the CPU has to come back.
        let late = 200.0 / micros as f64;
        findings.push(check_within(format!("sleep of {micros} µs"), micros, late, &mut || {
            std::thread::sleep(Duration::from_micros(micros));
            Ok(())
        })?);
    }
    findings.push(copy()?);
    Ok(findings)
}

/// At least the known time, and at most a share more.
fn check_within(
    name: String,
    micros: u64,
    more: f64,
    step: &mut dyn FnMut() -> Result<(), Refusal>,
) -> Result<Finding, Refusal> {
    let (known, measured) = (micros as f64, median_ns(step)? / 1e3);
    let most = known * (1.0 + more);
    Ok(Finding::new(
        name,
        format!("{measured:.2} µs"),
        format!("{known:.0} to {most:.1} µs"),
        (known..=most).contains(&measured),
    ))
}

/// A copy of 64 MiB under the harness and under a loop of its own, in turn.
fn copy() -> Result<Finding, Refusal> {
    const BYTES: usize = 64 << 20;
    let (from, mut to) = (vec![1_u8; BYTES], vec![0_u8; BYTES]);
    let mut copy = || {
        std::hint::black_box(&mut to).copy_from_slice(std::hint::black_box(&from));
        Ok(())
    };
    // Memory's speed changes from second to second, so the two are compared round by round.
    let (mut ratios, mut last_ns) = (Vec::new(), 0.0);
    for _ in 0..9 {
        let mut by_hand = Vec::new();
        for _ in 0..50 {
            let start = Instant::now();
            copy()?;
            by_hand.push(start.elapsed().as_nanos() as f64);
        }
        last_ns = median_ns(&mut copy)?;
        ratios.push(last_ns / statistics::median(&by_hand));
    }
    let ratio = statistics::median(&ratios);
    Ok(Finding::new(
        "copy of 64 MiB",
        format!(
            "{:.2} ms ({:.1} GB/s), {ratio:.3} times what it is by hand",
            last_ns / 1e6,
            BYTES as f64 / last_ns
        ),
        "within 5 %",
        (ratio - 1.0).abs() <= 0.05,
    ))
}
