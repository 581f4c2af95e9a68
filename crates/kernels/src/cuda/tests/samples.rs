//! Tensors for the tests of operators, and the comparison with float64.

use tch::{Device, Kind, Tensor};

/// The dtypes that operators take.
pub(in crate::cuda) const KINDS: [Kind; 3] = [Kind::Float, Kind::BFloat16, Kind::Half];

/// Memory that nobody wrote to holds this.
const UNTOUCHED: f64 = 640.0;

/// Numbers from −1 to 1 that no formula of a kernel repeats: an integer hash of the position. No
/// generator is drawn from.
pub(in crate::cuda) fn noise(size: &[i64], seed: i64) -> Tensor {
    let count: i64 = size.iter().product();
    let position = Tensor::arange(count, (Kind::Int64, Device::Cpu)) + seed * 7919;
    let hash = (position * 2_654_435_761_i64).remainder(1 << 32) * 40_503_i64;
    (hash.remainder(65_536).to_kind(Kind::Double) / 32_768.0 - 1.0).reshape(size)
}

/// How rows lie in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cuda) enum Layout {
    /// One after another.
    Dense,
    /// Dense, one value after a multiple of 16 bytes.
    Shifted,
    /// This many values between rows.
    Padded(i64),
}

/// A tensor `[rows, dim]` and the memory that it is in, which ends where it ends.
pub(in crate::cuda) struct Laid {
    pub memory: Tensor,
    pub view: Tensor,
    offset: i64,
}

impl Laid {
    /// Memory for an output.
    pub fn untouched([rows, dim]: [i64; 2], layout: Layout, kind: Kind, device: Device) -> Self {
        let (offset, stride) = match layout {
            Layout::Dense => (0, dim),
            Layout::Shifted => (1, dim),
            Layout::Padded(by) => (0, dim + by),
        };
        let length = offset + (rows - 1) * stride + dim;
        let memory = Tensor::full([length], UNTOUCHED, (kind, device));
        let view = memory.as_strided([rows, dim], [stride, 1], offset);
        Self { memory, view, offset }
    }

    /// `values [rows, dim]`, rounded to a dtype.
    pub fn new(values: &Tensor, layout: Layout, kind: Kind, device: Device) -> Self {
        let (rows, dim) = values.size2().unwrap();
        let mut laid = Self::untouched([rows, dim], layout, kind, device);
        laid.view.copy_(&values.to_kind(kind));
        laid
    }

    /// Forgets what was written.
    pub fn reset(&mut self) {
        drop(self.memory.fill_(UNTOUCHED));
    }

    /// The values in float64 on the CPU.
    pub fn double(&self) -> Tensor {
        double(&self.view)
    }

    /// Demands that nothing was written beside the tensor.
    pub fn check_gaps(&self, what: &str) {
        let (size, strides) = (self.view.size(), self.view.stride());
        let copy = self.memory.copy();
        let mut view = copy.as_strided(size, strides, self.offset);
        drop(view.fill_(UNTOUCHED));
        let is_same = copy.eq(UNTOUCHED).all().int64_value(&[]) == 1;
        assert!(is_same, "{what}: wrote beside the output");
    }
}

pub(in crate::cuda) fn double(tensor: &Tensor) -> Tensor {
    tensor.to_device(Device::Cpu).to_kind(Kind::Double)
}

/// Compares with float64: NaN where that is NaN, and elsewhere as near as one rounding to the dtype
/// and `allowed`, of the size of the values, permit. Returns the largest part of `allowed` used.
pub(in crate::cuda) fn check(found: &Tensor, exact: &Tensor, allowed: &Tensor, what: &str) -> f64 {
    let kind = found.kind();
    let (half_place, least) = match kind {
        Kind::BFloat16 => (2_f64.powi(-8), 2_f64.powi(-134)),
        Kind::Half => (2_f64.powi(-11), 2_f64.powi(-25)),
        _ => (2_f64.powi(-24), 2_f64.powi(-150)),
    };
    let found = double(found);
    let nan = exact.isnan();
    assert!(found.isnan().equal(&nan), "{what}: {found}\nis not NaN where this is: {exact}");
    // A value may round to infinity; the difference of infinities is NaN.
    let rounded = double(&exact.to_kind(kind));
    let error = (&found - exact).abs();
    let beyond = (error - (exact.abs() * half_place + least)).clamp_min(0.0);
    let used = beyond / allowed;
    let is_fine = used.le(1.0).logical_or(&found.eq_tensor(&rounded)).logical_or(&nan);
    let used = used.where_self(&used.isfinite(), &Tensor::from(0.0));
    let most = used.max().double_value(&[]);
    if is_fine.all().int64_value(&[]) == 0 {
        let at = is_fine.reshape([-1]).logical_not().to_kind(Kind::Int).argmax(None, false);
        let at = at.int64_value(&[]);
        let value = |tensor: &Tensor| tensor.reshape([-1]).double_value(&[at]);
        let (found, exact) = (value(&found), value(exact));
        panic!("{what}: {found:e} instead of {exact:e} at {at}; {most} of what is allowed");
    }
    most
}

