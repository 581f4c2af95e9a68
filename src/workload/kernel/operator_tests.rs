use plan::{Device, Dtype, Implementation, OperatorShape, OperatorWork};
use tch::Kind;

use super::super::{preflight, prepare, testing};
use super::testing::cpu_case as case;
use super::*;
use crate::inputs;

const MAX_ELEMENTS: u64 = 50_000_000;

pub(super) fn work(
    operator: plan::Operator,
    implementation: Implementation,
    [batch_size, sequence_length, tensor_dimension]: [u64; 3],
) -> OperatorWork {
    let size = OperatorShape { batch_size, sequence_length, tensor_dimension };
    OperatorWork { operator, implementation, compile: None, size, max_elements: MAX_ELEMENTS }
}

/// The implementations of every operator that run on a CPU.
pub(super) fn on_a_cpu() -> impl Iterator<Item = (plan::Operator, Implementation)> {
    let computes = |it: &Implementation| *it != Implementation::Stream && it.is_usual(Device::Cpu);
    plan::Operator::ALL.iter().flat_map(move |&operator| {
        let all = operator.implementations().iter().copied();
        all.filter(computes).map(move |it| (operator, it))
    })
}

#[test]
fn every_implementation_passes_its_gates() {
    for (operator, implementation) in on_a_cpu() {
        for &dtype in Dtype::ALL {
            for size in [[2, 3, 48], [1, 3, 8], [1, 40, 257]] {
                let work = work(operator, implementation, size);
                let what = format!("{operator} {implementation} {} {dtype}", work.size);
                let workload = prepare(&case(work, dtype)).unwrap();
                let accuracy = workload.check().unwrap_or_else(|error| panic!("{what}: {error}"));
                assert!(accuracy.sqnr_db.0 >= accuracy.min_sqnr_db, "{what}");
                assert!(accuracy.gates.len() > 30, "{what}: {}", accuracy.gates.len());
                for gate in accuracy.gates {
                    assert!((0.0..=1.0).contains(&gate.worst.0), "{what}: {gate:?}");
                }
                testing::computes_the_same_elsewhere(&what, &*workload);
            }
        }
    }
}

/// Applies the gates to an implementation that computes `wrong`, in float64 or another precision, and rounds once.
fn judged(
    operator: plan::Operator,
    dtype: Dtype,
    wrong: impl Fn(&Inputs) -> Tensor + Clone + 'static,
) -> Result<(), String> {
    tried(operator, Implementation::Rust, dtype, wrong).map(drop)
}

/// Applies the gates to any implementation; returns those that it passed.
fn tried(
    operator: plan::Operator,
    implementation: Implementation,
    dtype: Dtype,
    wrong: impl Fn(&Inputs) -> Tensor + Clone + 'static,
) -> Result<trials::Passed, String> {
    let work = work(operator, implementation, [1, 4, 64]);
    let (device, place) = (Device::Cpu, tch::Device::Cpu);
    let context = KernelContext { work, dtype, device, torch_device: place, threads: 1, seed: 42 };
    let build = move |_: &KernelContext<OperatorWork>, inputs: Inputs| {
        let wrong = wrong.clone();
        let run = move || Ok(wrong(&inputs).to_kind(inputs::kind(dtype)));
        Ok(Step::new::<Refusal>(&["test"], run))
    };
    trials::pass(&context, &build).map_err(|refusal| refusal.to_string())
}

/// The formula on inputs that `change` has changed, in float64.
fn on(
    operator: plan::Operator,
    change: impl Fn(&mut Inputs) + Clone + 'static,
) -> impl Fn(&Inputs) -> Tensor + Clone + 'static {
    move |inputs| {
        let mut inputs = inputs.all_in_float64().unwrap();
        change(&mut inputs);
        let work = work(operator, Implementation::AtenComposed, [1, 4, 64]);
        let context = context(&case(work, Dtype::Float64), work, tch::Device::Cpu);
        trials::reference(&context, &inputs).unwrap()
    }
}

/// The gate that refuses it, by the name of its inputs.
fn refused(judged: Result<(), String>) -> String {
    let text = judged.expect_err("a fault that no gate found");
    let inputs = text.strip_prefix("failed: inaccurate: of ").expect("the reason");
    inputs.split(" inputs of ").next().expect("not empty").to_owned()
}

#[test]
fn the_formula_itself_passes_in_every_dtype() {
    for &operator in plan::Operator::ALL {
        for &dtype in Dtype::ALL {
            assert_eq!(judged(operator, dtype, on(operator, |_| ())), Ok(()), "{operator} {dtype}");
        }
    }
}

