//! Explains cases with the calibrations and siblings that a report has.

use std::collections::HashMap;

use plan::{Counters, Device, Profile};

use super::difference::Difference;
use super::explanation::{Explanation, ProfileUsed};
use super::machine::{Ceiling, Machines};
use super::split::{Measured, Split};
use super::stated::{Case, Facts, statements};
use crate::model::{Entry, Row, fingerprint};
use crate::read::Report;
use crate::render::units;
use crate::views::calibration::compulsory_bytes;

/// Explains the cases of a report.
#[derive(Debug)]
pub struct Explainer<'a> {
    machines: Machines,
    /// The cases of a group with one parameter.
    siblings: HashMap<(&'a str, &'a str), Vec<&'a Row>>,
    /// The bench target of each run.
    targets: HashMap<&'a str, &'a str>,
}

/// The facts about a case before it is compared with others.
struct Own {
    working_set: Option<u64>,
    bytes: Option<u64>,
    flops: Option<u64>,
    ceiling: Result<Ceiling, String>,
    counters: Option<Counters>,
    utilization: Option<f64>,
}

impl<'a> Explainer<'a> {
    /// Reads the calibrations of the report, including cases that are not shown.
    pub fn new(report: &'a Report) -> Self {
        let mut siblings: HashMap<(&str, &str), Vec<&Row>> = HashMap::new();
        for row in report.rows() {
            siblings.entry(key(row)).or_default().push(row);
        }
        let runs = report.runs.all().iter().map(|run| &run.manifest);
        let targets = runs.map(|run| (&*run.run_id, &*run.target)).collect();
        Self { machines: Machines::of(report.with_calibrations()), siblings, targets }
    }

    /// Explains a case; `None` if it has no time.
    pub fn explain(&self, entry: &Entry<'a>) -> Option<Explanation> {
        let row = entry.row;
        let time = row.time.as_ref().ok()?;
        let (case, own) = self.case(row)?;
        let baseline = entry.baseline.filter(|_| entry.comparison.is_some());
        let baseline = baseline.ok_or_else(|| NO_TIME.to_owned()).and_then(|it| beside(it, row));
        let other = baseline.and_then(|it| Ok(self.case(it).ok_or(NO_TIME)?.0));
        let emulated = row.is_emulated();
        let speedup = entry.speedup().map(|it| it.ratio);
        let difference = match (&other, entry.comparison) {
            _ if emulated => Err(None),
            (_, None) => Err(None),
            (Ok(other), _) => self.difference(&case, other, speedup).map_err(Some),
            (Err(why), _) => Err(Some(why.clone())),
        };
        let ceiling = own.ceiling.as_ref().ok();
        let threads = row.record.environment.torch.threads;
        let facts = Facts {
            page_faults: own.counters.map(|it| it.minor_faults),
            threads,
            utilization: own.utilization,
            level: ceiling.and_then(|it| it.level.clone()),
        };
        let statements = match emulated {
            true => Vec::new(),
            false => statements(&case, other.as_ref().ok(), &self.siblings(&case), &facts),
        };
        let limit = ceiling.and_then(|it| it.of_step(own.bytes, own.flops, time.median_ns));
        let limit = limit.filter(|_| !emulated);
        let used = profile(row).filter(|_| case.split.has_profile);
        let used = used.zip(case.split.stretch);
        let used =
            used.map(|(it, stretch)| ProfileUsed { steps: it.steps, step_ns: it.step_ns, stretch });
        Some(Explanation {
            full_id: row.full_id().to_owned(),
            time_ns: time.median_ns,
            time_low_ns: time.interval.map(|it| it.low),
            time_high_ns: time.interval.map(|it| it.high),
            statements,
            emulated,
            threads,
            working_set_bytes: own.working_set,
            bytes: own.bytes,
            flops: own.flops,
            no_limit: limit.is_none().then(|| own.no_limit(emulated)),
            limit,
            calibration: ceiling.map(|it| it.used.clone()),
            parts: case.split.parts(),
            operations: case.split.operations(),
            page_faults: facts.page_faults,
            utilization: own.utilization,
            gpu: profile(row).and_then(|it| it.gpu),
            profile_command: used.is_none().then(|| self.profile_command(row)),
            cautions: cautions(row, used.as_ref(), difference.as_ref().ok(), ceiling),
            profile: used,
            no_difference: difference.as_ref().err().cloned().flatten(),
            difference: difference.ok(),
        })
    }

    /// Splits a case's time; `None` if it has no time.
    fn case(&self, row: &'a Row) -> Option<(Case<'a>, Own)> {
        let time_ns = row.time.as_ref().ok()?.median_ns;
        let own = Own::from_row(row, time_ns, &self.machines);
        let ceiling = own.ceiling.as_ref().ok();
        let split = Split::new(&Measured {
            row,
            time_ns,
            profile: profile(row),
            ceiling,
            limit: ceiling
                .and_then(|it| it.limit(own.bytes, own.flops))
                .filter(|_| !row.is_emulated()),
            page_fault_share: own.page_fault_share(),
            // Idle threads exist only beside a working one: a single thread just waits.
            utilization: own.utilization.filter(|_| row.record.environment.torch.threads > 1),
        });
        Some((Case { row, split }, own))
    }

