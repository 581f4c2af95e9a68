//! The answers of a run, a line each: which recipe pays, whether to fuse, how good kernels are,
//! what the machine can do, and what was not measured.

mod choice;

use std::collections::BTreeSet;
use std::fmt;

use choice::{chosen, fastest};
use clap::ValueEnum as _;
use indexmap::IndexMap;
use plan::{CheckStatus, Implementation, Mode, Outcome};
use serde::Serialize;
use statistics::{Ratio, Verdict, mean};

use crate::model::{Row, Speedup, gather, speedup::AsCalled};
use crate::order::Sorted as _;
use crate::read::Report;
use crate::render::object::document;
use crate::render::units;
use crate::views::OperatorResult;
use crate::views::calibration::{ABOVE, OperationKind, PeakSource, Request, Roofline, calibrate};
use crate::views::{Advice, FusionResult, PatternAdvice, Reason, VariantAdvice, reason::Reasons};

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
    /// The fastest variant, an advice, or that nothing pays or nothing is certain.
    pub answer: String,
    /// Why it is left open, whatever its figures are: no figure is given then.
    pub open: Option<String>,
    /// Whether it is good news: faster for certain, or slower; null where neither is known.
    pub pays: Option<bool>,
    /// The best variant, whether it pays or not.
    pub variant: String,
    /// The speed-up of that variant over the baseline, or over `over`.
    #[serde(flatten)]
    pub speedup: Option<Speedups>,
    /// Whether the speed-up is that of two times, which were not measured in turn.
    pub by_times: bool,
    /// For an operator or a kernel: the implementation that the speed-up is over, the next fastest one.
    pub over: Option<String>,
    /// The speed-up as callers see it, on a device that works beside the host, if it differs.
    pub as_called: Option<AsCalled>,
    /// For a recipe, 1 − its weights / the unquantized ones.
    pub weights_reduction: Option<f64>,
    /// For a recipe, decibels of its output against a high-precision reference.
    pub sqnr_db: Option<f64>,
    /// For a recipe, the fastest unquantized model beside the baseline, in another dtype or run in another way, if it may be as
    /// fast as the baseline or the recipe. The speed-up is the recipe's over it.
    pub unquantized: Option<Beside>,
    /// The fastest recipe, if an unquantized model is faster. The speed-up is the recipe's over the baseline.
    pub recipe: Option<Beside>,
    /// The variants whose intervals meet that of the best.
    pub level: Vec<Level>,
    /// For a pattern: the best variant by another library's product.
    pub other_product: Option<OtherProduct>,
    /// For an operator: the share of the machine's limit that our kernel reaches; null where it exceeds the limit.
    pub share_of_limit: Option<f64>,
    /// The share that ATen reaches.
    pub aten_share_of_limit: Option<f64>,
    /// The statement that explains it best; null if none does.
    pub why: Option<Reason>,
}

/// A variant beside the answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Beside {
    /// The variant; the baseline of another dtype has that one's name.
    pub variant: String,
    /// Whether the speed-up is that of two times, which were not measured in turn.
    pub by_times: bool,
    /// A speed-up that has to do with it.
    #[serde(flatten)]
    pub speedup: Speedups,
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
    /// The recommended action.
    pub advice: String,
    #[serde(flatten)]
    pub speedup: Option<Speedups>,
}

/// A speed-up with its interval, or the range of several.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Speedups {
    /// The speed-up; of several, the geometric mean.
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
    fn from_speedups(speedups: &[Speedup]) -> Option<Self> {
        let ratios = || speedups.iter().map(|it| it.ratio);
        let (low, high) = match speedups {
            [] => return None,
            [one] => (one.interval.low, one.interval.high),
            _ => (ratios().fold(f64::MAX, f64::min), ratios().fold(0.0, f64::max)),
        };
        let logs: Vec<f64> = ratios().map(f64::ln).collect();
        Some(Self { ratio: mean(&logs).exp(), low, high, cases: speedups.len() })
    }

    /// The other side's.
    fn inverted(self) -> Self {
        Self { ratio: self.ratio.recip(), low: self.high.recip(), high: self.low.recip(), ..self }
    }

    /// Whether the interval of one speed-up is too wide for a figure: a factor of two.
    pub fn is_undecided(&self) -> bool {
        self.cases == 1 && self.high > 2.0 * self.low
    }
}

impl From<Ratio> for Speedups {
    fn from(Ratio { ratio, low, high }: Ratio) -> Self {
        Self { ratio, low, high, cases: 1 }
    }
}

document! {
    /// The machine's limits on one device, dtype and number of threads.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Limits = of(roof: &Roofline) {
        /// Device.
        pub device: String = roof.device.to_string(),
        /// Dtype of the product.
        pub dtype: String = roof.dtype.plain().to_owned(),
        /// Intra-op threads.
        pub threads: u32 = roof.threads,
        /// GFLOP/s of the best product.
        pub peak_gflops: f64 = roof.peak_gflops.value,
        /// The case that reached it, where it is above the probes by more than measurements vary.
        pub reached_by: Option<String> = match &roof.peak_gflops.source {
            PeakSource::Reached(id) if roof.refuted().is_some() => Some(id.clone()),
            _ => None,
        },
        /// GB/s of memory; null where it was not measured on so many threads.
        pub bandwidth_gbps: Option<f64> = roof.bandwidth_gbps.as_ref().map(|limit| limit.value),
        /// Floating-point operations per byte from which on arithmetic is the limit.
        pub ridge_flop_per_byte: Option<f64> = roof.ridge_flop_per_byte,
    }
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

