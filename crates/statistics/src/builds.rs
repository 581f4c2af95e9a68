//! The ratio of two times from several fresh builds of both sides, and from several runs.
//!
//! Blocks of one build share what the build drew once: where its memory lies, what else is in the
//! caches, the neighbours of that second. More blocks do not average that out; more builds do, and
//! more runs beyond that (Kalibera and Jones, "Rigorous benchmarking in reasonable time", 2013). So
//! the unit is the build: its value is the mean of its blocks' ln(speed-up), the estimate is the
//! mean of the builds' values, and the interval says where another run of the same program on the
//! same machine would find the ratio.
//!
//! A few builds hardly know their own variance. It is moderated as Smyth (2004) does for the genes
//! of an experiment: the variance s² that k builds show counts k − 1 degrees of freedom, a prior
//! p counts [`PRIOR_FREEDOM`], and their mean s̃² has the sum of both. The prior comes from the
//! blocks, because noisy blocks predict noisy runs: [`run_variance`] was fitted on 28 runs of 25
//! pairs on two cores of an AMD EPYC (Zen 5), where the variance of a run's estimate was found to
//! grow with the 0.8th power of that of its blocks.
//!
//! Builds of one second share what the machine does just then. On a shared host that is most of what
//! differs between runs: both sides of a pair were found 5 to 8 % slower or faster from run to run,
//! alike but not equally, while eight builds within a second agreed. Visits that are seconds apart
//! average most of that out, and what lasts longer than a run stays. So the interval has three parts for
//! what builds do not show: [`PROCESS`] λ of the variance between builds (95 % interval of that ratio on
//! the Zen 5 machine: 0.09 to 0.68), and of what the blocks predict [`VISIT`] ρ, divided by the number of
//! visits, and [`SLOW`] φ. These two were fitted on two cores of an AMD EPYC (Zen 4) whose host others
//! use: their sum on 16 runs of 25 pairs with one visit each, their shares on 8 runs with 2 to 9 visits.
//!
//! On a GPU runs differ by more than blocks let one expect: steps of 5 to 10 µs whose blocks agree within 0.3 % were found
//! 1.1 to 2 % apart from run to run, on seven runs of 29 pairs on an H100. So [`Processor::Gpu`] adds a variance u² that
//! blocks do not show.
//!
//! Blocks are far from all others where something took the processor from one side, or where a GPU waited for its host.
//! The mean of builds is then drawn to them: 4 % of the blocks of those runs were off by up to e⁴, and the printed
//! speed-ups of one case had a standard deviation of 18 % instead of 2. Where any block is far, the estimate is the median
//! of all blocks, whose variance is π/2 times that of a mean. `tests/simulation/h100.rs` replays those runs.
//!
//! With k builds of m blocks in w visits, v being the variance of a block inside a build, and c = π/2 where a block is far,
//! else 1:
//!
//! ```text
//! P  = run_variance(v)                              u² included
//! p  = P / (1 + λ) + v · max(1/m − 1/20, 0)         the runs of the fit had 20 blocks
//! s̃² = (3 p + (k − 1) s²) / (k + 2)
//! n  = max(s̃² − v/m, s̃²/4)                          between builds, net of blocks
//! half-width = t(0.975, k + 2) · √(c s̃²/k + λ n + (ρ/w + φ) P)
//! ```
//!
//! A single build has an interval too, which rests on the prior alone. Several runs show the parts of
//! process and moment themselves: [`runs_ratio`].

use std::f64::consts::FRAC_PI_2;

use crate::distribution::student_quantile;
use crate::paired::{CONFIDENCE_LEVEL, Ratio};
use crate::quantile::{mad_sd, mean, median, sample_variance};

/// Fewest blocks of a build: one of either order, ABBA and BAAB.
pub const BLOCKS_PER_BUILD: usize = 2;
/// λ: the variance between processes over the variance between builds of one process.
const PROCESS: f64 = 1.0 / 3.0;
/// ρ: the variance between visits of a run over the variance of runs that the blocks predict.
const VISIT: f64 = 0.3;
/// φ: the variance of what lasts longer than a run over the same.
const SLOW: f64 = 0.2;
/// Degrees of freedom of the prior.
const PRIOR_FREEDOM: f64 = 3.0;
/// Blocks of the runs that the prior was fitted on.
const FITTED_BLOCKS: f64 = 20.0;
/// Robust standard deviations of all blocks beyond which one is far, and clipped.
const CLIP: f64 = 5.0;

