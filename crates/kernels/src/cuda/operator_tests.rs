use std::collections::BTreeSet;

use super::super::emulation::Emulation;
use super::super::samples::{
    ACTIVATION_SIZES, CROSS_ENTROPY_SIZES, DENSE, KINDS, Laid, Layout, MSE_SIZES, NORM_DIMS,
    SOFTMAX_DIMS, check, double, noise, of_activation, of_norm, of_softmax,
};
use super::*;
use Operator::{
    AddLayerNorm, BiasGelu, CrossEntropy, Gelu, GeluTanh, LayerNorm, LayerNormNoAffine, MseLoss,
    RmsNorm, Silu, Softmax,
};

const SQRT_HALF: f64 = std::f64::consts::FRAC_1_SQRT_2;
const ACTIVATIONS: [Operator; 4] = [Gelu, GeluTanh, Silu, BiasGelu];
const NORMS: [Operator; 4] = [LayerNorm, LayerNormNoAffine, RmsNorm, AddLayerNorm];

fn on_cpu(kind: Kind) -> TensorOptions {
    TensorOptions { kind, device: Device::Cpu }
}

/// A call of an operator.
struct Case {
    operator: Operator,
    options: TensorOptions,
    x: Laid,
    other: Option<Laid>,
    weight: Option<Tensor>,
    bias: Option<Tensor>,
    sums: Tensor,
    out: Laid,
}

impl Case {
    /// Layouts are those of x, of what is like it, and of the output.
    fn new(operator: Operator, options: TensorOptions, x: &Tensor, layouts: [Layout; 3]) -> Self {
        let TensorOptions { kind, device } = options;
        let (rows, dim) = x.size2().unwrap();
        let vector = |seed| noise(&[dim], seed).to_kind(kind).to_device(device);
        let like_x = |values: Tensor| Laid::new(&values, layouts[1], kind, device);
        let other = match operator {
            AddLayerNorm => Some(like_x(noise(&[rows, dim], 5))),
            MseLoss => Some(like_x(noise(&[rows, dim], 2) + 0.25)),
            CrossEntropy => {
                let classes = (noise(&[1, rows], 3) + 1.0) * (dim as f64 / 2.0);
                Some(Laid::new(&classes.floor(), Layout::Dense, Kind::Int64, device))
            }
            _ => None,
        };
        let size = if operator.is_loss() { [1, 1] } else { [rows, dim] };
        Self {
            operator,
            options,
            x: Laid::new(x, layouts[0], kind, device),
            other,
            weight: matches!(operator, LayerNorm | RmsNorm | AddLayerNorm).then(|| vector(2)),
            bias: matches!(operator, LayerNorm | AddLayerNorm | BiasGelu).then(|| vector(3)),
            sums: sums(operator, device).unwrap(),
            out: Laid::untouched(size, layouts[2], kind, device),
        }
    }