#[test]
fn what_is_wrong_of_special_values_alone_is_a_finding_about_libtorch_and_a_failure_of_ours() {
    let norm = plan::Operator::RmsNorm;
    // NaN in all of a row that holds infinity.
    let wrong = on(norm, |inputs| {
        let x = &mut inputs.examples[0];
        *x = x.where_self(&x.isinf().any_dim(-1, true).logical_not(), &(&*x * f64::NAN));
    });
    let found = tried(norm, Implementation::Aten, Dtype::Float32, wrong.clone()).unwrap().findings;
    assert!(!found.is_empty());
    for finding in &found {
        assert!(finding.starts_with("a finding about libtorch, which is timed"), "{finding}");
        assert!(finding.contains("inf") && finding.contains("is NaN instead of"), "{finding}");
    }
    for implementation in [Implementation::Rust, Implementation::AtenComposed] {
        let refused = tried(norm, implementation, Dtype::Float32, wrong.clone()).unwrap_err();
        assert!(refused.contains("of inf"), "{implementation}: {refused}");
    }
    // An implementation of another function is wrong for all values.
    let other = on(norm, |inputs| inputs.examples[0] *= 2.0);
    let shifted = move |inputs: &Inputs| other(inputs) + 1.0;
    let refused = tried(norm, Implementation::Aten, Dtype::Float32, shifted).unwrap_err();
    assert!(refused.contains("of normal"), "{refused}");
}

/// At most 5·10⁻⁴ apart: in bfloat16, too, more than a rounding of some value.
#[test]
fn the_other_form_of_gelu_is_refused() {
    use plan::Operator::{BiasGelu, Gelu, GeluTanh};
    for &dtype in Dtype::ALL {
        for (operator, form) in [(Gelu, "tanh"), (GeluTanh, "none"), (BiasGelu, "tanh")] {
            let wrong = move |inputs: &Inputs| {
                let inputs = inputs.all_in_float64().unwrap();
                match inputs.parameters.first() {
                    Some(bias) => (&inputs.examples[0] + bias).gelu(form),
                    None => inputs.examples[0].gelu(form),
                }
            };
            assert_eq!(refused(judged(operator, dtype, wrong)), "normal", "{operator} {dtype}");
        }
    }
}

#[test]
fn a_parameter_that_is_left_out_is_refused() {
    use plan::Operator::{AddLayerNorm, BiasGelu, LayerNorm, RmsNorm};
    for &dtype in Dtype::ALL {
        for (operator, parameter) in
            [(LayerNorm, 0), (LayerNorm, 1), (RmsNorm, 0), (BiasGelu, 0), (AddLayerNorm, 1)]
        {
            let neutral = |it: &Inputs, at: usize| match it.parameters.len() - at {
                1 if it.parameters.len() == 2 => it.parameters[at].zeros_like(),
                _ => it.parameters[at].ones_like(),
            };
            let wrong = on(operator, move |it| {
                it.parameters[parameter] = match operator {
                    BiasGelu => it.parameters[0].zeros_like(),
                    _ => neutral(it, parameter),
                }
            });
            assert_eq!(refused(judged(operator, dtype, wrong)), "normal", "{operator} {dtype}");
        }
    }
}

/// LayerNorm, or RMSNorm about zero, in float64.
fn normalized(inputs: &Inputs, centred: bool, eps: f64, unbiased: bool) -> Tensor {
    let inputs = inputs.all_in_float64().unwrap();
    let x = &inputs.examples[0];
    let rows = Some([-1_i64].as_slice());
    let centre = if centred { x.mean_dim(rows, true, None) } else { x.zeros_like() };
    let centred = x - centre;
    let count = *x.size().last().unwrap() - i64::from(unbiased);
    let variance = centred.square().sum_dim_intlist(rows, true, None) / count as f64;
    let y = centred * (variance + eps).rsqrt();
    match inputs.parameters.as_slice() {
        [weight, bias] => y * weight + bias,
        [weight] => y * weight,
        _ => y,
    }
}

#[test]
fn another_epsilon_or_variance_is_refused() {
    use plan::Operator::{LayerNorm, LayerNormNoAffine, RmsNorm};
    for &dtype in Dtype::ALL {
        for operator in [LayerNorm, LayerNormNoAffine, RmsNorm] {
            let centred = operator != RmsNorm;
            let with = |eps: f64, unbiased: bool| {
                judged(operator, dtype, move |it| normalized(it, centred, eps, unbiased))
            };
            assert_eq!(with(1e-5, false), Ok(()), "{operator} {dtype}");
            for eps in [1e-6, 1e-12, 1e-4] {
                let inputs = refused(with(eps, false));
                // In float32 it shows where the variance is one.
                let expected = if dtype == Dtype::Float32 { "normal" } else { "small" };
                assert!(inputs == expected || eps == 1e-4, "{operator} {dtype} {eps}: {inputs}");
            }
            refused(with(1e-5, true));
        }
    }
}

