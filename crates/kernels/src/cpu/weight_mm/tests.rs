//! Every path of this machine against a slow product in float64.

use super::*;

const DTYPES: [Kind; 3] = [Kind::Float, Kind::BFloat16, Kind::Half];

/// Values between −1 and 1 that follow no period of a row.
fn wave(size: [i64; 2], kind: Kind) -> Tensor {
    let ramp = Tensor::arange(size[0] * size[1], (Kind::Double, Device::Cpu));
    (ramp * 0.7311).sin().reshape(size).to_kind(kind)
}

fn integers(size: [i64; 2], from: i64, to: i64, kind: Kind) -> Tensor {
    let ramp = Tensor::arange(size[0] * size[1], (Kind::Int64, Device::Cpu));
    ((ramp * 7919 + 13).remainder(10_007).remainder(to - from) + from).reshape(size).to_kind(kind)
}

/// Parameters of groups, for each weight.
fn spread(parameters: &Tensor, group: i64) -> Tensor {
    parameters.to_kind(Kind::Double).repeat_interleave_self_int(group, 1, None)
}

/// A weight, and what it stands for in float64.
struct Example {
    weight: PackedWeight,
    dequantized: Tensor,
}

fn four_bits(n: i64, k: i64, group: i64, kind: Kind) -> Example {
    let values = integers([n, k], 0, 16, Kind::Uint8);
    let size = [n, k / group];
    let scale = (wave(size, Kind::Double) * 0.02 + 0.03).to_kind(kind);
    let zero = (wave(size, Kind::Double) * 3.0 + 7.6).to_kind(kind);
    let dequantized = (values.to_kind(Kind::Double) - spread(&zero, group)) * spread(&scale, group);
    Example { weight: PackedWeight::four_bits(&values, scale, zero).unwrap(), dequantized }
}

fn eight_bits(n: i64, k: i64, kind: Kind) -> Example {
    let values = integers([n, k], -128, 128, Kind::Int8);
    let scale = (wave([n, 1], Kind::Double) * 0.002 + 0.003).to_kind(kind);
    let dequantized = values.to_kind(Kind::Double) * scale.to_kind(Kind::Double);
    Example { weight: PackedWeight::eight_bits(&values, scale).unwrap(), dequantized }
}

fn product(weight: &PackedWeight, capability: Capability, x: &Tensor) -> Tensor {
    let mut out = Tensor::full([x.size()[0], weight.n()], f64::NAN, (x.kind(), Device::Cpu));
    weight.mm_out_with(capability, x, &mut out).unwrap();
    out
}

/// Demands the product of every path, within one rounding to the dtype and, of float32's, one for
/// each of the `k` terms of a sum at worst; in practice the root of that.
fn compare(example: &Example, x: &Tensor, what: &str) {
    let wide = x.to_kind(Kind::Double);
    let expected = wide.matmul(&example.dequantized.tr());
    let terms = wide.abs().matmul(&example.dequantized.abs().tr());
    let k = example.weight.k() as f64;
    // One rounding to the dtype; none to speak of in float32. Numbers below the normal ones may
    // count as zero.
    let (rounding, smallest) = match x.kind() {
        Kind::BFloat16 => (2f64.powi(-8), 2f64.powi(-126)),
        Kind::Half => (2f64.powi(-11), 2f64.powi(-24)),
        _ => (2f64.powi(-24), 2f64.powi(-126)),
    };
    let sum = 4.0 * k.sqrt() * 2f64.powi(-24);
    let allowed = expected.abs() * rounding + terms * sum + smallest * k;
    for capability in Capability::available() {
        let found = product(&example.weight, capability, x);
        assert_eq!(found.kind(), x.kind());
        let error = (found.to_kind(Kind::Double) - &expected).abs() / &allowed;
        let worst = error.max().double_value(&[]);
        assert!(worst <= 1.0, "{capability:?}, {what}: {worst} of what is allowed");
    }
}

#[test]
fn four_bits_agree_with_float64() {
    for kind in DTYPES {
        for (group, widths) in [
            (32, [32, 96, 160, 544]),
            (64, [64, 128, 192, 576]),
            (128, [128, 256, 384, 1152]),
            (256, [256, 512, 768, 1280]),
            (1024, [1024, 2048, 1024, 1024]),
        ] {
            for (n, k) in [1, 4, 7, 13].into_iter().zip(widths) {
                let example = four_bits(n, k, group, kind);
                for m in [1, 2, 3, 7, 16, 33] {
                    let what = format!("{kind:?}, group {group}, {m}x{k}x{n}");
                    compare(&example, &wave([m, k], kind), &what);
                }
            }
        }
    }
}

