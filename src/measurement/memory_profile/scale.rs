//! Round numbers along the axes, with their units.

/// Round numbers from 0 to `most`, five at most: powers of two as memory has them.
pub fn byte_ticks(most: u64) -> impl Iterator<Item = u64> {
    let step = most.div_ceil(4).next_power_of_two();
    ticks(step, most)
}

/// Round numbers from 0 to `end`, at most eleven: 1, 2 or 5 times a power of ten.
pub fn time_ticks(end: u64) -> impl Iterator<Item = u64> {
    let powers = (0..19).map(|power| 10_u64.pow(power));
    let steps = powers.flat_map(|power| [power, 2 * power, 5_u64.saturating_mul(power)]);
    let step = steps.into_iter().find(|step| end / step <= 10).unwrap_or(end.max(1));
    ticks(step, end)
}

fn ticks(step: u64, most: u64) -> impl Iterator<Item = u64> {
    (0..=most / step).map(move |count| count * step)
}

/// `1.50 MiB`.
pub fn bytes(bytes: u64) -> String {
    let units = [("GiB", 1_u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match units.into_iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) => format!("{} {name}", three_digits(bytes as f64 / unit as f64)),
        None => format!("{bytes} B"),
    }
}

/// `1.50 ms`.
pub fn duration(ns: u64) -> String {
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1000)];
    match units.into_iter().find(|(_, unit)| ns >= *unit) {
        Some((name, unit)) => format!("{} {name}", three_digits(ns as f64 / unit as f64)),
        None => format!("{ns} ns"),
    }
}

/// Three digits, or all of them in front of the point; without zeros after it.
fn three_digits(number: f64) -> String {
    let decimals = if number >= 99.95 { 0 } else { usize::from(number < 9.995) + 1 };
    let text = format!("{number:.decimals$}");
    if decimals == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        let collected = |ticks: &mut dyn Iterator<Item = u64>| ticks.collect::<Vec<_>>();
        assert_eq!(collected(&mut byte_ticks(4096)), [0, 1024, 2048, 3072, 4096]);
        assert_eq!(collected(&mut byte_ticks(5000)), [0, 2048, 4096]);
        assert_eq!(collected(&mut byte_ticks(1)), [0, 1]);
        assert_eq!(collected(&mut time_ticks(1)), [0, 1]);
        assert_eq!(collected(&mut time_ticks(42)), [0, 5, 10, 15, 20, 25, 30, 35, 40]);
        assert_eq!(collected(&mut time_ticks(2_500)).len(), 6);
        for most in [1, 7, 1000, 123_456_789, u64::MAX / 4] {
            assert!(byte_ticks(most).count() <= 6 && time_ticks(most).count() <= 11, "{most}");
        }
    }

    #[test]
    fn numbers_have_three_digits_and_a_unit() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(12_345_678), "11.8 MiB");
        assert_eq!(bytes(3 << 30), "3 GiB");
        assert_eq!(duration(999), "999 ns");
        assert_eq!(duration(1_234_567), "1.23 ms");
        assert_eq!(duration(100_000), "100 µs");
        assert_eq!(duration(2_000_000_000), "2 s");
    }
}
