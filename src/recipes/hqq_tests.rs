//! The solver against torchao's own numbers, and where groups are extreme.

use tch::{Device, Kind, Tensor};

use super::*;
use fixture::Fixture;

#[path = "../../tests/golden/fixture.rs"]
mod fixture;

fn largest(tensor: &Tensor) -> f64 {
    tensor.abs().max().double_value(&[])
}

#[test]
fn zeros_and_scales_before_rounding_are_torchaos() {
    let (mut float, mut half) = (0, 0);
    for fixture in Fixture::every() {
        let Some(dtype) = fixture.find_text("hqq_solver_dtype") else { continue };
        let solver = if dtype.starts_with("float16") { Kind::Half } else { Kind::Float };
        *(if solver == Kind::Half { &mut half } else { &mut float }) += 1;

        let group = fixture.text("group_size").parse().unwrap();
        let bits = fixture.text("qmax").parse::<u8>().unwrap().count_ones();
        let bits = u8::try_from(bits).unwrap();
        let found = solve(fixture.tensor("weight"), group, bits, solver).unwrap();
        assert_eq!((found.scale.kind(), found.zero.kind()), (solver, solver));
        let inverse = fixture.tensor("hqq_scale").to_kind(solver).reciprocal();
        assert!(found.scale.equal(&inverse), "{fixture}");
        let zero = fixture.tensor("hqq_zero");
        // The mean of a group depends on the order of its sum.
        let limit = if solver == Kind::Half { 1e-3 } else { 2e-7 };
        let off = largest(&((found.zero.to_kind(Kind::Float) - zero) / zero.abs().clamp_min(1.0)));
        assert!(off <= limit, "{fixture}: {off}");
    }
    // Another folder may hold fewer families.
    let complete = float > 0 && half > 0;
    assert!(complete || Fixture::elsewhere(), "{float} float32 and {half} float16 fixtures");
}

#[test]
fn a_group_of_one_value_is_restored() {
    for bits in 1..=8 {
        for value in [0.0, 0.75, -0.3, 100.0] {
            for group in [8, 24, 48] {
                let weight = Tensor::full([3, 48], value, (Kind::Float, Device::Cpu));
                let solved = solve(&weight, group, bits, Kind::Float).unwrap();
                assert_eq!(solved.zero.size(), [3, 48 / group]);
                let restored = (solved.values.reshape([-1, group]).to_kind(Kind::Float)
                    - solved.zero.reshape([-1, 1]))
                    * solved.scale.reshape([-1, 1]);
                let error = largest(&(restored - value));
                assert!(error <= 1e-6 * value.abs(), "{bits} bits, {value}: {error}");
            }
        }
    }
}

#[test]
fn in_float16_a_large_constant_has_no_zero_point() {
    let solve = |value: f64| {
        let weight = Tensor::full([1, 32], value, (Kind::Float, Device::Cpu));
        largest(&solve(&weight, 32, 4, Kind::Half).unwrap().zero)
    };
    assert!(solve(3.0).is_finite());
    assert!(!solve(4.0).is_finite());
}
