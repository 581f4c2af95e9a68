//! The answers of a run, a line each: which recipe pays, whether to fuse, how good kernels are,
//! what the machine can do, and what was not measured.

use std::collections::{BTreeSet, HashMap};

use indexmap::IndexMap;
use plan::{CheckStatus, Implementation, Mode, Outcome, Pass};
use serde::Serialize;
use statistics::{Verdict, mean};

use super::calibration::{OperationKind, Request, calibrate};
use super::comparison::Entry;
use super::field::{Field, Figure};
use super::fusion::{Advice, FusionResult, PatternAdvice, VariantAdvice};
use super::operators::OperatorResult;
use super::reason::{Reason, Reasons};
use super::report::Report;
use super::speedup::{AsCalled, Speedup};
use super::view::gather;
use crate::order::{Order as _, Sorted as _};

/// The answers to one question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Question {
    /// Which recipe pays, per model and shape?
    #[default]
    Recipes,
    /// Does fusing pay, per pattern?
    Fusion,
    /// How good are our kernels, against ATen and against the limit?
    Operators,
    /// Which implementation of a user's kernel is the fastest?
    Kernels,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Answer {
    /// The question that it answers.
    pub question: Question,
    /// Workload, dtype and shape; of several shapes the workload and dtype.
    pub subject: String,
    /// A variant, an advice, or a verdict.
    pub answer: String,
    /// Whether it is good news: faster for certain, or slower; null where neither is known.
    pub pays: Option<bool>,
    /// The best variant, whether it pays or not.
    pub variant: String,
    /// The speed-up of that variant over the baseline.
    #[serde(flatten)]
    pub speedup: Option<Speedups>,
    /// The same as callers have it, on a device that works beside the host, where it is another one.
    pub as_called: Option<AsCalled>,
    /// For a recipe, 1 − its weights / the unquantized ones.
    pub weights_reduction: Option<f64>,
    /// For a recipe, decibels of its output against a high-precision reference.
    pub sqnr_db: Option<f64>,
    /// The variants whose intervals meet that of the best.
    pub level: Vec<Level>,
    /// For a pattern: the best variant by another library's product.
    pub other_product: Option<OtherProduct>,
    /// For an operator: the share of the machine's limit that our kernel reaches.
    pub share_of_limit: Option<f64>,
    /// The share that ATen reaches.
    pub aten_share_of_limit: Option<f64>,
    /// The statement that explains it best; null if none does.
    pub why: Option<Reason>,
}

/// A variant that may be as fast as the best one.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Level {
    /// The variant.
    pub variant: String,
    /// Decibels of its output, for a recipe.
    pub sqnr_db: Option<f64>,
}

/// The gain of another library's matrix product, which does not come from fusing.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OtherProduct {
    /// The variant.
    pub variant: String,
    /// What to do with it.
    pub advice: String,
    #[serde(flatten)]
    pub speedup: Option<Speedups>,
}

/// A speed-up with its interval, or the range of several.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Speedups {
    /// Of several, the geometric mean.
    #[serde(rename = "speedup_factor")]
    pub ratio: f64,
    /// The lower bound of the interval; of several, the lowest speed-up.
    #[serde(rename = "speedup_low")]
    pub low: f64,
    /// The upper bound of the interval; of several, the highest speed-up.
    #[serde(rename = "speedup_high")]
    pub high: f64,
    /// How many cases it is of.
    pub cases: usize,
}

impl Speedups {
    fn of(speedups: &[Speedup]) -> Option<Self> {
        let ratios = || speedups.iter().map(|it| it.ratio);
        let (low, high) = match speedups {
            [] => return None,
            [one] => (one.interval.low, one.interval.high),
            _ => (ratios().fold(f64::MAX, f64::min), ratios().fold(0.0, f64::max)),
        };
        let logs: Vec<f64> = ratios().map(f64::ln).collect();
        Some(Self { ratio: mean(&logs).exp(), low, high, cases: speedups.len() })
    }
}

/// The machine's limits on one device, dtype and number of threads.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limits {
    /// Device.
    pub device: String,
    /// Dtype of the product.
    pub dtype: String,
    /// Intra-op threads.
    pub threads: u32,
    /// GFLOP/s of the best product.
    pub peak_gflops: f64,
    /// GB/s of memory; null where it was not measured on so many threads.
    pub bandwidth_gbps: Option<f64>,
    /// Floating-point operations per byte from which on arithmetic is the limit.
    pub ridge_flop_per_byte: Option<f64>,
}