/// E[x²] − E[x]² in float32: where the mean is 2⁵, as in bfloat16, less than a rounding of the output.
#[test]
fn a_variance_that_cancels_is_refused() {
    for dtype in [Dtype::Float32, Dtype::Float16] {
        let wrong = |inputs: &Inputs| {
            let x = inputs.examples[0].to_kind(Kind::Float);
            let rows = Some([-1_i64].as_slice());
            let mean = x.mean_dim(rows, true, None);
            let variance = x.square().mean_dim(rows, true, None) - mean.square();
            (x - mean) * (variance + 1e-5).rsqrt()
        };
        let inputs = refused(judged(plan::Operator::LayerNormNoAffine, dtype, wrong));
        assert_eq!(inputs, "offset", "{dtype}");
    }
}

/// One beside a bias is nothing.
#[test]
fn a_flushed_denormal_is_refused() {
    use plan::Operator::{Gelu, GeluTanh, LayerNormNoAffine, RmsNorm, Silu};
    for (dtype, smallest) in [
        (Dtype::Float32, f64::exp2(-126.0)),
        (Dtype::BFloat16, f64::exp2(-126.0)),
        (Dtype::Float16, f64::exp2(-14.0)),
    ] {
        for operator in [Gelu, GeluTanh, Silu, LayerNormNoAffine, RmsNorm] {
            let wrong = on(operator, move |it| {
                let x = &it.examples[0];
                it.examples[0] = x.where_self(&x.abs().ge(smallest), &x.zeros_like());
            });
            let inputs = refused(judged(operator, dtype, wrong));
            // Some of float16's small values are subnormal, too.
            let small = dtype == Dtype::Float16 && inputs == "small";
            assert!(small || inputs == "denormal", "{operator} {dtype}: {inputs}");
        }
    }
}

#[test]
fn a_lost_nan_or_infinity_is_refused() {
    for &operator in plan::Operator::ALL {
        for &dtype in Dtype::ALL {
            for (lost, inputs) in [(f64::NAN, "nan"), (f64::INFINITY, "inf")] {
                let wrong = on(operator, move |it| {
                    let x = &it.examples[0];
                    let here = if lost.is_nan() { x.isnan() } else { x.isinf() };
                    it.examples[0] = x.where_self(&here.logical_not(), &x.zeros_like());
                });
                assert_eq!(refused(judged(operator, dtype, wrong)), inputs, "{operator} {dtype}");
            }
        }
    }
}

/// These formulas overflow in float32 before a later operation undoes it.
#[test]
fn a_lost_range_is_refused() {
    use plan::Operator::{CrossEntropy, Gelu, Silu, Softmax};
    let x = |inputs: &Inputs| inputs.examples[0].to_kind(Kind::Float);
    let sum = |x: &Tensor| x.exp().sum_dim_intlist(Some([-1_i64].as_slice()), true, None);
    for &dtype in Dtype::ALL {
        let softmax = move |inputs: &Inputs| x(inputs).exp() / sum(&x(inputs));
        let silu = move |inputs: &Inputs| x(inputs) * x(inputs).exp() / (x(inputs).exp() + 1.0);
        let cross_entropy = move |inputs: &Inputs| {
            let chosen = x(inputs).gather(-1, &inputs.examples[1].unsqueeze(-1), false);
            (sum(&x(inputs)).log() - chosen).mean(None::<Kind>)
        };
        assert_eq!(refused(judged(Softmax, dtype, softmax)), "huge", "{dtype}");
        assert_eq!(refused(judged(Silu, dtype, silu)), "huge", "{dtype}");
        assert_eq!(refused(judged(CrossEntropy, dtype, cross_entropy)), "huge", "{dtype}");
    }
    // 2x, which has no room in the largest numbers of float32 and bfloat16.
    for dtype in [Dtype::Float32, Dtype::BFloat16] {
        let gelu = move |inputs: &Inputs| {
            let x = x(inputs);
            ((&x * 0.5_f64.sqrt()).erf() + 1.0) * x * 0.5
        };
        assert_eq!(refused(judged(Gelu, dtype, gelu)), "huge", "{dtype}");
    }
}