/// Contiguous operands: x, what is like it, and the output.
pub(in crate::cuda) const DENSE: [Layout; 3] = [Layout::Dense; 3];

/// Numbers at which formulas break, and then noise: mostly where the functions bend, some in their
/// tails.
pub(in crate::cuda) fn of_activation([rows, dim]: [i64; 2]) -> Tensor {
    let special: Vec<f64> = [0.0, 1e-45, 1e-40, 6e-8, 1e-20, 1e-3, 0.5, 1.0, 3.0, 5.5, 9.0, 13.0]
        .into_iter()
        .chain([15.0, 40.0, 87.0, 88.7, 89.5, 100.0, 1e4, 6e4, 1e19, 1e30, 3.3e38, f64::INFINITY])
        .flat_map(|it| [it, -it])
        .chain([f64::NAN])
        .collect();
    let noise = noise(&[rows * dim], 1) * 5.0;
    let noise = &noise * (noise.abs() * 0.1 + 0.6);
    let count = noise.size1().unwrap().min(special.len() as i64 * 3);
    // Every third value, so that accesses of several hold both.
    let mut into = noise.slice(0, 0, count, 3);
    into.copy_(&Tensor::from_slice(&special).narrow(0, 0, into.size1().unwrap()));
    noise.reshape([rows, dim])
}

/// Rows of all kinds: noise; far from zero; equal; tiny; large; with NaN, with infinity.
pub(in crate::cuda) fn of_norm(dim: i64, kind: Kind) -> Tensor {
    let noise = noise(&[8, dim], 1);
    let large = if kind == Kind::Half { 3e4 } else { 1e15 };
    let factors = Tensor::from_slice(&[1.0, 1.0, 0.0, 0.0, 1e-42, large, 1.0, 1.0]).unsqueeze(1);
    let offsets = Tensor::from_slice(&[0.0, 900.0, 1e4, large, 0.0, 0.0, 0.0, 0.0]).unsqueeze(1);
    let values = noise * factors + offsets;
    drop(values.get(6).narrow(0, dim / 2, 1).fill_(f64::NAN));
    drop(values.get(7).narrow(0, dim - 1, 1).fill_(f64::INFINITY));
    values
}

