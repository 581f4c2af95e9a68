//! What the quotient of two ratios is worth that are against one case, each from an experiment of its
//! own: how often its interval holds the true quotient. `cargo test … -- --nocapture` prints the
//! table.

use statistics::{quotient, ratio};

use crate::{
    blocks::blocks,
    cell::{Cell, NOISES, pooled},
    noise::Model,
};

/// Blocks of the two experiments.
const BUDGETS: [[usize; 2]; 4] = [[12, 12], [12, 30], [30, 12], [30, 30]];
/// True ratios of the two.
const RATIOS: [[f64; 2]; 3] = [[1.0, 1.0], [3.0, 1.5], [0.8, 1.6]];
const TRIALS: usize = 500;

/// An experiment's ratio from this many blocks.
fn experiment(model: Model, sd: f64, truth: f64, count: usize, seed: u64) -> statistics::Ratio {
    let values: Vec<f64> = blocks(model, sd, truth, 1.0, seed).take(count).collect();
    ratio(&values).expect("enough blocks")
}

/// Runs in which the second experiment has `louder` times the noise of the first.
fn cell(
    (model, sd, louder): (Model, f64, f64),
    budget: [usize; 2],
    truth: [f64; 2],
    seeds: &mut fastrand::Rng,
) -> Cell {
    let mut run = |_| {
        let of = experiment(model, sd, truth[0], budget[0], seeds.u64(..));
        let over = experiment(model, sd * louder, truth[1], budget[1], seeds.u64(..));
        (budget[0] + budget[1], quotient(&of, &over))
    };
    let runs = (0..TRIALS).map(&mut run).collect();
    Cell { model, sd, budget: budget[0] + budget[1], truth: truth[0] / truth[1], runs }
}

#[test]
fn the_interval_of_a_quotient_holds_the_true_one_as_often_as_it_says() {
    let mut seeds = fastrand::Rng::with_seed(7);
    let mut all = Vec::new();
    for (model, sd) in Model::ALL.into_iter().flat_map(|model| NOISES.map(|sd| (model, sd))) {
        let mut alike = Vec::new();
        for (budget, truth) in BUDGETS.into_iter().flat_map(|it| RATIOS.map(|of| (it, of))) {
            for louder in [1.0, 3.0] {
                alike.push(cell((model, sd, louder), budget, truth, &mut seeds));
            }
        }
        alike.iter().for_each(|cell| println!("{cell}"));
        let coverage = pooled(alike.iter(), Cell::coverage);
        assert!((0.95..=0.98).contains(&coverage), "{coverage}: {}", alike[0]);
        let bias = pooled(alike.iter(), Cell::bias);
        assert!(bias.abs() < 0.002, "{bias}: {}", alike[0]);
        all.extend(alike);
    }
    let coverage = pooled(all.iter(), Cell::coverage);
    assert!((0.955..=0.97).contains(&coverage), "{coverage}");
}