/// The processor that both sides of a pair run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Processor {
    /// On the host's cores.
    Cpu,
    /// On a GPU, timed by its own events.
    Gpu,
}

impl Processor {
    /// u: standard deviation between runs that blocks do not show.
    fn unseen(self) -> f64 {
        match self {
            Self::Cpu => 0.0,
            Self::Gpu => 0.006,
        }
    }
}

/// A speed-up from several builds, and where its uncertainty comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BuildsRatio {
    /// The speed-up, and the interval in which another run would find it.
    pub ratio: Ratio,
    /// Standard deviation of a block's ln(speed-up) inside a build.
    pub within: f64,
    /// Standard deviation of a build's ln(speed-up), net of what its blocks explain; with few builds
    /// mostly what the blocks let one expect.
    pub between: f64,
}

/// The speed-up from the ln(speed-up) of blocks, build after build, each of as many blocks, taken in so
/// many visits. None unless there is at least one whole build of [`BLOCKS_PER_BUILD`] and every value is finite.
pub fn builds_ratio(
    log_ratios: &[f64],
    builds: usize,
    visits: usize,
    on: Processor,
) -> Option<BuildsRatio> {
    let blocks = log_ratios.len().checked_div(builds)?;
    let whole = blocks >= BLOCKS_PER_BUILD && blocks * builds == log_ratios.len();
    if !whole || !log_ratios.iter().all(|value| value.is_finite()) {
        return None;
    }
    let BuildValues { values, block_variance: v, any_far } = BuildValues::new(log_ratios, blocks);
    let (k, m) = (builds as f64, blocks as f64);
    let predicted = run_variance(v, on);
    let prior = predicted / (1.0 + PROCESS) + v * (1.0 / m - 1.0 / FITTED_BLOCKS).max(0.0);
    let (build_variance, freedom) = moderated(prior, &values);
    let net = (build_variance - v / m).max(build_variance / 4.0);
    let moments = (VISIT / visits.max(1) as f64 + SLOW) * predicted;
    let (estimate, cost) =
        if any_far { (median(log_ratios), FRAC_PI_2) } else { (mean(&values), 1.0) };
    let error = (cost * build_variance / k + PROCESS * net + moments).sqrt();
    Some(BuildsRatio {
        ratio: interval(estimate, error, freedom),
        within: v.sqrt(),
        between: net.sqrt(),
    })
}

/// The speed-up that one run found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Run {
    /// The speed-up.
    pub ratio: f64,
    /// [`BuildsRatio::within`]
    pub within: f64,
    /// Builds that it is of.
    pub builds: usize,
    /// Visits in which they were taken.
    pub visits: usize,
    /// The processor that both sides ran on.
    pub on: Processor,
}

/// A speed-up from several runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunsRatio {
    /// The geometric mean of the runs, and the interval in which the mean of very many would lie.
    pub ratio: Ratio,
    /// Standard deviation of a run's ln(speed-up), as the runs show it.
    pub between: f64,
}

/// The speed-up from several runs, each of which counts as much. None below two.
pub fn runs_ratio(runs: &[Run]) -> Option<RunsRatio> {
    let values: Vec<f64> = runs.iter().map(|run| run.ratio.ln()).collect();
    if values.len() < 2 || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let expected = |run: &Run| {
        let builds = run.builds.max(1) as f64;
        let moments = VISIT / run.visits.max(1) as f64 + SLOW;
        let share = (PROCESS + 1.0 / builds) / (1.0 + PROCESS) + moments;
        run_variance(run.within.powi(2), run.on) * share
    };
    let prior = mean(&runs.iter().map(expected).collect::<Vec<_>>());
    let (variance, freedom) = moderated(prior, &values);
    let error = (variance / values.len() as f64).sqrt();
    Some(RunsRatio {
        ratio: interval(mean(&values), error, freedom),
        between: sample_variance(&values).sqrt(),
    })
}

