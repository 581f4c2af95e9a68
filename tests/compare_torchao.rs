//! The comparison with torchao (benches/self_test/torchao.rs), apart from its clock: the order of
//! its batches, its table, what it says to the Python process, and what that one answers.

#[path = "../benches/self_test/torchao"]
mod torchao {
    pub mod peer;
    pub mod rounds;
    pub mod table;
    pub mod verdict;
}

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use libtorch::PYTHON;
use plan::{Case, ModelWork, Recipe, Work};
use serde_json::json;
use statistics::{MIN_BLOCKS, Ratio};
use torchao::peer::{Answer, Facts, Patience, Peer, build_request, parse};
use torchao::rounds::{Comparison, Goal, Side, WARM_UP, compare};
use torchao::table::{Outcome, Row, render};
use torchao::verdict::Verdict;

/// A side whose calls take as long as is said, and that writes down its batches.
struct Fake<'a> {
    name: char,
    call: Duration,
    log: &'a RefCell<Vec<(char, u64, u64)>>,
}

impl<'a> Fake<'a> {
    fn new(name: char, call: Duration, log: &'a RefCell<Vec<(char, u64, u64)>>) -> Self {
        Self { name, call, log }
    }
}

impl Side for Fake<'_> {
    fn time(&mut self, lead_in: u64, calls: u64) -> Result<Duration, String> {
        self.log.borrow_mut().push((self.name, lead_in, calls));
        Ok(self.call * u32::try_from(calls).expect("few calls"))
    }
}

const GOAL: Goal = Goal { target: 0.01, budget_s: 60.0 };

#[test]
fn blocks_alternate_and_the_ratio_is_ours_over_theirs() {
    let log = RefCell::default();
    let mut ours = Fake::new('o', Duration::from_millis(3), &log);
    let mut theirs = Fake::new('t', Duration::from_millis(5), &log);
    let found = compare(&mut ours, &mut theirs, GOAL).expect("nothing fails");
    assert!((found.ratio.ratio - 0.6).abs() < 1e-9, "{found:?}");
    assert_eq!((found.ours_ns, found.theirs_ns, found.blocks), (3e6, 5e6, MIN_BLOCKS));

    let log = log.into_inner();
    let blocks = &log[log.len() - 4 * MIN_BLOCKS..];
    let order: String = blocks.iter().map(|(name, ..)| name).collect();
    assert_eq!(order, "ottotoot".repeat(MIN_BLOCKS / 2));
    for &(name, lead_in, calls) in blocks {
        assert_eq!((lead_in, calls), if name == 'o' { (2, 10) } else { (1, 6) });
    }
}

#[test]
fn a_side_is_warmed_up_once_and_its_calls_make_a_batch() {
    for (call, calls) in [
        (Duration::from_nanos(500), 60_000_u64),
        (Duration::from_micros(30), 1000),
        (Duration::from_millis(100), 1),
    ] {
        let log = RefCell::default();
        let (mut ours, mut theirs) = (Fake::new('o', call, &log), Fake::new('t', call, &log));
        compare(&mut ours, &mut theirs, GOAL).expect("nothing fails");
        let ours: Vec<_> = log.borrow().iter().filter(|(name, ..)| *name == 'o').copied().collect();
        let (pilot, batches) = ours.split_at(ours.len() - 2 * MIN_BLOCKS);
        assert_eq!(pilot[0], ('o', WARM_UP, 1));
        assert!(pilot[1..].iter().all(|(_, lead_in, _)| *lead_in == 0), "{pilot:?}");
        assert!(batches.iter().all(|batch| *batch == ('o', calls.div_ceil(8), calls)));
    }
}

#[test]
fn without_time_the_fewest_blocks_are_taken() {
    struct Noisy(u32);
    impl Side for Noisy {
        fn time(&mut self, _: u64, calls: u64) -> Result<Duration, String> {
            self.0 = self.0 * 1_103 % 9_973;
            Ok(Duration::from_micros(u64::from(self.0)) * u32::try_from(calls).expect("few"))
        }
    }
    let goal = Goal { target: 0.0, budget_s: 0.0 };
    let found = compare(&mut Noisy(17), &mut Noisy(4_711), goal).expect("nothing fails");
    assert_eq!(found.blocks, MIN_BLOCKS);
    assert!(found.ratio.low < found.ratio.high);
}

/// Above what is allowed: widely spread for so many batches, then hardly at all.
struct Calming {
    batches: u32,
    wild: u32,
}