/// Cases without a time, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unmeasured {
    /// How they ended.
    pub status: String,
    /// How many they are.
    pub cases: usize,
    /// The reason, with what would change it where something would.
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Answers {
    /// The names of the checks that found something wrong when the runs began.
    pub disturbances: Vec<String>,
    /// Per question and subject.
    pub answers: Vec<Answer>,
    /// What the machine can do.
    pub limits: Vec<Limits>,
    /// Nanoseconds that calling an operation costs.
    pub call_ns: Option<f64>,
    /// Most cases first.
    pub unmeasured: Vec<Unmeasured>,
}

impl Answers {
    pub fn of(report: &Report) -> Self {
        let reasons = Reasons::of(report);
        let modes = [Mode::Inference, Mode::Training];
        let mut answers = chosen(report, Question::Recipes, &modes, &reasons);
        answers.extend(fusion(report, &reasons));
        answers.extend(operators(report, &reasons));
        answers.extend(chosen(report, Question::Kernels, &[Mode::Kernels], &reasons));
        let (limits, call_ns) = limits(report);
        let disturbances = report
            .checks
            .iter()
            .filter(|check| matches!(check.status, CheckStatus::Warning | CheckStatus::Failed));
        let disturbances: BTreeSet<String> =
            disturbances.map(|check| check.name.clone()).sorted_set();
        let disturbances = disturbances.into_iter().collect();
        Self { disturbances, answers, limits, call_ns, unmeasured: unmeasured(report) }
    }
}

/// The variant that is faster than its baseline at each shape, or none.
fn chosen<'a>(
    report: &'a Report,
    question: Question,
    modes: &[Mode],
    reasons: &Reasons<'a>,
) -> Vec<Answer> {
    let entries = report.entries().filter(|entry| modes.contains(&entry.row.record.case.mode));
    let entries = answering(entries.collect());
    let configs: BTreeSet<&str> =
        entries.iter().map(|entry| &*entry.row.record.case.config).sorted_set();
    let several = configs.len() > 1;
    let id = |entry: &Entry<'_>| {
        let id = &entry.row.record.case.id;
        (id.group.clone(), id.parameter.clone())
    };
    let blocks = gather(entries, id).into_iter();
    let answer =
        |block: Vec<Entry<'a>>| choice(question, subject(&block[0], several), &block, reasons);
    blocks.filter_map(answer).collect()
}

/// The passes that say whether a recipe pays in training: the first that a model was measured in.
const ANSWERING: [Pass; 3] = [Pass::ForwardBackward, Pass::StepSgd, Pass::StepAdamw];

/// The entries without those of passes that answer nothing by themselves: of a training step one pass
/// answers for all.
fn answering(entries: Vec<Entry<'_>>) -> Vec<Entry<'_>> {
    let rank = |entry: &Entry<'_>| {
        let pass = entry.row.pass();
        pass.map(|pass| ANSWERING.iter().position(|it| *it == pass).unwrap_or(ANSWERING.len()))
    };
    let model = |entry: &Entry<'_>| {
        let case = &entry.row.record.case;
        let model = case.work.model().map(|work| work.model.to_string());
        (case.config.clone(), model, case.device.as_str(), case.id.parameter.clone())
    };
    let mut first: HashMap<_, usize> = HashMap::new();
    for entry in &entries {
        if let Some(rank) = rank(entry) {
            first.entry(model(entry)).and_modify(|it| *it = rank.min(*it)).or_insert(rank);
        }
    }
    let answers = |entry: &Entry<'_>| {
        rank(entry).is_none_or(|rank| rank < ANSWERING.len() && first[&model(entry)] == rank)
    };
    entries.into_iter().filter(answers).collect()
}