/// Rows of all kinds: noise; wide; equal and huge; huge of both signs; tiny; with −∞; of −∞ alone;
/// with +∞; with NaN.
pub(in crate::cuda) fn of_softmax(dim: i64, kind: Kind) -> Tensor {
    let noise = noise(&[9, dim], 1);
    let huge = if kind == Kind::Half { 6e4 } else { 3e38 };
    let factors = Tensor::from_slice(&[4.0, 60.0, 0.0, huge, 1e-42, 4.0, 0.0, 4.0, 4.0]);
    let offsets = Tensor::from_slice(&[0.0, 0.0, huge, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    let values = noise * factors.unsqueeze(1) + offsets.unsqueeze(1);
    drop(values.get(5).narrow(0, 0, dim / 2).fill_(f64::NEG_INFINITY));
    drop(values.get(6).fill_(f64::NEG_INFINITY));
    drop(values.get(7).narrow(0, dim / 3, 1).fill_(f64::INFINITY));
    drop(values.get(8).narrow(0, dim - 1, 1).fill_(f64::NAN));
    values
}

pub(in crate::cuda) const ACTIVATION_SIZES: [([i64; 2], [Layout; 3]); 9] = [
    ([1, 1], DENSE),
    ([3, 33], DENSE),
    ([2, 31], [Layout::Dense, Layout::Dense, Layout::Padded(1)]),
    ([70, 3], [Layout::Padded(5), Layout::Dense, Layout::Dense]),
    ([9, 100], [Layout::Shifted, Layout::Dense, Layout::Dense]),
    ([5, 100], [Layout::Padded(4), Layout::Dense, Layout::Padded(28)]),
    ([2, 768], DENSE),
    ([20, 264], [Layout::Padded(8), Layout::Dense, Layout::Padded(16)]),
    ([1, 5000], DENSE),
];

pub(in crate::cuda) const NORM_DIMS: [(i64, [Layout; 3]); 17] = [
    (1, DENSE),
    (3, DENSE),
    (31, DENSE),
    (33, [Layout::Padded(7), Layout::Dense, Layout::Padded(3)]),
    (64, DENSE),
    (100, [Layout::Padded(4), Layout::Padded(4), Layout::Padded(12)]),
    (248, [Layout::Padded(8), Layout::Dense, Layout::Padded(16)]),
    (256, [Layout::Shifted, Layout::Dense, Layout::Dense]),
    (264, [Layout::Padded(8), Layout::Shifted, Layout::Padded(8)]),
    (768, DENSE),
    (1000, [Layout::Padded(8), Layout::Padded(24), Layout::Padded(16)]),
    (1024, DENSE),
    (1032, DENSE),
    (1100, [Layout::Shifted, Layout::Shifted, Layout::Shifted]),
    (4096, DENSE),
    (16384, DENSE),
    (16400, DENSE),
];

pub(in crate::cuda) const SOFTMAX_DIMS: [(i64, [Layout; 3]); 14] = [
    (1, DENSE),
    (3, DENSE),
    (31, DENSE),
    (33, [Layout::Padded(7), Layout::Dense, Layout::Padded(3)]),
    (100, [Layout::Padded(4), Layout::Dense, Layout::Padded(12)]),
    (248, [Layout::Padded(8), Layout::Dense, Layout::Padded(16)]),
    (256, [Layout::Shifted, Layout::Dense, Layout::Dense]),
    (768, DENSE),
    (1000, [Layout::Padded(8), Layout::Dense, Layout::Padded(16)]),
    (1032, DENSE),
    (1100, [Layout::Dense, Layout::Dense, Layout::Shifted]),
    (4096, DENSE),
    (16384, DENSE),
    (17000, DENSE),
];

pub(in crate::cuda) const MSE_SIZES: [([i64; 2], [Layout; 3]); 8] = [
    ([1, 1], DENSE),
    ([3, 33], DENSE),
    ([1, 31], [Layout::Shifted, Layout::Dense, Layout::Dense]),
    ([70, 3], [Layout::Padded(5), Layout::Padded(5), Layout::Dense]),
    ([5, 100], [Layout::Padded(4), Layout::Dense, Layout::Dense]),
    ([4, 768], [Layout::Padded(8), Layout::Padded(16), Layout::Dense]),
    ([7, 1000], DENSE),
    ([1, 50_001], DENSE),
];

pub(in crate::cuda) const CROSS_ENTROPY_SIZES: [([i64; 2], [Layout; 3]); 9] = [
    ([3, 1], DENSE),
    ([20, 3], DENSE),
    ([9, 31], [Layout::Padded(1), Layout::Dense, Layout::Dense]),
    ([5, 100], [Layout::Padded(4), Layout::Dense, Layout::Dense]),
    ([4, 256], [Layout::Shifted, Layout::Dense, Layout::Dense]),
    ([17, 768], DENSE),
    ([5, 1100], DENSE),
    ([3, 4096], [Layout::Padded(8), Layout::Dense, Layout::Dense]),
    ([2, 40_000], DENSE),
];

/// That the comparison is one.
#[cfg(test)]
mod tests {
    use super::*;

    fn used(found: &[f64], exact: &[f64], kind: Kind) -> Option<f64> {
        let tensor = |values: &[f64]| Tensor::from_slice(values);
        let allowed = tensor(exact).abs().nan_to_num(1.0, 1.0, 1.0) * 1e-6;
        let found = tensor(found).to_kind(kind);
        std::panic::catch_unwind(|| check(&found, &tensor(exact), &allowed, "")).ok()
    }

    #[test]
    fn what_differs_is_found() {
        let infinity = f64::INFINITY;
        assert_eq!(used(&[1.0, -2.0, 0.0], &[1.0, -2.0, 0.0], Kind::Float), Some(0.0));
        assert!(used(&[3.0000025], &[3.0], Kind::Float).is_some_and(|it| 0.5 < it && it < 1.0));
        assert_eq!(used(&[f64::NAN, infinity], &[f64::NAN, infinity], Kind::Half), Some(0.0));
        assert_eq!(used(&[infinity], &[7e4], Kind::Half), Some(0.0), "as it rounds");
        for (found, exact, kind) in [
            ([3.00001, 1.0], [3.0, 1.0], Kind::Float),
            ([1.0, 3.02], [1.0, 3.0], Kind::BFloat16),
            ([f64::NAN, 1.0], [1.0, 1.0], Kind::Float),
            ([1.0, 1.0], [1.0, f64::NAN], Kind::Float),
            ([infinity, 1.0], [-infinity, 1.0], Kind::Float),
            ([6e4, 1.0], [infinity, 1.0], Kind::Half),
            ([infinity, 1.0], [6e4, 1.0], Kind::Half),
            ([0.0, 1.0], [1e-30, 1.0], Kind::Float),
        ] {
            assert_eq!(used(&found, &exact, kind), None, "{found:?} {exact:?}");
        }
    }

    #[test]
    #[should_panic(expected = "wrote beside the output")]
    fn what_is_written_between_rows_is_found() {
        let laid = Laid::untouched([3, 4], Layout::Padded(2), Kind::Float, Device::Cpu);
        laid.check_gaps("");
        drop(laid.memory.narrow(0, 5, 1).fill_(1.0));
        laid.check_gaps("");
    }
}