/// Cases of kernels that were measured and not judged, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unjudged {
    /// How many they are.
    pub cases: usize,
    /// The reason.
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Answers {
    /// The names of the checks that found something wrong when the runs began.
    pub disturbances: Vec<String>,
    /// Per question and subject.
    pub answers: Vec<Answer>,
    /// The machine's limits.
    pub limits: Vec<Limits>,
    /// Nanoseconds that calling an operation costs.
    pub call_ns: Option<f64>,
    /// Most cases first.
    pub unmeasured: Vec<Unmeasured>,
    /// Most cases first.
    pub unjudged: Vec<Unjudged>,
}

impl Answers {
    pub fn new(report: &Report) -> Self {
        let reasons = Reasons::new(report);
        let mut answers = chosen(report, &reasons);
        answers.extend(fusion(report, &reasons));
        answers.extend(operators(report, &reasons));
        answers.extend(fastest(report, &reasons));
        let (limits, call_ns) = limits(report);
        let disturbances = report
            .checks
            .iter()
            .filter(|check| matches!(check.status, CheckStatus::Warning | CheckStatus::Failed));
        let disturbances: BTreeSet<String> =
            disturbances.map(|check| check.name.clone()).sorted_set();
        let disturbances = disturbances.into_iter().collect();
        let unjudged = unjudged(report.entries().map(|entry| entry.row));
        Self { disturbances, answers, limits, call_ns, unmeasured: unmeasured(report), unjudged }
    }
}

/// The answer where the figures leave it open.
const UNDECIDED: &str = "undecided";

/// Why an answer stays open that is from one of these cases: what they took is not their own.
fn contended<'a>(mut cases: impl Iterator<Item = &'a Row>) -> Option<String> {
    cases.any(Row::is_contended).then(|| "other programs took the CPUs: measure again".to_owned())
}

/// Leaves an answer open if there is a reason for that.
fn open_if(open: Option<String>, answer: Answer) -> Answer {
    if open.is_none() {
        return answer;
    }
    let Answer { question, subject, variant, .. } = answer;
    Answer { question, subject, answer: UNDECIDED.to_owned(), variant, open, ..Answer::default() }
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
        let open = contended(results.iter().filter(is_of).map(|it| it.entry.row));
        Some(open_if(
            open,
            Answer {
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
            },
        ))
    };
    PatternAdvice::all(&results).iter().filter_map(answer).collect()
}

fn factors(of: &VariantAdvice) -> Option<Speedups> {
    Speedups::from_speedups(&of.factors())
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
        Some((own[0].0, Speedups::from_speedups(&speedups)?, speedups))
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
    let (own, aten) = (best.entry.variant(), Implementation::Aten.as_str());
    let answer = match (pays, speedups.len()) {
        (Some(true), _) => own.clone(),
        (Some(false), _) => aten.to_owned(),
        (None, 1) if count(Verdict::Same) == 1 => "the same".to_owned(),
        (None, 1) => UNDECIDED.to_owned(),
        (None, all) => format!("{own}: {faster} of {all} faster, {slower} slower"),
    };
    let shares = |variant: &str| -> Option<f64> {
        let shares = block.iter().filter(|it| it.entry.variant() == variant);
        let shares: Vec<f64> =
            shares.filter_map(|it| Some(it.efficiency.as_ref().ok()?.share.ln())).collect();
        // The limit was disturbed, if an implementation is faster.
        (!shares.is_empty()).then(|| mean(&shares).exp()).filter(|share| *share <= ABOVE)
    };
    let same = block.iter().filter(|it| it.entry.variant() == best.entry.variant());
    let dtype = best.key.dtype.short();
    let size = match speedups.len() {
        1 => format!(" {}", best.key.work.size),
        _ => String::new(),
    };
    let open = contended(same.clone().map(|it| it.entry.row));
    Some(open_if(
        open,
        Answer {
            question: Question::Operators,
            subject: format!("{} {dtype}{size}", best.key.work.operator),
            answer,
            pays,
            speedup: Some(if pays == Some(false) { speedup.inverted() } else { speedup }),
            over: Some(if pays == Some(false) { own.clone() } else { aten.to_owned() }),
            share_of_limit: shares(&own),
            aten_share_of_limit: shares(aten),
            variant: own,
            why: reasons.among(same.map(|it| it.entry)),
            ..Answer::default()
        },
    ))
}

/// Peaks of each device that was calibrated; what a call costs on the host.
fn limits(report: &Report) -> (Vec<Limits>, Option<f64>) {
    let probes = report.entries().filter(|it| it.row.record.case.mode == Mode::Calibration);
    let devices: BTreeSet<_> = probes.map(|entry| entry.row.record.case.device).sorted_set();
    let profiles = devices.into_iter().filter_map(|device| {
        let request = Request {
            device: Some(device),
            operations: OperationKind::value_variants(),
            ..Request::default()
        };
        // Nothing of that device was measured.
        calibrate(report, &request).ok()
    });
    let profiles: Vec<_> = profiles.collect();
    let call = profiles.iter().flat_map(|it| &it.call_overheads).map(|it| it.median_ns);
    let limits = profiles.iter().flat_map(|it| &it.rooflines).map(Limits::of);
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

/// The reasons why kernels are not judged, those of most cases first.
pub fn unjudged<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<Unjudged> {
    let mut counts: IndexMap<&str, usize> = IndexMap::new();
    for reason in rows.filter_map(Row::not_judged) {
        *counts.entry(reason).or_default() += 1;
    }
    counts.sort_by(|_, a, _, b| b.cmp(a));
    let of = |(reason, cases): (&str, usize)| Unjudged { cases, reason: reason.to_owned() };
    counts.into_iter().map(of).collect()
}

impl fmt::Display for Unjudged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} not judged: {}", units::count(self.cases, "case"), self.reason)
    }
}