fn choice<'a>(
    question: Question,
    subject: String,
    block: &[Entry<'a>],
    reasons: &Reasons<'a>,
) -> Option<Answer> {
    let mut compared: Vec<(&Entry<'a>, Speedup)> =
        block.iter().filter_map(|entry| Some((entry, *entry.speedup()?))).collect();
    compared.order_by(|(_, a), (_, b)| b.ratio.total_cmp(&a.ratio));
    let ((best, speedup), others) = compared.split_first()?;
    let pays = speedup.verdict() == Verdict::Faster;
    let lost = speedup.verdict() == Verdict::Slower;
    let none = match (question, best.baseline) {
        (Question::Kernels, Some(baseline)) if lost => baseline.record.case.variant(),
        (Question::Kernels, _) => "open".to_owned(),
        _ => "none".to_owned(),
    };
    let level = others.iter().filter(|(_, other)| {
        pays && other.verdict() == Verdict::Faster && other.interval.high >= speedup.interval.low
    });
    Some(Answer {
        question,
        subject,
        answer: if pays { best.variant() } else { none },
        variant: best.variant(),
        // That the reference of a kernel is the fastest is no bad news.
        pays: pays.then_some(true).or((lost && question != Question::Kernels).then_some(false)),
        speedup: Speedups::of(&[*speedup]),
        as_called: speedup.differs_as_called(),
        weights_reduction: best.comparison.and_then(|it| it.weights_reduction),
        sqnr_db: sqnr(best),
        level: level
            .map(|(entry, _)| Level { variant: entry.variant(), sqnr_db: sqnr(entry) })
            .collect(),
        why: reasons.among([**best].into_iter()),
        ..Answer::default()
    })
}

/// A recipe's; infinite if it changes nothing.
fn sqnr(entry: &Entry<'_>) -> Option<f64> {
    const SQNR: &Field = Field::known("sqnr");
    let Figure { value, .. } = SQNR.figure(entry)?;
    (entry.row.variant().is_some() && value.is_finite()).then_some(value)
}

/// Whether to fuse; where no variant only fuses, what the product of another library is worth.
fn fusion<'a>(report: &'a Report, reasons: &Reasons<'a>) -> Vec<Answer> {
    let results = FusionResult::all(report);
    let answer = |advice: &PatternAdvice| {
        let of = |named| advice.variants.iter().find(|it| Some(it.variant) == named);
        let own = of(advice.best).filter(|it| it.votes);
        let other = of(advice.other_product_variant);
        let shown = own.or(other)?;
        let word = own.map_or(shown.advice, |_| advice.advice);
        let is_of = |it: &&FusionResult<'_>| {
            let pattern = (it.key.work.pattern, &it.key.place);
            pattern == (advice.pattern, &advice.place) && it.entry.variant() == shown.name()
        };
        Some(Answer {
            question: Question::Fusion,
            subject: advice.pattern.to_string(),
            answer: word.word().to_owned(),
            variant: shown.name(),
            pays: match word {
                Advice::Fuse | Advice::Faster => Some(true),
                Advice::Avoid | Advice::Slower => Some(false),
                _ => None,
            },
            speedup: factors(shown),
            other_product: other.map(|other| OtherProduct {
                variant: other.name(),
                advice: other.advice.word().to_owned(),
                speedup: factors(other),
            }),
            why: reasons.among(results.iter().filter(is_of).map(|it| it.entry)),
            ..Answer::default()
        })
    };
    PatternAdvice::all(&results).iter().filter_map(answer).collect()
}

fn factors(of: &VariantAdvice) -> Option<Speedups> {
    Speedups::of(&of.factors())
}

/// Ours: neither libtorch's nor the limit.
const fn is_ours(implementation: Implementation) -> bool {
    matches!(implementation, Implementation::Rust | Implementation::Cuda | Implementation::Triton)
}

fn operators<'a>(report: &'a Report, reasons: &Reasons<'a>) -> Vec<Answer> {
    let results = OperatorResult::all(report);
    let key =
        |it: &OperatorResult<'_>| (it.key.work.operator, it.key.dtype, it.key.place.to_string());
    gather(results, key).iter().filter_map(|block| operator(block, reasons)).collect()
}

