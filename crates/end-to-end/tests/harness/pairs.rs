//! A candidate is paired with its baseline, whether or not the filter selects that one, and where
//! it cannot be, the record says why.

use std::cell::Cell;
use std::fs;

use criterion_torch::refusal::Refusal;
use criterion_torch::workload::{Displaced, Workload};
use plan::budget::SHARED;
use plan::{Accuracy, Case, Outcome, Record, Role, Stop};
use tch::{Device, Kind, Tensor};

use crate::program::{self, Suite, rows_of};

pub const SUITE: Suite = Suite { target: "inference", configs: &[("pairs.yml", CONFIG)], prepare };

const CPU: (Kind, Device) = (Kind::Float, Device::Cpu);

/// The purpose of a group, chosen by the number of its rows.
const FINE: u64 = 1;
const BASELINE_FAILS: u64 = 2;
const NO_ROOM_FOR_BOTH: u64 = 3;
const FAILS_BESIDE_ITS_BASELINE: u64 = 4;
const FAILS_WHEN_LOOKED_AT_AGAIN: u64 = 5;
const DIES_WHEN_LOOKED_AT_AGAIN: u64 = 6;

struct Work {
    role: Role,
    rows: u64,
    input: Tensor,
    steps: Cell<u64>,
    rebuilt: Cell<u64>,
}

impl Workload for Work {
    fn step(&self) -> Result<Tensor, Refusal> {
        self.steps.set(self.steps.get() + 1);
        if self.rows == BASELINE_FAILS && self.role == Role::Baseline {
            return Err(Refusal::Failed("the baseline fails".to_owned()));
        }
        // Two steps prepare it; where the filter leaves it out, the third is in a pair.
        if self.rows == FAILS_BESIDE_ITS_BASELINE
            && self.role == Role::Baseline
            && self.steps.get() > 2
        {
            return Err(Refusal::Failed("thrown inside a pair".to_owned()));
        }
        Ok(self.input.f_mm(&self.input)?)
    }

    fn check(&self) -> Result<Accuracy, Refusal> {
        Ok(program::exact())
    }

    /// The first look has two builds, so the second time is that of a later one.
    fn rebuild(&self) -> Result<Option<Displaced>, Refusal> {
        self.rebuilt.set(self.rebuilt.get() + 1);
        match (self.role, self.rows, self.rebuilt.get()) {
            (Role::Candidate, FAILS_WHEN_LOOKED_AT_AGAIN, 2..) => {
                Err(Refusal::Failed("thrown in a later look".to_owned()))
            }
            (Role::Candidate, DIES_WHEN_LOOKED_AT_AGAIN, 2..) => std::process::abort(),
            _ => Ok(None),
        }
    }

    fn weights_bytes(&self) -> u64 {
        0
    }

    fn inputs_bytes(&self) -> u64 {
        0
    }

    fn kernels(&self) -> Vec<String> {
        vec!["aten::mm".to_owned()]
    }
}

fn prepare(case: &Case) -> Result<Box<dyn Workload>, Refusal> {
    let (role, rows) = (case.role, rows_of(case));
    // Twice: other pairs give way first, then the baseline.
    let tries = program::note(case);
    let large = case.id.variant == "int8wo";
    if rows == NO_ROOM_FOR_BOTH && large && tries < 2 {
        return Err(Refusal::Oom("no room beside the baseline".to_owned()));
    }
    let input = Tensor::ones([16, 16], CPU);
    Ok(Box::new(Work { role, rows, input, steps: Cell::new(0), rebuilt: Cell::new(0) }))
}

const CONFIG: &str = "
quantization_config_recipe_names: [int8wo, int8dq]
sampling: { samples: 60, target: 0.5, measurement_s: 10 }
energy: false
packed: false
latency: { calls: 60 }
model_params:
  matrix_shapes:
    - name: custom
      shapes: [[1, 1, 1], [2, 1, 1], [3, 1, 1], [4, 1, 1], [5, 1, 1], [6, 1, 1]]
";

/// Its records, and the ids that were prepared.
fn bench(arguments: &[&str]) -> (Vec<Record>, Vec<String>) {
    let run = SUITE.run(arguments);
    (run.records(&SUITE), run.prepared())
}

fn id(variant: &str, rows: u64) -> String {
    format!("inference/pairs/linear/cpu/{variant}/bf16-{rows}x1x1")
}

