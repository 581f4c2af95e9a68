//! Tails of distribution functions in [`Segments`], from the files of numbers in this folder.

use super::segments::{Polynomials, Segments};
use crate::cpu::vector::Table;

// Relative errors with sixteen segments, and with eight, rounding included.

/// Φ(−t): 2⁻²³·⁰ and 2⁻²²·⁶ for float32, 2⁻¹⁵·¹ and 2⁻¹⁴·³ for float16, 2⁻⁹·³ and 2⁻¹¹·² for bfloat16.
pub static GELU: Segments<true> = segments(5.47, include_bytes!("gelu.csv"));

/// σ(−2√(2/π)·(t + 0.044_715t³)): 2⁻²²·⁸ and 2⁻²²·⁷ for float32, 2⁻¹³·⁸ and 2⁻¹³·⁰ for float16, 2⁻⁹·⁵ and 2⁻⁹·⁴ for
/// bfloat16.
pub static GELU_TANH: Segments<true> = segments(4.75, include_bytes!("gelu_tanh.csv"));

/// σ(−t): 2⁻²⁴·³ and 2⁻²²·¹ for float32, 2⁻¹⁵·⁹ and 2⁻¹⁴·⁵ for float16, 2⁻¹⁰·⁹ with either for bfloat16.
pub static SILU: Segments<false> = segments(15.0, include_bytes!("silu.csv"));

/// For sixteen segments and for eight a line of names, and then a line for each table: its name and the values.
const fn segments<const SQUARE: bool>(reach: f32, text: &[u8]) -> Segments<SQUARE> {
    let (sixteen, at) = polynomials(text, 0);
    let (eight, at) = polynomials(text, at);
    assert!(at == text.len(), "no line follows");
    Segments { reach, sixteen, eight }
}

const fn polynomials<const COUNT: usize, const A: usize, const B: usize, const C: usize>(
    text: &[u8],
    at: usize,
) -> (Polynomials<COUNT, A, B, C>, usize) {
    let at = position_after(text, at, b'\n');
    let ([centers], at) = tables(text, at, COUNT);
    let (float32, at) = tables(text, at, COUNT);
    let (float16, at) = tables(text, at, COUNT);
    let (bfloat16, at) = tables(text, at, COUNT);
    (Polynomials { centers, float32, float16, bfloat16 }, at)
}

const fn tables<const N: usize>(text: &[u8], mut at: usize, count: usize) -> ([Table; N], usize) {
    let mut tables = [Table([0.0; 16]); N];
    let mut index = 0;
    while index < count * N {
        if index % count == 0 {
            at = position_after(text, at, b',');
        }
        (tables[index / count].0[index % count], at) = number(text, at);
        index += 1;
    }
    (tables, at)
}

/// The place behind the next such byte.
const fn position_after(text: &[u8], mut at: usize, byte: u8) -> usize {
    while text[at] != byte {
        at += 1;
    }
    at + 1
}

/// The decimal number at a place, and the place behind what ends it. One with at most 15 digits and
/// a decimal exponent from −22 is a quotient of two exact float64 numbers.
const fn number(text: &[u8], mut at: usize) -> (f32, usize) {
    let (mut sign, mut digits, mut decimals, mut is_fraction) = (1.0, 0_u64, 0, false);
    loop {
        match text[at] {
            b'-' => sign = -1.0,
            b'.' => is_fraction = true,
            b'e' => {
                let (exponent, end) = number(text, at + 1);
                decimals -= exponent as i32;
                at = end;
                break;
            }
            digit @ b'0'..=b'9' => {
                digits = 10 * digits + (digit - b'0') as u64;
                decimals += is_fraction as i32;
            }
            b',' | b'\n' => {
                at += 1;
                break;
            }
            _ => panic!("a number has no such character"),
        }
        at += 1;
    }
    assert!(digits < 1_000_000_000_000_000 && 0 <= decimals && decimals <= 22);
    let mut power = 1.0_f64;
    while decimals > 0 {
        power *= 10.0;
        decimals -= 1;
    }
    ((sign * (digits as f64 / power)) as f32, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_numbers<const SQUARE: bool>(segments: &Segments<SQUARE>) -> Vec<f32> {
        let Segments { sixteen, eight, .. } = segments;
        [numbers(sixteen), numbers(eight)].concat()
    }

    fn numbers<const COUNT: usize, const A: usize, const B: usize, const C: usize>(
        polynomials: &Polynomials<COUNT, A, B, C>,
    ) -> Vec<f32> {
        let Polynomials { centers, float32, float16, bfloat16 } = polynomials;
        let tables = [centers].into_iter().chain(float32).chain(float16).chain(bfloat16);
        tables.flat_map(|table| &table.0[..COUNT]).copied().collect()
    }

    /// The bits decide results; the hashes are those of the numbers that the errors were found with.
    #[test]
    fn numbers_are_read_to_the_bit() {
        for (found, text, hash) in [
            (all_numbers(&GELU), include_str!("gelu.csv"), 0xc7e9_8b92_9d98_b1a8),
            (all_numbers(&GELU_TANH), include_str!("gelu_tanh.csv"), 0xc5c9_c3f3_4fb8_7693),
            (all_numbers(&SILU), include_str!("silu.csv"), 0xc3d4_787e_9e9c_8771),
        ] {
            let lines = text.lines().filter(|line| !line.starts_with("segment"));
            let fields = lines.flat_map(|line| line.split(',').skip(1));
            let parsed: Vec<f32> = fields.map(|field| field.parse().unwrap()).collect();
            let bits = |values: &[f32]| values.iter().map(|it| it.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&found), bits(&parsed));
            let bytes: Vec<u8> = found.iter().flat_map(|it| it.to_bits().to_le_bytes()).collect();
            assert_eq!(plan::fnv1a(bytes), hash);
        }
    }
}
