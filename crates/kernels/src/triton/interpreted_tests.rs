//! Every kernel executed by Triton's interpreter, against float64.

use tch::{Device, Kind, Tensor};

use super::activation::{ActivationForm, BiasGeluForm, Formula};
use super::compile::Specification;
use super::interpreter::{Guarded, Interpreter, interpreter};
use super::kernel::Launch;
use super::loss::MseLossForm;
use super::norm::NormForm;
use super::operands::Operands;
use super::python::Python;
use super::samples::{
    FORMULAS, KINDS, check, double, exact_activation, exact_cross_entropy, exact_gelu, exact_norm,
    hard_rows, limits, noise,
};
use super::softmax::{CrossEntropyForm, SoftmaxForm};
use crate::cuda::Argument;

const CPU: Device = Device::Cpu;

/// What a test of one operator does with tensors, wherever it runs.
type Case = (String, Guarded, Tensor, Tensor, f64);

/// Executes launches and compares what they have written.
#[derive(Default)]
struct Bench {
    interpreter: Interpreter,
    cases: Vec<Case>,
}

impl Bench {
    /// The launches of one operator: what it writes to `out` is to be `exact`.
    fn add(
        &mut self,
        name: String,
        launches: &[(Specification, Launch)],
        out: Guarded,
        (exact, scale, relative): (Tensor, Tensor, f64),
    ) {
        for (specification, launch) in launches {
            self.interpreter.launch(specification, launch);
        }
        self.cases.push((name, out, exact, scale, relative));
    }

    fn check(self, python: &Python) {
        self.interpreter.run(python);
        for (name, out, exact, scale, relative) in self.cases {
            out.check_guard();
            check(&out.tensor, &exact, &scale, relative, &name);
        }
    }
}

/// Elements of a row, and how much longer than it the stride is.
const LAYOUTS: [(i64, i64); 5] = [(1, 0), (7, 3), (64, 0), (129, 15), (1500, 4)];

/// erf is near -1 where x is far below 0, and what it leaves of 1 has lost its digits.
fn gelu_scale(x: &Tensor) -> Tensor {
    x.abs().clamp_max(10.0)
}

/// Of `gelu_scale`.
const GELU_ERROR: f64 = 4e-7;

#[test]
fn interpreted_activations_are_right() {
    let Some(python) = interpreter() else { return };
    let mut bench = Bench::default();
    for kind in KINDS {
        for (columns, gap) in LAYOUTS {
            let values = hard_rows(columns, kind, limits(kind).0);
            let x = Guarded::new(&values, gap);
            bench.interpreter.add(&[&x]);
            for formula in FORMULAS {
                let form = ActivationForm::new(formula, Operands { kind, device: CPU }).unwrap();
                let mut out = Guarded::out(&values.size(), kind);
                bench.interpreter.add(&[&out]);
                let launch = form.launch(&x.tensor, &mut out.tensor).unwrap();
                let exact = exact_activation(formula, &double(&values));
                let close = if formula == Formula::Gelu {
                    (gelu_scale(&double(&values)), GELU_ERROR)
                } else {
                    // σ of a number far below 0 has few digits: it is denormal itself.
                    (exact.abs() + 2e-38, 2e-5)
                };
                let name = format!("{formula:?} of {columns}");
                let launches = [(form.specification(), launch)];
                bench.add(name, &launches, out, (exact, close.0, close.1));
            }
            let bias = noise(&[columns], 9).to_kind(kind);
            let form = BiasGeluForm::new(&bias).unwrap();
            bench.interpreter.add_tensor(&bias);
            let mut out = Guarded::out(&values.size(), kind);
            bench.interpreter.add(&[&out]);
            let launch = form.launch(&x.tensor, &mut out.tensor).unwrap();
            let sum = double(&values) + double(&bias);
            let scale = gelu_scale(&sum);
            let name = format!("bias_gelu of {columns}");
            bench.add(
                name,
                &[(form.specification(), launch)],
                out,
                (exact_gelu(&sum), scale, GELU_ERROR),
            );
        }
    }
    bench.check(python);
}

