//! Blocks of batches as the harness takes them.

use statistics::block;

use crate::noise::{Model, Noise};

/// ln(speed-up) of the blocks of a run, in orders ABBA and BAAB by turns. The first batch of each block
/// takes `start` times as long as it would elsewhere.
pub fn blocks(
    model: Model,
    sd: f64,
    truth: f64,
    start: f64,
    seed: u64,
) -> impl Iterator<Item = f64> {
    let mut noise = Noise::new(model, sd, seed);
    (0..).map(move |index| {
        let [first, second, third, fourth] = [(); 4].map(|()| noise.next());
        let (outer, inner) = ([first * start, fourth], [second, third]);
        let swapped = index % 2 == 1;
        let (baseline, candidate) = if swapped { (inner, outer) } else { (outer, inner) };
        block(baseline, candidate.map(|time| time / truth))
    })
}
