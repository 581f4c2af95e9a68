//! Sizes, ages and durations as people write them.

use std::time::{Duration, SystemTime};

/// Decimal units, as package indexes and disk makers write them.
pub fn bytes(bytes: u64) -> String {
    let bytes = bytes as f64;
    match bytes {
        b if b < 1e6 => format!("{:.0} kB", b / 1e3),
        b if b < 1e9 => format!("{:.0} MB", b / 1e6),
        b => format!("{:.1} GB", b / 1e9),
    }
}

/// Since `then`; nothing of what is yet to come, as clocks of file systems differ.
pub fn elapsed(then: SystemTime, now: SystemTime) -> Duration {
    now.duration_since(then).unwrap_or_default()
}

pub fn days(count: u64) -> Duration {
    Duration::from_secs(count.saturating_mul(86_400))
}

/// One unit, rounded down: "59 s", "1 min", "23 h", "400 days".
pub fn age(age: Duration) -> String {
    match age.as_secs() {
        s @ ..60 => format!("{s} s"),
        s @ ..3_600 => format!("{} min", s / 60),
        s @ ..86_400 => format!("{} h", s / 3_600),
        s @ ..172_800 => format!("{} day", s / 86_400),
        s => format!("{} days", s / 86_400),
    }
}

/// Two units at most, rounded: "0.4 s", "59 s", "1 min 20 s", "2 h 5 min".
pub fn duration(duration: Duration) -> String {
    let two = |large: u64, unit: &str, small: u64, small_unit: &str| match small {
        0 => format!("{large} {unit}"),
        small => format!("{large} {unit} {small} {small_unit}"),
    };
    let seconds = duration.as_secs_f64().round() as u64;
    let minutes = (seconds + 30) / 60;
    match seconds {
        0..10 => format!("{:.1} s", duration.as_secs_f64()),
        10..60 => format!("{seconds} s"),
        60..3_600 => two(seconds / 60, "min", seconds % 60, "s"),
        _ => two(minutes / 60, "h", minutes % 60, "min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_as_people_write_them() {
        for (bytes, text) in [(0, "0 kB"), (532_000_000, "532 MB"), (4_700_000_000, "4.7 GB")] {
            assert_eq!(super::bytes(bytes), text);
        }
    }

    #[test]
    fn ages_read_as_people_write_them() {
        for (seconds, text) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (3_599, "59 min"),
            (3_600, "1 h"),
            (86_399, "23 h"),
            (86_400, "1 day"),
            (172_800, "2 days"),
        ] {
            assert_eq!(age(Duration::from_secs(seconds)), text);
        }
        assert_eq!(age(days(400)), "400 days");
    }

    #[test]
    fn the_future_is_now() {
        let now = SystemTime::now();
        assert_eq!(elapsed(now + days(1), now), Duration::ZERO);
        assert_eq!(elapsed(now - days(1), now), days(1));
    }

    #[test]
    fn durations_have_two_units_at_most() {
        for (seconds, text) in [
            (0.04, "0.0 s"),
            (9.44, "9.4 s"),
            (9.5, "10 s"),
            (59.4, "59 s"),
            (59.6, "1 min"),
            (80.0, "1 min 20 s"),
            (3_599.0, "59 min 59 s"),
            (3_599.9, "1 h"),
            (7_529.0, "2 h 5 min"),
            (7_190.0, "2 h"),
            (360_000.0, "100 h"),
        ] {
            assert_eq!(duration(Duration::from_secs_f64(seconds)), text);
        }
    }
}
