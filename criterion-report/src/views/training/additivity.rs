//! Whether forward and backward pass, measured apart, take as long as both measured together.

use crate::model::Caution;
use crate::model::{Interval, Time};
use crate::render::units;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Additivity {
    /// The sum of both over their time together, less 1.
    pub excess: f64,
    /// The difference that the intervals of all three allow, relative to the time together.
    pub allowed: f64,
}

impl Additivity {
    /// `None` where a time has no interval. The three are independent: their half-widths add as squares.
    pub fn of(forward: &Time, backward: &Time, together: &Time) -> Option<Self> {
        let half = |time: &Time| {
            let Interval { low, high } = time.interval?;
            Some((high - low) / 2.0)
        };
        let halves = [half(forward)?, half(backward)?, half(together)?];
        let allowed = halves.iter().map(|half| half * half).sum::<f64>().sqrt();
        let sum = forward.median_ns + backward.median_ns;
        Some(Self { excess: sum / together.median_ns - 1.0, allowed: allowed / together.median_ns })
    }

    pub fn holds(&self) -> bool {
        self.excess.abs() <= self.allowed
    }

    /// The caution on a result for which it does not hold.
    pub fn caution(&self) -> Option<Caution> {
        let percent = |share: f64| units::significant(share.abs() * 100.0, 2);
        let (excess, allowed) = (percent(self.excess), percent(self.allowed));
        let side = if self.excess > 0.0 { "more" } else { "less" };
        let text = format!(
            "forward + backward take {excess} % {side} than forward_backward; their intervals \
             allow {allowed} %"
        );
        let kind = "forward + backward do not add up to forward_backward within the intervals, in % (allowed)";
        let figures = format!("{excess} ({allowed})");
        (!self.holds()).then(|| Caution::from(text).with_figures(kind, figures))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(median_ns: f64, half: f64) -> Time {
        let interval = Some(Interval { low: median_ns - half, high: median_ns + half });
        Time {
            median_ns,
            interval,
            mean_ns: median_ns,
            std_dev_ns: 0.0,
            fastest_ns: median_ns,
            slowest_ns: median_ns,
            confidence_level: 0.95,
            samples: 10,
            quick: false,
        }
    }

    #[test]
    fn intervals_decide() {
        let of = |together: f64| {
            Additivity::of(&time(100.0, 3.0), &time(200.0, 4.0), &time(together, 0.0))
                .expect("intervals")
        };
        // √(3² + 4²) = 5.
        assert!(of(300.0).holds() && of(304.9).holds() && of(295.1).holds());
        assert!(!of(306.0).holds() && !of(294.0).holds());
        let text = of(250.0).caution().expect("not within").to_string();
        let expected = "forward + backward take 20 % more than forward_backward; their intervals \
                        allow 2.0 %";
        assert_eq!(text, expected);
        assert_eq!(of(300.0).caution(), None);
    }

    #[test]
    fn without_intervals_nothing_is_said() {
        let quick = Time { interval: None, ..time(100.0, 1.0) };
        assert_eq!(Additivity::of(&quick, &time(1.0, 1.0), &time(1.0, 1.0)), None);
    }
}
