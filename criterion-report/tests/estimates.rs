//! Compares estimates of time with the measured times of the suites in `configs` on two cores.
//!
//! `fixtures/estimates` has, for each case that was run, its step and the seconds of its stages: `records` on a busy
//! machine, `first` and `second` one after the other on a quiet one. Suites of more than some minutes are there with a
//! sample of their cases: `docs/book/src/method/estimates.txt` says which.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::common;
use plan::estimate::{Basis, Estimator};
use plan::{Case, Device, Outcome, Planned, Record, Stop, WallTimes};
use serde::Deserialize;

/// How far an estimate may be off, once it has learnt.
const FACTOR: f64 = 1.3;

#[derive(Deserialize)]
struct Taken {
    full_id: String,
    step_ns: f64,
    noise: Option<f64>,
    wall: WallTimes,
}

/// The records of the busy machine, by their cases as `configs` plan them now.
fn records() -> Vec<Record> {
    records_of("records")
}

fn records_of(run: &str) -> Vec<Record> {
    let file = format!("tests/fixtures/estimates/{run}.jsonl");
    let text = fs::read_to_string(file).expect("readable");
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
    files.extend(configs(&root.join("suites/tour/cpu")));
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

/// The estimated and the measured seconds of each suite.
type Suites = BTreeMap<String, (f64, f64)>;

fn suites<'r>(estimator: &Estimator, records: impl IntoIterator<Item = &'r Record>) -> Suites {
    let mut suites = Suites::new();
    for record in records {
        let taken = record.wall.expect("of the fixture").seconds();
        let of_suite = suites.entry(suite(&record.full_id)).or_default();
        of_suite.0 += estimator.estimate(&record.case).seconds();
        of_suite.1 += taken;
    }
    suites
}

/// The suites whose estimate is off by more than a factor.
fn suites_off(suites: &Suites, factor: f64) -> Vec<String> {
    let off = suites
        .iter()
        .filter(|(_, (estimated, taken))| !(1.0 / factor..=factor).contains(&(estimated / taken)));
    off.map(|(suite, (estimated, taken))| format!("{suite}: {estimated:.1} s, took {taken:.1} s"))
        .collect()
}

/// Seconds of each suite, estimated for every case from all cases except its siblings, so that no estimate knows the
/// case or its siblings.
fn of_unknown_cases(records: &[Record]) -> Suites {
    let key = |record: &Record| format!("{}/{}", record.case.id.group, record.case.id.parameter);
    let mut all = Suites::new();
    let groups: BTreeSet<String> = records.iter().map(key).collect();
    for group in &groups {
        let (unknown, known): (Vec<&Record>, Vec<_>) =
            records.iter().partition(|it| key(it) == *group);
        let learnt: Estimator = known.into_iter().collect();
        for record in &unknown {
            assert_eq!(learnt.estimate(&record.case).basis, Basis::SimilarCases);
        }
        for (suite, (estimated, taken)) in suites(&learnt, unknown) {
            let of_suite = all.entry(suite).or_default();
            *of_suite = (of_suite.0 + estimated, of_suite.1 + taken);
        }
    }
    all
}

#[test]
fn the_fixture_has_two_runs_of_every_suite() {
    let cases = planned();
    let on_cpu = cases.iter().filter(|(_, case)| case.device == Device::Cpu);
    let all: BTreeSet<String> = on_cpu.map(|(id, _)| suite(id)).collect();
    for run in ["first", "second"] {
        let run: BTreeSet<String> = records_of(run).iter().map(|it| suite(&it.full_id)).collect();
        assert_eq!(run, all);
    }
}

/// Whether the estimate of a second run holds is tested below, with two runs.
#[test]
fn a_case_that_was_run_is_estimated_by_its_own_record() {
    let records = records();
    let learnt: Estimator = records.iter().collect();
    for record in &records {
        let (id, estimate) = (&record.full_id, learnt.estimate(&record.case));
        assert_eq!(estimate.basis, Basis::SameCase, "{id}");
        assert_eq!(estimate.wall, record.wall.expect("of the fixture"), "{id}");
    }
}

/// How long a case is sampled depends on its noise, which differs from run to run: a few suites of seconds take a little
/// more or less than [`FACTOR`] says.
#[test]
fn a_second_run_takes_what_the_first_lets_one_expect() {
    let learnt: Estimator = records_of("first").iter().collect();
    let suites = suites(&learnt, &records_of("second"));
    assert!(suites_off(&suites, FACTOR).len() <= 3, "{:?}", suites_off(&suites, FACTOR));
    assert_eq!(suites_off(&suites, 1.35), Vec::<String>::new());
    let total = suites.values().fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    assert_eq!(
        suites_off(&BTreeMap::from([("all".to_owned(), total)]), 1.05),
        Vec::<String>::new()
    );
}