impl Side for Calming {
    fn time(&mut self, _: u64, calls: u64) -> Result<Duration, String> {
        const SPREAD: [u64; 7] = [1_300, 900, 1_250, 950, 1_000, 1_200, 1_100];
        let step = self.batches as usize;
        self.batches += 1;
        let nanos = if self.batches > self.wild { 1_090 } else { SPREAD[step % SPREAD.len()] };
        Ok(Duration::from_micros(30 * nanos) * u32::try_from(calls).expect("few"))
    }
}

#[test]
fn what_is_above_and_not_surely_is_sampled_on() {
    let compared = |wild, budget_s| {
        let log = RefCell::default();
        let mut theirs = Fake::new('t', Duration::from_millis(30), &log);
        let goal = Goal { target: 1.0, budget_s };
        compare(&mut Calming { batches: 0, wild }, &mut theirs, goal).expect("nothing fails")
    };
    let hasty = compared(20, 0.0);
    assert_eq!((Verdict::of(&hasty.ratio), hasty.blocks), (Verdict::Undecided, MIN_BLOCKS));
    let patient = compared(20, 60.0);
    assert_eq!(Verdict::of(&patient.ratio), Verdict::Slower, "{patient:?}");
    assert!(patient.blocks > MIN_BLOCKS, "{patient:?}");
    // What is sure at once takes no more.
    assert_eq!(compared(0, 60.0).blocks, MIN_BLOCKS);
}

#[test]
fn a_verdict_is_about_the_ratio_and_its_lower_bound() {
    for (low, ratio, high, verdict) in [
        (0.90, 0.95, 1.00, Verdict::Within),
        (1.00, 1.05, 1.10, Verdict::Within),
        (1.04, 1.20, 1.36, Verdict::Undecided),
        (1.05, 1.06, 1.07, Verdict::Undecided),
        (1.06, 1.07, 1.08, Verdict::Slower),
    ] {
        assert_eq!(Verdict::of(&Ratio { ratio, low, high }), verdict, "{ratio} [{low}, {high}]");
    }
}

#[test]
fn the_error_of_a_side_ends_it() {
    struct Broken;
    impl Side for Broken {
        fn time(&mut self, _: u64, _: u64) -> Result<Duration, String> {
            Err("it broke".to_owned())
        }
    }
    let log = RefCell::default();
    let mut fine = Fake::new('f', Duration::from_millis(1), &log);
    let error = compare(&mut fine, &mut Broken, GOAL).expect_err("one is broken");
    assert_eq!(error, "it broke");
}

fn row(variant: &str, outcome: Outcome) -> Row {
    let heading = "inference/x/linear/cpu, 1 thread, allocator retained".to_owned();
    Row { heading, variant: variant.into(), parameter: "bf16-1x64x64".into(), outcome }
}

fn compared(ours_ns: f64, theirs_ns: f64, half: f64) -> Outcome {
    let ratio = ours_ns / theirs_ns;
    let ratio = Ratio { ratio, low: ratio - half, high: ratio + half };
    Outcome::Compared(Comparison { ours_ns, theirs_ns, ratio, blocks: 8 })
}

#[test]
fn a_table() {
    let no_peer = || Outcome::NotCompared("no peer: ImportError: no such name".into());
    let other_shape = |mut row: Row| {
        row.parameter = "bf16-4x64x64".into();
        row
    };
    let rows = [
        row("baseline", compared(12_345.0, 15_000.0, 0.01)),
        row("int8wo", compared(1_080_000.0, 1_000_000.0, 0.04)),
        row("int8dq", compared(1_080_000.0, 1_000_000.0, 0.02)),
        row("fp6", no_peer()),
        row("uintx-4-64", no_peer()),
        row("int8dq-v2", Outcome::Failed("the Python process ended".into())),
        other_shape(row("int8wo", no_peer())),
        other_shape(row("fp6", no_peer())),
    ];
    assert_eq!(
        render(&rows),
        "
inference/x/linear/cpu, 1 thread, allocator retained
  recipe    shape         ours µs  torchao µs  ratio [95 %]          verdict
  baseline  bf16-1x64x64    12.35       15.00  0.823 [0.813, 0.833]
  int8wo    bf16-1x64x64     1080        1000  1.080 [1.040, 1.120]  above, undecided
  int8dq    bf16-1x64x64     1080        1000  1.080 [1.060, 1.100]  SLOWER
  not compared
    no peer: ImportError: no such name
      fp6, uintx-4-64, int8wo (bf16-4x64x64)
  FAILED
    the Python process ended
      int8dq-v2

1 of 3 at or below 1.05, 1 above it with their whole interval, 1 above it, undecided; \
4 not compared, 1 failed
"
    );
    let line = |row: usize| rows[row].outcome.line();
    assert_eq!(line(0), "12.35 µs, torchao 15.00 µs: 0.823 [0.813, 0.833]");
    assert_eq!(line(1), "1080 µs, torchao 1000 µs: 1.080 [1.040, 1.120] above, undecided");
    assert_eq!(line(3), "no peer: ImportError: no such name");
    assert_eq!(line(5), "FAILED: the Python process ended");
    let failures: Vec<bool> = rows.iter().map(|row| row.outcome.is_failure()).collect();
    assert_eq!(failures, [false, true, true, false, false, true, false, false]);
}