    /// The other cases of its group and parameter without emulated ones. Empty unless the case has attention, because
    /// only such cases are compared with siblings.
    fn siblings(&self, case: &Case<'_>) -> Vec<Case<'a>> {
        if case.attention().is_none() {
            return Vec::new();
        }
        let row = case.row;
        let siblings = self.siblings.get(&key(row)).into_iter().flatten();
        let others = siblings.filter(|it| it.full_id() != row.full_id() && !it.is_emulated());
        let others = others.filter(|it| beside(it, row).is_ok());
        others.filter_map(|row| Some(self.case(row)?.0)).collect()
    }

    fn difference(
        &self,
        case: &Case<'_>,
        other: &Case<'_>,
        speedup: Option<f64>,
    ) -> Result<Difference, String> {
        let stretch = |side: &Case<'_>, name: &str| {
            let why = || format!("{name} has no profile: {}", self.profile_command(side.row));
            side.split.stretch.ok_or_else(why)
        };
        stretch(case, "it")?;
        let stretch = stretch(other, "its baseline")?;
        Ok(Difference::of(other.row.full_id(), &other.split, &case.split, stretch, speedup))
    }

    /// The command that profiles a case: the bench target is that of its run, or else has the name of its mode.
    fn profile_command(&self, row: &Row) -> String {
        let record = &row.record;
        let target = self.targets.get(&*record.run_id).copied();
        let target = target.unwrap_or(record.case.mode.as_str());
        format!("cargo bench --bench {target} -- --profile --exact '{}'", record.full_id)
    }
}

/// The profile of the last run that has one.
fn profile(row: &Row) -> Option<&Profile> {
    row.in_runs().filter_map(|run| run.record.profile.as_ref()).last()
}

const NO_TIME: &str = "the baseline has no time";

/// The other case where it ran on the machine of `row`: times of two machines do not compare.
fn beside<'r>(other: &'r Row, row: &Row) -> Result<&'r Row, String> {
    let [others, own] = [other, row].map(|it| fingerprint(&it.record));
    if own == others {
        return Ok(other);
    }
    Err(format!("the baseline ran on another machine: {others}, and this case on {own}"))
}

fn key(row: &Row) -> (&str, &str) {
    let id = &row.record.case.id;
    (&id.group, &id.parameter)
}

impl Own {
    fn from_row(row: &Row, time_ns: f64, machines: &Machines) -> Self {
        let record = &row.record;
        let bytes = compulsory_bytes(row).filter(|&bytes| bytes > 0);
        let live = record.measures.memory.map(|it| it.peak_bytes()).filter(|&bytes| bytes > 0);
        let working_set = live.or(bytes);
        // The host's threads and page faults do not matter for the time of another device.
        let counters = record.measures.counters.filter(|_| record.case.device == Device::Cpu);
        let threads = f64::from(record.environment.torch.threads.max(1));
        let utilization = counters
            .filter(|it| it.wall_ns > 0.0)
            .map(|it| (it.user_ns + it.system_ns) / (it.wall_ns * threads));
        let flops = row.flops().filter(|&flops| flops > 0);
        Self {
            working_set,
            bytes,
            flops,
            ceiling: machines.over(row, working_set).map(|it| it.above(bytes, flops, time_ns)),
            counters,
            utilization,
        }
    }

    /// As a share of the wall time, because threads handle their page faults in parallel.
    fn page_fault_share(&self) -> Option<f64> {
        let counters = self.counters.filter(|it| it.wall_ns > 0.0)?;
        let busy = (counters.user_ns + counters.system_ns) / counters.wall_ns;
        counters.fault_share.map(|share| share * busy.clamp(0.0, 1.0))
    }

    fn no_limit(&self, emulated: bool) -> String {
        match &self.ceiling {
            _ if emulated => "emulated: its time is not the recipe's".to_owned(),
            Err(why) => why.clone(),
            Ok(it) if !it.cautions.is_empty() => it.cautions.join("; "),
            Ok(_) => "neither its bytes nor its floating-point operations are known".to_owned(),
        }
    }
}

/// A caution is added if the profiled step is slower or faster than the case by more than this factor.
const STRETCHED: f64 = 1.5;

fn cautions(
    row: &Row,
    used: Option<&ProfileUsed>,
    difference: Option<&Difference>,
    ceiling: Option<&Ceiling>,
) -> Vec<String> {
    let own = used.map(|it| ("the case's", it.stretch));
    let baseline = difference.map(|it| ("the baseline's", it.baseline_stretch));
    let stretches = own.into_iter().chain(baseline);
    let stretch = stretches.filter(|(_, it)| !(1.0 / STRETCHED..=STRETCHED).contains(it));
    let stretch = stretch.map(|(whose, stretch)| {
        format!(
            "a profiled step takes {} {whose} time: the profiler's own cost is spread over all \
             operations, of which the short ones look longer than they are",
            units::ratio(stretch, None)
        )
    });
    let runs = row.runs.len();
    let several = (runs > 1 && used.is_some())
        .then(|| format!("the time is that of {runs} runs, the profile of the last of them"));
    let absent = profile(row).into_iter().filter_map(|it| it.absent.get("operations"));
    let absent = absent.map(|why| format!("its profile has no operations: {why}"));
    let limits = ceiling.map(|it| it.cautions.clone()).unwrap_or_default();
    let slow = int8_without_tensor_cores(row);
    stretch.chain(several).chain(absent).chain(limits).chain(slow).collect()
}

/// A caution where the product is the kernel of libtorch on CUDA that loses more than any recipe gains.
fn int8_without_tensor_cores(row: &Row) -> Option<String> {
    const KERNEL: &str = "aten::_weight_int8pack_mm";
    let record = &row.record;
    let is_it = record.case.device == Device::Cuda && record.kernels.iter().any(|it| it == KERNEL);
    is_it.then(|| {
        format!(
            "its product is `{KERNEL}`, which has no tensor cores on CUDA; max-autotune picks it for \
             int8wo above one row, in torch.compile of Python, too"
        )
    })
}
