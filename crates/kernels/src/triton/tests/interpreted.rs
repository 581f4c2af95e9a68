//! Every kernel executed by Triton's interpreter, against float64.

use plan::Operator;
use tch::{Device, Kind, Tensor};

use super::form;
use super::interpreter::{Guarded, Interpreter, interpreter};
use super::samples::{KINDS, check, double, exact, hard_rows, limits, noise};
use crate::cuda::Argument;
use crate::operands::Operands;
use crate::triton::kernel::Launch;

const CPU: Device = Device::Cpu;
const FORMULAS: [Operator; 3] = [Operator::Gelu, Operator::GeluTanh, Operator::Silu];

/// An operator's name, its output, what float64 says, and how near that has to be.
type Case = (String, Guarded, Tensor, Tensor, f64);

/// Executes launches and compares what they have written.
#[derive(Default)]
struct Bench {
    interpreter: Interpreter,
    cases: Vec<Case>,
}

impl Bench {
    /// An operator on these tensors, which are already the interpreter's: what it writes to an
    /// output of this size is to be what float64 says, as near as `close` makes of that.
    fn add(
        &mut self,
        operator: Operator,
        operands: &Operands,
        out: Guarded,
        change: impl Fn(Vec<Launch>) -> Vec<Launch>,
        close: impl FnOnce(&Tensor) -> (Tensor, f64),
    ) {
        let columns = operands.x.size().last().copied().unwrap_or(1);
        let form = form(operator, columns, operands.x.kind());
        self.interpreter.add(&[&out]);
        if operator.is_loss() {
            self.interpreter.add_tensor(&form.sums);
        }
        let launches = change(form.launches(operands, &out.tensor).unwrap());
        for ((specification, _), launch) in form.specifications().iter().zip(&launches) {
            self.interpreter.launch(specification, launch);
        }
        let exact = exact(operator, operands);
        let (scale, relative) = close(&exact);
        let name = format!("{operator} of {:?}", operands.x.size());
        self.cases.push((name, out, exact, scale, relative));
    }

