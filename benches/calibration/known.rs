//! Steps whose time is known: a spin, a sleep, a copy.

use std::time::{Duration, Instant};

use criterion_torch::refusal::Refusal;
use tch::{Device, Kind, Tensor};

use crate::check::{Check, Finding};
use crate::sides::median_ns;

pub const CHECK: Check = Check {
    name: "known",
    what: "steps of known time: spins, sleeps, a copy against the plain memcpy",
    run,
};

fn run() -> Vec<Finding> {
    let mut findings = Vec::new();
    for micros in [10, 100, 1000] {
        findings.push(within(format!("spin of {micros} µs"), micros, 0.01, &mut || {
            let start = Instant::now();
            while start.elapsed() < Duration::from_micros(micros) {
                std::hint::spin_loop();
            }
            Ok(())
        }));
    }
    for micros in [1000, 10_000] {
        // The kernel wakes a sleeper up to 50 µs late by default, and the CPU has to come back.
        let late = 200.0 / micros as f64;
        findings.push(within(format!("sleep of {micros} µs"), micros, late, &mut || {
            std::thread::sleep(Duration::from_micros(micros));
            Ok(())
        }));
    }
    findings.push(copy());
    findings
}

/// At least the known time, and at most a share more.
fn within(
    name: String,
    micros: u64,
    more: f64,
    step: &mut dyn FnMut() -> Result<(), Refusal>,
) -> Finding {
    let known = micros as f64;
    match median_ns(step) {
        Ok(ns) => Finding::new(
            name,
            format!("{:.2} µs", ns / 1e3),
            format!("{known} to {:.1} µs", known * (1.0 + more)),
            (known..=known * (1.0 + more)).contains(&(ns / 1e3)),
        ),
        Err(error) => Finding::error(name, error),
    }
}

/// libtorch's copy of 64 MiB against a plain `copy_from_slice` of as many bytes, in turn.
fn copy() -> Finding {
    const NAME: &str = "copy of 64 MiB by libtorch against memcpy";
    const BYTES: usize = 64 << 20;
    let source = Tensor::ones([BYTES as i64], (Kind::Uint8, Device::Cpu));
    let mut target = source.zeros_like();
    let (from, mut to) = (vec![1_u8; BYTES], vec![0_u8; BYTES]);
    tch::set_num_threads(1);
    let mut plain = || {
        std::hint::black_box(&mut to).copy_from_slice(std::hint::black_box(&from));
        Ok(())
    };
    let mut torch = || {
        target.f_copy_(&source)?;
        Ok(())
    };
    match (median_ns(&mut plain), median_ns(&mut torch)) {
        (Ok(plain), Ok(torch)) => Finding::new(
            NAME,
            format!(
                "{:.2} ms against {:.2} ms ({:.1} and {:.1} GB/s copied)",
                torch / 1e6,
                plain / 1e6,
                BYTES as f64 / torch,
                BYTES as f64 / plain
            ),
            "a ratio between 0.7 and 1.4",
            (0.7..1.4).contains(&(torch / plain)),
        ),
        (Err(error), _) | (_, Err(error)) => Finding::error(NAME, error),
    }
}