/// Variance of a run of one build, as the variance of its blocks and the processor predict it.
fn run_variance(block_variance: f64, on: Processor) -> f64 {
    /// Standard deviation of runs where that of blocks is `BLOCK`, and the exponent between them.
    const RUN: f64 = 0.015;
    const BLOCK: f64 = 0.02;
    const EXPONENT: f64 = 0.8;
    RUN * RUN * (block_variance / (BLOCK * BLOCK)).powf(EXPONENT) + on.unseen().powi(2)
}

/// The variance that values show, moderated by a prior, and the degrees of freedom of that.
fn moderated(prior: f64, values: &[f64]) -> (f64, f64) {
    let shown = values.len() as f64 - 1.0;
    let freedom = PRIOR_FREEDOM + shown;
    let seen = if shown > 0.0 { shown * sample_variance(values) } else { 0.0 };
    ((PRIOR_FREEDOM * prior + seen) / freedom, freedom)
}

fn interval(ln: f64, error: f64, freedom: f64) -> Ratio {
    let half = student_quantile((1.0 - CONFIDENCE_LEVEL) / 2.0, freedom) * error;
    Ratio::from_ln(ln, half, half)
}

/// The builds' values, and the noise of blocks.
struct BuildValues {
    /// The value of each build.
    values: Vec<f64>,
    /// Variance of a block inside a build.
    block_variance: f64,
    /// Whether any block is far from most others of its kind of builds.
    any_far: bool,
}