#[test]
fn an_element_too_few_is_refused() {
    for &operator in plan::Operator::ALL {
        for &dtype in Dtype::ALL {
            // The last element of a row is never read.
            let unread = on(operator, |it| {
                for x in it.examples.iter_mut().filter(|x| x.is_floating_point()) {
                    let last = x.size().last().unwrap() - 1;
                    drop(x.select(-1, last).fill_(0.0));
                }
            });
            assert!(judged(operator, dtype, unread).is_err(), "{operator} {dtype}");
            if operator.is_loss() {
                continue;
            }
            // Nor written.
            let unwritten = move |inputs: &Inputs| {
                let y = on(operator, |_| ())(inputs);
                let last = y.size().last().unwrap() - 1;
                drop(y.select(-1, last).fill_(0.0));
                y
            };
            assert_eq!(refused(judged(operator, dtype, unwritten)), "normal", "{operator} {dtype}");
        }
    }
}

/// As a kernel does that takes rows to follow one another.
#[test]
fn a_stride_that_is_ignored_is_refused() {
    for &operator in plan::Operator::ALL {
        for &dtype in Dtype::ALL {
            let wrong = move |inputs: &Inputs| {
                let packed = |tensor: &Tensor| {
                    let size = tensor.size();
                    let mut strides = vec![1; size.len()];
                    for at in (1..size.len()).rev() {
                        strides[at - 1] = strides[at] * size[at];
                    }
                    tensor.as_strided(&size, &strides, None)
                };
                let inputs = Inputs {
                    examples: inputs.examples.iter().map(packed).collect(),
                    parameters: inputs.parameters.iter().map(packed).collect(),
                };
                on(operator, |_| ())(&inputs)
            };
            let inputs = refused(judged(operator, dtype, wrong));
            assert_eq!(inputs, "normal, padded rows", "{operator} {dtype}");
        }
    }
}

#[test]
fn another_class_is_refused() {
    let operator = plan::Operator::CrossEntropy;
    for &dtype in Dtype::ALL {
        let wrong = on(operator, |it| {
            let dim = *it.examples[0].size().last().unwrap();
            it.examples[1] = (&it.examples[1] + 1).remainder(dim);
        });
        assert_eq!(refused(judged(operator, dtype, wrong)), "normal", "{dtype}");
    }
}

#[test]
fn a_failure_names_inputs_size_place_and_values() {
    let silu = plan::Operator::Silu;
    let failure = |wrong: &'static dyn Fn(&Tensor) -> Tensor| {
        let wrong = on(silu, move |it| it.examples[0] = wrong(&it.examples[0]));
        judged(silu, Dtype::Float32, wrong).expect_err("a fault")
    };
    assert_eq!(
        failure(&|x| x.nan_to_num(0.0, None, None)),
        "failed: inaccurate: of nan inputs of 1x5x64, the output at [0, 2, 63] is 0e0 instead of NaN"
    );
    let text = failure(&|x| x * 1.001);
    assert!(text.starts_with("failed: inaccurate: of normal inputs of 1x5x64, the output at [0, "));
    assert!(text.contains(", which may err by "), "{text}");
}

#[test]
fn what_is_too_large_is_skipped_and_what_is_made_for_another_device_unsupported() {
    let aten = work(plan::Operator::Gelu, Implementation::Aten, [10, 1000, 1001]);
    let capped = case(OperatorWork { max_elements: 10_000_000, ..aten }, Dtype::Float32);
    assert_eq!(
        preflight(&capped),
        Err(Refusal::Skipped(
            "10x1000x1001 are 10010000 elements, and max_elements is 10000000; raise it to measure \
             them"
            .to_owned()
        ))
    );
    for (implementation, device) in [
        (Implementation::Cuda, Device::Cpu),
        (Implementation::Triton, Device::Cpu),
        (Implementation::Rust, Device::Cuda),
    ] {
        let of = case(work(plan::Operator::Gelu, implementation, [1, 2, 8]), Dtype::Float32);
        let refusal = preflight(&Case { device, ..of }).expect_err("another device");
        let made = match device {
            Device::Cpu => "rust",
            _ => "cuda, triton",
        };
        let reason = format!(
            "operator `gelu`, implementation `{implementation}`: it is not made for {device}; made \
             for it are aten, aten-out, aten-composed, {made}, stream"
        );
        assert_eq!(refusal, Refusal::Unsupported(reason));
    }
    let absent = work(plan::Operator::RmsNorm, Implementation::AtenOut, [1, 2, 8]);
    assert_eq!(
        preflight(&case(absent, Dtype::Float32)),
        Err(Refusal::Unsupported(
            "operator `rms_norm`, implementation `aten-out`: the operator has no such \
             implementation; it has aten, aten-composed, rust, cuda, triton, stream"
                .to_owned()
        ))
    );
}