#[test]
fn a_plan_without_a_peer_has_no_table_and_each_heading_its_own() {
    let mut rows = [
        row("fp6", Outcome::NotCompared("no peer".into())),
        row("fp6", compared(1_000.0, 1_000.0, 0.0)),
    ];
    rows[1].heading = "another".into();
    let text = render(&rows);
    let (first, second) = text.split_once("\nanother\n").expect("both headings");
    assert!(!first.contains("recipe") && first.contains("    no peer\n      fp6\n"), "{text}");
    assert!(second.contains("recipe") && !second.contains("no peer"), "{text}");
}

#[test]
fn times_keep_four_digits() {
    for (ns, text) in [
        (850.0, " 0.850 "),
        (1_234.0, " 1.234 "),
        (12_345.0, " 12.35 "),
        (123_456.0, " 123.5 "),
        (12_345_678.0, " 12346 "),
    ] {
        let table = render(&[row("baseline", compared(ns, 2e9, 0.0))]);
        assert!(table.contains(text), "{table}");
    }
}

/// A case of each of these recipes, on a small layer; the baseline is always the first.
fn cases(recipes: &[String], keys: &str) -> Vec<Case> {
    let shapes = "matrix_shapes: [{ name: custom, shapes: [[4, 256, 128]] }]";
    let recipes = recipes.join(", ");
    let text = format!(
        "quantization_config_recipe_names: [{recipes}]\n{keys}\npacked: false\n\
         model_params: {{ {shapes} }}"
    );
    let config = plan::Config::parse(Path::new("peer.yml"), &text).expect("a valid config");
    plan::expand(&[config]).expect("a valid plan").cases().cloned().collect()
}

#[test]
fn a_request_says_all_that_a_case_is() {
    let cases = cases(&["baseline".into(), "int8dq".into()], "sparsity_config_recipe_names: [2:4]");
    let case = cases.last().expect("the sparse one");
    let build = json!({
        "model": "linear",
        "recipe": "int8dq",
        "sparsity": "semi-sparse",
        "dtype": "torch.bfloat16",
        "shape": [4, 256, 128],
        "threads": 1,
    });
    assert_eq!(build_request(case), json!({ "build": build }));
}

