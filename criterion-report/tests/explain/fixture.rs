//! Cases as runs leave them, with planted profiles, and the calibration of a machine with round numbers.

use std::path::Path;

use criterion_report::cli::writer::Writer;
use criterion_report::read::{Location, Report, Selection};
use plan::{
    Cache, Case, Config, Counters, Memory, OperationProfile, Probe, Profile, Role, StepMemory,
    Work, expand,
};
use regex::Regex;

pub use crate::common::made::{Fixture, Measured};
use crate::common::pair_of;

/// 10⁹ bytes per second of the second cache, of the third one, and of memory.
pub const L2: f64 = 200.0;
pub const L3: f64 = 100.0;
pub const MEMORY: f64 = 10.0;
/// 10⁹ floating-point operations per second.
pub const PEAK: f64 = 100.0;
/// Nanoseconds of a call.
pub const CALL: f64 = 500.0;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

const CALIBRATION: &str = "
benchmark_mode: calibration
threads: [1, 2]
calibration_params:
  - { probes: [matmul], sizes: [1024], dtypes: [float32] }
  - { probes: [triad], sizes: [256KiB, 4MiB, 256MiB] }
  - { probes: [call] }
";

impl Fixture {
    /// Every case of a config takes a millisecond. The pairs of candidates show no difference.
    pub fn of_config(config: &str) -> Self {
        let plan = planned(config);
        Self::of_cases(plan.iter().map(|case| measured(case, 1_000_000)).collect())
    }

    /// The cases of a config together with the machine's calibration.
    pub fn calibrated(config: &str) -> Self {
        Self::of_config(config).and(calibration())
    }

    /// Gives the cases whose id matches a profile.
    pub fn profiled(self, filter: &str, profile: &Profile) -> Self {
        self.edit(filter, |it| it.record.profile = Some(profile.clone()))
    }

    /// Sets counters in the cases whose id matches: page faults with their share of the CPU time, and the average
    /// number of busy threads.
    pub fn counted(self, filter: &str, faults: f64, share: f64, busy: f64) -> Self {
        self.edit(filter, |it| {
            let wall_ns = it.ns.expect("a time") as f64;
            it.record.measures.counters = Some(Counters {
                iters: 100,
                minor_faults: faults,
                major_faults: 0.0,
                voluntary_switches: 0.0,
                involuntary_switches: 0.0,
                user_ns: wall_ns * busy * (1.0 - share),
                system_ns: wall_ns * busy * share,
                wall_ns,
                fault_share: Some(share),
            });
        })
    }

    /// Runs the cases whose id matches on so many threads.
    pub fn on_threads(self, filter: &str, threads: u32) -> Self {
        self.edit(filter, |it| it.record.environment_mut().torch.threads = threads)
    }

    /// Gives the cases whose id matches weights of so many bytes and nothing else.
    pub fn weighing(self, filter: &str, bytes: u64) -> Self {
        self.edit(filter, |it| it.record.measures.memory = Some(weights(bytes)))
    }

    /// The report that `explain` reads.
    pub fn explained(&self) -> Report {
        let (_folder, criterion) = self.write();
        read(&criterion, "new", "")
    }
}

/// The report that `explain` reads under a name.
pub fn read(criterion: &Path, baseline: &str, filter: &str) -> Report {
    let filter = Regex::new(filter).expect("a valid pattern");
    let writer: &Writer = &crate::explain::texts::TEXT;
    let selection = Selection {
        modes: writer.modes(),
        beside: writer.also_reads(),
        filter: Some(&filter),
        latest: false,
    };
    Report::read(&Location::at(criterion.to_owned()), baseline, selection).expect("readable")
}

fn planned(config: &str) -> Vec<Case> {
    let config = Config::parse(Path::new("made.yml"), config).expect("a valid config");
    let plan = expand(&[config]).expect("it expands");
    plan.cases().cloned().collect()
}

fn measured(case: &Case, ns: u64) -> Measured {
    let mut it = Measured::new(case.clone(), ns);
    let record = &mut it.record;
    record.measures = plan::Measures::default();
    let environment = record.environment_mut();
    environment.torch.threads = case.settings.threads.resolve(2);
    let cache = |level, bytes, cpus| Cache { level, bytes, cpus };
    environment.host.caches = vec![cache(1, 32 * KIB, 1), cache(2, MIB, 1), cache(3, 32 * MIB, 2)];
    if case.role == Role::Candidate {
        let baseline = case.work.baseline().unwrap_or("1-thread");
        let against = plan::case_id(&case.id.group, baseline, &case.id.parameter);
        record.pairs.push(pair_of(against.to_string(), 1.0));
    }
    it
}

fn calibration() -> Fixture {
    let probe = |case: &Case| {
        let Work::Probe(work) = &case.work else { panic!("a probe") };
        let ns = match work.probe {
            Probe::Matmul => work.flops(case.dtype) as f64 / PEAK,
            Probe::Triad => {
                let rate = match work.size {
                    size if size <= 256 * KIB => L2,
                    size if size <= 4 * MIB => L3,
                    _ => MEMORY,
                };
                work.bytes(case.dtype) as f64 / rate
            }
            _ => CALL,
        };
        measured(case, ns.round() as u64)
    };
    Fixture::of_cases(planned(CALIBRATION).iter().map(probe).collect())
}

fn weights(bytes: u64) -> Memory {
    let step = StepMemory { peak_bytes: 0, total_bytes: 0, allocations: 0 };
    Memory { weights_bytes: bytes, inputs_bytes: 0, outputs_bytes: 0, saved_bytes: None, step }
}

/// A profile of one step.
pub fn profile(operations: Vec<OperationProfile>, outside_ns: f64) -> Profile {
    let step_ns = operations.iter().map(|it| it.self_ns).sum::<f64>() + outside_ns;
    Profile { steps: 10, step_ns, outside_ns, operations, ..Profile::default() }
}

/// An operation that is called once and calls nothing.
pub fn operation(name: &str, self_ns: f64) -> OperationProfile {
    OperationProfile {
        name: name.to_owned(),
        calls: 1.0,
        self_ns,
        total_ns: self_ns,
        is_leaf: true,
        ..OperationProfile::default()
    }
}

/// An operation with the shapes and dtypes of its arguments.
pub fn on(name: &str, self_ns: f64, arguments: &[(&[i64], &str)]) -> OperationProfile {
    OperationProfile {
        shapes: arguments.iter().map(|(shape, _)| shape.to_vec()).collect(),
        dtypes: arguments.iter().map(|(_, dtype)| (*dtype).to_owned()).collect(),
        ..operation(name, self_ns)
    }
}
