//! The speed-up that the times of two programs show, with its interval: `cargo run --example speedup`.

use statistics::{Processor, block, builds_ratio, verdict};

fn main() {
    // Nanoseconds per step. Each block holds two times of the baseline and two of the candidate, taken in the order
    // baseline, candidate, candidate, baseline. A drift of the machine's speed then hits both alike.
    let first_build = [([204.1, 203.5], [180.2, 181.0]), ([203.9, 204.4], [181.5, 180.8])];
    let second_build = [([202.7, 203.0], [183.1, 182.6]), ([203.2, 202.5], [182.9, 183.3])];

    let blocks = first_build.into_iter().chain(second_build);
    let log_ratios: Vec<f64> =
        blocks.map(|(baseline, candidate)| block(baseline, candidate)).collect();
    let builds = 2;
    let visits = 1;
    let found = builds_ratio(&log_ratios, builds, visits, Processor::Cpu)
        .expect("whole builds of finite times");
    let ratio = found.ratio;
    println!(
        "{:.3}× [{:.3}, {:.3}]: {}",
        ratio.ratio,
        ratio.low,
        ratio.high,
        verdict(&ratio).word()
    );
}
