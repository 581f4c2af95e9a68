//! Tails of the normal and of Student's distribution, and the quantile of the latter.

use std::f64::consts::{PI, SQRT_2, TAU};

use statrs::function::beta::beta_reg;
use statrs::function::erf::erfc;
use statrs::function::gamma::ln_gamma;

/// P(Z > z) of a standard normal Z.
pub fn normal_tail(z: f64) -> f64 {
    0.5 * erfc(z / SQRT_2)
}

/// P(T > t) of Student's T with `freedom` degrees of freedom, which need not be whole; infinitely
/// many are the normal distribution.
pub fn student_tail(t: f64, freedom: f64) -> f64 {
    if freedom.is_infinite() {
        return normal_tail(t);
    }
    if t < 0.0 {
        return 1.0 - student_tail(-t, freedom);
    }
    0.5 * beta_reg(freedom / 2.0, 0.5, freedom / (freedom + t * t))
}

/// The t with P(T > t) = `tail`, of a tail above 0 and up to a half.
pub fn student_quantile(tail: f64, freedom: f64) -> f64 {
    const STEPS: usize = 200;
    const ACCURACY: f64 = 1e-12;
    let (mut low, mut high) = (0.0, 1.0);
    while student_tail(high, freedom) > tail {
        (low, high) = (high, 2.0 * high);
    }
    // The tail falls and is convex, so that Newton's steps from below stay below.
    for _ in 0..STEPS {
        let step = (student_tail(low, freedom) - tail) / student_density(low, freedom);
        low += step;
        if step.abs() <= ACCURACY * low {
            break;
        }
    }
    low
}

fn student_density(t: f64, freedom: f64) -> f64 {
    if freedom.is_infinite() {
        return (-0.5 * t * t).exp() / TAU.sqrt();
    }
    let scale = ln_gamma((freedom + 1.0) / 2.0) - ln_gamma(freedom / 2.0);
    (scale - (freedom + 1.0) / 2.0 * (t * t / freedom).ln_1p()).exp() / (freedom * PI).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 1e-9, "{value} is not {expected}");
    }

    #[test]
    fn normal_tails_as_in_tables() {
        for (z, tail) in [
            (0.0, 0.5),
            (1.0, 0.158_655_253_931_457_05),
            (1.959_963_984_540_054, 0.025),
            (3.0, 0.001_349_898_031_630_094_5),
            (6.0, 9.865_876_450_376_98e-10),
        ] {
            close(normal_tail(z), tail);
            close(normal_tail(-z), 1.0 - tail);
        }
        // Series and continued fraction meet.
        let slope = (normal_tail(3.0 - 1e-7) - normal_tail(3.0)) / 1e-7;
        assert!((slope / ((-4.5_f64).exp() / TAU.sqrt()) - 1.0).abs() < 1e-4, "{slope}");
    }

    #[test]
    fn students_quantiles_as_in_tables() {
        // Two-sided 95 % and 99.9 %.
        for (freedom, at_95, at_999) in [
            (1.0, 12.706_204_736, 636.619_248_8),
            (2.0, 4.302_652_730, 31.599_054_58),
            (4.0, 2.776_445_105, 8.610_301_581),
            (7.0, 2.364_624_252, 5.407_882_521),
            (14.0, 2.144_786_688, 4.140_454_113),
            (120.0, 1.979_930_405, 3.373_453_769),
            (f64::INFINITY, 1.959_963_985, 3.290_526_731),
        ] {
            close(student_quantile(0.025, freedom), at_95);
            close(student_quantile(0.0005, freedom), at_999);
        }
    }

    #[test]
    fn the_quantile_inverts_the_tail() {
        for freedom in [1.0, 1.7, 3.3, 8.0, 55.5, 1e4, f64::INFINITY] {
            for tail in [0.5, 0.4, 0.1, 0.025, 1e-4, 1e-9] {
                close(student_tail(student_quantile(tail, freedom), freedom), tail);
            }
        }
    }

    #[test]
    fn one_degree_of_freedom_is_cauchys_distribution() {
        for t in [0.1, 1.0, 5.0, 200.0_f64] {
            close(student_tail(t, 1.0), (1.0 / t).atan() / PI);
        }
    }
}
