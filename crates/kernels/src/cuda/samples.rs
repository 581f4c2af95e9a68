//! Tensors for the tests of operators, and the comparison with float64.

use tch::{Device, Kind, Tensor};

/// The dtypes that operators take.
pub(super) const KINDS: [Kind; 3] = [Kind::Float, Kind::BFloat16, Kind::Half];

/// What memory holds that nobody wrote to.
const UNTOUCHED: f64 = 640.0;

/// Numbers from −1 to 1 that no formula of a kernel repeats: an integer hash of the position. No
/// generator is drawn from.
pub(super) fn noise(size: &[i64], seed: i64) -> Tensor {
    let count: i64 = size.iter().product();
    let position = Tensor::arange(count, (Kind::Int64, Device::Cpu)) + seed * 7919;
    let hash = (position * 2_654_435_761_i64).remainder(1 << 32) * 40_503_i64;
    (hash.remainder(65_536).to_kind(Kind::Double) / 32_768.0 - 1.0).reshape(size)
}

/// How rows lie in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// One after another.
    Dense,
    /// The same, one value after a multiple of 16 bytes.
    Shifted,
    /// So many values between rows.
    Padded(i64),
}

/// A tensor `[rows, dim]` and the memory that it is in, which ends where it ends.
pub(super) struct Laid {
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

pub(super) fn double(tensor: &Tensor) -> Tensor {
    tensor.to_device(Device::Cpu).to_kind(Kind::Double)
}

/// Compares with float64: NaN where that is NaN, and elsewhere as near as one rounding to the dtype
/// and `allowed`, of the size of the values, permit. Returns the largest part of `allowed` used.
pub(super) fn check(found: &Tensor, exact: &Tensor, allowed: &Tensor, what: &str) -> f64 {
    let kind = found.kind();
    let (half_place, least) = match kind {
        Kind::BFloat16 => (2_f64.powi(-8), 2_f64.powi(-134)),
        Kind::Half => (2_f64.powi(-11), 2_f64.powi(-25)),
        _ => (2_f64.powi(-24), 2_f64.powi(-150)),
    };
    let found = double(found);
    let nan = exact.isnan();
    assert!(found.isnan().equal(&nan), "{what}: {found}\nis not NaN where this is: {exact}");
    // What rounds to infinity; and infinities, whose difference is NaN.
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
