//! Results of training as runs leave them: planned from a config, with times that follow from a planted cost
//! model, so that a test knows where each recipe gains.

use std::path::Path;

use criterion_report::read::Report;
use plan::{
    Accuracy, Case, Config, JsonFloat, Memory, Mode, ModelWork, Pair, Pass, Recipe, Role, Shape,
    StepMemory, TensorAccuracy, Variant, Work, expand,
};

pub use crate::common::made::{Fixture, Measured};
use crate::common::pair_of;

impl Fixture {
    /// Every case of a config named `stem`, measured.
    pub fn of_training(stem: &str, config: &str) -> Self {
        let file = format!("{stem}.yml");
        let config = Config::parse(Path::new(&file), config).expect("a valid config");
        let plan = expand(&[config]).expect("it expands");
        Self::of_cases(plan.cases().map(measured).collect())
    }

    pub fn training_report(&self, filter: &str) -> Report {
        self.report_of(Mode::Training, filter)
    }
}

/// 6·M·K·N, in operations.
fn flops(Shape { m, k, n }: Shape) -> f64 {
    6.0 * (m * k * n) as f64
}

/// M·K + N·K + M·N, in bytes of bfloat16.
fn bytes(Shape { m, k, n }: Shape) -> f64 {
    2.0 * (m * k + n * k + m * n) as f64
}

/// The products of a step in nanoseconds: 100 GFLOP/s of the baseline, twice that of float8.
pub fn products_ns(recipe: Recipe, shape: Shape) -> f64 {
    match recipe {
        Recipe::Baseline => 4_000.0 + flops(shape) / 100.0 + bytes(shape) / 20.0,
        _ => 4_000.0 + flops(shape) / 200.0 + bytes(shape) / 20.0,
    }
}

/// The casts: 0.5 GB/s.
pub fn casts_ns(recipe: Recipe, shape: Shape) -> f64 {
    match recipe {
        Recipe::Baseline => 0.0,
        _ => 30_000.0 + bytes(shape) * 2.0,
    }
}

fn total_ns(recipe: Recipe, shape: Shape) -> f64 {
    products_ns(recipe, shape) + casts_ns(recipe, shape)
}

/// How many times faster the recipe is than the baseline.
pub fn truth(shape: Shape) -> f64 {
    let recipe = "float8-tensorwise".parse().expect("a recipe");
    total_ns(Recipe::Baseline, shape) / total_ns(recipe, shape)
}

fn ns(work: &ModelWork) -> f64 {
    let ModelWork { variant: Variant { recipe, compile, .. }, shape, pass, .. } = *work;
    let total = total_ns(recipe, shape);
    let optimizer = (shape.k * shape.n) as f64;
    let own = match work.runs() {
        Some(Pass::Forward) => total / 3.0,
        Some(Pass::Backward) => total * 2.0 / 3.0,
        Some(Pass::ForwardBackward) => total,
        Some(Pass::StepSgd) => total + optimizer,
        Some(Pass::StepAdamw) => total + 4.0 * optimizer,
        Some(Pass::Casts) => casts_ns(recipe, shape),
        Some(Pass::Products) => products_ns(recipe, shape),
        None => panic!("{pass:?} of {shape}"),
    };
    if compile.is_some() { own * 0.8 } else { own }
}

/// 10⁹ operations per second of the machine's best product.
pub const PEAK: f64 = 400.0;

/// A case as it went; of a calibration the best product.
fn measured(case: &Case) -> Measured {
    let Work::Model(work) = case.work else {
        let operations = plan::cost::flops(case).expect("operations") as f64;
        return Measured::new(case.clone(), (operations / PEAK).round() as u64);
    };
    let mut measured = Measured::new(case.clone(), ns(&work).round() as u64);
    let record = &mut measured.record;
    record.pairs.extend(pair(case, &work));
    record.kernels.push("aten::mm".to_owned());
    record.environment_mut().torch.threads = case.settings.threads.resolve(2);
    record.measures.memory = Some(memory(&work));
    record.accuracy = (work.pass == Some(Pass::ForwardBackward)).then(accuracy);
    measured
}

fn memory(ModelWork { shape: Shape { m, k, n }, .. }: &ModelWork) -> Memory {
    let step = 2 * m * n;
    Memory {
        weights_bytes: 2 * k * n,
        inputs_bytes: 2 * m * k,
        outputs_bytes: 0,
        saved_bytes: Some(2 * (m * k + k * n)),
        step: StepMemory { peak_bytes: step, total_bytes: step, allocations: 1 },
    }
}

fn tensor((name, sqnr_db): (&str, f64)) -> TensorAccuracy {
    TensorAccuracy {
        name: name.to_owned(),
        sqnr_db: JsonFloat(sqnr_db),
        max_abs_error: JsonFloat(4.8e-3),
        relative_error: JsonFloat(1.2e-2),
        min_sqnr_db: 20.0,
    }
}

fn accuracy() -> Accuracy {
    Accuracy {
        sqnr_db: JsonFloat(31.5),
        max_abs_error: JsonFloat(4.8e-3),
        relative_error: JsonFloat(1.2e-2),
        rmse: None,
        min_sqnr_db: 20.0,
        rows_checked: 64,
        gates: Vec::new(),
        tensors: [("output", 31.5), ("grad_input", 29.5), ("grad_weight", 28.0)].map(tensor).into(),
        eager: None,
    }
}

/// The pair with the baseline, exactly as the two times have it: of emulated cases, too, which no run measures.
fn pair(case: &Case, work: &ModelWork) -> Option<Pair> {
    if case.role == Role::Baseline {
        return None;
    }
    let baseline = ModelWork { variant: Variant::BASELINE, ..*work };
    let against = plan::case_id(&case.id.group, "baseline", &case.id.parameter).to_string();
    Some(pair_of(against, ns(&baseline) / ns(work)))
}