/// -inf is -inf·0, as in ATen's formulas.
#[test]
fn interpreted_activations_are_right_at_the_ends() {
    let Some(python) = interpreter() else { return };
    let ends = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX, f32::MIN, 0.0, -0.0];
    let expected = [f32::INFINITY, f32::NAN, f32::NAN, f32::MAX, -0.0, 0.0, -0.0];
    let x = Guarded::new(&Tensor::from_slice(&ends), 0);
    let mut interpreter = Interpreter::default();
    interpreter.add(&[&x]);
    let mut outs = Vec::new();
    for formula in FORMULAS {
        let operands = Operands { kind: Kind::Float, device: CPU };
        let form = ActivationForm::new(formula, operands).unwrap();
        let mut out = Guarded::out(&[7], Kind::Float);
        interpreter.add(&[&out]);
        let launch = form.launch(&x.tensor, &mut out.tensor).unwrap();
        interpreter.launch(&form.specification(), &launch);
        outs.push((formula, out));
    }
    interpreter.run(python);
    for (formula, out) in outs {
        let found = Vec::<f32>::try_from(&out.tensor).unwrap();
        assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{formula:?}");
    }
}

/// Rows that fill a tile's rows, and not; one that is longer than a program holds.
fn row_layouts() -> Vec<(i64, i64)> {
    [LAYOUTS.as_slice(), &[(33_000, 0)]].concat()
}

#[test]
fn interpreted_norms_are_right() {
    let Some(python) = interpreter() else { return };
    let mut bench = Bench::default();
    for kind in KINDS {
        for (columns, gap) in row_layouts() {
            // What float64 can be taken for exact on: it has to hold the sum of both inputs.
            let values = hard_rows(columns, kind, if kind == Kind::Half { 65_504.0 } else { 1e9 });
            let added = (noise(&values.size(), 11) * 0.5).to_kind(kind);
            let [weight, bias] = [12, 13].map(|seed| (noise(&[columns], seed) + 1.5).to_kind(kind));
            let (x, residual) = (Guarded::new(&values, gap), Guarded::new(&added, 2 * gap));
            bench.interpreter.add(&[&x, &residual]);
            bench.interpreter.add_tensor(&weight);
            bench.interpreter.add_tensor(&bias);
            let operands = Operands { kind, device: CPU };
            let forms = [
                NormForm::affine("layer_norm", &weight, Some(&bias)),
                NormForm::plain(columns, operands),
                NormForm::affine("add_layer_norm", &weight, Some(&bias)),
                NormForm::affine("rms_norm", &weight, None),
            ];
            for (i, form) in forms.into_iter().enumerate() {
                let form = form.unwrap();
                let mut out = Guarded::out(&values.size(), kind);
                bench.interpreter.add(&[&out]);
                let inputs = [&x.tensor, &residual.tensor];
                let sum = if i == 2 { double(&values) + double(&added) } else { double(&values) };
                let launch = form.launch(&inputs[..if i == 2 { 2 } else { 1 }], &mut out.tensor);
                let exact = exact_norm(i, &sum, &double(&weight), &double(&bias));
                let scale = exact.abs().amax([-1].as_slice(), true) + 1.0;
                let name = format!("{} of {columns}", form.specification().kernel);
                bench.add(
                    name,
                    &[(form.specification(), launch.unwrap())],
                    out,
                    (exact, scale, 4e-6),
                );
            }
        }
    }
    bench.check(python);
}

#[test]
fn interpreted_softmax_is_right() {
    let Some(python) = interpreter() else { return };
    let mut bench = Bench::default();
    for kind in KINDS {
        for (columns, gap) in row_layouts() {
            let values = hard_rows(columns, kind, limits(kind).0);
            let x = Guarded::new(&values, gap);
            let form = SoftmaxForm::new(columns, Operands { kind, device: CPU }).unwrap();
            let mut out = Guarded::out(&values.size(), kind);
            bench.interpreter.add(&[&x, &out]);
            let launch = form.launch(&x.tensor, &mut out.tensor).unwrap();
            let exact = double(&values).softmax(-1, Kind::Double);
            let scale = exact.abs();
            let name = format!("softmax of {columns}");
            bench.add(name, &[(form.specification(), launch)], out, (exact, scale, 1e-5));
        }
    }
    bench.check(python);
}

/// The two launches of a mean, with so few programs that each has several tiles.
fn with_few_programs([mut parts, mut mean]: [Launch; 2]) -> [Launch; 2] {
    parts.programs = parts.programs.min(3);
    mean.arguments[2] = Argument::Int(parts.programs as i32);
    [parts, mean]
}

