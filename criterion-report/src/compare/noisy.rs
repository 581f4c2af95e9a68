//! The default rule for what is noisy: time and energy.
//!
//! Worse is a ratio above 1 + threshold whose interval lies above 1 and whose p, adjusted for all
//! cases of the comparison, is small; better is the mirror image; equivalent is an interval within the
//! threshold of 1. Everything else is inconclusive, and the reason says what would decide it.
//!
//! With several runs on both sides p is that of the rank-sum test over runs, which assumes
//! nothing about their distribution. Where a side has one run, interval and p rest on a floor from
//! other runs and on a normal distribution: p has to be smaller there.

use plan::lockstep::LockstepCase;
use statistics::lockstep::{CONFIRMED_P, Compared};
use statistics::{CONFIDENCE_LEVEL, Ratio, RunMedian, holm, least_p, mann_whitney, sides_ratio};

use super::finding::{Finding, Measure, Verdict};
use super::floor::{FloorSource, Floors, NoiseFloor};
use super::lockstep::Blocks;
use super::pairing::{Caveats, Pairing, some_times};
use super::point::Point;
use crate::parallel;
use crate::render::units;

/// Largest adjusted p of a difference between several runs.
const OF_RUNS: f64 = 0.05;
/// Largest adjusted p if a side has only one run.
const OF_ONE_RUN: f64 = 0.01;

/// The remedy where blocks were too few.
const MORE_TIME: &str = "a larger --budget decides it";

/// A case of which both sides have a value, and its test.
struct Noisy {
    a: Vec<RunMedian>,
    b: Vec<RunMedian>,
    /// The noise between runs, which one run does not show.
    floor: NoiseFloor,
    /// Relative difference from which on it is another.
    threshold: f64,
    doubts: Caveats,
    ratio: Ratio,
    p: f64,
    /// Whether p is of runs.
    of_runs: bool,
    /// The blocks of a time that was measured in lock-step.
    blocks: Option<Blocks>,
}

impl Noisy {
    /// The values to judge, or why there are none; `None` where neither side has a value of the measure.
    fn new(
        measure: Measure,
        pairing: &Pairing<'_>,
        floors: Floors<'_>,
    ) -> Option<Result<Self, String>> {
        if measure == Measure::Time
            && let Some(case) = pairing.lockstep
        {
            return Some(Self::of_blocks(pairing, floors, case));
        }
        let (sides, doubts) = match measure {
            Measure::Energy => (energies(pairing)?, Caveats::default()),
            _ => (both_runs(pairing), pairing.doubts()),
        };
        let (floor, threshold) =
            (floor(pairing, floors, measure), pairing.limits.threshold(measure)?);
        Some(sides.map(|[a, b]| {
            let both = sides_ratio(&b, &a, floor.floor).expect("both sides have a run");
            let logarithms =
                |side: &[RunMedian]| -> Vec<f64> { side.iter().map(|run| run.ln_median).collect() };
            let of_runs = a.len() > 1 && b.len() > 1;
            let ranks = of_runs.then(|| mann_whitney(&logarithms(&b), &logarithms(&a))).flatten();
            let p = ranks.map_or(both.p, |ranks| ranks.p);
            Self { a, b, floor, threshold, doubts, ratio: both.ratio, p, of_runs, blocks: None }
        }))
    }

    /// The time of a case that was measured in lock-step.
    fn of_blocks(
        pairing: &Pairing<'_>,
        floors: Floors<'_>,
        case: &LockstepCase,
    ) -> Result<Self, String> {
        let (blocks, [a, b]) = Blocks::new(case)?;
        let Compared { ratio, p, .. } = blocks.compared;
        Ok(Self {
            a,
            b,
            floor: floor(pairing, floors, Measure::Time),
            threshold: pairing.limits.latency,
            doubts: Caveats::default(),
            ratio,
            // Only confirmed differences are tested.
            p: if blocks.confirm { p } else { f64::NAN },
            of_runs: true,
            blocks: Some(blocks),
        })
    }
}

