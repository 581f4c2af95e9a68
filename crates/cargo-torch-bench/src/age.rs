//! How long ago.

use std::time::{Duration, SystemTime};

/// Since `then`; nothing of what is yet to come, as clocks of file systems differ.
pub fn since(then: SystemTime, now: SystemTime) -> Duration {
    now.duration_since(then).unwrap_or_default()
}

pub fn days(count: u64) -> Duration {
    Duration::from_secs(count.saturating_mul(86_400))
}

/// One unit, rounded down: "59 s", "1 min", "23 h", "400 days".
pub fn human(age: Duration) -> String {
    match age.as_secs() {
        s @ ..60 => format!("{s} s"),
        s @ ..3_600 => format!("{} min", s / 60),
        s @ ..86_400 => format!("{} h", s / 3_600),
        s @ ..172_800 => format!("{} day", s / 86_400),
        s => format!("{} days", s / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(human(Duration::from_secs(seconds)), text);
        }
        assert_eq!(human(days(400)), "400 days");
    }

    #[test]
    fn the_future_is_now() {
        let now = SystemTime::now();
        assert_eq!(since(now + days(1), now), Duration::ZERO);
        assert_eq!(since(now - days(1), now), days(1));
    }
}
