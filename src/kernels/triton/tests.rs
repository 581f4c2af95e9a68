//! With the real Triton: every kernel compiled for three generations of GPUs, and executed by its
//! interpreter; on a GPU, where there is one.

use std::sync::atomic::{AtomicUsize, Ordering};

use tch::{Device, Kind, Tensor};

use super::activation::{Activation, ActivationForm, BiasGelu, BiasGeluForm, Formula};
use super::compile::{self, Specification};
use super::interpreter::{Guarded, Interpreter, triton};
use super::kernel::Launch;
use super::loss::{MseLoss, MseLossForm};
use super::norm::{AddLayerNorm, LayerNorm, NormForm, RmsNorm};
use super::rows::Operands;
use super::softmax::{CrossEntropy, CrossEntropyForm, Softmax, SoftmaxForm};
use crate::kernels::cuda::{Argument, Capability};
use crate::refusal::Refusal;

const CPU: Device = Device::Cpu;
const KINDS: [Kind; 3] = [Kind::Float, Kind::BFloat16, Kind::Half];
const FORMULAS: [Formula; 3] = [Formula::Gelu, Formula::GeluTanh, Formula::Silu];

fn zeros(size: &[i64], kind: Kind) -> Tensor {
    Tensor::zeros(size, (kind, CPU))
}

fn norms(columns: i64, kind: Kind) -> [NormForm; 4] {
    let (vector, operands) = (zeros(&[columns], kind), Operands { kind, device: CPU });
    [
        NormForm::affine("layer_norm", &vector, Some(&vector)).unwrap(),
        NormForm::plain(columns, operands).unwrap(),
        NormForm::affine("add_layer_norm", &vector, Some(&vector)).unwrap(),
        NormForm::affine("rms_norm", &vector, None).unwrap(),
    ]
}

/// Those for rows of this length.
fn of_rows(columns: i64, kind: Kind) -> Vec<Specification> {
    let operands = Operands { kind, device: CPU };
    let mut found: Vec<_> = norms(columns, kind).iter().map(NormForm::specification).collect();
    found.push(SoftmaxForm::new(columns, operands).unwrap().specification());
    found.push(CrossEntropyForm::new(columns, operands).unwrap().specification());
    found
}

/// Every kernel for a dtype.
fn all(kind: Kind) -> Vec<Specification> {
    let operands = Operands { kind, device: CPU };
    let mut found = of_rows(768, kind);
    found.extend(FORMULAS.map(|it| ActivationForm::new(it, operands).unwrap().specification()));
    found.push(BiasGeluForm::new(&zeros(&[768], kind)).unwrap().specification());
    let loss = MseLossForm::new(operands).unwrap();
    found.extend([loss.specification(), loss.mean.specification()]);
    found
}

#[test]
fn every_entry_of_the_files_is_among_them() {
    let kernels: Vec<_> = all(Kind::Float).iter().map(|it| (it.file, it.kernel)).collect();
    for (file, text) in compile::FILES {
        // An entry function stores what it finds, and is called by no other.
        for name in text.split("@triton.jit\ndef ").skip(1).map(|it| it.split('(').next().unwrap())
        {
            let is_called = compile::FILES.iter().any(|(_, text)| {
                text.matches(&format!("{name}(")).count()
                    > usize::from(text.contains(&format!("def {name}(")))
            });
            assert!(is_called || kernels.contains(&(file, name)), "{name} of {file}");
        }
    }
}

/// Calls `each` for every item, on as many threads as there are processors.
fn in_parallel<T: Sync>(items: &[T], each: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    each(item);
                }
            });
        }
    });
}

#[test]
fn every_kernel_compiles() {
    let Some(python) = triton() else { return };
    let mut cases = Vec::new();
    for major in [8, 9, 10] {
        let capability = Capability { major, minor: 0 };
        for kind in KINDS {
            cases.extend(all(kind).into_iter().map(|it| (it, capability)));
        }
    }
    // The other form: nothing promised, and rows longer than a program holds.
    let hopper = Capability { major: 9, minor: 0 };
    for specification in of_rows(40_001, Kind::BFloat16) {
        cases.push((Specification { aligned: Vec::new(), ..specification }, hopper));
    }
    in_parallel(&cases, |(specification, capability)| {
        let answer = compile::compile(python, specification, *capability)
            .unwrap_or_else(|it| panic!("{it}"));
        let compiled = compile::understood(String::new(), &answer, specification)
            .unwrap_or_else(|it| panic!("{it}"));
        assert_eq!(compiled.metadata.name, specification.kernel);
        let section = format!(".text.{}\0", specification.kernel);
        let holds = compiled.cubin.windows(section.len()).any(|it| it == section.as_bytes());
        assert!(holds, "no {section:?}");
    });
    println!("{} compiled", cases.len());
}