/// Judges one measure of all cases at once, those that have it.
pub fn judge(
    measure: Measure,
    pairings: &[&Pairing<'_>],
    floors: Floors<'_>,
) -> Vec<Option<Finding>> {
    let cases: Vec<Option<Result<Noisy, String>>> =
        parallel::map(pairings, |it| Noisy::new(measure, it, floors));
    let p_of = |case: &Option<Result<Noisy, String>>| match case {
        Some(Ok(noisy)) => noisy.p,
        Some(Err(_)) | None => f64::NAN,
    };
    let p: Vec<f64> = cases.iter().map(p_of).collect();
    let family = p.iter().filter(|p| !p.is_nan()).count();
    let judged = cases.iter().zip(holm(&p)).map(|(case, adjusted_p)| match case.as_ref()? {
        Ok(noisy) => Some(Judged { measure, noisy, adjusted_p, family }.finding()),
        Err(reason) => Some(Finding::new(measure, Verdict::NotCompared, reason.as_str())),
    });
    judged.collect()
}

/// The times of both sides' runs.
pub fn both_runs(pairing: &Pairing<'_>) -> Result<[Vec<RunMedian>; 2], String> {
    let runs = |name: &str, side: &[&Point]| {
        let times = some_times(&format!("in {name}"), side)?;
        let runs: Vec<RunMedian> = times.iter().filter_map(|time| time.run).collect();
        if runs.is_empty() {
            return Err(format!("its time in {name} has no noise: it was measured in quick mode"));
        }
        Ok(runs)
    };
    Ok([runs("A", &pairing.a)?, runs("B", &pairing.b)?])
}

/// The energies of both sides; none where neither has one.
fn energies(pairing: &Pairing<'_>) -> Option<Result<[Vec<RunMedian>; 2], String>> {
    let sides = pairing.sides().map(energies_of);
    let lacking = match sides.each_ref().map(Vec::is_empty) {
        [false, false] => return Some(Ok(sides)),
        [true, true] => return None,
        [true, false] => "A",
        [false, true] => "B",
    };
    Some(Err(format!("it was not measured in {lacking}")))
}

/// Energies as runs have them. An energy no larger than the idle machine's has no logarithm.
pub fn energies_of(side: &[&Point]) -> Vec<RunMedian> {
    let joules = side.iter().filter_map(|point| point.joules);
    let positive = joules.filter(|joules| *joules > 0.0 && joules.is_finite());
    positive.map(|joules| RunMedian { ln_median: joules.ln(), variance: 0.0 }).collect()
}

/// The floor of a measure; the larger one counts if the sides are of two machines.
pub fn floor(pairing: &Pairing<'_>, floors: Floors<'_>, measure: Measure) -> NoiseFloor {
    let of = |side: &[&Point]| {
        let host = side.iter().find_map(|point| point.host.as_deref());
        floors.noise_floor(host, pairing.full_id, measure)
    };
    let [a, b] = pairing.sides().map(of);
    a.or_larger(b)
}

struct Judged<'a> {
    measure: Measure,
    noisy: &'a Noisy,
    adjusted_p: f64,
    /// Cases that were tested.
    family: usize,
}

