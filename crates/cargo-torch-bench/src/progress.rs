//! How far it is, and how long it will take.

use std::time::Duration;

/// Before the launch after `done` of `launches`, which took `elapsed` together: "launch 3 of 8
/// (main@3), 1 min 20 s each, about 8 min left". Nothing is foretold before one has ended.
pub fn line(done: usize, launches: usize, kept_as: &str, elapsed: Duration) -> String {
    let place = format!("launch {} of {launches} ({kept_as})", done + 1);
    if done == 0 {
        return place;
    }
    let each = elapsed.as_secs_f64() / done as f64;
    let left = each * launches.saturating_sub(done) as f64;
    let [each, left] = [each, left].map(|seconds| human(Duration::from_secs_f64(seconds)));
    format!("{place}, {each} each, about {left} left")
}

/// Two units at most, rounded: "0.4 s", "59 s", "1 min 20 s", "2 h 5 min".
pub fn human(duration: Duration) -> String {
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
            assert_eq!(human(Duration::from_secs_f64(seconds)), text);
        }
    }

    #[test]
    fn what_is_left_includes_the_launch_that_begins() {
        let line = |done, seconds| line(done, 8, "main@3", Duration::from_secs(seconds));
        assert_eq!(line(0, 0), "launch 1 of 8 (main@3)");
        assert_eq!(line(2, 160), "launch 3 of 8 (main@3), 1 min 20 s each, about 8 min left");
        assert_eq!(line(7, 560), "launch 8 of 8 (main@3), 1 min 20 s each, about 1 min 20 s left");
    }
}
