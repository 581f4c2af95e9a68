//! Results of operators as runs leave them: planned from a config, with times that follow from the
//! bytes to move, so that a test sees where each number comes from.

use std::fs;
use std::path::{Path, PathBuf};

use criterion_report::model::{Location, Report, Selection};
use plan::{
    Accuracy, Case, Config, Device, Gate, Implementation, LastSample, Memory, Mode, Outcome, Pair,
    Record, Role, Stat, StepMemory, Work, expand,
};
use regex::Regex;
use serde_json::json;

use crate::common::pair_of;

/// Half-width of the times' intervals.
pub const TIME_HALF_WIDTH: f64 = 0.005;

/// A record and, where criterion measured, its time in ns.
pub struct Measured {
    pub record: Record,
    pub ns: Option<u64>,
}

/// Cases, not yet written.
pub struct Fixture(pub Vec<Measured>);

impl Fixture {
    /// Every case of a config named `stem`, measured.
    pub fn of(stem: &str, config: &str) -> Self {
        let file = format!("{stem}.yml");
        let config = Config::parse(Path::new(&file), config).expect("a valid config");
        let plan = expand(&[config]).expect("it expands");
        Self(plan.cases().map(measured).collect())
    }

    /// And those of another one.
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Changes the cases whose id matches; at least one does.
    pub fn edit(mut self, filter: &str, change: impl Fn(&mut Measured)) -> Self {
        let filter = Regex::new(filter).expect("a valid pattern");
        let matching = self.0.iter_mut().filter(|it| filter.is_match(&it.record.full_id));
        assert!(matching.map(change).count() > 0, "{filter} matches no case");
        self
    }

    /// Ends the cases without a measurement.
    pub fn end(self, filter: &str, outcome: Outcome) -> Self {
        self.edit(filter, |it| {
            it.ns = None;
            it.record.outcome = outcome.clone();
            it.record.pairs.clear();
            it.record.last_sample = None;
            it.record.accuracy = None;
            it.record.measures.memory = None;
            it.record.kernels.clear();
        })
    }

    /// Leaves the cases out.
    pub fn without(mut self, filter: &str) -> Self {
        let filter = Regex::new(filter).expect("a valid pattern");
        let before = self.0.len();
        self.0.retain(|it| !filter.is_match(&it.record.full_id));
        assert!(self.0.len() < before, "{filter} matches no case");
        self
    }

    /// Writes it all; the folder is criterion's, and the other is to be kept meanwhile.
    pub fn write(&self) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let criterion = folder.path().join("criterion");
        let records = folder.path().join("criterion-torch/new");
        fs::create_dir_all(&records).expect("created");
        fs::create_dir_all(&criterion).expect("created");
        for mode in [Mode::Operators, Mode::Calibration] {
            let own = self.0.iter().filter(|it| it.record.case.mode == mode);
            let line = |it: &Measured| serde_json::to_string(&it.record).expect("serialises");
            let lines: Vec<String> = own.map(line).collect();
            if !lines.is_empty() {
                fs::write(records.join(format!("{mode}.jsonl")), lines.join("\n") + "\n")
                    .expect("written");
            }
        }
        for it in &self.0 {
            if let Some(ns) = it.ns {
                estimate(&criterion.join(it.record.case.id.directory()), &it.record, ns);
            }
        }
        (folder, criterion)
    }

    /// The report of the operator cases whose id matches, with the calibrations beside them.
    pub fn report(&self, filter: &str) -> Report {
        let (_folder, criterion) = self.write();
        let filter = Regex::new(filter).expect("a valid pattern");
        let selection = Selection {
            modes: Some(&[Mode::Operators]),
            beside: &[Mode::Calibration],
            filter: Some(&filter),
            latest: false,
        };
        Report::read(&Location::at(criterion), "new", selection).expect("readable")
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

/// A case as it went, on the machine of another fixture.
fn measured(case: &Case) -> Measured {
    let template = "tests/fixtures/probes/criterion-torch/new/calibration.jsonl";
    let lines = fs::read_to_string(template).expect("readable");
    let template: Record =
        serde_json::from_str(lines.lines().next().expect("a line")).expect("a record");
    let ns = ns(case);
    let mut record = Record {
        full_id: case.full_id(),
        case: case.clone(),
        pairs: pair(case, ns).into_iter().collect(),
        last_sample: Some(LastSample { iters: 1, ns }),
        kernels: vec![format!("kernel::{}", case.variant())],
        outcome: Outcome::Measured,
        ..template
    };
    record.environment.torch.threads = case.settings.threads.resolve(2);
    if let Work::Operator(work) = &case.work {
        record.measures.memory = Some(memory(work.traffic(), case.dtype.bytes()));
        record.accuracy = Some(accuracy());
    }
    Measured { record, ns: Some(ns) }
}

fn memory(traffic: plan::Traffic, element: u64) -> Memory {
    let output = traffic.output * element;
    Memory {
        weights_bytes: traffic.parameters * element,
        inputs_bytes: traffic.examples * element + traffic.classes * 8,
        outputs_bytes: 0,
        step: StepMemory { peak_bytes: output, total_bytes: output, allocations: 1 },
    }
}

fn accuracy() -> Accuracy {
    let gate = |inputs: &str, worst| Gate {
        inputs: inputs.to_owned(),
        size: vec![3, 5, 17],
        worst: Stat(worst),
    };
    Accuracy {
        sqnr_db: Stat(138.2),
        max_abs_error: Stat(4.8e-7),
        relative_error: Stat(1.2e-7),
        rmse: None,
        min_sqnr_db: 100.0,
        rows_checked: 64,
        gates: vec![gate("random", 0.21), gate("denormal", 0.42), gate("huge", 0.4)],
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

/// Criterion's files of a case whose samples all took `ns`.
fn estimate(folder: &Path, record: &Record, ns: u64) {
    let folder = folder.join("new");
    fs::create_dir_all(&folder).expect("created");
    let put = |name: &str, value: serde_json::Value| {
        fs::write(folder.join(name), value.to_string()).expect("written");
    };
    let ns = ns as f64;
    let estimate = json!({
        "confidence_interval": {
            "confidence_level": 0.95,
            "lower_bound": ns * (1.0 - TIME_HALF_WIDTH),
            "upper_bound": ns * (1.0 + TIME_HALF_WIDTH),
        },
        "point_estimate": ns,
        "standard_error": 1.0,
    });
    let sample = json!({ "sampling_mode": "Flat", "iters": vec![1.0; 10], "times": vec![ns; 10] });
    put("sample.json", sample);
    put("estimates.json", json!({ "mean": estimate, "median": estimate, "std_dev": estimate }));
    put("benchmark.json", json!({ "full_id": record.full_id }));
}