impl Judged<'_> {
    fn finding(&self) -> Finding {
        let (verdict, reason) = self.verdict();
        let finding = Finding::new(self.measure, verdict, reason)
            .with_values(centre(&self.noisy.a), centre(&self.noisy.b))
            .with_ratio(&self.noisy.ratio, CONFIDENCE_LEVEL);
        Finding { p: Some(self.noisy.p), adjusted_p: Some(self.adjusted_p), ..finding }
    }

    fn verdict(&self) -> (Verdict, String) {
        let limit = 1.0 + self.noisy.threshold;
        let Ratio { ratio, low, high } = self.noisy.ratio;
        let verdict = if ratio > limit && low > 1.0 {
            Verdict::Regressed
        } else if ratio < 1.0 / limit && high < 1.0 {
            Verdict::Improved
        } else if low >= 1.0 / limit && high <= limit {
            return (Verdict::Equivalent, format!("within {}{}", self.allowed(), self.layout()));
        } else {
            let reason = format!("{}; {}{}", self.open(), self.remedy(), self.layout());
            return (Verdict::Inconclusive, reason);
        };
        if self.noisy.blocks.is_some_and(|it| !it.confirm) {
            let open = "the time was over before fresh processes confirmed it";
            return (Verdict::Inconclusive, format!("{}, but {open}: {MORE_TIME}", self.change()));
        }
        if let Some(doubt) = self.doubt() {
            let reason = format!("{}, but {doubt}: measure again", self.change());
            return (Verdict::Inconclusive, reason);
        }
        if self.adjusted_p >= self.level() {
            return (Verdict::Inconclusive, self.by_chance());
        }
        // The excess is a share of A's time, as the difference is.
        let beyond = match verdict {
            Verdict::Improved => 1.0 - 1.0 / limit,
            _ => self.noisy.threshold,
        };
        let p = match self.noisy.floor.source {
            FloorSource::Ignored if !self.noisy.of_runs => String::new(),
            _ => format!(", adjusted p {}", p_text(self.adjusted_p)),
        };
        let layout = self.layout();
        (verdict, format!("{} (threshold {}{p}){layout}", self.change(), units::percent(beyond)))
    }

    /// Largest adjusted p that is no chance.
    fn level(&self) -> f64 {
        match self.noisy.floor.source {
            _ if self.noisy.blocks.is_some() => CONFIRMED_P,
            _ if self.noisy.of_runs => OF_RUNS,
            FloorSource::Ignored => f64::INFINITY,
            _ => OF_ONE_RUN,
        }
    }

    /// A doubt about a difference that the numbers show. Several runs have the events within them
    /// in their spread.
    fn doubt(&self) -> Option<String> {
        let Caveats { systematic, within } = &self.noisy.doubts;
        let within = within.iter().filter(|_| !self.noisy.of_runs);
        let doubts: Vec<&str> = systematic.iter().chain(within).map(String::as_str).collect();
        (!doubts.is_empty()).then(|| doubts.join("; "))
    }

    /// How far two builds of one source may be apart, where that shows and matters.
    fn layout(&self) -> String {
        let spread = self.noisy.blocks.and_then(|it| it.compared.layout_sd);
        match spread.filter(|it| *it >= self.noisy.threshold / 2.0) {
            Some(spread) => {
                let percent = units::percent(spread);
                format!("; the order of functions alone moves it by ±{percent} (layout)")
            }
            None => String::new(),
        }
    }

    /// `12.3 % slower`.
    fn change(&self) -> String {
        let ratio = self.noisy.ratio.ratio;
        let (more, less) = match self.measure {
            Measure::Energy => ("more", "less"),
            _ => ("slower", "faster"),
        };
        let word = if ratio > 1.0 { more } else { less };
        // Both ways against A: a time of half is 50 % faster.
        format!("{} {word}", units::percent((ratio - 1.0).abs()))
    }

    fn allowed(&self) -> String {
        format!("±{}", units::percent(self.noisy.threshold))
    }

    fn open(&self) -> String {
        let Ratio { ratio, low, high } = self.noisy.ratio;
        let limit = 1.0 + self.noisy.threshold;
        if !(1.0 / limit..=limit).contains(&ratio) {
            format!("{}, but the interval includes 1", self.change())
        } else if low > 1.0 || high < 1.0 {
            format!("{}; whether more than {} is open", self.change(), self.allowed())
        } else {
            format!("the interval reaches beyond {}", self.allowed())
        }
    }

    fn remedy(&self) -> String {
        if self.noisy.blocks.is_some() {
            return MORE_TIME.to_owned();
        }
        if self.noisy.of_runs {
            return "more runs narrow it".to_owned();
        }
        let floor = match self.noisy.floor.source {
            FloorSource::Ignored => return "more samples narrow it".to_owned(),
            _ => self.noisy.floor.text(),
        };
        let sides = match (self.noisy.a.len(), self.noisy.b.len()) {
            (1, 1) => "one run per side",
            (1, _) => "one run of A",
            _ => "one run of B",
        };
        format!("{sides}, and {floor}: take several (`cargo torch-bench bench --repeat 8`)")
    }

    /// The numbers show a difference, but among so many cases it may be chance.
    fn by_chance(&self) -> String {
        let (a, b) = (self.noisy.a.len(), self.noisy.b.len());
        let (change, cases) = (self.change(), units::count(self.family, "case"));
        if self.noisy.blocks.is_some() {
            let p = p_text(self.adjusted_p);
            return format!("{change}, which may be chance among {cases} (adjusted p {p})");
        }
        let least = (least_p(a, b) * self.family as f64).min(1.0);
        if self.noisy.of_runs && least >= OF_RUNS {
            let runs =
                if a == b { format!("{a} runs per side") } else { format!("{a} runs against {b}") };
            return format!(
                "{change}, but {runs} cannot show a difference among {cases} (least adjusted p \
                 {}): take {}",
                p_text(least),
                runs_for(self.family)
            );
        }
        let p = p_text(self.adjusted_p);
        if self.noisy.of_runs {
            return format!("{change}, but the runs overlap (adjusted p {p}): take more of them");
        }
        format!(
            "{change}, but among {cases} that may be chance (adjusted p {p}); {}",
            self.remedy()
        )
    }
}

/// The value of a side: the geometric mean of its runs' medians.
pub(super) fn centre(side: &[RunMedian]) -> f64 {
    let sum: f64 = side.iter().map(|run| run.ln_median).sum();
    (sum / side.len() as f64).exp()
}

/// Runs per side from which on the rank-sum test can show a difference among so many cases.
pub fn runs_for(cases: usize) -> usize {
    let shows = |runs: &usize| least_p(*runs, *runs) * (cases as f64) < OF_RUNS;
    // 2 / C(2n, n) falls faster than 3⁻ⁿ.
    (1..=64).find(shows).unwrap_or(64)
}

/// Two significant digits; what is below a millionth is `< 1e-6`.
pub fn p_text(p: f64) -> String {
    if p < 1e-6 {
        "< 1e-6".to_owned()
    } else if p < 1e-3 {
        format!("{p:.1e}")
    } else {
        units::significant(p, 2)
    }
}
