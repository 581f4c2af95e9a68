//! The catalogue of measures: what is known of a case in one number, in which unit, and which
//! direction is better. Formats that name their measures draw from it.

use super::gain::Gain;
use super::report::Entry;
use super::time::{Interval, Time};

/// Which values are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Better {
    /// The smaller ones.
    Smaller,
    /// The bigger ones.
    Bigger,
}

impl Better {
    /// `smaller`, `bigger`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Smaller => "smaller",
            Self::Bigger => "bigger",
        }
    }
}

/// A value, with its interval where it has one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// The value; an SQNR may be infinite, and no error a number.
    pub value: f64,
    /// Confidence interval, at the level of what it is made of.
    pub interval: Option<Interval>,
}

impl Figure {
    const fn exact(value: f64) -> Self {
        Self { value, interval: None }
    }
}

/// Something that is measured or follows from it.
#[derive(Debug, Clone, Copy)]
pub struct Measure {
    /// Its name in files: lower case and hyphens.
    pub slug: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// Unit of its values.
    pub unit: &'static str,
    /// Which values are better.
    pub better: Better,
    of: fn(&Entry<'_>) -> Option<Figure>,
}

impl Measure {
    /// Its value for a case, where there is one.
    pub fn of(&self, entry: &Entry<'_>) -> Option<Figure> {
        (self.of)(entry)
    }

    /// The measure with this slug.
    pub fn named(slug: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|measure| measure.slug == slug)
    }

    const fn smaller(
        slug: &'static str,
        name: &'static str,
        unit: &'static str,
        of: fn(&Entry<'_>) -> Option<Figure>,
    ) -> Self {
        Self { slug, name, unit, better: Better::Smaller, of }
    }

    const fn bigger(
        slug: &'static str,
        name: &'static str,
        unit: &'static str,
        of: fn(&Entry<'_>) -> Option<Figure>,
    ) -> Self {
        Self { slug, name, unit, better: Better::Bigger, of }
    }

    /// All of them. `latency` and `throughput` are what Bencher calls so by itself, in its units.
    pub const ALL: &[Self] = &[
        Self::smaller("latency", "median time of a step", "ns", |e| {
            let time = time(e)?;
            Some(Figure { value: time.median_ns, interval: time.interval })
        }),
        Self::smaller("latency-p50", "median of single calls", "ns", |e| {
            Some(Figure::exact(e.row.record.measures.latency?.p50_ns))
        }),
        Self::smaller("latency-p90", "90th percentile of single calls", "ns", |e| {
            e.row.record.measures.latency?.p90_ns.map(Figure::exact)
        }),
        Self::smaller("latency-p99", "99th percentile of single calls", "ns", |e| {
            e.row.record.measures.latency?.p99_ns.map(Figure::exact)
        }),
        Self::smaller("latency-max", "slowest single call", "ns", |e| {
            Some(Figure::exact(e.row.record.measures.latency?.max_ns))
        }),
        Self::smaller("first-call", "first call after building", "ns", |e| {
            e.row.record.measures.first_call_ns.map(|ns| Figure::exact(ns as f64))
        }),
        Self::bigger("throughput", "steps per second", "steps/s", |e| {
            rate(e, e.row.steps_per_s()?)
        }),
        Self::bigger("speedup", "speed-up over the group's baseline", "x", |e| {
            gain(e.comparison?.gain.as_ref().ok()?)
        }),
        Self::bigger("speedup-over-unquantized", "speed-up over the compiled baseline", "x", |e| {
            // A case that is not compiled has the measure above.
            gain(e.compilation.and(e.quantization)?.gain.as_ref().ok()?)
        }),
        Self::bigger("speedup-over-eager", "speed-up over the same run eagerly", "x", |e| {
            gain(e.compilation?.gain.as_ref().ok()?)
        }),
        Self::bigger("gflops", "operations per second", "GFLOP/s", |e| {
            rate(e, e.row.gflop_per_s()?)
        }),
        Self::bigger("bandwidth", "bytes moved per second", "GB/s", |e| rate(e, e.row.gb_per_s()?)),
        Self::smaller("peak-memory", "peak of weights, inputs and a step", "B", |e| {
            bytes(e.row.record.measures.memory?.peak_bytes())
        }),
        Self::smaller("step-memory", "peak of a step's own allocations", "B", |e| {
            bytes(e.row.record.measures.memory?.step.peak_bytes)
        }),
        Self::smaller("weights-memory", "storage of the model", "B", |e| {
            bytes(e.row.record.measures.memory?.weights_bytes)
        }),
        Self::smaller("bits-per-weight", "stored bits per weight of linear layers", "bit", |e| {
            Some(Figure::exact(e.row.record.weights?.bits_per_weight))
        }),
        Self::smaller("energy", "energy of a step", "J", |e| {
            Some(Figure::exact(e.row.record.measures.energy.as_ref()?.joules))
        }),
        Self::smaller("page-faults", "minor page faults of a step", "faults", |e| {
            Some(Figure::exact(e.row.record.measures.counters?.minor_faults))
        }),
        Self::bigger("sqnr", "signal-to-quantization-noise ratio", "dB", |e| {
            Some(Figure::exact(e.row.accuracy()?.sqnr_db.0))
        }),
        Self::smaller("relative-error", "relative error in Euclidean norm", "1", |e| {
            Some(Figure::exact(e.row.accuracy()?.relative_error.0))
        }),
        Self::smaller("max-abs-error", "largest absolute error", "1", |e| {
            Some(Figure::exact(e.row.accuracy()?.max_abs_error.0))
        }),
        Self::smaller("compile-time", "seconds to compile", "s", |e| {
            Some(Figure::exact(e.row.record.compilation.as_ref()?.seconds))
        }),
        Self::smaller("package-size", "bytes of the compiled package", "B", |e| {
            bytes(e.row.record.compilation.as_ref()?.package_bytes)
        }),
    ];
}

fn time<'a>(entry: &Entry<'a>) -> Option<&'a Time> {
    entry.row.time.as_ref().ok()
}

/// What is done per time is as certain as the time, the other way round.
fn rate(entry: &Entry<'_>, value: f64) -> Option<Figure> {
    let time = time(entry)?;
    let at = |ns: f64| value * time.median_ns / ns;
    let interval = time.interval.map(|it| Interval { low: at(it.high), high: at(it.low) });
    Some(Figure { value, interval })
}

const fn gain(gain: &Gain) -> Option<Figure> {
    Some(Figure { value: gain.ratio, interval: Some(gain.interval) })
}

const fn bytes(bytes: u64) -> Option<Figure> {
    Some(Figure::exact(bytes as f64))
}
