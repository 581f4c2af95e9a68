//! How often the interval of two sides holds their true ratio, and the percentiles of a plain
//! bootstrap over the same runs. `cargo test … -- --nocapture` prints the table.

use fastrand::Rng;
use statistics::{Floor, RunMedian, sides_ratio};

use crate::noise::{Model, Noise};

const SAMPLES: usize = 31;
const RUNS: u64 = 600;
const TRUE_RATIO: f64 = 1.05;

/// Samples of one run, with what it drew once.
fn run(model: Model, between: f64, factor: f64, random: &mut Rng) -> RunMedian {
    let shift = (between * crate::noise::normal(random)).exp();
    let mut noise = Noise::new(model, 0.02, random.u64(..));
    let samples: Vec<f64> = (0..SAMPLES).map(|_| factor * shift * noise.next()).collect();
    RunMedian::from_samples(&samples).expect("enough samples")
}

fn sides(model: Model, between: f64, count: usize, random: &mut Rng) -> [Vec<RunMedian>; 2] {
    [TRUE_RATIO, 1.0]
        .map(|factor| (0..count).map(|_| run(model, between, factor, random)).collect())
}

const NO_FLOOR: Floor = Floor { sigma: 0.0, freedom: f64::INFINITY };

/// In how many of 100 runs the interval holds the true ratio.
fn coverage(model: Model, between: f64, count: usize) -> f64 {
    let mut random = Rng::with_seed(17 * count as u64 + 1);
    let held = |random: &mut Rng| {
        let [of, over] = sides(model, between, count, random);
        let ratio = sides_ratio(&of, &over, NO_FLOOR).expect("both sides have runs").ratio;
        (ratio.low..=ratio.high).contains(&TRUE_RATIO)
    };
    (0..RUNS).filter(|_| held(&mut random)).count() as f64 * 100.0 / RUNS as f64
}

#[test]
fn the_interval_of_several_runs_holds_the_true_ratio() {
    let models = [
        Model::Independent,
        Model::Autoregressive(0.9),
        Model::Bimodal(0.9),
        Model::Bimodal(0.98),
        Model::Drift,
        Model::Outliers,
    ];
    for model in models {
        for between in [0.0, 0.005, 0.02, 0.05] {
            for count in [2, 3, 5, 8] {
                let held = coverage(model, between, count);
                println!("{model:?} {between} {count}: {held:.1}");
                assert!(held >= 93.0, "{model:?}, {between}, {count} runs: {held}");
                // An interval that is too wide holds the ratio, too. It may be so where runs
                // hardly differ, or where a run drifts by more than they do; and of two or
                // three runs the degrees of freedom are estimated low.
                if between >= 0.05 && model != Model::Drift {
                    let most = if count < 5 { 99.0 } else { 97.5 };
                    assert!(held <= most, "{model:?}, {between}, {count} runs: {held}");
                }
            }
        }
    }
}

#[test]
fn a_floor_does_for_one_run_what_runs_would() {
    let mut random = Rng::with_seed(3);
    for between in [0.01, 0.03] {
        let floor = Floor { sigma: between, freedom: f64::INFINITY };
        let held = |random: &mut Rng| {
            let [of, over] = sides(Model::Independent, between, 1, random);
            let ratio = sides_ratio(&of, &over, floor).expect("a run each").ratio;
            (ratio.low..=ratio.high).contains(&TRUE_RATIO)
        };
        let held = (0..RUNS).filter(|_| held(&mut random)).count() as f64 * 100.0 / RUNS as f64;
        assert!((93.0..=97.5).contains(&held), "{between}: {held}");
    }
}

/// The bootstrap that is not used, by chance: runs with replacement, percentiles of the means.
#[test]
fn percentiles_over_few_runs_miss_the_true_ratio() {
    let held = |count: usize| {
        let mut random = Rng::with_seed(40 + count as u64);
        let mut held = 0;
        for _ in 0..RUNS {
            let sides = sides(Model::Independent, 0.02, count, &mut random);
            let mut mean = |side: &[RunMedian]| {
                let drawn = (0..count).map(|_| side[random.usize(..count)].ln_median);
                drawn.sum::<f64>() / count as f64
            };
            let mut ratios: Vec<f64> =
                (0..400).map(|_| mean(&sides[0]) - mean(&sides[1])).collect();
            ratios.sort_unstable_by(f64::total_cmp);
            held += usize::from((ratios[10]..=ratios[389]).contains(&TRUE_RATIO.ln()));
        }
        held as f64 * 100.0 / RUNS as f64
    };
    let (three, eight) = (held(3), held(8));
    println!("percentiles: {three:.1} {eight:.1}");
    assert!(three < 85.0 && eight < 93.5, "{three} {eight}");
}