fn find<'a>(records: &'a [Record], id: &str) -> &'a Record {
    records.iter().find(|record| record.full_id == id).unwrap_or_else(|| panic!("no {id}"))
}

pub fn a_candidate_is_paired_with_its_baseline() {
    let (records, prepared) = bench(&[&format!("bf16-{FINE}x")]);
    let (baseline, candidate) = (id("baseline", FINE), id("int8wo", FINE));
    let all = [baseline.clone(), candidate.clone(), id("int8dq", FINE)];
    assert_eq!(prepared, all, "each is prepared once");
    let record = find(&records, &candidate);
    let [pair] = &record.pairs[..] else { panic!("{:?}", record.pairs) };
    assert_eq!(pair.against, baseline);
    assert!(pair.builds >= 2, "{pair:?}");
    assert!(pair.low <= pair.speedup && pair.speedup <= pair.high, "{pair:?}");
    let [builds, visits] = [pair.builds, pair.visits].map(|it| usize::try_from(it).expect("a few"));
    let again =
        statistics::builds_ratio(&pair.log_ratios, builds, visits, statistics::Processor::Cpu)
            .expect("whole builds")
            .ratio;
    let all = [(again.ratio, pair.speedup), (again.low, pair.low), (again.high, pair.high)];
    assert!(
        all.iter().all(|(a, b)| (a / b - 1.0).abs() < 1e-9),
        "the blocks are all there: {all:?}"
    );
    assert_eq!(record.no_pair, None);
    let record = find(&records, &baseline);
    assert!(record.pairs.is_empty() && record.no_pair.is_none(), "nothing to be paired with");
    for record in &records {
        let measures = &record.measures;
        assert_eq!(measures.latency.map(|latency| latency.calls), Some(60));
        let latency = measures.latency.expect("just seen");
        assert!(latency.p90_ns.is_some() && latency.p99_ns.is_none(), "{latency:?}");
        assert!(measures.first_call_ns.is_some() && measures.memory.is_some());
        assert!(measures.counters.is_some_and(|counters| counters.iters > 0));
        assert!(measures.energy.is_none() && measures.absent.contains_key("energy"));
        assert!(measures.utilization.is_none());
        assert_eq!(measures.absent["utilization"], measures.absent["energy"], "one window");
        assert!(measures.clocks.is_none() && measures.absent.contains_key("clocks"));
        assert!(record.environment.quiet.is_some());
        assert_eq!(record.planned.map(|planned| planned.samples), Some(60));
    }
}

pub fn a_candidate_alone_is_paired_too() {
    let (records, prepared) = bench(&["--exact", &id("int8wo", FINE)]);
    assert_eq!(prepared, [id("int8wo", FINE), id("baseline", FINE)]);
    let [record] = &records[..] else { panic!("only what is selected is recorded") };
    assert_eq!(record.pairs.len(), 1, "{:?}", record.no_pair);
    let (_, prepared) = bench(&["--exact", &id("baseline", FINE)]);
    assert_eq!(prepared, [id("baseline", FINE)], "a baseline needs no candidate");
}

pub fn a_candidate_without_a_pair_says_why() {
    let (records, prepared) = bench(&["bf16-[1-4]x"]);
    for (rows, reason) in
        [(BASELINE_FAILS, "its baseline is failed"), (NO_ROOM_FOR_BOTH, "memory is too small")]
    {
        let record = find(&records, &id("int8wo", rows));
        assert_eq!(record.outcome, Outcome::Measured, "{rows}: its own time is good");
        assert!(record.pairs.is_empty());
        let said = record.no_pair.as_deref().unwrap_or_default();
        assert!(said.contains(reason), "{rows}: {said}");
    }
    let smaller = find(&records, &id("int8dq", NO_ROOM_FOR_BOTH));
    assert_eq!(smaller.pairs.len(), 1, "there is room for a smaller one: {:?}", smaller.no_pair);
    let tries = prepared.iter().filter(|it| **it == id("int8wo", NO_ROOM_FOR_BOTH)).count();
    assert_eq!(tries, 3, "prepared again once other pairs are gone, then once the baseline is");
    let (records, _) = bench(&["--exact", &id("int8wo", FAILS_BESIDE_ITS_BASELINE)]);
    let record = find(&records, &id("int8wo", FAILS_BESIDE_ITS_BASELINE));
    assert_eq!(record.outcome, Outcome::Measured);
    assert_eq!(
        record.no_pair.as_deref(),
        Some("its baseline, in turn with it: failed: thrown inside a pair")
    );
}