    fn check(self, python: &libtorch::Interpreter) {
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

/// In parts of `gelu_scale`.
const GELU_ERROR: f64 = 4e-7;

fn unchanged(launches: Vec<Launch>) -> Vec<Launch> {
    launches
}

#[test]
fn interpreted_activations_are_right() {
    let Some(python) = interpreter() else { return };
    let mut bench = Bench::default();
    for kind in KINDS {
        for (columns, gap) in LAYOUTS {
            let values = hard_rows(columns, kind, limits(kind).0);
            let x = Guarded::new(&values, gap);
            let bias = noise(&[columns], 9).to_kind(kind);
            bench.interpreter.add(&[&x]);
            bench.interpreter.add_tensor(&bias);
            let alone = Operands::unary(&x.tensor);
            for operator in FORMULAS {
                let out = Guarded::for_output(&values.size(), kind);
                bench.add(operator, &alone, out, unchanged, |exact| match operator {
                    Operator::Gelu => (gelu_scale(&double(&values)), GELU_ERROR),
                    // σ of a number far below 0 has few digits: it is denormal itself.
                    _ => (exact.abs() + 2e-38, 2e-5),
                });
            }
            let out = Guarded::for_output(&values.size(), kind);
            let operands = Operands { bias: Some(&bias), ..alone };
            bench.add(Operator::BiasGelu, &operands, out, unchanged, |_| {
                (gelu_scale(&(double(&values) + double(&bias))), GELU_ERROR)
            });
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
    for operator in FORMULAS {
        let form = form(operator, 7, Kind::Float);
        let out = Guarded::for_output(&[7], Kind::Float);
        interpreter.add(&[&out]);
        let launches = form.launches(&Operands::unary(&x.tensor), &out.tensor).unwrap();
        interpreter.launch(&form.specifications()[0].0, &launches[0]);
        outs.push((operator, out));
    }
    interpreter.run(python);
    for (operator, out) in outs {
        let found = Vec::<f32>::try_from(&out.tensor).unwrap();
        assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{operator}");
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
            // Numbers whose sum float64 holds exactly.
            let values = hard_rows(columns, kind, if kind == Kind::Half { 65_504.0 } else { 1e9 });
            let added = (noise(&values.size(), 11) * 0.5).to_kind(kind);
            let [weight, bias] = [12, 13].map(|seed| (noise(&[columns], seed) + 1.5).to_kind(kind));
            let (x, residual) = (Guarded::new(&values, gap), Guarded::new(&added, 2 * gap));
            bench.interpreter.add(&[&x, &residual]);
            bench.interpreter.add_tensor(&weight);
            bench.interpreter.add_tensor(&bias);
            let alone = Operands::unary(&x.tensor);
            let weighted = Operands { weight: Some(&weight), ..alone };
            let affine = Operands { bias: Some(&bias), ..weighted };
            for (operator, operands) in [
                (Operator::LayerNorm, affine),
                (Operator::LayerNormNoAffine, alone),
                (Operator::AddLayerNorm, Operands { other: Some(&residual.tensor), ..affine }),
                (Operator::RmsNorm, weighted),
            ] {
                let out = Guarded::for_output(&values.size(), kind);
                bench.add(operator, &operands, out, unchanged, |exact| {
                    (exact.abs().amax([-1].as_slice(), true) + 1.0, 4e-6)
                });
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
            bench.interpreter.add(&[&x]);
            let (operands, out) =
                (Operands::unary(&x.tensor), Guarded::for_output(&values.size(), kind));
            bench.add(Operator::Softmax, &operands, out, unchanged, |exact| (exact.abs(), 1e-5));
        }
    }
    bench.check(python);
}

/// The two launches of a mean, with so few programs that each has several tiles.
fn with_few_programs(mut launches: Vec<Launch>) -> Vec<Launch> {
    let programs = launches[0].programs.min(3);
    launches[0].programs = programs;
    launches[1].arguments[2] = Argument::Int(programs as i32);
    launches
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
                bench.interpreter.add(&[&x, &targets]);
                let operands =
                    Operands { other: Some(&targets.tensor), ..Operands::unary(&x.tensor) };
                let (operator, out) = (Operator::CrossEntropy, Guarded::for_output(&[], kind));
                bench.add(operator, &operands, out, with_few_programs, |exact| {
                    (exact.abs() + 1.0, 2e-6)
                });
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
        let (x, out) =
            (Guarded::new(&noise(&[2, 8], 1).to_kind(kind), 0), Guarded::for_output(&[], kind));
        let target = Guarded::new(&Tensor::from_slice(&[3, wrong]), 0);
        let form = form(Operator::CrossEntropy, 8, kind);
        bench.interpreter.add(&[&x, &target, &out]);
        bench.interpreter.add_tensor(&form.sums);
        let operands = Operands { other: Some(&target.tensor), ..Operands::unary(&x.tensor) };
        let launches = form.launches(&operands, &out.tensor).unwrap();
        for ((specification, _), launch) in form.specifications().iter().zip(&launches) {
            bench.interpreter.launch(specification, launch);
        }
        let exact = Tensor::from(f64::NAN);
        bench.cases.push((format!("target {wrong}"), out, exact.copy(), exact, 0.0));
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
                let x = Guarded::new(&(noise(&size, 31) * factor).to_kind(kind), gaps.0);
                let target = Guarded::new(&(noise(&size, 32) * 0.5).to_kind(kind), gaps.1);
                bench.interpreter.add(&[&x, &target]);
                let operands =
                    Operands { other: Some(&target.tensor), ..Operands::unary(&x.tensor) };
                let (operator, out) = (Operator::MseLoss, Guarded::for_output(&[], kind));
                bench.add(operator, &operands, out, with_few_programs, |exact| (exact.abs(), 1e-6));
            }
        }
    }
    bench.check(python);
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let zeros = |size: &[i64]| Tensor::zeros(size, (Kind::Float, CPU));
    let (x, empty, scalar) = (zeros(&[2, 8]), zeros(&[0, 8]), zeros(&[]));
    let alone = Operands::unary(&x);
    let none = Operands { other: Some(&empty), ..Operands::unary(&empty) };
    for (operator, operands, out, text) in [
        (Operator::Gelu, &alone, &zeros(&[2, 12]).narrow(1, 0, 8), "has to be contiguous"),
        (Operator::Softmax, &Operands::unary(&zeros(&[2, 7])), &zeros(&[2, 7]), "for rows of 8"),
        (Operator::MseLoss, &none, &scalar, "the mean of no elements"),
    ] {
        let error = form(operator, 8, Kind::Float).launches(operands, out).expect_err(text);
        assert!(error.to_string().contains(text), "{error}");
    }
    let options = crate::operands::TensorOptions { kind: Kind::Float, device: CPU };
    for columns in [0, (1 << 30) + 1] {
        let refusal = crate::triton::operator::LaunchPlan::new(Operator::Softmax, columns, options);
        let text = refusal.expect_err("too long").to_string();
        assert!(text.contains("the kernel takes 1 to 1073741824"), "{text}");
    }
}
