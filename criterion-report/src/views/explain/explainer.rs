//! Explains cases with the calibrations and siblings that a report has.

use std::collections::HashMap;

use plan::Device;

use super::difference::Difference;
use super::explanation::{Explanation, ProfileUsed};
use super::facts::{CaseFacts, profile};
use super::machine::{Ceiling, Machines};
use super::split::Split;
use super::stated::{Case, statements};
use crate::model::{Entry, Row, fingerprint};
use crate::read::Report;
use crate::render::units;

/// Explains the cases of a report.
#[derive(Debug)]
pub struct Explainer<'a> {
    machines: Machines,
    /// The cases of a group with one parameter.
    siblings: HashMap<(&'a str, &'a str), Vec<&'a Row>>,
    /// The bench target of each run.
    targets: HashMap<&'a str, &'a str>,
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
        let case = self.case(row)?;
        let facts = &case.facts;
        let baseline = entry.baseline.filter(|_| entry.comparison.is_some());
        let baseline = baseline.ok_or_else(|| NO_TIME.to_owned()).and_then(|it| beside(it, row));
        let other = baseline.and_then(|it| self.case(it).ok_or_else(|| NO_TIME.to_owned()));
        let emulated = row.is_emulated();
        let speedup = entry.speedup().map(|it| it.ratio);
        let difference = match (&other, entry.comparison) {
            _ if emulated => Err(None),
            (_, None) => Err(None),
            (Ok(other), _) => self.difference(&case, other, speedup).map_err(Some),
            (Err(why), _) => Err(Some(why.clone())),
        };
        let statements = match emulated {
            true => Vec::new(),
            false => statements(&case, other.as_ref().ok(), &self.siblings(&case)),
        };
        let used = facts.profile.filter(|_| case.split.has_profile);
        let used = used.zip(case.split.stretch);
        let used =
            used.map(|(it, stretch)| ProfileUsed { steps: it.steps, step_ns: it.step_ns, stretch });
        let cautions = cautions(row, used.as_ref(), difference.as_ref().ok(), facts.ceiling());
        let command = used.is_none().then(|| self.profile_command(row));
        Some(Explanation::of(&case, time, statements, used, command, difference, cautions))
    }

    /// Splits a case's time; `None` if it has no time.
    fn case(&self, row: &'a Row) -> Option<Case<'a>> {
        let facts = CaseFacts::from_row(row, &self.machines)?;
        Some(Case { split: Split::new(&facts), facts })
    }

    /// The other cases of its group and parameter without emulated ones. Empty unless the case has attention, because
    /// only such cases are compared with siblings.
    fn siblings(&self, case: &Case<'_>) -> Vec<Case<'a>> {
        if case.attention().is_none() {
            return Vec::new();
        }
        let row = case.facts.row;
        let siblings = self.siblings.get(&key(row)).into_iter().flatten();
        let others = siblings.filter(|it| it.full_id() != row.full_id() && !it.is_emulated());
        let others = others.filter(|it| beside(it, row).is_ok());
        others.filter_map(|row| self.case(row)).collect()
    }

    fn difference(
        &self,
        case: &Case<'_>,
        other: &Case<'_>,
        speedup: Option<f64>,
    ) -> Result<Difference, String> {
        let stretch = |side: &Case<'_>, name: &str| {
            let why = || format!("{name} has no profile: {}", self.profile_command(side.facts.row));
            side.split.stretch.ok_or_else(why)
        };
        stretch(case, "it")?;
        let stretch = stretch(other, "its baseline")?;
        Ok(Difference::of(other.facts.row.full_id(), &other.split, &case.split, stretch, speedup))
    }

    /// The command that profiles a case: the bench target is that of its run, or else has the name of its mode.
    fn profile_command(&self, row: &Row) -> String {
        let record = &row.record;
        let target = self.targets.get(&*record.run_id).copied();
        let target = target.unwrap_or(record.case.mode.as_str());
        format!("cargo bench --bench {target} -- --profile --exact '{}'", record.full_id)
    }
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
