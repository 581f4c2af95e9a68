//! Units of fields: how their numbers look, what they can be, and how CSV has them.

use crate::model::{Interval, possible};
use crate::render::units;

#[derive(Debug, Clone, Copy)]
pub struct Unit {
    /// As files have it.
    pub symbol: &'static str,
    /// A number and its interval for people.
    pub text: fn(&'static str, f64, Option<Interval>) -> String,
    /// Whether a measurement can have the number.
    pub(crate) is_possible: fn(f64) -> bool,
    /// The suffix of a column's name in CSV.
    pub suffix: &'static str,
    /// How many of it are one in CSV.
    pub scale: f64,
}

impl Unit {
    pub fn text(&self, value: f64, interval: Option<Interval>) -> String {
        (self.text)(self.symbol, value, interval)
    }
}

/// A unit whose numbers have four digits for people.
pub(super) const fn unit(symbol: &'static str) -> Unit {
    Unit {
        symbol,
        text: |symbol, value, _| format!("{} {symbol}", units::significant(value, 4)),
        is_possible: possible::not_negative,
        suffix: "",
        scale: 1.0,
    }
}

/// A unit of what is counted in large numbers.
pub(super) const fn counted(symbol: &'static str) -> Unit {
    Unit {
        text: |symbol, count, _| {
            format!("{} {symbol}", units::grouped(&units::significant(count, 4)))
        },
        ..unit(symbol)
    }
}

/// The unit of words and of plain counts.
pub(super) const NONE: Unit =
    Unit { text: |_, count, _| count.to_string(), is_possible: |_| true, ..unit("") };
/// Nanoseconds; CSV has milliseconds.
pub(super) const NS: Unit = Unit {
    text: |_, ns, interval| units::time_with_interval(ns, interval),
    suffix: "_in_ms",
    scale: 1e6,
    ..unit("ns")
};
pub(super) const SECONDS: Unit =
    Unit { text: |_, seconds, _| units::time(seconds * 1e9), ..unit("s") };
pub(super) const BYTES: Unit = Unit {
    text: |_, bytes, _| units::bytes(bytes as u64),
    is_possible: |bytes| bytes <= possible::MOST_BYTES as f64,
    ..unit("B")
};
pub(super) const TIMES: Unit =
    Unit { text: |_, ratio, interval| units::ratio(ratio, interval), ..unit("x") };
pub(super) const DECIBELS: Unit =
    Unit { text: |_, decibels, _| units::decibels(decibels), is_possible: |_| true, ..unit("dB") };
/// An error, in the unit of the values or relative to them.
pub(super) const ERROR: Unit = Unit {
    text: |_, error, _| units::error(error),
    is_possible: possible::not_below_zero,
    ..unit("1")
};
/// A part of a whole, from 0 to 1.
pub(super) const SHARE: Unit = Unit {
    text: |_, share, _| units::percent(share),
    is_possible: possible::share,
    ..unit("share")
};
/// Joules; less the idle machine's they may be below zero.
pub(super) const JOULES: Unit = Unit { is_possible: possible::signed, ..unit("J") };
pub(super) const CELSIUS: Unit = Unit { is_possible: possible::signed, ..unit("°C") };
