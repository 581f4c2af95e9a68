//! Products with weights of 4 or 8 bits, dequantized inside the kernel (`gemlite.cu`; for many rows
//! Triton's, `gemlite.py`).

use std::cell::OnceCell;

use tch::{Kind, TchError, Tensor};

use super::launch::{Kernels, Launch, blocks, dtype, grid};
use super::{Argument, Source, source};
use crate::overlap::refuse_overlap;
use crate::triton::gemlite::{Format, Operands, Products};
use native::refusal::Refusal;

/// The kernels' source.
pub(super) const SOURCE: Source = source!("gemlite.cu");

/// Rows of x up to which a kernel of the `gemv` kind is there, smallest first.
const GEMV_ROWS: [i64; 4] = [1, 2, 4, 8];
/// Columns of y that a block of `gemv` computes.
const GEMV_COLUMNS: i64 = 4;
/// Rows and columns of y that a block of `gemm` computes.
const GEMM_TILE: i64 = 64;
/// Both kinds.
const THREADS: i64 = 128;
/// k and the group are multiples of this: the weights that a thread loads at once.
const STEP: i64 = 32;

/// A quantized weight as the kernels read it.
#[derive(Debug)]
struct Packed {
    /// 4 bits: uint8 `[n, k / 2]`, in the order that `gemlite.cu` gives. 8 bits: int8 `[n, k]`.
    values: Tensor,
    /// bfloat16 or float16, `[n, k / group]`.
    scale: Tensor,
    /// As the scale, with 4 bits; none with 8: `(q − zero) · scale` and `q · scale`.
    zero: Option<Tensor>,
    n: i64,
    k: i64,
    group: i64,
}

impl Packed {
    /// As [`Gemlite::new`], on any device.
    fn new(values: &Tensor, scale: &Tensor, zero: Option<&Tensor>) -> Result<Self, Refusal> {
        let (n, k) = values.size2()?;
        let group = group(values, scale)?;
        check_like(scale, values, zero)?;
        let values = match (values.f_kind()?, zero) {
            (Kind::Uint8, Some(_)) => pack_nibbles(values)?,
            (Kind::Int8, None) if group == k => values.f_contiguous()?,
            (kind, zero) => {
                let (groups, with) = (k / group, if zero.is_some() { "with" } else { "without" });
                return Err(Refusal::Unsupported(format!(
                    "{kind:?} weights in {groups} groups {with} zero points, but the kernel takes \
                     Uint8 with them, or Int8 rows without"
                )));
            }
        };
        check_aligned("the weight", &values)?;
        let zero = zero.map(Tensor::f_contiguous).transpose()?;
        Ok(Self { values, scale: scale.f_contiguous()?, zero, n, k, group })
    }

    /// Checks the arguments of [`Gemlite::multiply`], and returns the number of rows.
    fn check(&self, x: &Tensor, out: &Tensor) -> Result<i64, TchError> {
        let (m, k) = x.size2()?;
        let like = |tensor: &Tensor| -> Result<bool, TchError> {
            Ok(tensor.is_contiguous()
                && tensor.device() == self.values.device()
                && tensor.f_kind()? == self.scale.f_kind()?)
        };
        if k != self.k || out.size2()? != (m, self.n) || !like(x)? || !like(out)? {
            return Err(TchError::Shape(format!("x {x:?} and out {out:?} for {self:?}")));
        }
        check_aligned("x", x)?;
        refuse_overlap(out, [x].into_iter().chain(self.tensors()))?;
        Ok(m)
    }

    /// The launch for `m` rows; none for no element.
    fn launch(&self, m: i64, x: &Tensor, out: &Tensor) -> Result<Option<Launch>, TchError> {
        let Self { n, k, group, .. } = *self;
        if m == 0 || n == 0 {
            return Ok(None);
        }
        let kernel = kernel(m);
        let (columns, rows) = match kernel {
            GEMM => (blocks(m, GEMM_TILE), blocks(n, GEMM_TILE)),
            _ => (blocks(n, GEMV_COLUMNS), 1),
        };
        let tensors = [Some(x), Some(&self.values), Some(&self.scale), self.zero.as_ref()];
        let mut arguments: Vec<_> = tensors.map(Argument::pointer).into();
        arguments.push(Argument::pointer(out));
        for size in [m, n, k, group] {
            arguments.push(Argument::Int(int(size)?));
        }
        Ok(Some(Launch { kernel, grid: grid(columns, rows, THREADS)?, arguments }))
    }

    fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        [&self.values, &self.scale].into_iter().chain(&self.zero)
    }

    fn bits(&self) -> u8 {
        if self.zero.is_some() { 4 } else { 8 }
    }
}

/// Weights that share a scale, of `values [n, k]` with `scale [n, groups]`, where the kernels take
/// these sizes.
fn group(values: &Tensor, scale: &Tensor) -> Result<i64, Refusal> {
    let ((n, k), (rows, groups)) = (values.size2()?, scale.size2()?);
    let group = if groups > 0 && k % groups == 0 { k / groups } else { 0 };
    if rows != n || group == 0 || group % STEP != 0 {
        return Err(Refusal::Unsupported(format!(
            "weight [{n}, {k}] with scales [{rows}, {groups}], but a scale must be there for \
             each row and each of its groups, whose size is a multiple of {STEP}"
        )));
    }
    // Sizes are passed as int, and rows of blocks are at most 65535.
    let (most_n, most_k) = (65_535 * GEMM_TILE, i64::from(i32::MAX) - GEMM_TILE);
    if n > most_n || k > most_k {
        return Err(Refusal::Unsupported(format!(
            "n = {n} and k = {k}, but the kernel takes up to {most_n} and {most_k}"
        )));
    }
    Ok(group)
}

/// Demands a dtype of the kernels, and the zero points' size, dtype and device to be the scales'.
fn check_like(scale: &Tensor, values: &Tensor, zero: Option<&Tensor>) -> Result<(), Refusal> {
    let kind = scale.f_kind()?;
    if !matches!(kind, Kind::BFloat16 | Kind::Half) {
        let text = format!("{kind:?}, but the kernel takes bfloat16 and float16");
        return Err(Refusal::Unsupported(text));
    }
    let expected = (scale.size(), kind, values.device());
    for (what, tensor) in [("scales", Some(scale)), ("zero points", zero)] {
        let Some(tensor) = tensor else { continue };
        let found = (tensor.size(), tensor.f_kind()?, tensor.device());
        if found != expected {
            let text = format!("{what} are {found:?}, but the kernel needs {expected:?}");
            return Err(Refusal::Unsupported(text));
        }
    }
    Ok(())
}

/// Demands the alignment of the kernels' loads. Memory of libtorch begins at multiples of 64 at
/// least; only a view can begin elsewhere.
fn check_aligned(what: &str, tensor: &Tensor) -> Result<(), TchError> {
    if (tensor.data_ptr() as usize).is_multiple_of(16) {
        return Ok(());
    }
    Err(TchError::Shape(format!("{what} begins at an address that 16 does not divide")))
}

/// `[n, k]` numbers from 0 to 15 → `[n, k / 2]` bytes, as `gemlite.cu` reads them.
fn pack_nibbles(values: &Tensor) -> Result<Tensor, TchError> {
    let (n, k) = values.size2()?;
    if values.numel() > 0 && values.f_max()?.f_int64_value(&[])? > 15 {
        return Err(TchError::Shape("values above 15 do not fit in 4 bits".to_owned()));
    }
    // Two parts of which each has a half of a byte; the word; the half of the word.
    let parts = values.f_reshape([n, k / 32, 2, 2, 4, 2])?;
    let high = parts.f_select(3, 1)?.f_bitwise_left_shift_tensor_scalar(4)?;
    let bytes = parts.f_select(3, 0)?.f_bitwise_or_tensor(&high)?;
    bytes.f_permute([0, 1, 3, 4, 2])?.f_reshape([n, k / 2])
}

/// A quantized weight on a CUDA device with the kernels that multiply by it.
#[derive(Debug)]
pub struct Gemlite {
    weight: Packed,
    kernels: Kernels,
    products: Products,
    /// The reason why Triton's product does not run, once it is known.
    lack: OnceCell<String>,
}

impl Gemlite {
    /// Packs a weight and compiles and loads its kernels: `values [n, k]`, uint8 from 0 to 15 with
    /// a zero point and int8 without; `scale` and `zero` are `[n, groups]`, bfloat16 or float16.
    ///
    /// # Errors
    /// Unsupported, with the constraint and the value that broke it; skipped where NVRTC, the driver
    /// or the device is missing; what libtorch refuses.
    pub fn new(values: &Tensor, scale: &Tensor, zero: Option<&Tensor>) -> Result<Self, Refusal> {
        let tch::Device::Cuda(device) = values.device() else {
            let device = values.device();
            return Err(Refusal::Unsupported(format!("a CUDA kernel on {device:?}")));
        };
        let weight = Packed::new(values, scale, zero)?;
        let kind = weight.scale.f_kind()?;
        let kernels = Kernels::load(&SOURCE, &entries(weight.bits(), kind), device)?;
        let group = weight.zero.as_ref().map(|_| weight.group);
        let format = Format { kind, n: weight.n, k: weight.k, group };
        let products = Products::new(format, device);
        Ok(Self { weight, kernels, products, lack: OnceCell::new() })
    }