#[test]
fn answers_are_read_and_anything_else_is_quoted() {
    assert_eq!(parse(r#"{"built": "Int8Tensor"}"#), Ok(Answer::Built("Int8Tensor".into())));
    let refused = Answer::Unsupported("ImportError: gemlite is required".into());
    assert_eq!(parse(r#"{"unsupported": "ImportError: gemlite is required"}"#), Ok(refused));
    let error = parse::<Answer>("Segmentation fault\n").expect_err("no JSON");
    assert!(error.starts_with("not an answer: ") && error.ends_with(": Segmentation fault"));
    assert!(parse::<Facts>(r#"{"torch": "2.11.0"}"#).is_err());
}

/// The Python that has torchao, where there is one.
fn python() -> Option<OsString> {
    let python = std::env::var_os(PYTHON).filter(|value| !value.is_empty());
    if python.is_none() {
        eprintln!("skipped: {PYTHON} names no Python that has torch and torchao");
    }
    python
}

/// What torchao 0.17 makes of a recipe's weight on a CPU; none where it refuses.
fn weight_type(recipe: &str) -> Option<&'static str> {
    Some(match recipe {
        "baseline" => "Parameter",
        "int8wo" => "AffineQuantizedTensor",
        "int8dq" | "int8dq_prefill_wo_decode" => "LinearActivationQuantizedTensor",
        "int8wo-v2" | "int8dq-v2" => "Int8Tensor",
        "int4wo-32" | "int4wo-64" | "int4wo-128" => "Int4OpaqueTensor",
        "int4wo-32-hqq" | "int4wo-64-hqq" | "int4wo-128-hqq" => "Int4OpaqueTensor",
        "float8wo" => "Float8Tensor",
        "int8_dynamic_activation_intx_weight-4-32-false" => "IntxUnpackedToInt8Tensor",
        _ => return None,
    })
}

#[test]
fn torchao_runs_a_recipe_or_says_why_not() {
    let Some(python) = python() else { return };
    let recipes: Vec<String> = Recipe::examples().map(|recipe| recipe.to_string()).collect();
    let mut peer = Peer::start(&python, &[], Patience::default()).expect("it has torchao");
    let dense = cases(&recipes, "");
    assert_eq!(dense.len(), recipes.len());
    for case in &dense {
        let recipe = work(case).variant.recipe.to_string();
        match (peer.build(case).expect("it lives on"), weight_type(&recipe)) {
            (Answer::Built(found), Some(wanted)) => assert_eq!(found, wanted, "{recipe}"),
            (Answer::Unsupported(reason), None) => {
                println!("{recipe}: {reason}");
                assert!(!reason.is_empty() && !reason.contains("no configuration"), "{recipe}");
            }
            (answer, wanted) => panic!("{recipe}: {answer:?}, wanted {wanted:?}"),
        }
    }
    // On a CPU torchao has no sparse layout at all.
    let sparse = cases(&recipes, "sparsity_config_recipe_names: [semi-sparse, block]");
    let sparse: Vec<&Case> =
        sparse.iter().filter(|case| work(case).variant.sparsity.is_some()).collect();
    assert!(sparse.len() > 2, "{}", sparse.len());
    for case in sparse {
        match peer.build(case).expect("it lives on") {
            Answer::Unsupported(reason) => {
                println!("{}: {reason}", case.id.variant);
                assert!(!reason.is_empty() && !reason.contains("no configuration"), "{reason}");
            }
            other => panic!("{}: {other:?}", case.id),
        }
    }
}

#[test]
fn a_weight_that_torchao_leaves_alone_is_no_peer() {
    let Some(python) = python() else { return };
    let mut peer = Peer::start(&python, &[], Patience::default()).expect("it has torchao");
    let mut case = cases(&["int4wo-64".into()], "").remove(1);
    // It only logs that groups of 64 do not fit.
    work_mut(&mut case).shape.k = 96;
    let Answer::Unsupported(reason) = peer.build(&case).expect("it lives on") else {
        panic!("the weight is a plain one");
    };
    assert!(reason.contains("leaves the weight of `linear1` as it is"), "{reason}");
}

#[test]
fn the_peer_times_the_calls_that_it_is_told_to() {
    let Some(python) = python() else { return };
    let switches: Vec<_> = criterion_torch::native::allocator::switches()
        .iter()
        .map(|&(_, switch, value)| (switch, value))
        .collect();
    let mut peer = Peer::start(&python, &switches, Patience::default()).expect("it has torchao");
    let case = cases(&["int8dq".into()], "").remove(1);
    assert!(matches!(peer.build(&case), Ok(Answer::Built(_))));
    assert!(peer.time(1, 50).expect("it runs") > Duration::ZERO);
}

#[test]
fn a_process_that_ends_is_an_error() {
    let start = |python: &str| Peer::start(python.as_ref(), &[], Patience::default());
    let error = start("true").err().expect("it says nothing");
    assert!(error.starts_with("the Python process ended: exit status: 0"), "{error}");
    let error = start("/nowhere/python").err().expect("it is not there");
    assert!(error.starts_with("cannot run /nowhere/python"), "{error}");
}

#[test]
fn what_breaks_is_no_missing_peer() {
    let Some(python) = python() else { return };
    let mut peer = Peer::start(&python, &[], Patience::default()).expect("it has torchao");
    let mut case = cases(&["int8wo".into()], "").remove(1);
    // 2^51 bytes: more than a process can address.
    work_mut(&mut case).shape = plan::Shape::new(1, 1 << 20, 1 << 30);
    let Answer::Failed(error) = peer.build(&case).expect("it lives on") else {
        panic!("there is no memory for it");
    };
    assert!(error.contains("can't allocate memory"), "{error}");
}

#[test]
fn a_process_that_hangs_is_an_error() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let program = folder.path().join("hangs");
    std::fs::write(&program, "#!/bin/sh\nexec sleep 1000\n").expect("write it");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, mode).expect("make it a program");
    let patience = Patience { build: Duration::from_millis(50), ..Patience::default() };
    let error = Peer::start(program.as_ref(), &[], patience).err().expect("it never answers");
    assert_eq!(error, "the Python process hangs: no answer within 0.05 s");
}

fn work(case: &Case) -> &ModelWork {
    case.work.model().expect("a case of a model")
}

fn work_mut(case: &mut Case) -> &mut ModelWork {
    match &mut case.work {
        Work::Model(work) => work,
        other => panic!("no case of a model: {other:?}"),
    }
}