/// The loss of each hard row on its own, and of many that are finite.
#[test]
fn interpreted_cross_entropy_is_right() {
    let Some(python) = interpreter() else { return };
    let mut bench = Bench::default();
    for kind in KINDS {
        for (columns, gap) in row_layouts() {
            // A difference between logits of both signs is finite, too.
            let hard = hard_rows(columns, kind, limits(kind).0 / 4.0);
            let alone = (0..hard.size()[0]).map(|row| hard.narrow(0, row, 1));
            let many = (noise(&[41, columns], 21) * 9.0).to_kind(kind);
            for values in alone.chain([many]) {
                let rows = values.size()[0];
                let target = (Tensor::arange(rows, (Kind::Int64, CPU)) * 31).remainder(columns);
                let (x, targets) = (Guarded::new(&values, gap), Guarded::new(&target, 0));
                let form = CrossEntropyForm::new(columns, Operands { kind, device: CPU }).unwrap();
                let mut out = Guarded::out(&[], kind);
                bench.interpreter.add(&[&x, &targets, &out]);
                bench.interpreter.add_tensor(form.mean.sums());
                let launches = form.launches(&x.tensor, &targets.tensor, &mut out.tensor);
                let [parts, mean] = with_few_programs(launches.unwrap());
                let launches = [(form.specification(), parts), (form.mean.specification(), mean)];
                let exact = exact_cross_entropy(&double(&values), &target);
                let name = format!("cross_entropy of {rows} × {columns}");
                let scale = exact.abs() + 1.0;
                bench.add(name, &launches, out, (exact, scale, 2e-6));
            }
        }
    }
    bench.check(python);
}

#[test]
fn interpreted_targets_that_are_no_column_are_nan_and_not_read() {
    let Some(python) = interpreter() else { return };
    let mut bench = Bench::default();
    let kind = Kind::Float;
    for wrong in [-1, 8, -100, i64::MAX, i64::MIN] {
        let (x, out) = (Guarded::new(&noise(&[2, 8], 1).to_kind(kind), 0), Guarded::out(&[], kind));
        let target = Guarded::new(&Tensor::from_slice(&[3, wrong]), 0);
        let form = CrossEntropyForm::new(8, Operands { kind, device: CPU }).unwrap();
        bench.interpreter.add(&[&x, &target, &out]);
        bench.interpreter.add_tensor(form.mean.sums());
        let mut y = out.tensor.shallow_clone();
        let [parts, mean] = form.launches(&x.tensor, &target.tensor, &mut y).unwrap();
        let launches = [(form.specification(), parts), (form.mean.specification(), mean)];
        let exact = Tensor::from(f64::NAN);
        bench.add(format!("target {wrong}"), &launches, out, (exact.copy(), exact, 0.0));
    }
    bench.check(python);
}

#[test]
fn interpreted_mean_squared_error_is_right() {
    let Some(python) = interpreter() else { return };
    let mut bench = Bench::default();
    for kind in KINDS {
        let least = limits(kind).1;
        for (size, gaps) in [
            (vec![1], (0, 0)),
            (vec![5, 77], (0, 0)),
            (vec![5, 77], (3, 0)),
            (vec![2, 3, 1030], (2, 10)),
            (vec![9, 1025], (1, 1)),
        ] {
            for factor in [1.0, least * 8.0, 200.0, f64::NAN, f64::INFINITY] {
                let x = (noise(&size, 31) * factor).to_kind(kind);
                let target = (noise(&size, 32) * 0.5).to_kind(kind);
                let (x_, t) = (Guarded::new(&x, gaps.0), Guarded::new(&target, gaps.1));
                let form = MseLossForm::new(Operands { kind, device: CPU }).unwrap();
                let mut out = Guarded::out(&[], kind);
                bench.interpreter.add(&[&x_, &t, &out]);
                bench.interpreter.add_tensor(form.mean.sums());
                let launches = form.launches(&x_.tensor, &t.tensor, &mut out.tensor);
                let [parts, mean] = with_few_programs(launches.unwrap());
                let exact = double(&x).mse_loss(&double(&target), tch::Reduction::Mean);
                let launches = [(form.specification(), parts), (form.mean.specification(), mean)];
                let name = format!("mse_loss of {size:?} · {factor}");
                let scale = exact.abs();
                bench.add(name, &launches, out, (exact, scale, 1e-6));
            }
        }
    }
    bench.check(python);
}
