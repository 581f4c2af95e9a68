//! The strategy, as documents hold it: that of `fusion`, and a machine's profile. The profile has the
//! speed-ups that it was made of besides, from which it is made anew when it is read.

use plan::{CompileMode, Dtype, FusionShape, FusionVariant, Pattern, Stop};
use serde::{Deserialize, Serialize};

use super::advice::{Advice, OverControl, PatternAdvice, Point, VariantAdvice};
use crate::model::{Interval, Levels, Place, RunsOf, Speedup};

/// What to do with a pattern at a place.
#[derive(Serialize, Deserialize)]
pub struct Strategy {
    #[serde(flatten)]
    place: Place,
    pattern: Pattern,
    fusion_pattern: String,
    advice: String,
    best_variant: Option<FusionVariant>,
    other_product_advice: Option<String>,
    other_product_variant: Option<FusionVariant>,
    variants: Vec<VariantEntry>,
}

/// What to do with one of its variants, and why.
#[derive(Serialize, Deserialize)]
struct VariantEntry {
    variant: FusionVariant,
    /// Null of an eager one.
    compile: Option<CompileMode>,
    /// Null of a compiled one.
    fuses: Option<bool>,
    /// Null where no kernels tell.
    same_product: Option<bool>,
    votes: bool,
    advice: String,
    cases: usize,
    cases_with_speedup: usize,
    lowest: Option<SpeedupCase>,
    highest: Option<SpeedupCase>,
    gaining: Vec<SpeedupCase>,
    losing: Vec<SpeedupCase>,
    undecided: Vec<SpeedupCase>,
    over_control: Vec<OverCase>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    speedups: Option<Vec<Evidence>>,
}

/// The speed-up of a case; sizes are as ids have them.
#[derive(Serialize, Deserialize)]
struct SpeedupCase {
    size: String,
    dtype: Dtype,
    speedup_factor: f64,
    speedup_low: f64,
    speedup_high: f64,
}

/// What fusing adds over the control of the same product: derived, not measured.
#[derive(Serialize, Deserialize)]
struct OverCase {
    size: String,
    dtype: Dtype,
    speedup_low: f64,
    speedup_high: f64,
}

/// All that is known of the speed-up of a case.
#[derive(Serialize, Deserialize)]
struct Evidence {
    #[serde(flatten)]
    case: SpeedupCase,
    confidence_level: f64,
    blocks: usize,
    #[serde(flatten)]
    levels: Levels,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    steps_ns: Option<(f64, f64)>,
    batches_per_block: u64,
    target: f64,
    stopped: Stop,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    runs: Option<RunsOf>,
    dimensions: FusionShape,
}

impl Strategy {
    /// What `of` says; with the speed-ups behind it if it is to be read again.
    pub fn of(of: &PatternAdvice, with_speedups: bool) -> Self {
        let other = of.best_of_other_product();
        let variants = of.variants.iter().map(|it| VariantEntry::of(it, with_speedups));
        Self {
            place: of.place.clone(),
            pattern: of.pattern,
            fusion_pattern: of.pattern.upstream().to_owned(),
            advice: of.advice.to_string(),
            best_variant: of.best,
            other_product_advice: other.map(|other| other.word().to_owned()),
            other_product_variant: other.map(|other| other.variant),
            variants: variants.collect(),
        }
    }
}

impl From<PatternAdvice> for Strategy {
    fn from(advice: PatternAdvice) -> Self {
        Self::of(&advice, true)
    }
}

impl TryFrom<Strategy> for PatternAdvice {
    type Error = String;

    fn try_from(read: Strategy) -> Result<Self, String> {
        Ok(Self {
            place: read.place,
            pattern: read.pattern,
            advice: advice(&read.advice)?,
            best: read.best_variant,
            variants: read
                .variants
                .into_iter()
                .map(VariantEntry::read)
                .collect::<Result<_, _>>()?,
        })
    }
}

