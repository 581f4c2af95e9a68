//! The keys of our own: all optional, allowed at the top of a config and in each model, where
//! they win.

use std::ops::RangeInclusive;

use super::node::{Fields, Node};
use crate::settings::{
    ALL_THREADS, EnergyPass, LatencyPass, Sampling, Settings, Threads, Tolerance,
};
use crate::words::Judge;

pub(super) const OWN_KEYS: &[&str] = &[
    "sampling",
    "latency",
    "energy",
    "threads",
    "allocator",
    "cache",
    "seed",
    "tolerance",
    "compile_timeout_s",
    "case_timeout_s",
    "analysis",
];

/// A key of kernels only.
pub(super) const JUDGE: &str = "judge";

#[derive(Debug, Clone, Default)]
pub(crate) struct CommonSettings {
    pub(super) settings: Settings,
    /// `threads` where it is a list: which cases there are, and so no setting of any.
    pub(super) threads: Option<Vec<Threads>>,
}

impl CommonSettings {
    pub(super) fn new(lists_threads: bool) -> Self {
        let settings = Settings::default();
        Self { threads: lists_threads.then(|| vec![settings.threads]), settings }
    }
}

/// `own` with what `fields` says on top.
pub(super) fn apply(fields: &Fields<'_>, own: &mut CommonSettings) {
    let settings = &mut own.settings;
    let Settings { sampling, latency, energy, .. } = *settings;
    match &mut own.threads {
        None => fields.update("threads", &mut settings.threads, read_threads),
        Some(several) => fields.update("threads", several, |node| match node.is_list() {
            true => fields.items("threads", read_threads).flatten(),
            false => read_threads(node).map(|threads| vec![threads]),
        }),
    }
    fields.update("sampling", &mut settings.sampling, |node| read_sampling(node, sampling));
    fields.update("latency", &mut settings.latency, |node| read_latency(node, latency));
    fields.update("energy", &mut settings.energy, |node| read_energy(node, energy));
    fields.update("allocator", &mut settings.allocator, Node::word);
    fields.update("cache", &mut settings.cache, Node::word);
    fields.update("seed", &mut settings.seed, read_seed);
    fields.update("tolerance", &mut settings.tolerance, read_tolerance);
    fields.update("compile_timeout_s", &mut settings.compile_timeout_s, read_seconds);
    fields.update("case_timeout_s", &mut settings.case_timeout_s, |it| read_seconds(it).map(Some));
    fields.update(JUDGE, &mut settings.judge, read_judge);
    fields.update("analysis", &mut settings.analysis, |node| node.string().map(Some));
}

/// Calls that are counted; criterion wants at least 10 samples.
pub(super) const SAMPLES: RangeInclusive<u64> = 10..=1_000_000;

/// Calls before them.
pub(super) const WARM_UPS: RangeInclusive<u64> = 0..=1_000_000;

/// No case may take longer, in seconds. Clocks and timers cannot count to every number.
const DAY_S: f64 = 86_400.0;

/// Below a millisecond nothing is measured; criterion refuses what it rounds to no time.
fn read_seconds(node: &Node<'_>) -> Option<f64> {
    node.number(0.001..=DAY_S, "seconds, up to a day, e.g. `0.5`")
}

pub(super) fn read_seed(node: &Node<'_>) -> Option<i64> {
    let seed = node.integer(0..=i64::MAX as u64)?;
    Some(i64::try_from(seed).expect("the range above fits"))
}

/// More than any machine has.
const MOST_THREADS: u64 = 4096;

fn read_threads(node: &Node<'_>) -> Option<Threads> {
    if node.as_text() == Some(ALL_THREADS) {
        return Some(Threads::All);
    }
    if node.is_list() {
        let message = "a list is not a number of threads".to_owned();
        return node
            .error(message, "write one number; only `benchmark_mode: calibration` takes several");
    }
    match node.as_integer() {
        Some(count @ 1..=MOST_THREADS) => {
            Some(Threads::Count(u32::try_from(count).expect("the range above fits")))
        }
        _ => {
            let example = format!("a whole number from 1 to {MOST_THREADS}, or `{ALL_THREADS}`");
            node.wrong_type("a number of threads", &example)
        }
    }
}

fn read_sampling(node: &Node<'_>, outer: Sampling) -> Option<Sampling> {
    let fields = node.mapping(&["samples", "warm_up_s", "measurement_s", "target", "regime"])?;
    // Below a tenth of a percent the clock and the machine's own drift decide, not the samples.
    let target = |node: &Node<'_>| node.number(0.001..=0.5, "a fraction, e.g. `0.01` for 1 %");
    Some(Sampling {
        samples: fields.read("samples", |node| node.integer(SAMPLES)).or(outer.samples),
        warm_up_s: fields.read("warm_up_s", read_seconds).or(outer.warm_up_s),
        measurement_s: fields.read("measurement_s", read_seconds).or(outer.measurement_s),
        target: fields.read("target", target).or(outer.target),
        regime: fields.read("regime", Node::word).or(outer.regime),
    })
}

fn read_latency(node: &Node<'_>, outer: LatencyPass) -> Option<LatencyPass> {
    let fields = node.mapping(&["calls", "warm_up"])?;
    let calls = fields.read("calls", |node| node.integer(SAMPLES));
    let warm_up = fields.read("warm_up", |node| node.integer(WARM_UPS));
    Some(LatencyPass {
        calls: calls.or(outer.calls),
        fewest: outer.fewest,
        warm_up: warm_up.or(outer.warm_up),
    })
}

/// A flag switches the pass; a mapping switches it on and says how it goes.
fn read_energy(node: &Node<'_>, outer: EnergyPass) -> Option<EnergyPass> {
    if let Some(enabled) = node.as_boolean() {
        return Some(EnergyPass { enabled, ..outer });
    }
    if !node.is_mapping() {
        return node.wrong_type("a flag or a mapping", "true, false, or e.g. `{ window_s: 2 }`");
    }
    let fields = node.mapping(&["window_s", "subtract_idle"])?;
    // Counters are updated every few milliseconds, some every 100.
    let window = |node: &Node<'_>| node.number(1.0..=DAY_S, "seconds, up to a day, e.g. `2`");
    let mut energy = EnergyPass { enabled: true, ..outer };
    fields.update("window_s", &mut energy.window_s, window);
    fields.update("subtract_idle", &mut energy.subtract_idle, Node::boolean);
    Some(energy)
}

/// YAML 1.1 takes `on` and `off` without quotes for booleans.
fn read_judge(node: &Node<'_>) -> Option<Judge> {
    match node.as_boolean() {
        Some(true) => Some(Judge::On),
        Some(false) => Some(Judge::Off),
        None => node.word(),
    }
}

fn read_tolerance(node: &Node<'_>) -> Option<Tolerance> {
    let fields = node.mapping(&["min_sqnr_db"])?;
    Some(Tolerance {
        min_sqnr_db: fields.read("min_sqnr_db", |node| node.number(-200.0..=200.0, "30")),
    })
}
