//! The solver against torchao's own numbers, and where groups are extreme.

use std::path::{Path, PathBuf};

use safetensors::SafeTensors;
use tch::{Device, Kind, Tensor};

use super::*;

/// Tensor `name` of a fixture, float32 or bfloat16.
fn tensor(file: &SafeTensors<'_>, name: &str) -> Tensor {
    let view = file.tensor(name).unwrap();
    let kind = match view.dtype() {
        safetensors::Dtype::F32 => Kind::Float,
        safetensors::Dtype::BF16 => Kind::BFloat16,
        other => panic!("{name}: {other:?}"),
    };
    let size: Vec<i64> = view.shape().iter().map(|&size| size as i64).collect();
    Tensor::from_data_size(view.data(), &size, kind)
}

fn largest(tensor: &Tensor) -> f64 {
    tensor.abs().max().double_value(&[])
}

#[test]
fn zeros_and_scales_before_rounding_are_torchaos() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let elsewhere = std::env::var_os("GOLDEN_DIR").map(PathBuf::from);
    let folder = elsewhere.as_deref().unwrap_or(&own);
    let paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let (mut float, mut half) = (0, 0);
    for path in paths.iter().filter(|path| path.extension().is_some_and(|it| it == "safetensors")) {
        let bytes = std::fs::read(path).unwrap();
        let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
        let metadata = header.metadata().as_ref().unwrap();
        let Some(dtype) = metadata.get("hqq_solver_dtype") else { continue };
        let solver = if dtype.starts_with("float16") { Kind::Half } else { Kind::Float };
        *(if solver == Kind::Half { &mut half } else { &mut float }) += 1;

        let file = SafeTensors::deserialize(&bytes).unwrap();
        let (group, bits) =
            (metadata["group_size"].parse().unwrap(), metadata["qmax"].parse::<u8>().unwrap());
        let bits = u8::try_from(bits.count_ones()).unwrap();
        let found = solve(&tensor(&file, "weight"), group, bits, solver).unwrap();
        assert_eq!((found.scale.kind(), found.zero.kind()), (solver, solver));
        let inverse = tensor(&file, "hqq_scale").to_kind(solver).reciprocal();
        assert!(found.scale.equal(&inverse), "{}", path.display());
        let zero = tensor(&file, "hqq_zero");
        // The mean of a group depends on the order of its sum.
        let limit = if solver == Kind::Half { 1e-3 } else { 2e-7 };
        let off = largest(&((found.zero.to_kind(Kind::Float) - &zero) / zero.abs().clamp_min(1.0)));
        assert!(off <= limit, "{}: {off}", path.display());
    }
    // Another folder may hold fewer families.
    let complete = float > 0 && half > 0;
    assert!(complete || elsewhere.is_some(), "{float} float32 and {half} float16 fixtures");
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
