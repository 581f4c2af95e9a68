//! Estimates of time, held against what the suites in `configs` took on two cores.
//!
//! `fixtures/estimates/first.jsonl` has, for each case that was run, its step and the seconds of its stages. Suites
//! of more than some minutes are there with a sample of their cases: `docs/results/amd-epyc-2-cpus/estimates.txt`
//! says which.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use plan::estimate::Estimator;
use plan::{Case, Outcome, Planned, Record, Stop, Wall};
use serde::Deserialize;

/// How far an estimate may be off, once it has learnt.
const FACTOR: f64 = 1.3;

#[derive(Deserialize)]
struct Taken {
    full_id: String,
    step_ns: f64,
    noise: Option<f64>,
    wall: Wall,
}

/// The records of a run, by their cases as `configs` plan them now.
fn records() -> Vec<Record> {
    let text = fs::read_to_string("tests/fixtures/estimates/first.jsonl").expect("readable");
    let cases = planned();
    let record = |line: &str| {
        let taken: Taken = serde_json::from_str(line).expect("a line of the fixture");
        let case =
            cases.get(&taken.full_id).unwrap_or_else(|| panic!("{}: no such case", taken.full_id));
        Record {
            full_id: taken.full_id,
            case: case.clone(),
            outcome: Outcome::Measured,
            planned: Some(Planned {
                step_ns: taken.step_ns,
                noise: taken.noise,
                samples: 20,
                iters: 1,
                target: 0.01,
                limited_by: Stop::Target,
            }),
            wall: Some(taken.wall),
            ..common::made::template()
        }
    };
    text.lines().map(record).collect()
}

/// Every case of every config on a CPU, by its id.
fn planned() -> BTreeMap<String, Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs");
    let folders = ["inference", "training", "fusion", "operators", "kernels", "calibration"];
    let mut files: Vec<PathBuf> = folders.iter().flat_map(|it| configs(&root.join(it))).collect();
    files.extend(configs(&root.join("suites")));
    files.extend(configs(&root.join("suites/tour")));
    files.retain(|file| !file.to_string_lossy().contains("cuda"));
    let plan = plan::load(&files).unwrap_or_else(|errors| panic!("{errors}"));
    plan.cases().map(|case| (case.full_id(), case.clone())).collect()
}

fn configs(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|it| it.expect("an entry").path());
    entries.filter(|path| path.extension().is_some_and(|it| it == "yml")).collect()
}

/// A config, as ids begin.
fn suite(id: &str) -> String {
    id.split('/').take(2).collect::<Vec<_>>().join("/")
}

/// Estimated over real seconds of each suite, and of how many cases.
fn ratios<'r>(
    estimator: &Estimator,
    records: impl IntoIterator<Item = &'r Record>,
) -> BTreeMap<String, (f64, f64, usize)> {
    let mut suites = BTreeMap::new();
    for record in records {
        let wall = record.wall.expect("of the fixture");
        let of_suite: &mut (f64, f64, usize) = suites.entry(suite(&record.full_id)).or_default();
        of_suite.0 += estimator.estimate(&record.case).seconds();
        of_suite.1 += wall.seconds();
        of_suite.2 += 1;
    }
    suites
}

/// Each half of all cases: every second group of siblings.
fn halves(records: &[Record]) -> [Vec<&Record>; 2] {
    let mut groups: BTreeMap<String, Vec<&Record>> = BTreeMap::new();
    for record in records {
        let id = &record.case.id;
        groups.entry(format!("{}/{}", id.group, id.parameter)).or_default().push(record);
    }
    let mut halves = [Vec::new(), Vec::new()];
    for (place, members) in groups.into_values().enumerate() {
        halves[place % 2].extend(members);
    }
    halves
}

#[test]
fn print() {
    let records = records();
    let all: Estimator = records.iter().collect();
    let [odd, even] = halves(&records);
    let of = |half: &[&Record]| half.iter().copied().collect::<Estimator>();
    let (from_odd, from_even) = (of(&odd), of(&even));
    let [by_defaults, same] = [Estimator::default(), all].map(|it| ratios(&it, &records));
    let mut similar = ratios(&from_odd, even);
    for (suite, (estimated, real, count)) in ratios(&from_even, odd) {
        let of_suite = similar.entry(suite).or_default();
        *of_suite = (of_suite.0 + estimated, of_suite.1 + real, of_suite.2 + count);
    }
    for (suite, (estimated, real, count)) in &by_defaults {
        let [like, same] = [&similar, &same].map(|it| it[suite].0 / it[suite].1);
        println!(
            "{suite:36} {count:4} {real:7.1} s  {:5.2} {like:5.2} {same:5.2}",
            estimated / real
        );
    }
    // by stage, of defaults
    let mut stages: BTreeMap<String, [f64; 8]> = BTreeMap::new();
    for record in &records {
        let (w, e) = (record.wall.unwrap(), Estimator::default().estimate(&record.case).wall);
        let s = stages.entry(suite(&record.full_id)).or_default();
        for (at, v) in [
            w.prepare_s,
            e.prepare_s,
            w.sampling_s,
            e.sampling_s,
            w.passes_s,
            e.passes_s,
            w.pairs_s,
            e.pairs_s,
        ]
        .into_iter()
        .enumerate()
        {
            s[at] += v;
        }
    }
    for (suite, s) in stages {
        println!("{suite:36} {}", s.map(|v| format!("{v:7.1}")).join(" "));
    }
}
