//! Siblings of calibration differ in their threads: each runs on its own in whatever is measured,
//! and its record says so.

use criterion_torch::refusal::Refusal;
use criterion_torch::workload::Workload;
use plan::{Accuracy, Case, Outcome, Record, Role, Threads};
use tch::{Device, Kind, TchError, Tensor};

use crate::program::{self, Suite};

pub const SUITE: Suite = Suite { target: "threads", configs: &[("many.yml", CONFIG)], prepare };

/// Every step fails on other threads than the case's: in the first call, the memory pass, the
/// pilot, a sample, a single call, the counted steps, a pair.
struct Work {
    threads: u32,
    input: Tensor,
    /// Steps after which the next ones fail.
    lasts: u64,
    steps: std::cell::Cell<u64>,
}

/// At this size the baseline lasts for the two steps that prepare it, and fails in the first pair.
const FAILS_IN_PAIRS: u64 = 64;

impl Work {
    fn in_force(&self, place: &str) -> Result<(), TchError> {
        match u32::try_from(tch::get_num_threads()) {
            Ok(found) if found == self.threads => Ok(()),
            found => Err(TchError::Torch(format!(
                "{place}: {found:?} threads instead of {}",
                self.threads
            ))),
        }
    }
}

impl Workload for Work {
    fn step(&self) -> Result<Tensor, Refusal> {
        self.in_force("step")?;
        self.steps.set(self.steps.get() + 1);
        if self.steps.get() > self.lasts {
            return Err(Refusal::Failed("thrown inside a pair".to_owned()));
        }
        Ok(self.input.f_mm(&self.input)?)
    }

    fn check(&self) -> Result<Accuracy, Refusal> {
        self.in_force("check")?;
        Ok(program::exact())
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
    let input = Tensor::f_ones([32, 32], (Kind::Float, Device::Cpu))?;
    let size = case.work.probe().expect("a probe").size;
    let lasts = if size == FAILS_IN_PAIRS && case.role == Role::Baseline { 2 } else { u64::MAX };
    let work = Work { threads: threads(case), input, lasts, steps: std::cell::Cell::new(0) };
    work.in_force("prepare")?;
    Ok(Box::new(work))
}

/// Threads that the case asks for on this machine.
fn threads(case: &Case) -> u32 {
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    case.work.probe().expect("a probe").threads.resolve(u32::try_from(cpus).expect("few"))
}

/// More threads than a small machine has CPUs, so that siblings differ on any.
const CONFIG: &str = "
benchmark_mode: calibration
sampling: { samples: 20, warm_up_s: 0.01, target: 0.5, measurement_s: 10 }
energy: { window_s: 1 }
calibration_params: { probes: [matmul], sizes: [32, 48, 64], threads: [1, all, 3] }
";

pub fn each_sibling_runs_on_its_own_threads_and_its_record_says_so() {
    let records = bench(&["/f32-(32|48)"]);
    assert_eq!(records.len(), 6);
    for record in &records {
        measured_on_its_own_threads(record);
        let is_baseline = record.case.work.probe().expect("a probe").threads == Threads::Count(1);
        // More threads than CPUs may keep a side from its own pace, which is a reason then.
        let is_paired = !record.pairs.is_empty() || record.no_pair.is_some();
        assert_eq!(is_paired, !is_baseline, "{:?}", record.no_pair);
    }
    // The second group's baseline came after the first group's last candidate.
    let in_order: Vec<u32> = records.iter().map(|it| it.environment.torch.threads).collect();
    assert!(in_order[2] == 3 && in_order[3] == 1, "{in_order:?}");
}

pub fn a_baseline_prepared_for_its_candidate_leaves_the_candidates_threads() {
    let id = "calibration/many/matmul/cpu/3-threads/f32-32";
    let records = bench(&["--exact", id]);
    let [record] = &records[..] else { panic!("only what is selected is recorded") };
    measured_on_its_own_threads(record);
    assert_eq!(record.environment.torch.threads, 3);
    match record.pairs.first() {
        Some(pair) => assert!(pair.against.ends_with("/1-thread/f32-32"), "{}", pair.against),
        None => {
            let reason = record.no_pair.as_deref().unwrap_or_default();
            assert!(reason.contains("in turn with"), "{reason}");
        }
    }
}

pub fn threads_are_the_candidates_where_its_baseline_fails_beside_it() {
    let records = bench(&["--exact", "calibration/many/matmul/cpu/3-threads/f32-64"]);
    let [record] = &records[..] else { panic!("only what is selected is recorded") };
    measured_on_its_own_threads(record);
    let reason = record.no_pair.as_deref().unwrap_or_default();
    assert!(reason.contains("its baseline, in turn with it") && reason.contains("inside a pair"));
}

/// Libtorch believes to have as many threads as it asks for.
pub fn threads_that_openmp_withholds_are_not_recorded() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let id = "calibration/many/matmul/cpu/3-threads/f32-32";
    let mut command = SUITE.command(home.path(), &["--quick", "--exact", id]);
    command.env("OMP_THREAD_LIMIT", "1");
    let run = SUITE.run_in(home, command);
    assert_eq!(run.status, Some(0), "{}", run.said);
    let records = run.records(&SUITE);
    let [record] = &records[..] else { panic!("only what is selected is recorded") };
    assert_eq!(record.environment.torch.threads, 1);
    let note =
        "operators run on 1 of 3 threads: OpenMP gives no more (OMP_THREAD_LIMIT, OMP_DYNAMIC)";
    assert!(record.notes.iter().any(|it| it == note), "{:?}", record.notes);
}

const NO_GPU: &str = "it is read of CUDA devices, and this is cpu";

fn measured_on_its_own_threads(record: &Record) {
    let id = &record.full_id;
    assert_eq!(record.outcome, Outcome::Measured, "{id}");
    assert_eq!(record.environment.torch.threads, threads(&record.case), "{id}");
    let measures = &record.measures;
    assert!(measures.latency.is_some() && measures.counters.is_some(), "{id}: {measures:?}");
    let complaint = measures.absent.values().find(|reason| reason.contains("threads instead of"));
    assert_eq!(complaint, None, "{id}");
    // On a CPU even where its energy is measured.
    let reason = measures.absent.get("utilization").map(String::as_str);
    assert_eq!((&measures.utilization, reason), (&None, Some(NO_GPU)), "{id}");
}

fn bench(arguments: &[&str]) -> Vec<Record> {
    let run = SUITE.run(arguments);
    assert_eq!(run.status, Some(0), "{}", run.said);
    run.records(&SUITE)
}