    /// Rows of the weight: columns of y.
    pub fn n(&self) -> i64 {
        self.weight.n
    }

    /// The stored tensors.
    pub fn tensors(&self) -> Vec<&Tensor> {
        self.weight.tensors().collect()
    }

    /// `out [m, n] = x [m, k] · Wᵀ`, sums in float32, `x` and `out` in the dtype of the scales and
    /// contiguous, queued on libtorch's current stream. The first call with more than 8 rows compiles
    /// a Triton kernel; where that is impossible a slower kernel of CUDA C++ runs, and
    /// [`note`](Self::note) says why.
    ///
    /// # Errors
    /// When a tensor is not as said or `out` shares memory with an operand, and what the compiler
    /// and the driver say.
    pub fn multiply(&self, x: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
        let m = self.weight.check(x, out)?;
        let launch = self.weight.launch(m, x, out)?;
        let is_many = launch.as_ref().is_some_and(|it| it.kernel == GEMM);
        if is_many && self.lack.get().is_none() {
            let Packed { values, scale, zero, .. } = &self.weight;
            let operands = Operands { x, packed: values, scale, zero: zero.as_ref(), out };
            match self.products.multiply(&operands) {
                Err(Refusal::Skipped(reason) | Refusal::Unsupported(reason)) => {
                    self.lack.get_or_init(|| reason);
                }
                done => return done.map_err(|error| TchError::Torch(error.to_string())),
            }
        }
        // SAFETY: the parameters of every kernel of the source, for the width and dtype of the
        // weight; the sizes were compared above and in `Packed::new`, and the kernels touch nothing
        // beyond them.
        unsafe { self.kernels.launch(launch.as_slice()) }
    }

    /// The names of what [`multiply`](Self::multiply) runs for `m` rows; none for no element.
    pub fn kernels(&self, m: i64) -> &'static [&'static str] {
        match kernel(m) {
            _ if m == 0 || self.weight.n == 0 => &[],
            GEMM if self.lack.get().is_none() => self.products.kernels(m),
            kernel => names(kernel),
        }
    }

    /// Why the slower kernel for many rows has run, if it has.
    pub fn note(&self) -> Option<String> {
        let lack = self.lack.get()?;
        Some(format!(
            "gemlitewo by its slower kernel of CUDA C++, as its Triton kernel is missing: {lack}"
        ))
    }
}

/// The names in records of a kernel of the source.
fn names(kernel: usize) -> &'static [&'static str] {
    match kernel {
        GEMM => &["criterion_torch::gemlite_gemm"],
        _ => &["criterion_torch::gemlite_gemv"],
    }
}

/// [`Launch::kernel`] of `gemm`; those of `gemv` come before it.
const GEMM: usize = GEMV_ROWS.len();

/// The index of the kernel for `m` rows.
fn kernel(m: i64) -> usize {
    GEMV_ROWS.iter().position(|rows| m <= *rows).unwrap_or(GEMM)
}

/// Entry functions, in the order of [`Launch::kernel`].
fn entries(bits: u8, kind: Kind) -> Vec<String> {
    let dtype = dtype(kind);
    let gemv = GEMV_ROWS.map(|rows| format!("gemlite_gemv_{bits}bit_{dtype}_m{rows}"));
    gemv.into_iter().chain([format!("gemlite_gemm_{bits}bit_{dtype}")]).collect()
}

/// A size as the kernels take it: the last tile may go beyond it.
fn int(size: i64) -> Result<i32, TchError> {
    match i32::try_from(size + GEMM_TILE) {
        Ok(end) => Ok(end - GEMM_TILE as i32),
        Err(_) => Err(TchError::Shape(format!("{size} is more than the kernel takes"))),
    }
}

#[cfg(test)]
#[path = "gemlite_tests.rs"]
pub(crate) mod tests;

#[cfg(test)]
pub(super) use tests::all_entries;