impl VariantEntry {
    fn of(of: &VariantAdvice, with_speedups: bool) -> Self {
        let cases = |points: Vec<&Point>| points.into_iter().map(SpeedupCase::of).collect();
        Self {
            variant: of.variant,
            compile: of.compile,
            fuses: of.fuses,
            same_product: of.same_product,
            votes: of.votes(),
            advice: of.word().to_owned(),
            cases: of.cases,
            cases_with_speedup: of.points.len(),
            lowest: of.lowest().map(SpeedupCase::of),
            highest: of.highest().map(SpeedupCase::of),
            gaining: cases(of.gaining()),
            losing: cases(of.losing()),
            undecided: cases(of.undecided()),
            over_control: of.over_control.iter().map(OverCase::of).collect(),
            speedups: with_speedups.then(|| of.points.iter().map(Evidence::of).collect()),
        }
    }

    fn read(self) -> Result<VariantAdvice, String> {
        let speedups = self.speedups.ok_or("missing field `speedups`")?;
        let points: Vec<Point> = speedups.into_iter().map(Evidence::read).collect();
        let over_control = self.over_control.iter().map(|over| over.read(&points));
        Ok(VariantAdvice {
            variant: self.variant,
            compile: self.compile,
            fuses: self.fuses,
            same_product: self.same_product,
            advice: advice(&self.advice)?,
            cases: self.cases,
            over_control: over_control.collect::<Result<_, _>>()?,
            points,
        })
    }
}

impl SpeedupCase {
    fn of(point: &Point) -> Self {
        let Speedup { ratio, interval, .. } = point.speedup;
        Self {
            size: point.size.to_string(),
            dtype: point.dtype,
            speedup_factor: ratio,
            speedup_low: interval.low,
            speedup_high: interval.high,
        }
    }
}

impl OverCase {
    fn of(over: &OverControl) -> Self {
        let Interval { low, high } = over.interval;
        let (size, dtype) = (over.size.to_string(), over.dtype);
        Self { size, dtype, speedup_low: low, speedup_high: high }
    }

    /// Its dimensions are those of the speed-up that it was derived from.
    fn read(&self, points: &[Point]) -> Result<OverControl, String> {
        let Self { size, dtype, speedup_low, speedup_high } = self;
        let mut points = points.iter().filter(|it| it.dtype == *dtype);
        let of = points.find(|it| it.size.to_string() == *size);
        let of = of.ok_or_else(|| format!("`over_control` at {size}, which has no speed-up"))?;
        let interval = Interval { low: *speedup_low, high: *speedup_high };
        Ok(OverControl { dtype: *dtype, size: of.size, interval })
    }
}

impl Evidence {
    fn of(point: &Point) -> Self {
        let Speedup { confidence_level, blocks, levels, batches_per_block, .. } = point.speedup;
        let Speedup { steps_ns, target, stopped, runs, .. } = point.speedup;
        Self {
            case: SpeedupCase::of(point),
            confidence_level,
            blocks,
            levels,
            steps_ns,
            batches_per_block,
            target,
            stopped,
            runs,
            dimensions: point.size,
        }
    }

    fn read(self) -> Point {
        let SpeedupCase { dtype, speedup_factor, speedup_low, speedup_high, .. } = self.case;
        let speedup = Speedup {
            ratio: speedup_factor,
            interval: Interval { low: speedup_low, high: speedup_high },
            confidence_level: self.confidence_level,
            blocks: self.blocks,
            levels: self.levels,
            steps_ns: self.steps_ns,
            batches_per_block: self.batches_per_block,
            target: self.target,
            stopped: self.stopped,
            runs: self.runs,
        };
        Point { dtype, size: self.dimensions, speedup }
    }
}

/// The advice of a word.
fn advice(word: &str) -> Result<Advice, String> {
    Advice::of_word(word).ok_or_else(|| {
        let words = Advice::ALL.map(|it| format!("{} ({})", it.word(), it.word_of_speed()));
        format!("advice `{word}` is none of {}", words.join(", "))
    })
}
