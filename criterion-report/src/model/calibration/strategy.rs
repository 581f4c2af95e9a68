//! Whether to fuse, as a file holds it: the structure of `fusion`'s document, and the speed-ups
//! that it was made of, from which it is made anew when it is read.

use plan::{Allocator, CacheMode, Device, FusionShape, FusionVariant, Pattern, Stop, Threads};
use serde::{Deserialize, Serialize};

use crate::model::{
    Advice, Interval, Levels, OverCase, OverControl, PatternAdvice, Place, Point, RunsOf, Speedup,
    SpeedupCase, VariantAdvice, VariantEntry,
};

/// What to do with a pattern at a place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "OfPattern", try_from = "OfPattern")]
pub struct FusionAdvice(pub PatternAdvice);

/// A pattern at a place.
#[derive(Serialize, Deserialize)]
struct OfPattern {
    device: Device,
    processor: Option<String>,
    threads: Threads,
    allocator: Allocator,
    cache: CacheMode,
    pattern: Pattern,
    fusion_pattern: String,
    advice: String,
    best_variant: Option<FusionVariant>,
    other_product_advice: Option<String>,
    other_product_variant: Option<FusionVariant>,
    variants: Vec<OfVariant>,
}

/// One of its variants.
#[derive(Serialize, Deserialize)]
struct OfVariant {
    #[serde(flatten)]
    entry: VariantEntry,
    speedups: Vec<Evidence>,
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

impl From<FusionAdvice> for OfPattern {
    fn from(FusionAdvice(advice): FusionAdvice) -> Self {
        let other = advice.best_of_other_product();
        let other_product_advice = other.map(|other| other.word().to_owned());
        let other_product_variant = other.map(|other| other.variant);
        let Place { device, processor, threads, allocator, cache } = advice.place;
        Self {
            device,
            processor,
            threads,
            allocator,
            cache,
            pattern: advice.pattern,
            fusion_pattern: advice.pattern.upstream().to_owned(),
            advice: advice.advice.to_string(),
            best_variant: advice.best,
            other_product_advice,
            other_product_variant,
            variants: advice.variants.iter().map(OfVariant::of).collect(),
        }
    }
}

impl TryFrom<OfPattern> for FusionAdvice {
    type Error = String;

    fn try_from(read: OfPattern) -> Result<Self, String> {
        let OfPattern { device, processor, threads, allocator, cache, .. } = read;
        Ok(Self(PatternAdvice {
            place: Place { device, processor, threads, allocator, cache },
            pattern: read.pattern,
            advice: advice(&read.advice)?,
            best: read.best_variant,
            variants: read.variants.into_iter().map(OfVariant::read).collect::<Result<_, _>>()?,
        }))
    }
}

impl OfVariant {
    fn of(of: &VariantAdvice) -> Self {
        let speedups = of.points.iter().map(Evidence::of).collect();
        Self { entry: VariantEntry::of(of), speedups }
    }

    fn read(self) -> Result<VariantAdvice, String> {
        let Self { entry, speedups } = self;
        let points: Vec<Point> = speedups.into_iter().map(Evidence::read).collect();
        let over = |over: &OverCase| read_over(over, &points);
        let over_control = entry.over_control.iter().map(over).collect::<Result<_, _>>()?;
        Ok(VariantAdvice {
            variant: entry.variant,
            compile: entry.compile,
            fuses: entry.fuses,
            same_product: entry.same_product,
            advice: advice(&entry.advice)?,
            cases: entry.cases,
            points,
            over_control,
        })
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

/// Its dimensions are those of the speed-up that it was derived from.
fn read_over(over: &OverCase, points: &[Point]) -> Result<OverControl, String> {
    let OverCase { size, dtype, speedup_low, speedup_high } = over;
    let mut points = points.iter().filter(|it| it.dtype == *dtype);
    let of = points.find(|it| it.size.to_string() == *size);
    let of = of.ok_or_else(|| format!("`over_control` at {size}, which has no speed-up"))?;
    let interval = Interval { low: *speedup_low, high: *speedup_high };
    Ok(OverControl { dtype: *dtype, size: of.size, interval })
}

/// The advice of a word.
fn advice(word: &str) -> Result<Advice, String> {
    Advice::of_word(word).ok_or_else(|| {
        let words = Advice::ALL.map(|it| format!("{} ({})", it.word(), it.word_of_speed()));
        format!("advice `{word}` is none of {}", words.join(", "))
    })
}
