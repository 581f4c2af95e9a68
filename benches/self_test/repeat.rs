//! Whether an interval says where another run finds the speed-up: the default suite, run after run.

use std::collections::BTreeMap;
use std::process::ExitCode;

use criterion_torch::harness;
use criterion_torch::refusal::Refusal;
use criterion_torch::workload::prepare;
use plan::{Pair, Record};
use statistics::median;

use crate::check::{Check, Finding};
use crate::child;

pub const CHECK: Check = Check {
    name: "repeat",
    what: "eight runs of the default suite: does each interval hold the median of the other runs?",
    device: plan::Device::Cpu,
    run,
};

/// One of the runs, in a process of its own.
pub const RUN: &str = "repeat-run";

const RUNS: usize = 8;
/// The filter of the repeated cases.
const CASES: &str = "inference/default/[^/]*/cpu/[^/]*/bf16-";
/// Share of intervals that hold the median of the other runs. Exact intervals of 95 % would reach
/// 92 %, because that median has an error of its own.
const ALL: f64 = 0.88;
/// Smallest share for any single case.
const EACH: f64 = 0.6;

#[allow(dead_code, reason = "the suite has neither kernels nor recipes nor models of its own")]
mod suite {
    use criterion_torch::harness::{Criterion, GroupFn, Session};
    use criterion_torch::workload::generated;

    include!(concat!(env!("OUT_DIR"), "/inference.rs"));

    pub const FUNCTIONS: &[GroupFn] = GROUPS;
    pub const PLAN: &str = include_str!(concat!(env!("OUT_DIR"), "/inference.json"));
}

/// The default suite, as `cargo bench --bench inference` runs it.
pub fn one_run() -> ExitCode {
    harness::main("inference", suite::PLAN, suite::FUNCTIONS, prepare)
}

/// The pairs of a case, a run after the other.
type Cases = BTreeMap<String, Vec<Pair>>;

fn run() -> Result<Vec<Finding>, Refusal> {
    let mut cases = Cases::new();
    let mut seconds = Vec::new();
    for number in 1..=RUNS {
        let home = child::home()?;
        let ended = child::start(RUN, home.path(), &["--bench", CASES])?;
        seconds.push(ended.wall.as_secs_f64());
        eprintln!("  run {number} of {RUNS}: {:.0} s", ended.wall.as_secs_f64());
        for record in child::records(home.path())? {
            add(&mut cases, record);
        }
    }
    println!("  {:62} speed-up   σ runs   ±interval   holds", "case");
    let tallies: Vec<Tally> = cases.iter().map(|(id, pairs)| Tally::new(id, pairs)).collect();
    tallies.iter().for_each(Tally::print);
    Ok(vec![all(&tallies), each(&tallies), complete(&cases), time(&seconds)])
}

fn add(cases: &mut Cases, record: Record) {
    if record.case.role == plan::Role::Candidate {
        if let Some(reason) = &record.no_pair {
            eprintln!("  {}: no speed-up: {reason}", record.full_id);
        }
        cases.entry(record.full_id).or_default().extend(record.pairs);
    }
}

/// One case over all runs.
struct Tally {
    id: String,
    runs: usize,
    /// Runs whose interval holds the median of the others.
    holds: usize,
    median: f64,
    /// Standard deviation of ln(speed-up) between runs.
    sigma: f64,
    half_width: f64,
}

impl Tally {
    fn new(id: &str, pairs: &[Pair]) -> Self {
        let ratios: Vec<f64> = pairs.iter().map(|pair| pair.speedup).collect();
        let holds = |(index, pair): &(usize, &Pair)| {
            let mut others = ratios.clone();
            others.remove(*index);
            (pair.low..=pair.high).contains(&median(&others))
        };
        let logarithms: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
        let half = |pair: &Pair| (pair.high - pair.low) / 2.0 / pair.speedup;
        Self {
            id: id.to_owned(),
            runs: pairs.len(),
            holds: if pairs.len() > 1 { pairs.iter().enumerate().filter(holds).count() } else { 0 },
            median: median(&ratios),
            sigma: statistics::sample_variance(&logarithms).sqrt(),
            half_width: median(&pairs.iter().map(half).collect::<Vec<_>>()),
        }
    }

    fn share(&self) -> f64 {
        self.holds as f64 / self.runs as f64
    }

    fn print(&self) {
        let Self { id, runs, holds, median, sigma, half_width } = self;
        let (sigma, half_width) = (100.0 * sigma, 100.0 * half_width);
        println!("  {id:62} {median:7.3}× {sigma:6.1} % {half_width:9.1} %   {holds} of {runs}");
    }
}

fn all(tallies: &[Tally]) -> Finding {
    let holds: usize = tallies.iter().map(|tally| tally.holds).sum();
    let runs: usize = tallies.iter().map(|tally| tally.runs).sum();
    let share = holds as f64 / runs as f64;
    Finding::new(
        "intervals that hold the median of the other runs",
        format!("{holds} of {runs}: {:.1} %", 100.0 * share),
        format!("at least {:.0} %, and 92 % of exact ones", 100.0 * ALL),
        share >= ALL,
    )
}

fn each(tallies: &[Tally]) -> Finding {
    let worst = tallies.iter().min_by(|a, b| a.share().total_cmp(&b.share()));
    let share = worst.map_or(0.0, Tally::share);
    let said =
        worst.map_or_else(|| "none".to_owned(), |it| format!("{:.0} %: {}", 100.0 * share, it.id));
    Finding::new(
        "the same of the worst case",
        said,
        format!("at least {:.0} %", 100.0 * EACH),
        share >= EACH,
    )
}

fn complete(cases: &Cases) -> Finding {
    let found: usize = cases.values().map(Vec::len).sum();
    let owed = cases.len() * RUNS;
    Finding::new(
        "speed-ups",
        format!("{found} of {owed}, {} cases in {RUNS} runs", cases.len()),
        "all; a side that does not get back to its own pace has a reason instead",
        owed > 0 && found * 20 >= owed * 19,
    )
}

fn time(seconds: &[f64]) -> Finding {
    let measured = format!("{:.0} s in the median", median(seconds));
    Finding::new("wall time of a run", measured, "whatever it is", true)
}