    fn operands(&self) -> Operands<'_> {
        // Classes are the whole memory, of one dimension.
        let other = self.other.as_ref();
        let other =
            other.map(|it| if self.operator == CrossEntropy { &it.memory } else { &it.view });
        let (weight, bias) = (self.weight.as_ref(), self.bias.as_ref());
        Operands { x: &self.x.view, other, weight, bias }
    }

    fn launches(&self) -> Vec<Launch> {
        launches(self.operator, self.options, &self.operands(), &self.sums, &self.out.view).unwrap()
    }

    /// With another kernel than the one for these rows, if told; the entry functions.
    fn emulate(&mut self, emulation: &Emulation, kernel: Option<usize>) -> Vec<String> {
        let mut launches = self.launches();
        launches[0].kernel = kernel.unwrap_or(launches[0].kernel);
        self.out.reset();
        let read: Vec<&Tensor> = [&self.x.memory]
            .into_iter()
            .chain(self.other.as_ref().map(|it| &it.memory))
            .chain(&self.weight)
            .chain(&self.bias)
            .collect();
        let entries = entries(self.operator, self.options.kind);
        let written = &mut [&mut self.sums, &mut self.out.memory];
        emulation.launch(&entries, &launches, &read, written);
        launches.iter().map(|it| entries[it.kernel].clone()).collect()
    }

    /// Holds the output against float64; the largest part used of what is allowed.
    fn check(&self) -> f64 {
        let what = format!("{} {:?} {:?}", self.operator, self.options.kind, self.x.view.size());
        let (exact, allowed) = match self.operator {
            Gelu | GeluTanh | Silu | BiasGelu => self.exact_activation(),
            Softmax => {
                let exact = self.x.double().softmax(-1, None);
                let allowed = exact.nan_to_num(1.0, 1.0, 1.0) * 1e-5 + 1e-43;
                (exact, allowed)
            }
            MseLoss | CrossEntropy => {
                let exact = self.exact_loss();
                let allowed = exact.abs().nan_to_num(1.0, 1.0, 1.0) * 2e-6 + 1e-43;
                return check(&self.out.view.reshape([]), &exact, &allowed, &what);
            }
            _ => self.exact_norm(),
        };
        self.out.check_gaps(&what);
        check(&self.out.view, &exact, &allowed, &what)
    }

    /// By other formulas than the kernels' where that loses nothing.
    fn exact_activation(&self) -> (Tensor, Tensor) {
        let x = self.x.double();
        let x = self.bias.as_ref().map_or(x.shallow_clone(), |bias| x + double(bias));
        let sigmoid = |z: &Tensor| ((-z).exp() + 1.0).reciprocal();
        let exact = match self.operator {
            GeluTanh => {
                let cubic = &x + x.pow_tensor_scalar(3) * 0.044715;
                &x * sigmoid(&(cubic * ((2.0 / std::f64::consts::PI).sqrt() * 2.0)))
            }
            Silu => &x * sigmoid(&x),
            _ => &x * (&x * -SQRT_HALF).special_erfc() * 0.5,
        };
        // The exponent's rounding grows with x², or with |x| in its smaller tail.
        let relative = (x.square() * 1e-7 + 1e-6).nan_to_num(0.0, 1.0, 1.0).clamp_max(4e-5);
        let allowed = exact.abs().nan_to_num(0.0, 1.0, 1.0) * relative + 1e-43;
        (exact, allowed)
    }

    fn exact_norm(&self) -> (Tensor, Tensor) {
        let dims = [-1].as_slice();
        let x = self.x.double();
        let x = self.other.as_ref().map_or(x.shallow_clone(), |residual| x + residual.double());
        let mean = match self.operator {
            RmsNorm => Tensor::from(0.0),
            _ => x.mean_dim(dims, true, None),
        };
        let centered = &x - mean;
        let variance = centered.square().mean_dim(dims, true, None);
        let scale = (variance + Operator::EPSILON).rsqrt();
        let mut exact = &centered * &scale;
        // x + r is rounded to float32 before anything else, as the sum of a row is.
        let size = x.abs().amax(dims, true).nan_to_num(0.0, 0.0, 0.0);
        let rounding = match self.operator {
            AddLayerNorm => size * &scale * 1.2e-7,
            _ => Tensor::from(0.0),
        };
        let mut allowed = exact.abs() * 4e-6 + rounding.nan_to_num(0.0, 0.0, 0.0) + 1e-6;
        if let Some(weight) = &self.weight {
            exact *= double(weight);
            allowed *= double(weight).abs();
        }
        if let Some(bias) = &self.bias {
            exact += double(bias);
            allowed += 1e-7;
        }
        (exact, allowed.nan_to_num(1.0, 1.0, 1.0) + 1e-43)
    }

    fn exact_loss(&self) -> Tensor {
        let (x, other) = (self.x.double(), self.other.as_ref().unwrap());
        if self.operator == MseLoss {
            return (x - other.double()).square().mean(Kind::Double);
        }
        let target = other.memory.to_device(Device::Cpu);
        let of_target = x.gather(1, &target.unsqueeze(1), false).squeeze_dim(1);
        (x.logsumexp([-1].as_slice(), false) - of_target).mean(Kind::Double)
    }
}

/// Every call of an operator that is tried on a device. Emulated, they are fewer: every dtype in some
/// sizes, and in turn in others.
fn cases(operator: Operator, turn: usize, device: Device) -> Vec<Case> {
    let is_emulated = device == Device::Cpu;
    let is_activation = ACTIVATIONS.contains(&operator);
    let sizes: Vec<([i64; 2], [Layout; 3])> = match operator {
        _ if is_activation => ACTIVATION_SIZES.to_vec(),
        Softmax => SOFTMAX_DIMS.map(|(dim, layouts)| ([9, dim], layouts)).to_vec(),
        MseLoss => MSE_SIZES.to_vec(),
        CrossEntropy => CROSS_ENTROPY_SIZES.to_vec(),
        _ => NORM_DIMS.map(|(dim, layouts)| ([8, dim], layouts)).to_vec(),
    };
    let large = match operator {
        _ if is_emulated => None,
        _ if is_activation => Some([4096, 768]),
        MseLoss => Some([2048, 4096]),
        CrossEntropy => Some([20_000, 768]),
        _ => None,
    };
    let large = large.map(|size| (size, DENSE));
    let mut cases = Vec::new();
    for (index, (size, layouts)) in sizes.into_iter().chain(large).enumerate() {
        let [rows, dim] = size;
        let is_all = match operator {
            _ if is_activation => rows * dim >= 1000 || layouts[0] == Layout::Shifted,
            MseLoss | CrossEntropy => matches!(dim, 31 | 768),
            _ => matches!(dim, 33 | 248 | 768 | 1000),
        };
        // One norm is enough for the largest rows.
        if is_emulated && NORMS.contains(&operator) && dim > 4096 && turn != index % 4 {
            continue;
        }
        for (nth, kind) in KINDS.into_iter().enumerate() {
            if is_emulated && !is_all && nth != (index + turn) % 3 {
                continue;
            }
            let x = match operator {
                _ if is_activation => of_activation(size),
                Softmax => of_softmax(dim, kind),
                MseLoss => noise(&size, 1) * 2.0,
                CrossEntropy => noise(&size, 1) * 8.0,
                _ => of_norm(dim, kind),
            };
            cases.push(Case::new(operator, TensorOptions { kind, device }, &x, layouts));
        }
    }
    cases
}

