//! Results of operators as runs leave them: planned from a config, with times that follow from the
//! bytes to move, so that a test sees where each number comes from.

use std::path::Path;

use criterion_report::read::Report;
use plan::{
    Accuracy, Case, Config, Device, Gate, Implementation, JsonFloat, Memory, Mode, Pair, Role,
    StepMemory, Work, expand,
};

pub use crate::common::made::{Fixture, Measured, TIME_HALF_WIDTH};
use crate::common::pair_of;

impl Fixture {
    /// Every case of a config named `stem`, measured.
    pub fn of_operators(stem: &str, config: &str) -> Self {
        let file = format!("{stem}.yml");
        let config = Config::parse(Path::new(&file), config).expect("a valid config");
        let plan = expand(&[config]).expect("it expands");
        Self::of_cases(plan.cases().map(measured).collect())
    }

    /// The report of the cases whose id matches, with the calibrations beside them.
    pub fn operators_report(&self, filter: &str) -> Report {
        self.report_of(Mode::Operators, filter)
    }
}

/// 10⁹ bytes per second of an implementation, on the CPU or where it alone runs.
const fn gb_per_s(implementation: Implementation) -> f64 {
    match implementation {
        Implementation::Aten => 20.0,
        Implementation::AtenOut => 25.0,
        Implementation::AtenComposed => 9.0,
        Implementation::Rust => 36.0,
        Implementation::Cuda => 3200.0,
        Implementation::Triton => 3000.0,
        Implementation::Stream => 40.0,
    }
}

/// How long a case takes; STREAM's operations move 30 GB/s in memory, 120 in a cache.
fn ns(case: &Case) -> u64 {
    let rate = match &case.work {
        Work::Operator(work) => match (case.device, work.implementation) {
            (Device::Cuda, it @ (Implementation::Cuda | Implementation::Triton)) => gb_per_s(it),
            (Device::Cuda, it) => gb_per_s(it) * 100.0,
            (_, it) => gb_per_s(it),
        },
        Work::Probe(work) if work.size < 16 << 20 => 120.0,
        _ => 30.0,
    };
    (plan::cost::moved_bytes(case).expect("bytes that move") as f64 / rate).round() as u64
}

/// A case as it went.
fn measured(case: &Case) -> Measured {
    let ns = ns(case);
    let mut measured = Measured::new(case.clone(), ns);
    let record = &mut measured.record;
    record.pairs.extend(pair(case, ns));
    record.kernels.push(format!("kernel::{}", case.variant()));
    record.environment_mut().torch.threads = case.settings.threads.resolve(2);
    if let Work::Operator(work) = &case.work {
        record.measures.memory = Some(memory(work.traffic(), case.dtype.bytes()));
        record.accuracy = Some(accuracy());
    }
    measured
}

fn memory(traffic: plan::Traffic, element: u64) -> Memory {
    let output = traffic.output * element;
    Memory {
        weights_bytes: traffic.parameters * element,
        inputs_bytes: traffic.examples * element + traffic.classes * 8,
        outputs_bytes: 0,
        saved_bytes: None,
        step: StepMemory { peak_bytes: output, total_bytes: output, allocations: 1 },
    }
}

fn accuracy() -> Accuracy {
    let gate = |inputs: &str, worst| Gate {
        inputs: inputs.to_owned(),
        size: vec![3, 5, 17],
        worst: JsonFloat(worst),
    };
    Accuracy {
        sqnr_db: JsonFloat(138.2),
        max_abs_error: JsonFloat(4.8e-7),
        relative_error: JsonFloat(1.2e-7),
        rmse: None,
        min_sqnr_db: 100.0,
        rows_checked: 64,
        gates: vec![gate("random", 0.21), gate("denormal", 0.42), gate("huge", 0.4)],
        tensors: Vec::new(),
        eager: None,
    }
}

/// The pair with `aten`, exactly as the two times have it.
fn pair(case: &Case, ns: u64) -> Option<Pair> {
    let Work::Operator(work) = case.work else { return None };
    if case.role == Role::Baseline {
        return None;
    }
    let work = Work::Operator(plan::OperatorWork { implementation: Implementation::Aten, ..work });
    let aten = self::ns(&Case { work, ..case.clone() });
    let against = plan::case_id(&case.id.group, "aten", &case.id.parameter).to_string();
    Some(pair_of(against, aten as f64 / ns as f64))
}
