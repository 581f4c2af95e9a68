//! How numbers look: the one place that turns a measured value into text for people.
//!
//! Files for programs (CSV, JSON) hold plain numbers in a named unit and do not come here.

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use humantime::format_rfc3339_seconds;
use serde_json::Value;
use statistics::Interval;

/// The last second of the year 9999.
pub const LAST_MOMENT: u64 = 253_402_300_799;

/// Nanoseconds in each unit of time, the smallest first.
pub const TIME_UNITS: &[(&str, f64)] = &[("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];

/// Decimals that leave `digits` significant digits, after rounding (9.9996 counts as 10.00).
fn decimals(value: f64, digits: i32) -> usize {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    let precision = usize::try_from(digits - 1).expect("at least one digit");
    let rounded = format!("{:.precision$e}", value.abs());
    let exponent = rounded.split('e').nth(1).and_then(|exponent| exponent.parse().ok());
    usize::try_from(digits - 1 - exponent.unwrap_or(0)).unwrap_or(0)
}

pub fn significant(value: f64, digits: i32) -> String {
    format!("{value:.*}", decimals(value, digits))
}

/// A time with four significant digits, in the unit that leaves one to three before the point.
pub fn time(ns: f64) -> String {
    time_with_interval(ns, None)
}

/// `12.34 ms [12.30, 12.41]`: the bounds in the unit and to the decimals of the value.
pub fn time_with_interval(ns: f64, interval: Option<Interval>) -> String {
    // A value that rounds to 1000 belongs to the next unit.
    let fits = |scale: f64| ns / scale < 999.95;
    let &(unit, scale) = TIME_UNITS
        .iter()
        .find(|(_, scale)| fits(*scale))
        .unwrap_or(TIME_UNITS.last().expect("the list is not empty"));
    let places = decimals(ns / scale, 4);
    let value = format!("{:.places$} {unit}", ns / scale);
    match interval {
        Some(Interval { low, high }) => {
            format!("{value} [{:.places$}, {:.places$}]", low / scale, high / scale)
        }
        None => value,
    }
}

/// `1.84× [1.79, 1.90]`: three significant digits above one, two decimals down to a tenth.
pub fn ratio(value: f64, interval: Option<Interval>) -> String {
    let places = if value < 0.1 { decimals(value, 2) } else { decimals(value, 3).min(2) };
    match interval {
        Some(Interval { low, high }) => {
            // A bound that looks like the value or the other bound needs another decimal, and so
            // does one that looks like 1: it decides whether that is faster or slower.
            let [low_text, text, high_text] = [low, value, high].map(|it| format!("{it:.places$}"));
            let alike = low_text == text || text == high_text;
            let one = format!("{:.places$}", 1.0);
            let at_one = [(low, low_text), (high, high_text)]
                .into_iter()
                .any(|(bound, text)| text == one && bound != 1.0);
            let places = places + usize::from(alike || at_one);
            format!("{value:.places$}× [{low:.places$}, {high:.places$}]")
        }
        None => format!("{value:.places$}×"),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteUnit {
    pub name: &'static str,
    pub bytes: u64,
}

impl ByteUnit {
    /// The smallest first.
    pub const ALL: [Self; 4] = [
        Self { name: "B", bytes: 1 },
        Self { name: "KiB", bytes: 1 << 10 },
        Self { name: "MiB", bytes: 1 << 20 },
        Self { name: "GiB", bytes: 1 << 30 },
    ];

    /// The largest unit of which `bytes` are at least one.
    pub fn for_bytes(bytes: u64) -> Self {
        Self::ALL.into_iter().rfind(|unit| bytes >= unit.bytes).unwrap_or(Self::ALL[0])
    }

    /// Bytes in this unit, three significant digits, without its name.
    pub fn number(self, bytes: u64) -> String {
        match self.bytes {
            1 => bytes.to_string(),
            unit => significant(bytes as f64 / unit as f64, 3),
        }
    }
}

pub fn bytes(bytes: u64) -> String {
    let unit = ByteUnit::for_bytes(bytes);
    format!("{} {}", unit.number(bytes), unit.name)
}

/// An error, three significant digits: `0.0148`, or `3.20e-5` where it is below a thousandth.
pub fn error(value: f64) -> String {
    if value.abs() < 1e-3 && value != 0.0 { format!("{value:.2e}") } else { significant(value, 3) }
}

/// A share as a percentage: `50.0 %`.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A reduction as the change that it is: 0.498 becomes `−49.8%`.
pub fn reduction(fraction: f64) -> String {
    let change = -fraction * 100.0;
    let size = format!("{:.1}", change.abs());
    // A change that rounds to nothing has no direction.
    let sign = match change {
        _ if size == "0.0" => "±",
        change if change < 0.0 => "−",
        _ => "+",
    };
    format!("{sign}{size}%")
}

/// Decibels; infinite means bit for bit equal.
pub fn decibels(db: f64) -> String {
    if db.is_finite() {
        format!("{db:.1}")
    } else if db > 0.0 {
        "∞".to_owned()
    } else {
        db.to_string()
    }
}

/// `2 h 05 min`, `3 min 20 s`, `4 s`.
pub fn duration(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, min, s) => format!("{min} min {s:02} s"),
        (h, min, _) => format!("{h} h {min:02} min"),
    }
}

/// Named values: `grid_size 64x64x64, tolerance 1e-6`.
pub fn fields(fields: &BTreeMap<String, Value>) -> String {
    fn value(of: &Value) -> String {
        match of {
            Value::String(text) => text.clone(),
            Value::Array(items) => items.iter().map(value).collect::<Vec<_>>().join("x"),
            Value::Number(number) => number_of(number),
            other => other.to_string(),
        }
    }
    /// Small ones as in an id: 1e-5.
    fn number_of(number: &serde_json::Number) -> String {
        match number.as_f64() {
            Some(value) if value != 0.0 && value.abs() < 1e-3 => format!("{value:e}"),
            _ => number.to_string(),
        }
    }
    let fields: Vec<String> =
        fields.iter().map(|(name, it)| format!("{name} {}", value(it))).collect();
    fields.join(", ")
}

/// A count with its noun: `1 case`, `2 cases`.
pub fn count(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{} {noun}s", grouped(&n.to_string())) }
}

/// A number with its digits in groups of three where more than four stand before its point.
pub fn grouped(number: &str) -> String {
    let digits = number.bytes().take_while(u8::is_ascii_digit).count();
    let mut out = String::with_capacity(number.len());
    for (place, digit) in number.char_indices() {
        if digits > 4 && (1..digits).contains(&place) && (digits - place) % 3 == 0 {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// A moment in UTC, `2026-11-20T14:03:11Z`, from seconds since the Unix epoch, up to the year 9999.
pub fn rfc3339(timestamp: u64) -> String {
    let moment = UNIX_EPOCH + Duration::from_secs(timestamp.min(LAST_MOMENT));
    format_rfc3339_seconds(moment).to_string()
}

/// A moment in UTC for people, to the minute: `2026-11-20 14:03`.
pub fn minute(timestamp: u64) -> String {
    rfc3339(timestamp)[..16].replace('T', " ")
}

/// From one moment to another: `2026-11-20 14:03 to 14:10 UTC`.
pub fn period(first: u64, last: u64) -> String {
    let (first, last) = (minute(first), minute(last));
    if first == last {
        format!("{first} UTC")
    } else if first[..10] == last[..10] {
        format!("{first} to {} UTC", &last[11..])
    } else {
        format!("{first} to {last} UTC")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_four_digits_and_the_unit_that_fits() {
        for (ns, text) in [
            (0.5, "0.5000 ns"),
            (12.344, "12.34 ns"),
            (999.96, "1.000 µs"),
            (123_456.0, "123.5 µs"),
            (9_999_960.0, "10.00 ms"),
            (999_949.9, "999.9 µs"),
            (999_950.0, "1.000 ms"),
            (6_789_000.0, "6.789 ms"),
            (1.5e9, "1.500 s"),
            (4.2e12, "4200 s"),
        ] {
            assert_eq!(time(ns), text, "{ns} ns");
        }
    }

    #[test]
    fn long_numbers_are_in_groups() {
        for (number, text) in [
            ("999", "999"),
            ("1234", "1234"),
            ("12345", "12\u{202f}345"),
            ("1234567.8910", "1\u{202f}234\u{202f}567.8910"),
            ("0.123456", "0.123456"),
            ("inf", "inf"),
        ] {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(count(10_000, "case"), "10\u{202f}000 cases");
    }

    #[test]
    fn bounds_share_unit_and_decimals_with_the_value() {
        let bounds = |low, high| Some(Interval { low, high });
        assert_eq!(
            time_with_interval(999_000.0, bounds(987_654.0, 1_012_345.0)),
            "999.0 µs [987.7, 1012.3]"
        );
        assert_eq!(ratio(1.8412, bounds(1.7934, 1.8966)), "1.84× [1.79, 1.90]");
        assert_eq!(ratio(0.8297, bounds(0.8258, 0.8336)), "0.830× [0.826, 0.834]");
        assert_eq!(ratio(1.0123, bounds(1.0031, 1.0249)), "1.012× [1.003, 1.025]");
        assert_eq!(ratio(0.9821, bounds(0.9702, 0.9984)), "0.982× [0.970, 0.998]");
        assert_eq!(ratio(1.02, bounds(1.0, 1.04)), "1.02× [1.00, 1.04]");
        assert_eq!(ratio(0.9702, bounds(0.9641, 0.9749)), "0.970× [0.964, 0.975]");
        // On which side of 1 a bound lies, is seen.
        assert_eq!(ratio(1.0241, bounds(1.0012, 1.0468)), "1.024× [1.001, 1.047]");
        assert_eq!(ratio(1.0241, bounds(1.0, 1.0468)), "1.02× [1.00, 1.05]");
        for (value, text) in [(12.04, "12.0×"), (0.942, "0.94×"), (0.0421, "0.042×")] {
            assert_eq!(ratio(value, None), text);
        }
    }

    #[test]
    fn sizes_and_changes() {
        for (size, text) in [
            (0, "0 B"),
            (2, "2 B"),
            (1_023, "1023 B"),
            (1_024, "1.00 KiB"),
            (131_072, "128 KiB"),
            (1_053_696, "1.00 MiB"),
            (8_000_000_000, "7.45 GiB"),
        ] {
            assert_eq!(bytes(size), text);
        }
        assert_eq!(ByteUnit::for_bytes(8_192).number(2_097_152), "2048");
        assert_eq!(ByteUnit::for_bytes(2_097_152).number(8_192), "0.00781");
        assert_eq!(error(0.014_775), "0.0148");
        assert_eq!(error(3.2e-5), "3.20e-5");
        assert_eq!(error(0.0), "0");
        assert_eq!(error(f64::NAN), "NaN");
        assert_eq!(percent(0.5), "50.0 %");
        assert_eq!(reduction(0.498), "−49.8%");
        assert_eq!(reduction(-0.25), "+25.0%");
        for nothing in [0.0, 0.000_3, -0.000_3] {
            assert_eq!(reduction(nothing), "±0.0%");
        }
        assert_eq!(decibels(f64::INFINITY), "∞");
        assert_eq!(decibels(38.24), "38.2");
    }

    #[test]
    fn moments_are_utc() {
        for (timestamp, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_827_696, "2000-02-29T12:34:56Z"),
            (1_795_182_000, "2026-11-20T13:40:00Z"),
        ] {
            assert_eq!(rfc3339(timestamp), text);
        }
        assert_eq!(minute(951_827_696), "2000-02-29 12:34");
        for (last, text) in [
            (951_827_697, "2000-02-29 12:34 UTC"),
            (951_828_000, "2000-02-29 12:34 to 12:40 UTC"),
            (951_914_096, "2000-02-29 12:34 to 2000-03-01 12:34 UTC"),
        ] {
            assert_eq!(period(951_827_696, last), text);
        }
    }

    #[test]
    fn fields_are_named_values() {
        let all = serde_json::json!({"grid": [64, 64], "tol": 1e-6, "way": "jacobi", "wrap": true});
        let all: BTreeMap<String, Value> = serde_json::from_value(all).expect("a mapping");
        assert_eq!(fields(&all), "grid 64x64, tol 1e-6, way jacobi, wrap true");
        assert_eq!(fields(&BTreeMap::new()), "");
    }

    #[test]
    fn durations_and_counts() {
        assert_eq!(duration(4.4), "4 s");
        assert_eq!(duration(200.0), "3 min 20 s");
        assert_eq!(duration(7500.0), "2 h 05 min");
        assert_eq!(count(1, "case"), "1 case");
        assert_eq!(count(0, "case"), "0 cases");
    }
}
