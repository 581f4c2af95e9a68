use plan::{Allocator, CacheMode, Device, Stop, Threads};

use super::*;
use crate::model::VarianceComponents;

const STRONG: Benefit = Benefit::Of(Band::Strong);
const GAIN: Benefit = Benefit::Of(Band::Moderate);
const SAME: Benefit = Benefit::Of(Band::Minimal);
const LOSS: Benefit = Benefit::Of(Band::Slower);
/// It gains, whether moderately or strongly.
const SURE_GAIN: Benefit = over(Band::Moderate, Band::Strong);
const MAY_GAIN: Benefit = over(Band::Minimal, Band::Moderate);
const MAY_LOSE: Benefit = over(Band::Slower, Band::Minimal);
const ANYTHING: Benefit = over(Band::Slower, Band::Strong);

const fn over(lowest: Band, highest: Band) -> Benefit {
    Benefit::Inconclusive { lowest, highest }
}

#[test]
fn one_of_each_and_the_corner_cases() {
    for (cases, advice) in [
        // Something gains.
        (&[GAIN][..], Advice::Fuse),
        (&[STRONG, SAME, GAIN], Advice::Fuse),
        (&[SURE_GAIN], Advice::Fuse),
        (&[GAIN, MAY_GAIN], Advice::Fuse),
        (&[GAIN, LOSS], Advice::Conditional),
        (&[STRONG, STRONG, MAY_LOSE], Advice::Conditional),
        (&[GAIN, ANYTHING], Advice::Conditional),
        // Nothing gains.
        (&[LOSS], Advice::Avoid),
        (&[LOSS, SAME, MAY_LOSE], Advice::Avoid),
        (&[SAME, SAME], Advice::Indifferent),
        // It is open whether something does.
        (&[], Advice::Inconclusive),
        (&[ANYTHING, ANYTHING], Advice::Inconclusive),
        (&[MAY_GAIN, SAME], Advice::Inconclusive),
        (&[MAY_LOSE, SAME], Advice::Inconclusive),
        (&[LOSS, MAY_GAIN], Advice::Inconclusive),
        (&[LOSS, ANYTHING], Advice::Inconclusive),
    ] {
        let advised = Advice::of(cases.iter().copied());
        assert_eq!(advised, advice, "{cases:?}");
        let reversed = Advice::of(cases.iter().rev().copied());
        assert_eq!(reversed, advice, "{cases:?} in another order");
    }
}

/// Whatever the true speed-ups are inside their intervals: an advice that was given for intervals
/// is the one for the true speed-ups, or is milder where that cannot be known.
#[test]
fn an_advice_stands_wherever_the_true_speedups_lie() {
    let spans: Vec<Benefit> = (0..4)
        .flat_map(|low| (low..4).map(move |high| (Band::ALL[low], Band::ALL[high])))
        .map(|(low, high)| if low == high { Benefit::Of(low) } else { over(low, high) })
        .collect();
    let inside = |span: Benefit| {
        Band::ALL.into_iter().filter(move |band| (span.lowest()..=span.highest()).contains(band))
    };
    for &a in &spans {
        for &b in &spans {
            let truths: Vec<Advice> = inside(a)
                .flat_map(|x| inside(b).map(move |y| [Benefit::Of(x), Benefit::Of(y)]))
                .map(Advice::of)
                .collect();
            let advice = Advice::of([a, b]);
            match advice {
                // A case that loses for sure, or may, is left alone, so fusing the rest is right.
                Advice::Conditional => assert!(
                    truths.iter().all(|it| matches!(it, Advice::Conditional | Advice::Fuse)),
                    "{a:?} {b:?}: {truths:?}"
                ),
                Advice::Inconclusive => {}
                sure => assert!(truths.iter().all(|it| *it == sure), "{a:?} {b:?}: {truths:?}"),
            }
        }
    }
}

fn variant(variant: FusionVariant, speedups: &[(f64, f64, f64)]) -> VariantAdvice {
    let evidence = speedups.iter().zip(1..).map(|(&(low, ratio, high), m)| {
        let speedup = Speedup {
            ratio,
            interval: Interval { low, high },
            confidence_level: 0.95,
            blocks: 24,
            levels: VarianceComponents::default(),
            steps_ns: None,
            batches_per_block: 4,
            as_called: None,
            target: 0.01,
            stopped: Stop::Target,
            runs: None,
        };
        Evidence::new(Dtype::Float32, FusionShape::Linear { m, k: 8, n: 8 }, speedup)
    });
    VariantAdvice::of(variant, Some(true), Some(true), evidence.collect())
}

#[test]
fn the_evidence_names_its_cases() {
    let mixed = variant(
        FusionVariant::Fused,
        &[(1.2, 1.3, 1.4), (0.7, 0.8, 0.9), (0.9, 1.0, 1.2), (0.99, 1.0, 1.01)],
    );
    assert_eq!(mixed.advice, Advice::Conditional);
    let rows = |points: &[Point]| points.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(rows(&mixed.gaining), ["f32 1x8x8"]);
    assert_eq!(rows(&mixed.losing), ["f32 2x8x8"]);
    assert_eq!(rows(&mixed.undecided), ["f32 3x8x8"]);
    assert_eq!(mixed.lowest.map(|it| it.ratio), Some(0.8));
    assert_eq!(mixed.highest.map(|it| it.ratio), Some(1.3));
    let nothing = variant(FusionVariant::Fused, &[]);
    assert_eq!((nothing.lowest, nothing.advice), (None, Advice::Inconclusive));
}

#[test]
fn of_two_variants_the_advice_decides_then_the_evidence_then_the_mean() {
    use FusionVariant::{Fused, Mkldnn};
    let better = |a: &[_], b: &[_]| {
        let mut both = [variant(Fused, a), variant(Mkldnn, b)];
        let best = |of: &[VariantAdvice]| super::best(of, |_| true).map(|it| it.variant);
        let found = best(&both);
        both.reverse();
        assert_eq!(best(&both), found, "in either order");
        found.expect("there are two")
    };
    let (strong, moderate, slower) = ((1.9, 2.0, 2.1), (1.2, 1.3, 1.4), (0.7, 0.8, 0.9));
    assert_eq!(better(&[strong, slower], &[moderate, moderate]), Mkldnn, "fuse is better");
    assert_eq!(better(&[strong], &[moderate, moderate]), Mkldnn, "more is known of it");
    assert_eq!(better(&[strong, moderate], &[moderate, moderate]), Fused, "it is faster");
}

#[test]
fn a_place_says_what_is_unusual_only() {
    let usual = ExecutionContext {
        device: Device::Cpu,
        processor: Some("AMD EPYC 7763".to_owned()),
        threads: Threads::Count(1),
        allocator: Allocator::Retained,
        cache: CacheMode::Hot,
    };
    assert_eq!(usual.to_string(), "cpu (AMD EPYC 7763), 1 thread");
    let unusual = ExecutionContext {
        device: Device::Cuda,
        processor: None,
        threads: Threads::All,
        allocator: Allocator::System,
        cache: CacheMode::Cold,
    };
    assert_eq!(unusual.to_string(), "cuda, all threads, allocator system, cold cache");
}
