//! Whether to fuse, as a file holds it: the structure of `fusion`'s document, and the speed-ups
//! that it was made of, from which it is made anew when it is read.

use plan::{
    Allocator, CacheMode, Device, Dtype, FusionShape, FusionVariant, Pattern, Stop, Threads,
};
use serde::{Deserialize, Serialize};

use crate::model::{Advice, Interval, PatternAdvice, Place, Point, Speedup, VariantAdvice};

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
    variants: Vec<OfVariant>,
}

/// One of its variants.
#[derive(Serialize, Deserialize)]
struct OfVariant {
    variant: FusionVariant,
    fuses: bool,
    advice: String,
    cases: usize,
    cases_with_speedup: usize,
    lowest: Option<Case>,
    highest: Option<Case>,
    gaining: Vec<Case>,
    losing: Vec<Case>,
    undecided: Vec<Case>,
    speedups: Vec<Evidence>,
}

/// The speed-up of a case.
#[derive(Serialize, Deserialize)]
struct Case {
    size: String,
    dtype: Dtype,
    speedup_factor: f64,
    speedup_low: f64,
    speedup_high: f64,
}

/// All that is known of the speed-up of a case.
#[derive(Serialize, Deserialize)]
struct Evidence {
    #[serde(flatten)]
    case: Case,
    confidence_level: f64,
    blocks: usize,
    batches_per_block: u64,
    target: f64,
    stopped: Stop,
    dimensions: FusionShape,
}

impl From<FusionAdvice> for OfPattern {
    fn from(FusionAdvice(advice): FusionAdvice) -> Self {
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
        let cases = |points: Vec<&Point>| points.into_iter().map(Case::of).collect();
        Self {
            variant: of.variant,
            fuses: of.fuses,
            advice: of.advice.to_string(),
            cases: of.cases,
            cases_with_speedup: of.points.len(),
            lowest: of.lowest().map(Case::of),
            highest: of.highest().map(Case::of),
            gaining: cases(of.gaining()),
            losing: cases(of.losing()),
            undecided: cases(of.undecided()),
            speedups: of.points.iter().map(Evidence::of).collect(),
        }
    }

    fn read(self) -> Result<VariantAdvice, String> {
        Ok(VariantAdvice {
            variant: self.variant,
            fuses: self.fuses,
            advice: advice(&self.advice)?,
            cases: self.cases,
            points: self.speedups.into_iter().map(Evidence::read).collect(),
        })
    }
}

impl Case {
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

impl Evidence {
    fn of(point: &Point) -> Self {
        let Speedup { confidence_level, blocks, batches_per_block, target, stopped, .. } =
            point.speedup;
        Self {
            case: Case::of(point),
            confidence_level,
            blocks,
            batches_per_block,
            target,
            stopped,
            dimensions: point.size,
        }
    }

    fn read(self) -> Point {
        let Case { dtype, speedup_factor, speedup_low, speedup_high, .. } = self.case;
        let speedup = Speedup {
            ratio: speedup_factor,
            interval: Interval { low: speedup_low, high: speedup_high },
            confidence_level: self.confidence_level,
            blocks: self.blocks,
            batches_per_block: self.batches_per_block,
            target: self.target,
            stopped: self.stopped,
        };
        Point { dtype, size: self.dimensions, speedup }
    }
}

/// The advice of a word.
fn advice(word: &str) -> Result<Advice, String> {
    use Advice::{Avoid, Conditional, Fuse, Inconclusive, Indifferent};
    let all = [Avoid, Indifferent, Inconclusive, Conditional, Fuse];
    let named = all.into_iter().find(|advice| advice.word() == word);
    named.ok_or_else(|| format!("advice `{word}` is none of {}", all.map(Advice::word).join(", ")))
}