/// Every kernel of these operators, which are of one source.
fn emulated(operators: &[Operator]) {
    let emulation = Emulation::build(&source(operators[0]).unwrap());
    let (mut ran, mut all) = (BTreeSet::new(), BTreeSet::new());
    let mut most = 0.0_f64;
    for (turn, &operator) in operators.iter().enumerate() {
        all.extend(KINDS.into_iter().flat_map(|kind| entries(operator, kind)));
        let turn = if operator.is_loss() { 0 } else { turn };
        for mut case in cases(operator, turn, Device::Cpu) {
            // The kernel for long rows takes any that 16-byte accesses fit.
            let has_long = operator == Softmax || NORMS.contains(&operator);
            let again = (has_long && case.x.view.size()[1] == 1000).then_some(Some(LONG));
            for kernel in [None].into_iter().chain(again) {
                ran.extend(case.emulate(&emulation, kernel));
                most = most.max(case.check());
            }
        }
    }
    println!("{most} of what is allowed");
    assert_eq!(ran, all);
}

#[test]
fn emulated_activations_compute() {
    emulated(&ACTIVATIONS);
}

#[test]
fn emulated_norms_compute() {
    emulated(&NORMS);
}

#[test]
fn emulated_softmax_computes() {
    emulated(&[Softmax]);
}

#[test]
fn emulated_losses_compute() {
    emulated(&[MseLoss, CrossEntropy]);
}

/// On a GPU, where there is one.
#[test]
fn kernels_compute_on_the_device() {
    if !tch::Cuda::is_available() {
        crate::skip::hardware("no CUDA device");
        return;
    }
    for &operator in Operator::ALL {
        for case in cases(operator, 0, Device::Cuda(0)) {
            let kernels = match OperatorKernels::load(operator, case.options.kind, 0) {
                Ok(kernels) => kernels,
                Err(Refusal::Skipped(reason)) => return crate::skip::tool(reason),
                Err(other) => panic!("{other}"),
            };
            let mut out = case.out.view.shallow_clone();
            kernels.run(&case.operands(), &mut out).unwrap();
            case.check();
        }
    }
}

/// Each row alone: what libtorch gives in float64, or NaN.
#[test]
fn emulated_cross_entropy_of_rows_at_which_formulas_break() {
    let emulation = Emulation::build(&source(CrossEntropy).unwrap());
    let infinity = f64::INFINITY;
    let run = |logits: &[f64], target: i64| {
        let x = Tensor::from_slice(logits).unsqueeze(0);
        let mut case = Case::new(CrossEntropy, on_cpu(Kind::Float), &x, DENSE);
        drop(case.other.as_mut().unwrap().memory.fill_(target));
        case.emulate(&emulation, None);
        double(&case.out.view).double_value(&[0, 0])
    };
    assert_eq!(run(&[1e30, 1e30, 0.0, -1e30], 0), f64::from(2_f32.ln()));
    assert_eq!(run(&[3e38, 1.0, 2.0, -3e37], 0), 0.0);
    assert_eq!(run(&[0.0, -infinity, -infinity, -infinity], 0), 0.0);
    assert_eq!(run(&[0.0, -infinity, 1.0, 2.0], 1), infinity);
    for logits in [[0.0, infinity, 1.0, 2.0], [-infinity; 4], [0.0, 1.0, f64::NAN, 2.0]] {
        assert!(run(&logits, 0).is_nan(), "{logits:?}");
    }
    for target in [-100, -1, 4, i64::MAX] {
        assert!(run(&[0.0, 1.0, 2.0, 3.0], target).is_nan(), "no class {target}");
    }
}

