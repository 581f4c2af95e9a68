//! Blocks that are off because a GPU waited for its host: those of seven runs on an H100, and simulated ones.

use std::collections::BTreeMap;

use fastrand::Rng;
use statistics::{Processor, builds_ratio, median, sample_variance};

use crate::noise::normal;

/// ln of a speed-up, and of the ends of its interval.
#[derive(Debug, Clone, Copy)]
struct LogInterval {
    ln: f64,
    low: f64,
    high: f64,
}

impl LogInterval {
    fn new(blocks: &[f64], builds: usize, visits: usize, on: Processor) -> Self {
        let found = builds_ratio(blocks, builds, visits, on).expect("whole builds").ratio;
        Self { ln: found.ratio.ln(), low: found.low.ln(), high: found.high.ln() }
    }

    fn holds(&self, ln: f64) -> bool {
        (self.low..=self.high).contains(&ln)
    }
}

/// The runs of each case.
fn replayed() -> BTreeMap<&'static str, Vec<LogInterval>> {
    let mut cases = BTreeMap::<_, Vec<LogInterval>>::new();
    for line in include_str!("h100.csv").lines().filter(|line| !line.starts_with('#')) {
        let [case, _run, builds, visits, blocks] =
            line.split(',').collect::<Vec<_>>().try_into().expect("five columns");
        let blocks: Vec<f64> = blocks.split(' ').map(|it| it.parse().expect("a number")).collect();
        let count = |text: &str| text.parse().expect("a count");
        let found = LogInterval::new(&blocks, count(builds), count(visits), Processor::Gpu);
        cases.entry(case).or_default().push(found);
    }
    cases
}

/// The share of runs whose interval holds the median of the case's other runs.
fn holds(runs: &[LogInterval]) -> f64 {
    let others = |index: usize| {
        let others = runs.iter().enumerate().filter(|(other, _)| *other != index);
        median(&others.map(|(_, run)| run.ln).collect::<Vec<_>>())
    };
    let held = (0..runs.len()).filter(|index| runs[*index].holds(others(*index)));
    held.count() as f64 / runs.len() as f64
}

#[test]
fn intervals_of_an_h100_hold_the_other_runs() {
    let cases = replayed();
    assert_eq!(cases.values().map(Vec::len).sum::<usize>(), 203);
    let shares: Vec<f64> = cases.values().map(|runs| holds(runs)).collect();
    let all = statistics::mean(&shares);
    let worst = shares.iter().copied().fold(1.0, f64::min);
    let apart = |runs: &Vec<LogInterval>| {
        sample_variance(&runs.iter().map(|run| run.ln).collect::<Vec<_>>()).sqrt()
    };
    let apart: Vec<f64> = cases.values().map(apart).collect();
    let most = apart.iter().copied().fold(0.0, f64::max);
    println!("hold {all:.3}, worst {worst:.2}; runs differ by {:.4}, {most:.4}", median(&apart));
    assert!(all >= 0.88 && worst >= 0.6, "{all} {worst}");
    assert!(median(&apart) < 0.012 && most < 0.025, "{apart:?}");
}

/// Blocks of builds that differ, of which a share is off by up to e^±4, and the same blocks without.
fn late(random: &mut Rng, builds: usize, share: f64) -> [Vec<f64>; 2] {
    let (mut with, mut without) = (Vec::new(), Vec::new());
    let run = 0.006 * normal(random);
    for _ in 0..builds {
        let build = run + 0.006 * normal(random);
        for _ in 0..2 {
            let block = build + 0.01 * normal(random);
            without.push(block);
            let off = if random.f64() < share { 8.0 * random.f64() - 4.0 } else { 0.0 };
            with.push(block + off);
        }
    }
    [with, without]
}

#[test]
fn intervals_hold_as_often_with_late_blocks_as_without() {
    const TRIALS: usize = 4000;
    let mut random = Rng::with_seed(41);
    for builds in [3, 6, 12] {
        let mut held = [0_usize; 2];
        for _ in 0..TRIALS {
            for (held, blocks) in held.iter_mut().zip(late(&mut random, builds, 0.04)) {
                let found = LogInterval::new(&blocks, builds, 2, Processor::Gpu);
                *held += usize::from(found.holds(0.0));
            }
        }
        let [with, without] = held.map(|held| held as f64 / TRIALS as f64);
        println!("{builds} builds: {with:.3} with late blocks, {without:.3} without");
        assert!(with >= 0.94 && with >= without - 0.01, "{builds} {with} {without}");
    }
}
