//! A ratio of two ratios: two cases that were each compared with the same third, in experiments of
//! their own, compared with each other.
//!
//! The noises of two experiments have nothing to do with each other, so the variances of the two
//! logarithms add. An interval's own half-widths stand for its standard deviations ("method of
//! variance estimates recovery": Zou and Donner, "Construction of confidence limits about effect
//! measures", Statistics in Medicine 27, 2008), each on the side on which it matters: the quotient
//! is lowest where the dividend is low and the divisor high. Its level is that of the two intervals.
//!
//! It does not cover differences between the two experiments: a machine that changes between them is
//! in neither interval.

use crate::paired::Ratio;

/// How many times as fast as the case of `over` that of `of` is; both ratios are against one case,
/// with intervals of one level.
pub fn quotient(of: &Ratio, over: &Ratio) -> Ratio {
    let ln = of.ratio.ln() - over.ratio.ln();
    let below = f64::hypot((of.ratio / of.low).ln(), (over.high / over.ratio).ln());
    let above = f64::hypot((of.high / of.ratio).ln(), (over.ratio / over.low).ln());
    Ratio::from_ln(ln, below, above)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: Ratio, b: Ratio) {
        for (a, b) in [(a.ratio, b.ratio), (a.low, b.low), (a.high, b.high)] {
            assert!((a / b - 1.0).abs() < 1e-12, "{a} {b}");
        }
    }

    #[test]
    fn variances_add() {
        // 3, 4, 5; and 5, 12, 13 on the other side.
        close(
            quotient(&Ratio::from_ln(0.7, 0.03, 0.12), &Ratio::from_ln(0.2, 0.05, 0.04)),
            Ratio::from_ln(0.5, 0.05, 0.13),
        );
    }

    #[test]
    fn what_is_certain_adds_nothing() {
        let ratio = Ratio::from_ln(0.4, 0.01, 0.02);
        close(quotient(&ratio, &Ratio::ONE), ratio);
        close(quotient(&Ratio::ONE, &ratio), Ratio::from_ln(-0.4, 0.02, 0.01));
    }

    #[test]
    fn exchanging_the_two_inverts_it() {
        let (a, b) = (Ratio::from_ln(1.1, 0.02, 0.05), Ratio::from_ln(-0.3, 0.01, 0.07));
        let (one, other) = (quotient(&a, &b), quotient(&b, &a));
        let inverted =
            Ratio { ratio: 1.0 / other.ratio, low: 1.0 / other.high, high: 1.0 / other.low };
        close(one, inverted);
    }

    #[test]
    fn it_is_narrower_than_the_extremes_and_wider_than_either() {
        let (a, b) = (Ratio::from_ln(0.2, 0.02, 0.03), Ratio::from_ln(0.1, 0.01, 0.04));
        let quotient = quotient(&a, &b);
        assert!(quotient.low > a.low / b.high && quotient.high < a.high / b.low);
        assert!(quotient.half_width() > a.half_width() && quotient.half_width() > b.half_width());
    }
}