#[test]
fn of_nothing_there_is_no_launch_or_a_mean_that_is_nan() {
    let emulation = Emulation::build(&source(MseLoss).unwrap());
    let x = Tensor::zeros([1, 8], (Kind::Float, Device::Cpu));
    let mut case = Case::new(MseLoss, on_cpu(Kind::BFloat16), &x, DENSE);
    case.x.view = case.x.view.narrow(0, 0, 0);
    let other = case.other.as_mut().unwrap();
    other.view = other.view.narrow(0, 0, 0);
    assert_eq!(case.launches().iter().map(|it| it.kernel).collect::<Vec<_>>(), [MEAN]);
    case.emulate(&emulation, None);
    assert!(double(&case.out.view).double_value(&[0, 0]).is_nan());
    for operator in [Gelu, Softmax] {
        let empty = Tensor::zeros([3, 0], (Kind::Float, Device::Cpu));
        let memory = sums(operator, Device::Cpu).unwrap();
        let operands = Operands::unary(&empty);
        let out = empty.zeros_like();
        let found = launches(operator, on_cpu(Kind::Float), &operands, &memory, &out).unwrap();
        assert!(found.is_empty());
    }
}

#[test]
fn no_launch_has_more_blocks_than_there_is_memory_between() {
    let (out, memory) =
        (Tensor::zeros([], (Kind::Half, Device::Cpu)), sums(MseLoss, Device::Cpu).unwrap());
    let x = Tensor::zeros([1, 8], (Kind::Half, Device::Cpu)).expand([1 << 40, 8], false);
    let few = x.narrow(0, 0, 50_000);
    let classes = Tensor::zeros([50_000], (Kind::Int64, Device::Cpu));
    for (operator, x, other) in [(MseLoss, &x, &x), (CrossEntropy, &few, &classes)] {
        let operands = Operands { other: Some(other), ..Operands::unary(x) };
        let found = launches(operator, on_cpu(Kind::Half), &operands, &memory, &out).unwrap();
        assert_eq!(i64::from(found[0].grid.blocks.0), MOST_SUMS);
    }
}

/// A block that runs past its rows, many times, and one that has too many threads for them.
#[test]
fn every_element_is_computed_once_whatever_the_shape() {
    for (count, dim) in [(1, 1), (1, 7), (1, 1 << 33), (3, 4096), (8, 5), (7, 513), (1 << 21, 768)]
    {
        for width in [1, 4, 8] {
            let (lanes, columns, rows) = shape(Rows { count, dim, stride: dim }, width);
            let accesses = (dim / width).max(1);
            let side = i64::from(lanes) * ACCESSES;
            assert!((columns - 1) * side < accesses && accesses <= columns * side);
            assert!(THREADS % i64::from(lanes) == 0 && (1..=65_535).contains(&rows));
            // The first threads of a block have a row.
            assert!((rows - 1) * (THREADS / i64::from(lanes)) < count, "{count} {dim}");
        }
    }
}

#[test]
fn the_name_is_of_the_kernel_that_runs() {
    let shifted = [Layout::Dense, Layout::Dense, Layout::Shifted];
    for &operator in Operator::ALL.iter().filter(|it| family(**it).is_some()) {
        let kernel = |dim, layouts| {
            let x = Tensor::zeros([2, dim], (Kind::Float, Device::Cpu));
            Case::new(operator, on_cpu(Kind::Half), &x, layouts).launches()[0].kernel
        };
        let has_long = operator == Softmax || NORMS.contains(&operator);
        let has_short = has_long && kernel(256, DENSE) == SHORT && kernel(512, DENSE) == VECTOR;
        let mut expected = vec![(kernel(64, DENSE), if has_long { "_short" } else { "" })];
        if !operator.is_loss() {
            expected.push((kernel(64, shifted), "_scalar"));
        }
        if has_long {
            assert!(has_short, "{operator}");
            expected.extend([(kernel(264, DENSE), ""), (kernel(16_384, DENSE), "")]);
            expected.extend([(kernel(16_392, DENSE), "_long"), (kernel(33, DENSE), "_scalar")]);
        }
        for (kernel, end) in expected {
            let name = format!("criterion_torch::{operator}_cuda{end}");
            assert_eq!(recorded(operator, kernel), name);
            assert_eq!(entries(operator, Kind::Half)[kernel], format!("{operator}_f16{end}"));
        }
    }
    assert_eq!(recorded(MseLoss, MEAN), "criterion_torch::mean_cuda");
    assert_eq!(recorded(CrossEntropy, SCALAR), "criterion_torch::cross_entropy_cuda_scalar");
}
