//! The cost of trust: our whole run of some rows against torchao's 100 + 100 calls of each.

use std::path::Path;
use std::process::ExitCode;

use criterion_torch::harness::clock::Stopwatch;
use criterion_torch::harness::{self, Criterion, GroupFn, Session};
use criterion_torch::refusal::Refusal;
use criterion_torch::workload::prepare;
use plan::{Plan, Record, Role};

use crate::check::{Check, Finding};
use crate::{child, same};

pub const CHECK: Check = Check {
    name: "budget",
    what: "wall time of the linear rows, pairs included, against torchao's method on the same",
    device: plan::Device::Cpu,
    run,
};

/// Parts in processes of their own.
pub const OURS: &str = "budget-ours";
pub const UPSTREAM: &str = "budget-upstream";

/// Our time over torchao's, at most.
const SHARE: f64 = 0.5;
/// Half-width of a median's interval on a quiet machine, at most.
const HALF_WIDTH: f64 = 0.02;

/// The rows: what the default suite calls `linear` on the CPU in bfloat16.
const ROWS: &str = "inference/[^/]*/linear/cpu/(baseline|int8wo|int8dq|float8wo)/bf16-";

const CONFIG: &str = "
quantization_config_recipe_names: [int8wo, int8dq, float8wo]
packed: false
model_params:
  matrix_shapes:
    - name: custom
      shapes: [[1, 4096, 4096], [64, 1024, 1024], [1024, 1024, 1024]]
";

fn rows() -> Plan {
    let config = plan::Config::parse(Path::new("rows.yml"), CONFIG).expect("a valid config");
    plan::expand(&[config]).expect("a valid plan")
}

/// The harness on these rows, as a bench target runs it.
pub fn ours() -> ExitCode {
    const GROUPS: &[GroupFn] = &[
        |criterion: &mut Criterion, session: &mut Session| session.group(criterion, 0),
        |criterion, session| session.group(criterion, 1),
        |criterion, session| session.group(criterion, 2),
    ];
    let json = serde_json::to_string(&rows()).expect("a plan is JSON");
    harness::main("inference", &json, GROUPS, prepare)
}

/// Each row as torchao measured it: 100 calls to warm up and 100 that are timed, of the baseline
/// and of the model, for every row anew. Retained memory, one thread.
pub fn upstream() -> ExitCode {
    same::retain();
    tch::set_num_threads(1);
    let _no_gradients = tch::no_grad_guard();
    let mut seconds = 0.0;
    for group in rows().groups {
        for case in &group.cases {
            for side in [group.baseline(), case] {
                let workload = prepare(side).expect("these rows run everywhere");
                let calls = Stopwatch::start();
                for _ in 0..200 {
                    drop(std::hint::black_box(workload.step().expect("these rows run everywhere")));
                }
                seconds += calls.seconds();
            }
        }
    }
    println!("{seconds}");
    ExitCode::SUCCESS
}

fn run() -> Result<Vec<Finding>, Refusal> {
    let home = child::home()?;
    // In turn, twice, so that a machine that slows down does not decide.
    let mut walls = [Vec::new(), Vec::new()];
    for _ in 0..2 {
        walls[0].push(child::start(OURS, home.path(), &["--bench", ROWS])?.wall.as_secs_f64());
        // Only the calls count on torchao's side: it builds in its own way.
        let calls = child::start(UPSTREAM, home.path(), &[])?.stdout;
        let seconds = calls.trim().parse::<f64>();
        walls[1].push(seconds.map_err(|error| Refusal::Failed(format!("{calls}: {error}")))?);
    }
    let [ours, theirs] = walls.map(|walls| statistics::median(&walls));
    let records = child::records(home.path())?;
    let mut findings = vec![Finding::new(
        format!("wall time of {} rows", records.len()),
        format!("{ours:.1} s, torchao's calls {theirs:.1} s: {:.0} %", 100.0 * ours / theirs),
        "at most half",
        ours <= SHARE * theirs,
    )];
    let mut widest: (f64, String) = (0.0, String::new());
    for record in &records {
        let folder = home.path().join("criterion").join(record.case.id.directory());
        let [median, low, high] = child::median(&folder)?;
        let half = (high - low) / 2.0 / median;
        eprintln!("  {}: {:.1} µs ±{:.2} %", record.full_id, median / 1e3, half * 100.0);
        if half > widest.0 {
            widest = (half, record.full_id.clone());
        }
    }
    findings.push(Finding::new(
        "half-width of the widest median",
        format!("{:.2} % ({})", 100.0 * widest.0, widest.1),
        "at most 2 % on a quiet machine",
        widest.0 <= HALF_WIDTH,
    ));
    findings.push(pairs(&records));
    Ok(findings)
}

/// Every candidate has its pair.
fn pairs(records: &[Record]) -> Finding {
    let candidates = || records.iter().filter(|record| record.case.role == Role::Candidate);
    let paired: Vec<_> = candidates().flat_map(|record| &record.pairs).collect();
    let half = |pair: &plan::Pair| (pair.high - pair.low) / 2.0 / pair.speedup;
    let widest = paired.iter().map(|pair| half(pair)).fold(0.0, f64::max);
    Finding::new(
        "pairs",
        format!(
            "{} of {} candidates, widest interval ±{:.2} %, {:.1} s in all",
            paired.len(),
            candidates().count(),
            100.0 * widest,
            paired.iter().map(|pair| pair.seconds).sum::<f64>()
        ),
        "one for every candidate",
        paired.len() == candidates().count(),
    )
}