/// The tests above can fail: a wrong estimate is found.
#[test]
fn an_estimate_that_is_off_is_found() {
    let mut slower = records();
    for wall in slower.iter_mut().filter_map(|record| record.wall.as_mut()) {
        wall.sampling_s *= 3.0;
    }
    let suites = suites(&slower.iter().collect(), &records());
    assert!(suites_off(&suites, FACTOR).len() > suites.len() / 2, "{suites:?}");
}

/// Estimates for shapes that were never run, in suites where other shapes were. Other programs used up to nine tenths
/// of the processors while the last of these suites ran, so one suite predicts another poorly.
#[test]
fn similar_cases_tell_what_others_will_take() {
    let all = of_unknown_cases(&records());
    let total = all.values().fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    assert_eq!(
        suites_off(&BTreeMap::from([("all".to_owned(), total)]), FACTOR),
        Vec::<String>::new()
    );
    assert_eq!(suites_off(&all, 2.5), Vec::<String>::new());
}

#[test]
fn calibration_and_defaults_say_what_they_are() {
    let records = records();
    let is_probe = |record: &&Record| record.case.work.probe().is_some();
    let mut probes: Vec<Record> = records.iter().filter(is_probe).cloned().collect();
    // Runs with special options tell how fast the machine is, but not how long a case takes.
    probes.iter_mut().filter_map(|it| it.wall.as_mut()).for_each(|it| it.as_configured = false);
    let (calibrated, ignorant): (Estimator, _) = (probes.iter().collect(), Estimator::default());
    let case = &records.iter().find(|it| it.case.work.operator().is_some()).expect("one").case;
    assert_eq!(ignorant.estimate(case).basis, Basis::Defaults);
    assert_ne!(calibrated.estimate(case).seconds(), ignorant.estimate(case).seconds());
}

#[test]
fn options_and_refusals_are_learnt_as_what_they_are() {
    let mut records = records();
    let (mut other, refused) = (records.remove(0), records.remove(0));
    let learnt = |record: &Record| Estimator::from_iter([record]);
    let before = learnt(&other).estimate(&other.case);
    other.wall.as_mut().expect("of the fixture").as_configured = false;
    let after = learnt(&other).estimate(&other.case);
    assert_ne!(before.seconds(), after.seconds(), "the step alone is known");
    let reason = "no CUDA device".to_owned();
    let refused = Record { outcome: Outcome::Skipped { reason }, ..refused };
    assert_eq!(learnt(&refused).estimate(&refused.case).seconds(), 0.0);
}

/// `ESTIMATES=1 cargo test --test report -- --nocapture estimates::table` prints `docs/book/src/method/estimates.txt`.
#[test]
fn table() {
    let records = records();
    let ignorant = suites(&Estimator::default(), &records);
    let alike = of_unknown_cases(&records);
    let learnt: Estimator = records.iter().collect();
    assert!(ignorant.keys().eq(alike.keys()));
    if std::env::var_os("ESTIMATES").is_none() {
        return;
    }
    let cases = planned();
    println!(
        "suite                            cases   run      took  defaults  similar  whole suite"
    );
    for (suite, (estimated, taken)) in &ignorant {
        let of_suite = |id: &str| self::suite(id) == *suite;
        let all = cases.iter().filter(|(id, _)| of_suite(id));
        let whole: f64 = all.clone().map(|(_, case)| learnt.estimate(case).seconds()).sum();
        let run = records.iter().filter(|it| of_suite(&it.full_id)).count();
        let (like, took) = alike[suite];
        println!(
            "{suite:31}  {:5} {run:5}  {taken:6.0} s  {:8.2}  {:7.2}  {whole:9.0} s",
            all.count(),
            estimated / taken,
            like / took,
        );
    }
    let (first, second) = (records_of("first"), records_of("second"));
    println!("\nsuite                            cases   run    second  expected  ratio");
    for (suite, (expected, taken)) in suites(&first.iter().collect(), &second) {
        let of_suite = |id: &str| self::suite(id) == suite;
        let all = cases.keys().filter(|id| of_suite(id)).count();
        let run = second.iter().filter(|it| of_suite(&it.full_id)).count();
        let ratio = expected / taken;
        println!("{suite:31}  {all:5} {run:5}  {taken:6.0} s  {expected:6.0} s  {ratio:5.2}");
    }
}