#[test]
fn a_mistake_is_quoted() {
    let Some(python) = triton() else { return };
    let hopper = Capability { major: 9, minor: 0 };
    let mut wrong = all(Kind::Half).remove(0);
    wrong.constants.retain(|(name, _)| *name != "BLOCK");
    let refusal = compile::compile(python, &wrong, hopper).expect_err("no BLOCK");
    let Refusal::Failed(text) = refusal else { panic!("{refusal}") };
    let start = format!("Triton {}, compiling layer_norm of norm.py for sm_90: ", python.version);
    assert!(text.starts_with(&start) && text.contains("Error"), "{text}");
}

/// Numbers between -1 and 1 that no formula of a kernel repeats: an integer hash of the position.
fn noise(size: &[i64], seed: i64) -> Tensor {
    let count: i64 = size.iter().product();
    let position = Tensor::arange(count, (Kind::Int64, CPU)) + seed * 7919;
    let hash = (position * 2_654_435_761_i64).remainder(1 << 32) * 40_503_i64;
    (hash.remainder(65_536).to_kind(Kind::Double) / 32_768.0 - 1.0).reshape(size)
}

/// The largest and the least number of a dtype.
fn limits(kind: Kind) -> (f64, f64) {
    match kind {
        Kind::Float => (f32::MAX.into(), 1e-45),
        Kind::BFloat16 => (3.38e38, 9.2e-41),
        _ => (65_504.0, 6e-8),
    }
}

/// Rows to be afraid of; `most` is the size of the large ones.
fn hard_rows(columns: i64, kind: Kind, most: f64) -> Tensor {
    let least = limits(kind).1;
    let row = |seed| noise(&[1, columns], seed);
    let with = |value: f64, at: i64| {
        let row = row(7) * 3.0;
        drop(row.narrow(1, at, 1).fill_(value));
        row
    };
    let last = columns - 1;
    let rows = [
        row(1) * 4.0,
        row(2) * 90.0,
        row(3) * 0.1 + 100.0,
        row(4) * least * 100.0,
        row(5) * most,
        row(6).zeros_like(),
        row(6).full_like(-3.3),
        row(6).full_like(most),
        with(f64::NAN, columns / 2),
        with(f64::INFINITY, last),
        with(f64::NEG_INFINITY, 0),
        row(8).full_like(f64::NEG_INFINITY),
    ];
    Tensor::cat(&rows, 0).to_kind(kind)
}

fn double(tensor: &Tensor) -> Tensor {
    tensor.to_device(CPU).to_kind(Kind::Double)
}

/// Holds `y` against float64: one rounding to its dtype, and beside it `relative` of the result and
/// of what `scale` says it is computed from.
fn check(y: &Tensor, exact: &Tensor, scale: &Tensor, relative: f64, name: &str) {
    let (most, least) = limits(y.kind());
    let half_place = match y.kind() {
        Kind::Float => 1.0 / 16_777_216.0,
        Kind::BFloat16 => 1.0 / 256.0,
        _ => 1.0 / 2048.0,
    };
    let rounded = exact.to_kind(y.kind());
    let found = double(y);
    let allowed =
        exact.abs() * (half_place + relative) + scale.nan_to_num(0.0, 0.0, 0.0) * relative + least;
    let is_same =
        found.eq_tensor(&double(&rounded)).logical_or(&found.isnan().logical_and(&exact.isnan()));
    let is_near = (&found - exact).abs().le_tensor(&allowed);
    // Just above the largest number, the largest and infinity are equally right.
    let is_edge = exact
        .abs()
        .ge(most * 0.99)
        .logical_and(&found.abs().ge(most * 0.99))
        .logical_and(&(&found * exact).gt(0.0));
    let is_right = is_same.logical_or(&is_near).logical_or(&is_edge);
    if is_right.all().int64_value(&[]) == 1 {
        return;
    }
    let at = is_right.logical_not().nonzero();
    panic!(
        "{name}, {:?}: {} wrong, first at {}: {} for {}",
        y.kind(),
        at.size()[0],
        at.get(0),
        found.masked_select(&is_right.logical_not()).get(0),
        exact.masked_select(&is_right.logical_not()).get(0)
    );
}

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

    fn check(self, python: &super::python::Python) {
        self.interpreter.run(python);
        for (name, out, exact, scale, relative) in self.cases {
            out.check_guard();
            check(&out.tensor, &exact, &scale, relative, &name);
        }
    }
}

/// Elements of a row, and how much longer than it the stride is.
const LAYOUTS: [(i64, i64); 5] = [(1, 0), (7, 3), (64, 0), (129, 15), (1500, 4)];

fn exact_gelu(x: &Tensor) -> Tensor {
    x * 0.5 * ((x * std::f64::consts::FRAC_1_SQRT_2).erf() + 1.0)
}

/// erf is near -1 where x is far below 0, and what it leaves of 1 has lost its digits.
fn gelu_scale(x: &Tensor) -> Tensor {
    x.abs().clamp_max(10.0)
}

/// Of `gelu_scale`.
const GELU_ERROR: f64 = 4e-7;

