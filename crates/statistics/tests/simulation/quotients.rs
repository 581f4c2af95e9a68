//! The interval of the quotient of two ratios against one case, each from several builds of an
//! experiment of its own: how often it holds the true quotient. `cargo test … -- --nocapture` prints
//! the table.

use fastrand::Rng;
use statistics::{Processor, Ratio, builds_ratio, quotient};

use crate::{
    blocks::blocks,
    cell::{Cell, NOISES, pooled},
    noise::Model,
    shifts::{Looks, Predicted, Shifts},
};

/// Builds of the two experiments, and blocks of each build.
const BUILDS: [[usize; 2]; 4] = [[2, 2], [2, 8], [8, 2], [8, 8]];
const BLOCKS: usize = 4;
/// True ratios of the two.
const RATIOS: [f64; 2] = [3.0, 1.5];
const TRIALS: usize = 200;

/// A machine's noise, and what its builds and runs differ by.
#[derive(Clone, Copy)]
struct Noisy {
    model: Model,
    sd: f64,
    shifts: Shifts,
    predicted: Predicted,
}

impl Noisy {
    fn new(model: Model, sd: f64, shifts: Shifts) -> Self {
        Self { model, sd, shifts, predicted: Predicted::new(model, sd) }
    }

    /// An experiment's ratio, from this many builds.
    fn ratio(self, truth: f64, builds: usize, random: &mut Rng) -> Ratio {
        let noise = blocks(self.model, self.sd, truth, 1.0, random.u64(..));
        let noise: Vec<f64> = noise.take(builds * BLOCKS).collect();
        let levels = self.shifts.levels(self.predicted, random);
        let values = levels.run(&noise, BLOCKS, Looks::Rounds, random);
        builds_ratio(&values, builds, Looks::Rounds.visits(builds), Processor::Cpu)
            .expect("whole builds")
            .ratio
    }
}

/// Runs of two experiments.
fn cell([of, over]: [Noisy; 2], builds: [usize; 2], random: &mut Rng) -> Cell {
    let mut run = |_| {
        let of = of.ratio(RATIOS[0], builds[0], random);
        let over = over.ratio(RATIOS[1], builds[1], random);
        (builds[0] + builds[1], quotient(&of, &over))
    };
    let runs = (0..TRIALS).map(&mut run).collect();
    let budget = builds[0] + builds[1];
    Cell { model: of.model, sd: of.sd, budget, truth: RATIOS[0] / RATIOS[1], runs }
}

/// All noises, where that of the second experiment is the same and where it is three times as much.
fn cells(shifts: Shifts, builds: [usize; 2]) -> Vec<Cell> {
    let mut random = Rng::with_seed(7);
    let mut cells = Vec::new();
    for (model, sd) in Model::ALL.into_iter().flat_map(|model| NOISES.map(|sd| (model, sd))) {
        let of = Noisy::new(model, sd, shifts);
        cells.push(cell([of, of], builds, &mut random));
        cells.push(cell([of, Noisy::new(model, 3.0 * sd, shifts)], builds, &mut random));
    }
    cells
}

/// Percent of coverage of each pair of [`BUILDS`], lowest and highest over all noises together.
const EXPECTED: [(Shifts, [f64; 2]); 4] = [
    (Shifts::Assumed, [96.7, 99.2]),
    (Shifts::Drawn, [93.2, 97.4]),
    (Shifts::Twice, [96.0, 98.2]),
    (Shifts::SharedHost, [95.2, 99.5]),
];

#[test]
fn the_interval_of_a_quotient_holds_the_true_one_as_often_as_it_is_known_to() {
    for (shifts, [least, most]) in EXPECTED {
        for builds in BUILDS {
            let cells = cells(shifts, builds);
            let coverage = 100.0 * pooled(cells.iter(), Cell::coverage);
            let lowest = cells.iter().map(Cell::coverage).fold(1.0, f64::min) * 100.0;
            let bias = 100.0 * pooled(cells.iter(), Cell::bias);
            let row = format!(
                "{shifts:?}, quotient of {builds:?} builds: covers {coverage:.1} %, {lowest:.1} % \
                 at least, bias {bias:+.3} %"
            );
            println!("{row}");
            assert!((least..=most).contains(&coverage), "{least} to {most}: {row}");
            assert!(lowest >= 86.0, "{row}");
            assert!(bias.abs() < 0.3, "{row}");
        }
    }
}