impl BuildValues {
    /// A block far from most others counts no more than one at the edge: other programs take the processor for
    /// milliseconds at a time, and a GPU waits for a late host. A build of which most blocks are far from the others and
    /// near each other is another kind of build: its blocks are held against their own median.
    fn new(log_ratios: &[f64], blocks: usize) -> Self {
        let (centre, edge) = (median(log_ratios), CLIP * mad_sd(log_ratios));
        let far = |build: &[f64], from: f64| {
            build.iter().filter(|value| (*value - from).abs() > edge).count()
        };
        let (mut values, mut variances, mut any_far) = (Vec::new(), Vec::new(), false);
        for build in log_ratios.chunks(blocks) {
            let own = median(build);
            let is_other = 2 * far(build, centre) > blocks && 2 * far(build, own) < blocks;
            let near = if is_other { own } else { centre };
            any_far |= far(build, near) > 0;
            let clipped: Vec<f64> =
                build.iter().map(|it| it.clamp(near - edge, near + edge)).collect();
            values.push(mean(&clipped));
            variances.push(sample_variance(&clipped));
        }
        Self { values, block_variance: mean(&variances), any_far }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds of which no two are alike.
    fn values(count: usize) -> Vec<f64> {
        let mut random = fastrand::Rng::with_seed(3);
        (0..count).map(|_| 0.05 + 0.02 * random.f64() * random.f64()).collect()
    }

    fn close(a: f64, b: f64) -> bool {
        (a / b - 1.0).abs() < 1e-9
    }

    #[test]
    fn a_worked_example() {
        // Two builds of two blocks: 0.29 and 0.31, 0.35 and 0.37. Values 0.30 and 0.36, v = 0.0002.
        let found = builds_ratio(&[0.29, 0.31, 0.35, 0.37], 2, 1, Processor::Cpu)
            .expect("two whole builds");
        let (v, s2) = (0.0002_f64, 0.0018);
        // 0.0002 is half of 0.0004, so P = 0.015² · 0.5^0.8 = 1.29229e-4.
        let p = 1.292_285e-4 / (4.0 / 3.0) + v * 0.45;
        let moderated = (3.0 * p + s2) / 4.0;
        let net = moderated - v / 2.0;
        // t with 4 degrees of freedom.
        let half = 2.776_445_105 * (moderated / 2.0 + net / 3.0 + 1.292_285e-4 / 2.0).sqrt();
        let near = |value: f64, expected: f64| (value / expected - 1.0).abs() < 1e-5;
        assert!(near(found.ratio.ratio, 0.33_f64.exp()), "{found:?}");
        assert!(near(found.ratio.low, (0.33 - half).exp()), "{found:?} {half}");
        assert!(near(found.ratio.high, (0.33 + half).exp()), "{found:?} {half}");
        assert!(near(found.within, v.sqrt()) && near(found.between, net.sqrt()), "{found:?}");
    }

    #[test]
    fn what_is_no_whole_build_gives_nothing() {
        let values = values(8);
        for builds in [0, 3, 5, 8, 9] {
            assert_eq!(builds_ratio(&values, builds, 1, Processor::Cpu), None, "{builds}");
        }
        assert!(
            [1, 2, 4]
                .iter()
                .all(|builds| builds_ratio(&values, *builds, 1, Processor::Cpu).is_some())
        );
        assert_eq!(builds_ratio(&[], 0, 1, Processor::Cpu), None);
        assert_eq!(builds_ratio(&[f64::NAN; 4], 2, 1, Processor::Cpu), None);
    }

    #[test]
    fn exchanging_the_two_inverts_the_ratio() {
        let values = values(24);
        let exchanged: Vec<f64> = values.iter().map(|value| -value).collect();
        let one = builds_ratio(&values, 6, 1, Processor::Cpu).expect("whole").ratio;
        let other = builds_ratio(&exchanged, 6, 1, Processor::Cpu).expect("whole").ratio;
        assert!(close(one.ratio, 1.0 / other.ratio));
        assert!(close(one.low, 1.0 / other.high) && close(one.high, 1.0 / other.low));
    }

    #[test]
    fn equal_blocks_give_a_point() {
        let found = builds_ratio(&[2.0_f64.ln(); 8], 2, 1, Processor::Cpu).expect("whole");
        assert!(close(found.ratio.ratio, 2.0) && found.ratio.half_width() == 0.0);
        assert_eq!((found.within, found.between), (0.0, 0.0));
    }

    #[test]
    fn builds_that_differ_widen_the_interval_and_blocks_do_not_help() {
        let of = |between: f64, blocks: usize| {
            let build = |build: usize| {
                let shift = between * (build % 2) as f64;
                (0..blocks).map(move |block| shift + 0.01 * (block % 2) as f64)
            };
            builds_ratio(&(0..6).flat_map(build).collect::<Vec<_>>(), 6, 1, Processor::Cpu)
                .expect("whole")
        };
        assert!(of(0.1, 4).ratio.half_width() > 2.0 * of(0.0, 4).ratio.half_width());
        let (few, many) = (of(0.1, 4).ratio.half_width(), of(0.1, 40).ratio.half_width());
        assert!(many > 0.9 * few, "{few} {many}");
        assert!(of(0.1, 4).between > 0.04 && of(0.0, 4).between < 0.01);
    }

    #[test]
    fn an_outlier_among_the_blocks_of_a_build_is_clipped() {
        let mut values = values(24);
        let before = builds_ratio(&values, 4, 1, Processor::Cpu).expect("whole");
        values[7] = 5.0;
        let after = builds_ratio(&values, 4, 1, Processor::Cpu).expect("whole");
        assert!((after.ratio.ratio / before.ratio.ratio - 1.0).abs() < 0.005);
    }

    #[test]
    fn a_build_of_another_kind_is_not_clipped() {
        let build = |shift: f64| [0.0, 0.001, 0.0005, 0.0015].map(|value| value + shift);
        let found =
            builds_ratio(&[build(0.0), build(0.0), build(0.1)].concat(), 3, 1, Processor::Cpu)
                .expect("whole");
        assert!(found.ratio.ratio > 1.03 && found.ratio.half_width() > 0.05, "{found:?}");
    }

    #[test]
    fn runs_have_the_interval_of_what_they_show() {
        let run =
            |ratio: f64| Run { ratio, within: 0.02, builds: 4, visits: 3, on: Processor::Cpu };
        assert_eq!(runs_ratio(&[run(2.0)]), None);
        let ratios = [1.98, 2.0, 2.02, 2.04, 1.96, 2.01, 1.99, 2.0];
        let found = runs_ratio(&ratios.map(run)).expect("enough");
        assert!((found.ratio.ratio - 2.0).abs() < 1e-3, "{found:?}");
        // 1.2 % between runs: ±1 % of their mean.
        assert!((0.011..0.014).contains(&found.between), "{found:?}");
        assert!((0.006..0.016).contains(&found.ratio.half_width()), "{found:?}");
        assert!(found.ratio.low < 2.0 && 2.0 < found.ratio.high);
    }
}
