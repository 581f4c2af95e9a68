//! e2m1, numbers of 4 bits: a sign, 2 bits of exponent and 1 of mantissa. They are 0, 0.5, 1, 1.5, 2, 3, 4, 6
//! and their negatives; there is neither infinity nor NaN.

use tch::{Device, Kind, TchError, Tensor};

/// The largest.
pub(super) const MAX: f64 = 6.0;

/// Bits of float32's mantissa that e2m1 has not.
const DROPPED: i64 = 22;
/// The difference of the biases, in the bits of float32, and what rounds to nearest.
const ROUND: i64 = ((1 - 127) << 23) + (1 << (DROPPED - 1)) - 1;
/// 2²², whose neighbours are 0.5 apart, e2m1's smallest step; and its bits.
const COARSE: (f64, i64) = (4_194_304.0, 149 << 23);

/// The codes of float32 numbers, `0000SEEM` in uint8, as torchao's `f32_to_f4_unpacked` computes them: rounds
/// to nearest, ties to even; what is too large becomes the largest, and NaN 1.5.
pub(super) fn encode(x: &Tensor) -> Result<Tensor, TchError> {
    let bits = x.f_view_dtype(Kind::Int)?;
    let sign = bits.f_bitwise_and(i64::from(i32::MIN))?;
    let bits = bits.f_bitwise_xor_tensor(&sign)?;
    let magnitude = bits.f_view_dtype(Kind::Float)?;
    let small =
        magnitude.f_add_scalar(COARSE.0)?.f_view_dtype(Kind::Int)?.f_sub_scalar(COARSE.1)?;
    let odd = bits.f_bitwise_right_shift_tensor_scalar(DROPPED)?.f_bitwise_and(1)?;
    let normal = bits
        .f_add_scalar(ROUND)?
        .f_add(&odd)?
        .f_bitwise_right_shift_tensor_scalar(DROPPED)?
        .f_to_kind(Kind::Uint8)?;
    let codes = small
        .f_to_kind(Kind::Uint8)?
        .f_where_self(&magnitude.f_lt(1.0)?, &normal)?
        .f_masked_fill(&magnitude.f_ge(MAX)?, 7)?;
    let sign = sign.f_bitwise_right_shift_tensor_scalar(28)?.f_bitwise_and(8)?;
    codes.f_bitwise_or_tensor(&sign.f_to_kind(Kind::Uint8)?)
}

/// Codes `[.., k]` in `[.., k / 2]` bytes, the first of two in the low bits.
pub(super) fn pack(codes: &Tensor) -> Result<Tensor, TchError> {
    let every_second = |first| codes.f_slice(-1, first, None, 2);
    every_second(1)?.f_bitwise_left_shift_tensor_scalar(4)?.f_bitwise_or_tensor(&every_second(0)?)
}

/// The numbers `[.., k]` of the codes in `[.., k / 2]` bytes.
pub(super) fn decode(packed: &Tensor, kind: Kind) -> Result<Tensor, TchError> {
    let mut size = packed.size();
    if let Some(last) = size.last_mut() {
        *last *= 2;
    }
    let pairs = match packed.device() {
        Device::Cpu => look_up(packed, kind)?,
        _ => widen(packed, kind)?,
    };
    pairs.f_reshape(size)
}

/// By a table of each byte's two, on a CPU, where it takes a third of the time of [`widen`]. Operations make the table:
/// the tracer could not write down numbers that come from elsewhere.
fn look_up(packed: &Tensor, kind: Kind) -> Result<Tensor, TchError> {
    let table = widen(&Tensor::f_arange(256, (Kind::Uint8, packed.device()))?, kind)?;
    table.f_index_select(0, &packed.f_reshape([-1])?.f_to_kind(Kind::Int)?)
}

/// As float8 e4m3 with the same bits, which are the numbers times 2⁻⁶.
fn widen(packed: &Tensor, kind: Kind) -> Result<Tensor, TchError> {
    let left =
        |bits: i64, by: i64| packed.f_bitwise_and(bits)?.f_bitwise_left_shift_tensor_scalar(by);
    let low = left(0x7, 2)?.f_bitwise_or_tensor(&left(0x8, 4)?)?;
    let high = packed.f_bitwise_right_shift_tensor_scalar(2)?.f_bitwise_and(0x1c)?;
    let high = high.f_bitwise_or_tensor(&packed.f_bitwise_and(0x80)?)?;
    let pairs = Tensor::f_stack(&[low, high], -1)?.f_view_dtype(Kind::Float8e4m3fn)?;
    pairs.f_to_kind(kind)?.f_mul_scalar(64.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(x: &[f32]) -> Vec<u8> {
        Vec::try_from(encode(&Tensor::from_slice(x)).unwrap()).unwrap()
    }

    #[test]
    fn every_value_and_every_tie_rounds_as_ieee_says() {
        let values = [0.0_f32, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
        for code in 0..7_u8 {
            let (low, high) = (values[usize::from(code)], values[usize::from(code) + 1]);
            let even = code + code % 2;
            let middle = (low + high) / 2.0;
            let found = codes(&[low, -low, middle, -middle, middle.next_up(), middle.next_down()]);
            assert_eq!(found, [code, code | 8, even, even | 8, code + 1, code], "{low}");
        }
    }

    #[test]
    fn what_is_too_large_is_the_largest_and_nan_is_a_number() {
        let found = codes(&[6.0, 1e30, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -0.0, 1e-45]);
        assert_eq!(found, [7, 7, 7, 15, 3, 8, 0]);
    }

    #[test]
    fn bytes_hold_two() {
        let all = Tensor::arange(16, (Kind::Uint8, Device::Cpu)).unsqueeze(0);
        let packed = pack(&all).unwrap();
        let bytes = Vec::<u8>::try_from(packed.reshape([-1])).unwrap();
        assert_eq!(bytes, [0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe]);
        for kind in [Kind::Float, Kind::BFloat16] {
            let decoded = decode(&packed, kind).unwrap();
            assert_eq!((decoded.size(), decoded.kind()), (vec![1, 16], kind));
            let again = encode(&decoded.to_kind(Kind::Float)).unwrap();
            assert!(again.equal(&all), "{kind:?}");
            let values = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0_f32];
            let values = Tensor::from_slice(&[values, values.map(|value| -value)].concat());
            let bits = |it: &Tensor| it.to_kind(Kind::Float).reshape([-1]).view_dtype(Kind::Int);
            assert!(bits(&decoded).equal(&bits(&values)), "{kind:?}");
        }
    }
}
