//! The interval of a ratio from several runs: how often it holds the mean of very many runs. `cargo
//! test … -- --nocapture` prints the table.

use fastrand::Rng;
use statistics::{Processor, Ratio, Run, builds_ratio, runs_ratio};

use crate::{
    blocks::blocks,
    cell::{Cell, NOISES, pooled},
    noise::Model,
    shifts::{Looks, Predicted, Shifts, VarianceComponents},
};

/// Runs.
const RUNS: [usize; 3] = [2, 4, 8];
/// Builds of a run, and blocks of a build.
const SIZES: [[usize; 2]; 2] = [[2, 2], [4, 4]];
/// Trials of each noise: with all 36 noises together, a coverage of 95 % errs by 0.3 points.
const TRIALS: usize = 200;

/// The interval of so many runs of one case.
fn interval(
    (model, sd, levels): (Model, f64, VarianceComponents),
    runs: usize,
    [builds, of_build]: [usize; 2],
    random: &mut Rng,
) -> Ratio {
    let mut run = || {
        let noise = blocks(model, sd, 1.0, 1.0, random.u64(..));
        let noise: Vec<f64> = noise.take(builds * of_build).collect();
        let values = levels.run(&noise, of_build, Looks::Rounds, random);
        let visits = Looks::Rounds.visits(builds);
        let found = builds_ratio(&values, builds, visits, Processor::Cpu).expect("whole builds");
        Run { ratio: found.ratio.ratio, within: found.within, builds, visits, on: Processor::Cpu }
    };
    let runs: Vec<Run> = (0..runs).map(|_| run()).collect();
    runs_ratio(&runs).expect("two runs at least").ratio
}

/// All noises with these shifts.
fn cells(shifts: Shifts, runs: usize, size: [usize; 2]) -> Vec<Cell> {
    let noises = Model::ALL.into_iter().flat_map(|model| NOISES.map(|sd| (model, sd)));
    let cell = |(index, (model, sd)): (usize, (Model, f64))| {
        let (predicted, mut random) = (Predicted::new(model, sd), Rng::with_seed(index as u64));
        let mut trial = |_| {
            let levels = shifts.levels(predicted, &mut random);
            (runs, interval((model, sd, levels), runs, size, &mut random))
        };
        let trials = (0..TRIALS).map(&mut trial).collect();
        Cell { model, sd, budget: runs, truth: 1.0, runs: trials }
    };
    noises.enumerate().map(cell).collect()
}

/// Percent of coverage, lowest and highest over all noises together, of runs of two builds of two
/// blocks and of runs of four builds of four; and the most percent of false alarms.
///
/// Runs of few blocks hardly know how much blocks differ. Builds of two kinds are less of a limit than for
/// one run: runs differ then, and that is seen.
const EXPECTED: [(Shifts, [[f64; 2]; 2], f64); 7] = [
    (Shifts::Assumed, [[93.0, 97.0], [96.0, 99.5]], 6.0),
    (Shifts::Drawn, [[90.0, 96.0], [94.5, 97.0]], 8.5),
    (Shifts::Half, [[94.0, 97.5], [96.5, 99.7]], 5.0),
    (Shifts::Twice, [[91.0, 96.0], [95.0, 98.5]], 7.5),
    (Shifts::SharedHost, [[94.0, 97.5], [96.0, 99.7]], 5.0),
    (Shifts::TwoKinds, [[87.0, 93.8], [89.0, 95.0]], 12.5),
    (Shifts::None, [[97.2, 99.5], [99.7, 100.0]], 2.0),
];

#[test]
fn the_interval_of_runs_holds_the_mean_of_all_as_often_as_it_is_known_to() {
    for (shifts, coverage, most_alarms) in EXPECTED {
        for (size, [least, most]) in SIZES.into_iter().zip(coverage) {
            for runs in RUNS {
                let cells = cells(shifts, runs, size);
                let percent = |of: fn(&Cell) -> f64| 100.0 * pooled(cells.iter(), of);
                let (covers, alarms) = (percent(Cell::coverage), percent(Cell::alarms));
                let (width, bias) = (percent(Cell::half_width), percent(Cell::bias));
                let row = format!(
                    "{shifts:?}, {runs} runs of {size:?} builds and blocks: covers {covers:.1} %, \
                     alarms {alarms:.1} %, half-width {width:.1} %, bias {bias:+.3} %"
                );
                println!("{row}");
                assert!((least..=most).contains(&covers), "{least} to {most}: {row}");
                assert!(alarms <= most_alarms, "{most_alarms}: {row}");
                assert!(bias.abs() < 0.25, "{row}");
            }
        }
    }
}

/// One run has room for what runs differ by; several see that they do not.
#[test]
fn several_runs_that_agree_have_a_narrower_interval_than_runs_that_differ() {
    let width = |shifts| pooled(cells(shifts, 8, [4, 4]).iter(), Cell::half_width);
    let share = width(Shifts::None) / width(Shifts::Assumed);
    println!("the interval of 8 runs that agree is {share:.2} as wide");
    assert!((0.4..=0.8).contains(&share), "{share}");
}