fn exact_activation(formula: Formula, x: &Tensor) -> Tensor {
    match formula {
        Formula::Gelu => exact_gelu(x),
        Formula::GeluTanh => {
            let cubic = x.pow_tensor_scalar(3.0) * 0.044715 + x;
            // ½(1 + tanh u) is σ(2u), which keeps its digits where it is small.
            x * (cubic * (2.0 * (2.0 / std::f64::consts::PI).sqrt())).sigmoid()
        }
        Formula::Silu => x * x.sigmoid(),
    }
}

#[test]
fn interpreted_activations_are_right() {
    let Some(python) = triton() else { return };
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
    let Some(python) = triton() else { return };
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

fn exact_norm(form: usize, x: &Tensor, weight: &Tensor, bias: &Tensor) -> Tensor {
    let mean = |x: &Tensor| x.mean_dim([-1].as_slice(), true, None::<Kind>);
    let centred = if form == 3 { x.shallow_clone() } else { x - mean(x) };
    let standard = &centred / (mean(&(&centred * &centred)) + 1e-5).sqrt();
    match form {
        1 => standard,
        3 => standard * weight,
        _ => standard * weight + bias,
    }
}

#[test]
fn interpreted_norms_are_right() {
    let Some(python) = triton() else { return };
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
    let Some(python) = triton() else { return };
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
    let Some(python) = triton() else { return };
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

fn exact_cross_entropy(x: &Tensor, target: &Tensor) -> Tensor {
    x.cross_entropy_loss::<Tensor>(target, None, tch::Reduction::Mean, -100, 0.0)
}

#[test]
fn interpreted_targets_that_are_no_column_are_nan_and_not_read() {
    let Some(python) = triton() else { return };
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
    let Some(python) = triton() else { return };
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

/// The public operators on a GPU, where there is one.
#[test]
fn kernels_are_right_on_the_device() {
    if !tch::Cuda::is_available() {
        println!("skipped: no CUDA device");
        return;
    }
    let device = Device::Cuda(0);
    for kind in KINDS {
        // With 16-byte moves, without, several rows in a program, and a row that is too long for one.
        for columns in [64, 65, 768, 4097, 40_000] {
            match run_on(device, kind, columns) {
                Ok(()) => {}
                Err(Refusal::Skipped(reason)) => return println!("skipped: {reason}"),
                Err(other) => panic!("{other}"),
            }
        }
    }
}

fn run_on(device: Device, kind: Kind, columns: i64) -> Result<(), Refusal> {
    let draw = |size: &[i64], seed| (noise(size, seed) * 3.0).to_kind(kind).to_device(device);
    let size = [3, 11, columns];
    let (x, other) = (draw(&size, 1), draw(&size, 2));
    let [weight, bias] = [3, 4].map(|seed| draw(&[columns], seed));
    let compare = |y: &Tensor, exact: Tensor, name: &str| {
        check(y, &exact, &(exact.abs().max() + 1.0), 4e-6, &format!("{name} of {columns}"));
    };
    let mut y = x.full_like(f64::NAN);
    for formula in FORMULAS {
        Activation::new(formula, kind, device)?.run(&x, &mut y)?;
        compare(&y, exact_activation(formula, &double(&x)), "activation");
    }
    BiasGelu::new(&bias)?.run(&x, &mut y)?;
    compare(&y, exact_gelu(&(double(&x) + double(&bias))), "bias_gelu");
    let norm = |form, x: &Tensor| exact_norm(form, x, &double(&weight), &double(&bias));
    LayerNorm::new(&weight, &bias)?.run(&x, &mut y)?;
    compare(&y, norm(0, &double(&x)), "layer_norm");
    LayerNorm::without_affine(columns, kind, device)?.run(&x, &mut y)?;
    compare(&y, norm(1, &double(&x)), "layer_norm_no_affine");
    AddLayerNorm::new(&weight, &bias)?.run(&x, &other, &mut y)?;
    compare(&y, norm(2, &(double(&x) + double(&other))), "add_layer_norm");
    RmsNorm::new(&weight)?.run(&x, &mut y)?;
    compare(&y, norm(3, &double(&x)), "rms_norm");
    Softmax::new(columns, kind, device)?.run(&x, &mut y)?;
    compare(&y, double(&x).softmax(-1, Kind::Double), "softmax");
    let mut mean = Tensor::zeros([], (kind, device));
    MseLoss::new(kind, device)?.run(&x, &other, &mut mean)?;
    compare(&mean, double(&x).mse_loss(&double(&other), tch::Reduction::Mean), "mse_loss");
    let target = (Tensor::arange(33, (Kind::Int64, CPU)) * 31).remainder(columns);
    CrossEntropy::new(columns, kind, device)?.run(&x, &target.to_device(device), &mut mean)?;
    let logits = double(&x).view([-1, columns]);
    compare(&mean, exact_cross_entropy(&logits, &target), "cross_entropy");
    Ok(())
}