pub fn a_pair_is_looked_at_again() {
    let (records, prepared) = bench(&["bf16-[15]x"]);
    for variant in ["int8wo", "int8dq"] {
        let record = find(&records, &id(variant, FINE));
        let [pair] = &record.pairs[..] else { panic!("{record:?}") };
        // The first look has two. How many more it takes is up to the machine.
        assert!(pair.builds > 2, "{pair:?}");
        let record = find(&records, &id(variant, FAILS_WHEN_LOOKED_AT_AGAIN));
        assert!(record.outcome == Outcome::Measured && record.pairs.is_empty(), "{record:?}");
        let said = record.no_pair.as_deref().unwrap_or_default();
        assert!(said.ends_with("thrown in a later look"), "{said}");
    }
    assert_eq!(
        (records.len(), prepared.len()),
        (6, 6),
        "no case is measured or built a second time"
    );
}

pub fn a_pair_keeps_its_first_look_if_a_later_one_dies() {
    let (records, _) = bench(&[&format!("bf16-{DIES_WHEN_LOOKED_AT_AGAIN}x")]);
    assert_eq!(records.len(), 3, "every case was measured before");
    for record in records.iter().filter(|record| record.case.role == Role::Candidate) {
        let [pair] = &record.pairs[..] else { panic!("{record:?}") };
        assert_eq!((pair.builds, pair.visits), (2, 1));
    }
}

pub fn a_test_pairs_nothing() {
    let (records, prepared) = bench(&["--test", "--exact", &id("int8wo", FINE)]);
    assert!(records.is_empty());
    assert_eq!(prepared, [id("int8wo", FINE)]);
}

pub fn a_budget_gives_looks_until_all_is_decided() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let (filter, shared) = (format!("bf16-{FINE}x"), home.path().join("budget"));
    // As `cargo torch-bench` does where several targets share a budget: they list their cases first.
    let mut listing = SUITE.command(home.path(), &["--list", &filter]);
    assert!(listing.env(SHARED, &shared).output().expect("it starts").status.success());
    let told = fs::read_to_string(&shared).expect("readable");
    assert!(told.contains(r#"{"need":{"target":"inference","cases":3,"least_s":"#), "{told}");
    let mut command = SUITE.command(home.path(), &["--budget", "5min", &filter]);
    command.env(SHARED, &shared);
    let run = SUITE.run_in(home, command);
    assert_eq!(run.status, Some(0), "{}", run.said);
    let told = fs::read_to_string(run.home.path().join("budget")).expect("readable");
    assert!(told.contains(r#"{"spent":{"target":"inference","seconds":"#), "{told}");
    let records = run.records(&SUITE);
    for variant in ["int8wo", "int8dq"] {
        let record = find(&records, &id(variant, FINE));
        let [pair] = &record.pairs[..] else { panic!("{record:?}") };
        assert!(pair.builds > 2, "the first look has two: {pair:?}");
        let wall = record.wall.expect("it was measured");
        assert!(!wall.as_configured && wall.pairs_s >= pair.seconds, "{wall:?}");
    }
    assert!(
        run.said.contains(" min left] "),
        "the time that is left is the budget's: {}",
        run.said
    );
    let is_reached = |record: &Record| record.pairs.iter().all(|it| it.stopped == Stop::Target);
    let said = match records.iter().all(is_reached) {
        true => "every speed-up is decided",
        // On a very busy machine the interval may stay wide after all looks.
        false => "undecided (`--budget`):",
    };
    assert!(run.said.contains(said), "{}", run.said);
    assert_eq!(run.prepared().len(), 3, "what fits into memory is built once");
}

pub fn a_budget_below_the_least_measures_nothing() {
    let run = SUITE.run(&["--budget", "1s"]);
    assert_eq!((run.status, run.prepared().len()), (Some(2), 0), "{}", run.said);
    let said = "--budget 1s: to check and sample 18 cases once takes about ";
    assert!(run.said.contains(said) && run.said.contains("; give --budget "), "{}", run.said);
}
