//! Runs of many cases with the noise of real machines, made here from fixed seeds.

use std::f64::consts::TAU;

use criterion_report::compare::{Point, Side, SideRun};

use super::sides::of_samples;

/// The machine of all cases.
pub const HOST: &str = "simulated, 2 CPUs, 8 GiB";
/// Samples of a run.
const SAMPLES: usize = 30;

/// SplitMix64 (Steele, Lea and Flood, 2014).
pub struct Random(pub u64);

impl Random {
    /// Uniform from 0 on and below 1.
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Standard normal (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.uniform()).ln()).sqrt() * (TAU * self.uniform()).cos()
    }
}

/// How one case behaves.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// Median of a step, in nanoseconds.
    pub ns: f64,
    /// Standard deviation of ln(time) between runs.
    pub between: f64,
    /// Standard deviation of ln(time) between samples of a run.
    pub within: f64,
    /// A further property of the samples.
    pub kind: Kind,
    /// Share of runs that others disturb all the while: they take 15 % longer.
    pub disturbed: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Nothing.
    Steady,
    /// A third of the samples takes 4 % longer.
    Bimodal,
    /// Samples get slower by 2 % in the course of a run.
    Drifting,
}

/// Fifty cases: between runs 1 % for 32 of them, 1.5 % for fifteen, 2 % for three; every seventh is
/// bimodal, every ninth drifts.
pub fn cases() -> Vec<Case> {
    (0..50)
        .map(|place: u32| Case {
            ns: 1e4 * f64::from(place + 1),
            between: match place {
                9 | 29 | 49 => 0.020,
                _ if [1, 4, 7].contains(&(place % 10)) => 0.015,
                _ => 0.010,
            },
            within: 0.02,
            kind: match place {
                _ if place % 7 == 3 => Kind::Bimodal,
                _ if place % 9 == 5 => Kind::Drifting,
                _ => Kind::Steady,
            },
            disturbed: 0.0,
        })
        .collect()
}

/// The id of a case.
pub fn id(place: usize) -> String {
    format!("simulated/default/case{place}/cpu/kernel/f32-{place}")
}

/// `runs` runs of all cases; `slower` gives each one's factor.
pub fn side(
    name: &str,
    runs: usize,
    cases: &[Case],
    slower: impl Fn(usize) -> f64,
    random: &mut Random,
) -> Side {
    let runs = (1..=runs).map(|run| {
        let points = cases.iter().enumerate();
        let points = points.map(|(place, case)| point(place, case, slower(place), random));
        SideRun::new(&format!("{name}@{run}"), points.collect())
    });
    Side { name: name.to_owned(), runs: runs.collect() }
}

fn point(place: usize, case: &Case, slower: f64, random: &mut Random) -> Point {
    let disturbed = case.disturbed > 0.0 && random.uniform() < case.disturbed;
    let others = if disturbed { 1.15_f64.ln() } else { 0.0 };
    let shift = case.between * random.normal() + others;
    let sample = |index: usize, random: &mut Random| {
        let of_kind = match case.kind {
            Kind::Steady => 0.0,
            Kind::Bimodal => f64::from(random.uniform() < 1.0 / 3.0) * 0.04,
            Kind::Drifting => 0.02 * index as f64 / SAMPLES as f64,
        };
        case.ns * slower * (shift + of_kind + case.within * random.normal()).exp()
    };
    let samples: Vec<f64> = (0..SAMPLES).map(|index| sample(index, random)).collect();
    Point {
        full_id: id(place),
        host: Some(HOST.to_owned()),
        status: Point::MEASURED.to_owned(),
        revision: Some("1f0c2ab34d56".to_owned()),
        time: Some(of_samples(&samples)),
        ..Point::default()
    }
}