#[test]
fn eight_bits_agree_with_float64() {
    for kind in DTYPES {
        for (n, k) in [(1, 32), (4, 96), (7, 128), (33, 544), (6, 1024)] {
            let example = eight_bits(n, k, kind);
            for m in [1, 2, 3, 7, 16, 33] {
                compare(&example, &wave([m, k], kind), &format!("{kind:?}, {m}x{k}x{n}"));
            }
        }
    }
}

/// The sums of an activation's groups, which zero points are multiplied by, are largest where it has
/// one sign.
#[test]
fn an_activation_of_one_sign_is_as_accurate() {
    for group in [32, 64, 128] {
        let example = four_bits(16, 1024, group, Kind::BFloat16);
        compare(&example, &(wave([4, 1024], Kind::BFloat16).abs() + 4.0), "one sign");
    }
}

#[test]
fn what_is_not_finite_stays_in_its_row() {
    for (name, value) in [("NaN", f64::NAN), ("infinite", f64::INFINITY)] {
        for kind in DTYPES {
            let examples = [four_bits(9, 352, 32, kind), eight_bits(9, 352, kind)];
            for Example { weight, .. } in &examples {
                let x = wave([7, 352], kind);
                let clean: Vec<_> =
                    Capability::available().map(|it| product(weight, it, &x)).collect();
                drop(x.get(3).get(345).fill_(value));
                for (capability, clean) in Capability::available().zip(clean) {
                    let found = product(weight, capability, &x);
                    let broken = found.isfinite().logical_not().sum_dim_intlist(
                        [1].as_slice(),
                        false,
                        Kind::Int64,
                    );
                    let broken: Vec<i64> = Vec::try_from(broken).unwrap();
                    assert_eq!(broken, [0, 0, 0, 9, 0, 0, 0], "{name}, {kind:?}, {capability:?}");
                    assert!(found.narrow(0, 0, 3).equal(&clean.narrow(0, 0, 3)));
                }
            }
        }
    }
}

#[test]
fn small_numbers_and_zeros() {
    for kind in [Kind::Float, Kind::BFloat16] {
        let tiny = wave([3, 256], kind) * 1e-39;
        let zeros = Tensor::zeros([3, 256], (kind, Device::Cpu));
        for example in [four_bits(5, 256, 64, kind), eight_bits(5, 256, kind)] {
            compare(&example, &tiny, "subnormal");
            for capability in Capability::available() {
                assert!(
                    product(&example.weight, capability, &zeros)
                        .count_nonzero(None::<i64>)
                        .int64_value(&[])
                        == 0
                );
            }
        }
    }
    // Half of the groups stand for zeros only.
    let values = integers([8, 256], 0, 16, Kind::Uint8);
    let scale = Tensor::from_slice(&[0f32, 0.5, 0.0, 2.0]).expand([8, 4], false).contiguous();
    let zero = Tensor::full([8, 4], 3.0, (Kind::Float, Device::Cpu));
    let dequantized = (values.to_kind(Kind::Double) - spread(&zero, 64)) * spread(&scale, 64);
    let weight = PackedWeight::four_bits(&values, scale, zero).unwrap();
    compare(&Example { weight, dequantized }, &wave([2, 256], Kind::Float), "zero groups");
}

#[test]
fn threads_and_strides_change_no_bit() {
    let Example { weight, .. } = four_bits(37, 320, 32, Kind::BFloat16);
    let x = wave([5, 320], Kind::BFloat16);
    let once = product(&weight, Capability::best(), &x);
    let strided = x.tr().contiguous().tr();
    assert!(!strided.is_contiguous());
    assert!(product(&weight, Capability::best(), &strided).equal(&once));
    let threads = tch::get_num_threads();
    for count in [1, 2, 5] {
        tch::set_num_threads(count);
        let found = product(&weight, Capability::best(), &x);
        tch::set_num_threads(threads);
        assert!(found.equal(&once), "{count} threads");
    }
}

