//! A sweep as large as anyone runs, made here: ten variants at a thousand shapes.

use std::fs;

use criterion_report::model::{
    Benchmark, CaseFiles, ConfidenceInterval, CriterionResult, Estimate, Estimates, Samples,
};
use criterion_report::read::Inputs;
use plan::{Case, JsonFloat, LastSample, ModelWork, Outcome, Record, Role, Shape, Variant, Work};

use super::pair_of;

/// The recipes, the baseline first.
pub const RECIPES: [&str; 10] = [
    "baseline",
    "int8wo",
    "int8dq",
    "float8wo",
    "float8dq-tensor",
    "float8dq-row",
    "int4wo-32",
    "int4wo-64",
    "int4wo-128",
    "fp6",
];
/// One case in so many failed.
pub const FAILED_EVERY: usize = 97;
const GROUP: &str = "inference/sweep/linear/cpu";

/// Results of ten thousand cases.
pub fn ten_thousand() -> Inputs {
    let template = "tests/fixtures/two-siblings/criterion-torch/new/inference.jsonl";
    let lines = fs::read_to_string(template).expect("readable");
    let template: Record =
        serde_json::from_str(lines.lines().next().expect("a line")).expect("a record");
    let sizes: Vec<u64> = (1..=10).map(|i| i * 64).collect();
    let mut inputs = Inputs::default();
    for &m in &sizes {
        for &k in &sizes {
            for &n in &sizes {
                for recipe in 0..RECIPES.len() {
                    add(&mut inputs, &template, Shape { m, k, n }, recipe);
                }
            }
        }
    }
    assert_eq!(inputs.cases.len(), 10_000);
    inputs
}

fn add(inputs: &mut Inputs, template: &Record, shape: Shape, recipe: usize) {
    let number = inputs.cases.len();
    let id = |variant: &str| plan::case_id(GROUP, variant, &format!("bf16-{shape}"));
    let is_baseline = recipe == 0;
    let variant =
        Variant { recipe: RECIPES[recipe].parse().expect("a recipe"), ..Variant::BASELINE };
    let Work::Model(ModelWork { model, .. }) = template.case.work else { panic!("a model") };
    let case = Case {
        id: id(RECIPES[recipe]),
        config: "sweep".to_owned(),
        role: if is_baseline { Role::Baseline } else { Role::Candidate },
        work: Work::Model(ModelWork { model, variant, shape, pass: None }),
        ..template.case.clone()
    };
    // From 0.6 to 2.4, smoothly over the shapes and differently for each recipe.
    let size = (shape.m * shape.k * shape.n) as f64;
    let ratio = 1.5 + 0.9 * (size.log2() / 3.0 + recipe as f64).sin();
    // Whole thousands, so that samples which differ by thousandths are whole, too.
    let ns = 1_000 * ((size / 100.0 / if is_baseline { 1.0 } else { ratio }) as u64 / 1_000 + 1);
    let mut record = Record {
        full_id: case.full_id(),
        case,
        pairs: Vec::new(),
        last_sample: Some(LastSample { iters: 1, ns: ns / 1_000 * 1_015 }),
        ..template.clone()
    };
    if !is_baseline {
        record.pairs.push(pair_of(id(RECIPES[0]).to_string(), ratio));
    }
    if let Some(accuracy) = &mut record.accuracy {
        accuracy.sqnr_db = JsonFloat(52.0 - 4.0 * recipe as f64);
    }
    if number % FAILED_EVERY == FAILED_EVERY - 1 {
        record.outcome = Outcome::Failed { error: format!("case {number} found nothing") };
        record.pairs.clear();
    }
    inputs.recorded.insert(record.run_id.clone());
    let id = record.full_id.clone();
    let results = vec![Box::new(result(&id, ns))];
    inputs.cases.insert(id, CaseFiles { results, ..Box::new(record).into() });
}

/// Criterion's result of 31 samples around `ns`.
fn result(full_id: &str, ns: u64) -> CriterionResult {
    let benchmark = Benchmark {
        group_id: GROUP.to_owned(),
        function_id: None,
        value_str: None,
        throughput: None,
        full_id: full_id.to_owned(),
        directory_name: String::new(),
    };
    let estimate = |value: f64| Estimate {
        confidence_interval: ConfidenceInterval {
            confidence_level: 0.95,
            lower_bound: value * 0.998,
            upper_bound: value * 1.002,
        },
        point_estimate: value,
        standard_error: value * 0.001,
    };
    let median = estimate(ns as f64);
    let estimates = Estimates {
        mean: median,
        median,
        median_abs_dev: None,
        slope: None,
        std_dev: estimate(ns as f64 * 0.009),
    };
    let samples = Samples {
        sampling_mode: "Flat".to_owned(),
        iters: vec![1.0; 31],
        times: (985..=1_015).map(|share| (ns / 1_000 * share) as f64).collect(),
    };
    CriterionResult { benchmark, estimates, samples }
}
