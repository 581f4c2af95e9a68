//! Tensors that kernels are tried on, and what is to come out.

use plan::Operator;
use tch::{Device, Kind, Tensor};

use crate::operands::Operands;

const CPU: Device = Device::Cpu;
pub(super) const KINDS: [Kind; 3] = [Kind::Float, Kind::BFloat16, Kind::Half];

/// Numbers between -1 and 1 that no formula of a kernel repeats: an integer hash of the position.
pub(super) fn noise(size: &[i64], seed: i64) -> Tensor {
    let count: i64 = size.iter().product();
    let position = Tensor::arange(count, (Kind::Int64, CPU)) + seed * 7919;
    let hash = (position * 2_654_435_761_i64).remainder(1 << 32) * 40_503_i64;
    (hash.remainder(65_536).to_kind(Kind::Double) / 32_768.0 - 1.0).reshape(size)
}

/// The largest and the least number of a dtype.
pub(super) fn limits(kind: Kind) -> (f64, f64) {
    match kind {
        Kind::Float => (f32::MAX.into(), 1e-45),
        Kind::BFloat16 => (3.38e38, 9.2e-41),
        _ => (65_504.0, 6e-8),
    }
}

/// Rows to be afraid of; `most` is the size of the large ones.
pub(super) fn hard_rows(columns: i64, kind: Kind, most: f64) -> Tensor {
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

pub(super) fn double(tensor: &Tensor) -> Tensor {
    tensor.to_device(CPU).to_kind(Kind::Double)
}

/// Holds `y` against float64: one rounding to its dtype, and beside it `relative` of the result and
/// of what `scale` says it is computed from.
pub(super) fn check(y: &Tensor, exact: &Tensor, scale: &Tensor, relative: f64, name: &str) {
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

/// The result in float64.
pub(super) fn exact(operator: Operator, operands: &Operands) -> Tensor {
    let [weight, bias] = [operands.weight, operands.bias].map(|it| it.map(double));
    let x = double(operands.x);
    let x = match (operator, operands.other, &bias) {
        (Operator::AddLayerNorm, Some(residual), _) => x + double(residual),
        (Operator::BiasGelu, _, Some(bias)) => x + bias,
        _ => x,
    };
    let mean = |x: &Tensor| x.mean_dim([-1].as_slice(), true, None::<Kind>);
    let mut y = match operator {
        Operator::Gelu | Operator::BiasGelu => {
            return &x * 0.5 * ((&x * std::f64::consts::FRAC_1_SQRT_2).erf() + 1.0);
        }
        Operator::GeluTanh => {
            let cubic = x.pow_tensor_scalar(3.0) * 0.044715 + &x;
            // ½(1 + tanh u) is σ(2u), which keeps its digits where it is small.
            return x * (cubic * (2.0 * (2.0 / std::f64::consts::PI).sqrt())).sigmoid();
        }
        Operator::Silu => return &x * x.sigmoid(),
        Operator::Softmax => return x.softmax(-1, Kind::Double),
        Operator::MseLoss | Operator::CrossEntropy => {
            let target = operands.other.expect("a loss has a target");
            if operator == Operator::MseLoss {
                return x.mse_loss(&double(target), tch::Reduction::Mean);
            }
            let x = x.reshape([-1, *x.size().last().expect("rows")]);
            let (target, none) = (target.to_device(CPU), None::<Tensor>);
            return x.cross_entropy_loss(&target, none, tch::Reduction::Mean, -100, 0.0);
        }
        Operator::RmsNorm => &x / (mean(&(&x * &x)) + 1e-5).sqrt(),
        Operator::LayerNorm | Operator::LayerNormNoAffine | Operator::AddLayerNorm => {
            let centred = &x - mean(&x);
            &centred / (mean(&(&centred * &centred)) + 1e-5).sqrt()
        }
    };
    if let Some(weight) = weight {
        y *= weight;
    }
    bias.map_or(y.shallow_clone(), |bias| &y + bias)
}