#[test]
fn arguments_that_do_not_fit_are_named() {
    let Example { weight, .. } = four_bits(8, 64, 32, Kind::Float);
    let zeros = |size: &[i64], kind| Tensor::zeros(size, (kind, Device::Cpu));
    let mm = |x: Tensor, mut out: Tensor| weight.mm_out(&x, &mut out).unwrap_err().to_string();
    let (x, out) = (zeros(&[2, 64], Kind::Float), zeros(&[2, 8], Kind::Float));
    for (error, word) in [
        (mm(zeros(&[2, 32], Kind::Float), out.shallow_clone()), "x is"),
        (mm(x.shallow_clone(), zeros(&[2, 9], Kind::Float)), "out is"),
        (mm(x.shallow_clone(), zeros(&[2, 8], Kind::Half)), "out is"),
        (mm(x.shallow_clone(), zeros(&[8, 2], Kind::Float).tr()), "contiguous"),
        (mm(zeros(&[2, 64], Kind::Double), zeros(&[2, 8], Kind::Double)), "Double"),
    ] {
        assert!(error.contains(word), "{error}");
    }
    let values = integers([8, 64], 0, 17, Kind::Uint8);
    let scale = || zeros(&[8, 2], Kind::Float);
    let too_large = PackedWeight::four_bits(&values, scale(), scale()).unwrap_err();
    assert!(too_large.to_string().contains("above 15"), "{too_large}");
    let groups = PackedWeight::four_bits(&zeros(&[8, 96], Kind::Uint8), scale(), scale());
    assert!(groups.unwrap_err().to_string().contains("2 groups of 96"));
    let narrow =
        PackedWeight::eight_bits(&zeros(&[8, 40], Kind::Int8), zeros(&[8, 1], Kind::Float));
    assert!(narrow.unwrap_err().to_string().contains("k = 40"));
}

#[test]
fn parameters_of_another_dtype_are_refused_where_the_weight_is_made() {
    let zeros = |size: &[i64], kind| Tensor::zeros(size, (kind, Device::Cpu));
    for kind in [Kind::Double, Kind::Int, Kind::Bool, Kind::Float8e4m3fn] {
        let (nibbles, bytes) = (zeros(&[8, 64], Kind::Uint8), zeros(&[8, 64], Kind::Int8));
        let parameters = |kind| zeros(&[8, 2], kind);
        for (made, expected) in [
            (PackedWeight::four_bits(&nibbles, parameters(kind), parameters(kind)), "scale is"),
            (
                PackedWeight::four_bits(&nibbles, parameters(Kind::Float), parameters(kind)),
                "zero is",
            ),
            (PackedWeight::eight_bits(&bytes, zeros(&[8, 1], kind)), "scale is"),
        ] {
            let error = made.unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains(&format!("{kind:?}")), "{error}");
        }
    }
}

#[test]
fn an_output_that_shares_memory_with_an_operand_is_refused() {
    let refused = |weight: &PackedWeight, x: &Tensor, mut out: Tensor| {
        let error = weight.mm_out(x, &mut out).expect_err("shared").to_string();
        assert!(error.contains("shares memory"), "{error}");
    };
    for kind in DTYPES {
        for weight in [four_bits(64, 64, 32, kind).weight, eight_bits(64, 64, kind).weight] {
            let memory = Tensor::zeros([6, 64], (kind, Device::Cpu));
            let x = memory.narrow(0, 0, 3);
            refused(&weight, &x, x.shallow_clone());
            refused(&weight, &x, memory.narrow(0, 2, 3));
            weight.mm_out(&x, &mut memory.narrow(0, 3, 3)).unwrap();
            for tensor in weight.tensors() {
                let stored = tensor.view([-1]).view_dtype(Kind::Uint8);
                let bytes = 64 * kind.elt_size_in_bytes() as i64;
                if stored.numel() as i64 >= bytes {
                    let out = stored.narrow(0, 0, bytes).view_dtype(kind).view([1, 64]);
                    refused(&weight, &memory.narrow(0, 0, 1), out);
                }
            }
        }
    }
}

#[test]
fn products_without_elements() {
    for kind in DTYPES {
        for make in [|n, kind| four_bits(n, 96, 32, kind), |n, kind| eight_bits(n, 96, kind)] {
            for (m, n) in [(0, 5), (5, 0), (0, 0)] {
                let Example { weight, .. } = make(n, kind);
                for capability in Capability::available() {
                    let found = product(&weight, capability, &wave([m, 96], kind));
                    assert_eq!((found.size(), found.kind()), (vec![m, n], kind));
                }
            }
        }
    }
}

#[test]
fn nothing_is_padded() {
    for (k, group) in [(352, 32), (320, 64), (512, 128)] {
        let Example { weight, .. } = four_bits(5, k, group, Kind::BFloat16);
        let bytes: usize = weight
            .tensors()
            .iter()
            .map(|tensor| tensor.numel() * tensor.kind().elt_size_in_bytes())
            .sum();
        assert_eq!(8 * bytes as i64 * group, 5 * k * (4 * group + 32), "{k}, group {group}");
    }
}
