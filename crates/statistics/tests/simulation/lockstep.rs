//! Two revisions in lock-step, decided block by block.

use statistics::lockstep::{Block, CONFIRMED_P, Compared, Lockstep, State};

use crate::noise::{Model, Noise, normal};

const THRESHOLD: f64 = 0.01;
const CASES: u64 = 400;

/// The verdicts on many cases alike within a budget of blocks.
#[derive(Debug, Default)]
struct Said {
    changed: usize,
    equivalent: usize,
    open: usize,
    /// Cases that ended with an interval, and those that hold the truth.
    intervals: usize,
    hold: usize,
    blocks: usize,
}

/// Cases whose processes differ by `sd`, layouts by `layout_sd`, and revisions by `truth`, all in ln(time).
fn cases(model: Model, sd: f64, layout_sd: f64, truth: f64, budget: usize) -> Said {
    let mut said = Said::default();
    for seed in 0..CASES {
        let mut noise = Noise::new(model, sd, seed);
        let mut random = fastrand::Rng::with_seed(seed + 1_000_000);
        let mut case = Lockstep::new(THRESHOLD);
        while case.state() != State::Decided && case.blocks().len() < budget {
            let layout = case.blocks().len();
            let [of_a, of_b] = [(); 2].map(|()| layout_sd * normal(&mut random));
            let mut times = || (noise.next().ln() + of_a, noise.next().ln() + of_b + truth);
            let (a, b) = times();
            // The second pair begins with B.
            let (b_again, a_again) = (noise.next().ln() + of_b + truth, noise.next().ln() + of_a);
            let times = [[a.exp(), b.exp()], [a_again.exp(), b_again.exp()]];
            case.add(Block { layout, times }, 1);
        }
        let counting = &case.blocks()[case.confirmed_from().unwrap_or(0)..];
        let found = match case.confirmed_from() {
            Some(_) => Compared::confirming(counting),
            None => Compared::new(counting),
        };
        let Some(Compared { ratio, p, .. }) = found else { continue };
        said.blocks += case.blocks().len();
        said.intervals += 1;
        said.hold += usize::from(ratio.low.ln() <= truth && truth <= ratio.high.ln());
        let limit = 1.0 + THRESHOLD;
        let is_away = (ratio.ratio > limit && ratio.low > 1.0)
            || (ratio.ratio < 1.0 / limit && ratio.high < 1.0);
        let confirmed = case.confirmed_from().is_some() && p < CONFIRMED_P;
        if is_away && confirmed {
            said.changed += 1;
        } else if ratio.low >= 1.0 / limit && ratio.high <= limit {
            said.equivalent += 1;
        } else {
            said.open += 1;
        }
    }
    said
}

fn share(count: usize) -> f64 {
    count as f64 / CASES as f64
}

/// Noises that processes have in a turn of a tenth of a second.
const MODELS: [Model; 4] =
    [Model::Independent, Model::Autoregressive(0.5), Model::Outliers, Model::Mixture];
const SD: f64 = 0.01;
const BLOCKS: usize = 60;

#[test]
fn hardly_a_case_is_called_changed_that_is_not() {
    for model in [&MODELS[..], &[Model::Bimodal(0.5)]].concat() {
        for layout_sd in [0.0, 0.02] {
            let said = cases(model, SD, layout_sd, 0.0, BLOCKS);
            assert!(share(said.changed) <= 0.01, "{model:?}, layouts {layout_sd}: {said:?}");
        }
    }
}

#[test]
fn intervals_hold_the_truth() {
    for model in MODELS {
        for layout_sd in [0.0, 0.02] {
            // At the threshold a case may end by either rule, with an interval that ended it: 88 % there.
            for (truth, least) in [(0.0, 0.93), (0.01, 0.87), (0.02, 0.93), (0.05, 0.93)] {
                let said = cases(model, SD, layout_sd, truth, BLOCKS);
                let held = said.hold as f64 / said.intervals as f64;
                assert!(held >= least, "{model:?}, layouts {layout_sd}, {truth}: {said:?}");
            }
        }
    }
}

#[test]
fn changes_are_found() {
    for model in MODELS {
        for (truth, least) in [(0.02, 0.95), (0.05, 0.98), (0.10, 0.98)] {
            let said = cases(model, SD, 0.0, truth, BLOCKS);
            assert!(share(said.changed) >= least, "{model:?}, {truth}: {said:?}");
        }
    }
    for (truth, least) in [(0.02, 0.5), (0.05, 0.98)] {
        let said = cases(Model::Independent, SD, 0.02, truth, BLOCKS);
        assert!(share(said.changed) >= least, "{said:?}");
    }
}

#[test]
fn quiet_cases_end_early() {
    let said = cases(Model::Independent, SD, 0.0, 0.0, BLOCKS);
    assert!(share(said.equivalent) > 0.95 && said.blocks / said.intervals < 20, "{said:?}");
}
