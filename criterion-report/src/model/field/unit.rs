//! Units of fields: how their numbers look, what they can be, and how CSV has them.

use crate::model::possible;
use crate::model::time::Interval;
use crate::units;

/// A unit.
#[derive(Debug, Clone, Copy)]
pub struct Unit {
    /// As files have it.
    pub symbol: &'static str,
    /// A number and its interval for people.
    pub text: fn(&'static str, f64, Option<Interval>) -> String,
    /// Whether a measurement can have the number.
    pub(in crate::model) is_possible: fn(f64) -> bool,
    /// What CSV appends to the name of a column.
    pub(super) suffix: &'static str,
    /// How many of it are one in CSV.
    pub scale: f64,
}

impl Unit {
    /// Of words, and of plain counts.
    pub const NONE: Self =
        Self { text: |_, count, _| count.to_string(), is_possible: |_| true, ..Self::plain("") };
    /// Nanoseconds; CSV has milliseconds.
    pub const NS: Self = Self {
        text: |_, ns, interval| units::time_with_interval(ns, interval),
        suffix: "_in_ms",
        scale: 1e6,
        ..Self::plain("ns")
    };
    /// Seconds.
    pub const SECONDS: Self =
        Self { text: |_, seconds, _| units::time(seconds * 1e9), ..Self::plain("s") };
    /// Bytes.
    pub const BYTES: Self = Self {
        text: |_, bytes, _| units::bytes(bytes as u64),
        is_possible: |bytes| bytes <= possible::MOST_BYTES as f64,
        ..Self::plain("B")
    };
    /// How many times.
    pub const TIMES: Self =
        Self { text: |_, ratio, interval| units::ratio(ratio, interval), ..Self::plain("x") };
    /// Decibels.
    pub const DECIBELS: Self = Self {
        text: |_, decibels, _| units::decibels(decibels),
        is_possible: |_| true,
        ..Self::plain("dB")
    };
    /// An error, in the unit of the values or relative to them.
    pub const ERROR: Self = Self {
        text: |_, error, _| units::error(error),
        is_possible: possible::not_below_zero,
        ..Self::plain("1")
    };
    /// A part of a whole, from 0 to 1.
    pub const SHARE: Self = Self {
        text: |_, share, _| units::percent(share),
        is_possible: possible::share,
        ..Self::plain("share")
    };
    /// Joules; less the idle machine's they may be below zero.
    pub const JOULES: Self = Self { is_possible: possible::signed, ..Self::plain("J") };
    /// Degrees Celsius.
    pub const CELSIUS: Self = Self { is_possible: possible::signed, ..Self::plain("°C") };

    /// A unit whose numbers have four digits for people.
    pub const fn plain(symbol: &'static str) -> Self {
        Self {
            symbol,
            text: |symbol, value, _| format!("{} {symbol}", units::significant(value, 4)),
            is_possible: possible::not_negative,
            suffix: "",
            scale: 1.0,
        }
    }

    /// A number for people.
    pub fn text(&self, value: f64, interval: Option<Interval>) -> String {
        (self.text)(self.symbol, value, interval)
    }
}