/// Our best implementation of an operator, over all sizes.
fn operator<'a>(block: &[OperatorResult<'a>], reasons: &Reasons<'a>) -> Option<Answer> {
    let ours = block.iter().filter(|it| is_ours(it.key.work.implementation));
    let ours = ours.filter_map(|it| Some((it, *it.entry.speedup()?)));
    let of = gather(ours, |(it, _)| it.entry.variant()).into_iter().filter_map(|own| {
        let speedups: Vec<Speedup> = own.iter().map(|(_, speedup)| *speedup).collect();
        Some((own[0].0, Speedups::of(&speedups)?, speedups))
    });
    let (best, speedup, speedups) =
        of.max_by(|(_, a, _), (_, b, _)| a.ratio.total_cmp(&b.ratio))?;
    let count = |verdict| speedups.iter().filter(|it| it.verdict() == verdict).count();
    let (faster, slower) = (count(Verdict::Faster), count(Verdict::Slower));
    let pays = match (faster, slower, count(Verdict::Inconclusive)) {
        (1.., 0, 0) => Some(true),
        (0, 1.., 0) => Some(false),
        _ => None,
    };
    let verdict = match (pays, speedups.len()) {
        (Some(true), _) => "faster".to_owned(),
        (Some(false), _) => "slower".to_owned(),
        (None, 1) if count(Verdict::Same) == 1 => "the same".to_owned(),
        (None, 1) => "open".to_owned(),
        (None, all) => format!("{faster} of {all} faster, {slower} slower"),
    };
    let shares = |variant: &str| -> Option<f64> {
        let shares = block.iter().filter(|it| it.entry.variant() == variant);
        let shares: Vec<f64> =
            shares.filter_map(|it| Some(it.efficiency.as_ref().ok()?.share.ln())).collect();
        (!shares.is_empty()).then(|| mean(&shares).exp())
    };
    let same = block.iter().filter(|it| it.entry.variant() == best.entry.variant());
    let dtype = best.key.dtype.short();
    let size = match speedups.len() {
        1 => format!(" {}", best.key.work.size),
        _ => String::new(),
    };
    Some(Answer {
        question: Question::Operators,
        subject: format!("{} {dtype}{size}", best.key.work.operator),
        answer: format!("{}: {verdict}", best.entry.variant()),
        variant: best.entry.variant(),
        pays,
        speedup: Some(speedup),
        share_of_limit: shares(&best.entry.variant()),
        aten_share_of_limit: shares(Implementation::Aten.as_str()),
        why: reasons.among(same.map(|it| it.entry)),
        ..Answer::default()
    })
}

/// Peaks of each device that was calibrated; what a call costs on the host.
fn limits(report: &Report) -> (Vec<Limits>, Option<f64>) {
    let probes = report.entries().filter(|it| it.row.record.case.mode == Mode::Calibration);
    let devices: BTreeSet<_> = probes.map(|entry| entry.row.record.case.device).sorted_set();
    let profiles = devices.into_iter().filter_map(|device| {
        let request =
            Request { device: Some(device), operations: &OperationKind::ALL, ..Request::default() };
        // Nothing of that device was measured.
        calibrate(report, &request).ok()
    });
    let profiles: Vec<_> = profiles.collect();
    let call = profiles.iter().flat_map(|it| &it.call_overheads).map(|it| it.median_ns);
    let limits = profiles.iter().flat_map(|it| &it.rooflines).map(|roof| Limits {
        device: roof.device.to_string(),
        dtype: roof.dtype.plain().to_owned(),
        threads: roof.threads,
        peak_gflops: roof.peak_gflops.value,
        bandwidth_gbps: roof.bandwidth_gbps.as_ref().map(|limit| limit.value),
        ridge_flop_per_byte: roof.ridge_flop_per_byte,
    });
    (limits.collect(), call.reduce(f64::min))
}

fn unmeasured(report: &Report) -> Vec<Unmeasured> {
    let mut counts: IndexMap<(String, String), usize> = IndexMap::new();
    for entry in report.entries().filter(|entry| entry.row.time.is_err()) {
        let status = match entry.row.record.outcome.status() {
            measured if measured == Outcome::Measured.status() => "without a time",
            other => other,
        };
        let status = status.to_owned();
        let reason = entry.row.reason().unwrap_or_default();
        *counts.entry((status, reason)).or_default() += 1;
    }
    for missing in &report.missing {
        *counts.entry(("missing".to_owned(), missing.reason.clone())).or_default() += 1;
    }
    counts.sort_by(|_, a, _, b| b.cmp(a));
    let of = |((status, reason), cases)| Unmeasured { status, cases, reason };
    counts.into_iter().map(of).collect()
}

/// `linear bf16 1x4096x4096`, behind the config where there are several.
fn subject(entry: &Entry<'_>, several_configs: bool) -> String {
    let id = &entry.row.record.case.id;
    let mut parts = id.group.split('/');
    let config = parts.nth(1).filter(|_| several_configs);
    let workload = parts.next();
    let device = parts.next().filter(|device| *device != "cpu");
    let parameter = id.parameter.replacen('-', " ", 1);
    let words = [config, workload, Some(&*parameter), device];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}
