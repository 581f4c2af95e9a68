//! The interval of a ratio from blocks of one build, on machines disturbed in known ways: how often it
//! holds the true ratio after adaptive stopping, how often it sees a difference that is none, and how
//! often it sees one of 5 %. `cargo test … -- --nocapture` prints the table.

use std::sync::LazyLock;

use statistics::{MIN_BLOCKS, Ratio, Stopping, Verdict, ratio};

use crate::{
    blocks::blocks,
    cell::{Cell, NOISES, on_two_threads, pooled},
    noise::Model,
};

/// Most blocks that the time allows.
const BUDGETS: [usize; 4] = [MIN_BLOCKS, 12, 30, 100];
/// True ratios.
const RATIOS: [f64; 4] = [1.0, 1.05, 0.5, 2.0];
/// Runs of each: 10 000 of all, so that a coverage of 95 % errs by 0.2 points (one standard error).
const TRIALS: [usize; 4] = [4000, 2000, 2000, 2000];
/// Half-width to stop at.
const TARGET: f64 = 0.01;

/// ln(speed-up) of each block that the largest budget allows.
fn whole(model: Model, sd: f64, truth: f64, start: f64, seed: u64) -> Vec<f64> {
    let most = BUDGETS[BUDGETS.len() - 1];
    blocks(model, sd, truth, start, seed).take(most).collect()
}

/// The interval that each budget ends with, and its blocks.
fn run(blocks: &[f64]) -> [(usize, Ratio); BUDGETS.len()] {
    let mut stopping = Stopping::new(TARGET);
    let enough = (1..=blocks.len()).find(|count| stopping.is_enough(&blocks[..*count]));
    BUDGETS.map(|budget| {
        let count = enough.unwrap_or(budget).min(budget);
        (count, ratio(&blocks[..count]).expect("every budget has room for an interval"))
    })
}

fn cells(model: Model, sd: f64, which: usize, seed: u64) -> Vec<Cell> {
    let truth = RATIOS[which];
    let mut seeds = fastrand::Rng::with_seed(seed);
    let one = |_| run(&whole(model, sd, truth, 1.0, seeds.u64(..)));
    let runs: Vec<_> = (0..TRIALS[which]).map(one).collect();
    let cell = |(index, budget)| {
        let runs = runs.iter().map(|run| run[index]).collect();
        Cell { model, sd, budget, truth, runs }
    };
    BUDGETS.into_iter().enumerate().map(cell).collect()
}

static TABLE: LazyLock<Vec<Cell>> = LazyLock::new(|| {
    let mut jobs = Vec::new();
    for model in Model::ALL {
        for sd in NOISES {
            jobs.extend((0..RATIOS.len()).map(|which| (model, sd, which)));
        }
    }
    let cells = |index: usize| {
        let (model, sd, which) = jobs[index];
        cells(model, sd, which, index as u64)
    };
    let table: Vec<Cell> = on_two_threads(jobs.len(), cells).into_iter().flatten().collect();
    for cell in &table {
        println!("{cell}");
    }
    table
});

/// The runs at all true ratios, for every kind of noise and budget.
fn scenarios() -> impl Iterator<Item = Vec<&'static Cell>> {
    TABLE.iter().filter(|cell| cell.truth == 1.0).map(|one| {
        let alike =
            |cell: &&Cell| (cell.model, cell.sd, cell.budget) == (one.model, one.sd, one.budget);
        TABLE.iter().filter(alike).collect()
    })
}

#[test]
fn the_interval_holds_the_true_ratio_as_often_as_it_says() {
    for cells in scenarios() {
        let coverage = pooled(cells.iter().copied(), Cell::coverage);
        assert!((0.93..=0.97).contains(&coverage), "{coverage}: {}", cells[0]);
    }
    for truth in RATIOS {
        let coverage = pooled(TABLE.iter().filter(|cell| cell.truth == truth), Cell::coverage);
        assert!((0.95..=0.96).contains(&coverage), "{coverage} at ratio {truth}");
    }
}

#[test]
fn a_difference_that_is_none_is_seldom_seen() {
    let equal = || TABLE.iter().filter(|cell| cell.truth == 1.0);
    for cell in equal() {
        assert!(cell.alarms() <= 0.05, "{cell}");
    }
    assert!(pooled(equal(), Cell::alarms) <= 0.03);
}

/// Blocks that show 5 % through this noise in nine runs of ten: 12, 30 or 100, if any of these.
fn blocks_to_see(model: Model, sd: f64) -> Option<usize> {
    let loud = sd > 0.03;
    match model {
        // Two frequencies drawn anew for every batch are noise of 13 % by themselves.
        Model::Bimodal(0.5) => (!loud).then_some(100),
        Model::Outliers => (!loud).then_some(30),
        Model::Mixture => Some(30),
        Model::Bimodal(0.9) => Some(if loud { 100 } else { 30 }),
        // Noise that decays so slowly cancels inside a block.
        Model::Autoregressive(0.9) => Some(12),
        _ => Some(if loud { 100 } else { 12 }),
    }
}

#[test]
fn five_percent_are_seen_where_the_noise_permits_and_not_denied_elsewhere() {
    for cell in TABLE.iter().filter(|cell| cell.truth == 1.05) {
        let denied = cell.share_of(Verdict::Slower) + cell.share_of(Verdict::Same);
        // All else is inconclusive.
        assert!(denied <= 0.003, "{cell}");
        let enough = blocks_to_see(cell.model, cell.sd).is_some_and(|least| cell.budget >= least);
        assert!(!enough || cell.share_of(Verdict::Faster) >= 0.9, "{cell}");
    }
}

#[test]
fn the_ratio_is_not_biased() {
    for cells in scenarios() {
        let bias = pooled(cells.iter().copied(), Cell::bias);
        assert!(bias.abs() < 0.002, "{bias}: {}", cells[0]);
    }
}

#[test]
fn a_quiet_machine_needs_few_blocks() {
    let quiet = |cell: &&Cell| cell.model == Model::Independent && cell.sd <= 0.01;
    for cell in TABLE.iter().filter(quiet) {
        assert!(cell.taken() <= 12.0 && cell.half_width() <= TARGET, "{cell}");
    }
}

/// Were all blocks ABBA, the ratio would be wrong by 1 % and half of these runs see a difference.
#[test]
fn a_slow_start_of_blocks_favours_nobody() {
    for sd in NOISES {
        let one = |seed| run(&whole(Model::Independent, sd, 1.0, 1.02, seed))[2];
        let runs = (0..2000).map(one).collect();
        let cell = Cell { model: Model::Independent, sd, budget: BUDGETS[2], truth: 1.0, runs };
        println!("{cell}, first batches 2 % slower");
        assert!(cell.coverage() >= 0.94, "{cell}");
        assert!(cell.bias().abs() < 0.002, "{cell}");
    }
}
