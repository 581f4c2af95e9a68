//! Products with weights of 4 or 8 bits, dequantized inside the kernel (`gemlite.cu`).

use tch::{Kind, TchError, Tensor};

use super::{Argument, Function, Grid, Module, Source, source};
use crate::refusal::Refusal;

/// The kernels' source.
pub(super) const SOURCE: Source = source!("gemlite.cu");

/// Rows of x up to which a kernel of the `gemv` kind is there, smallest first.
const GEMV_ROWS: [i64; 4] = [1, 2, 4, 8];
/// Columns of y that a block of `gemv` computes.
const GEMV_COLUMNS: i64 = 4;
/// Rows and columns of y that a block of `gemm` computes.
const GEMM_TILE: i64 = 64;
/// Both kinds.
const THREADS: u32 = 128;
/// What k and the group are multiples of: the weights that a thread loads at once.
const STEP: i64 = 32;

/// A quantized weight as the kernels read it.
#[derive(Debug)]
pub struct Packed {
    /// 4 bits: uint8 `[n, k / 2]`, the weight of even index in the low half of a byte. 8 bits:
    /// int8 `[n, k]`.
    pub values: Tensor,
    /// bfloat16 or float16, `[n, k / group]`.
    pub scale: Tensor,
    /// As the scale, with 4 bits; none with 8: `(q − zero) · scale` and `q · scale`.
    pub zero: Option<Tensor>,
    n: i64,
    k: i64,
}

impl Packed {
    /// Packs `values [n, k]`, uint8 from 0 to 15 with a zero point and int8 without, on any device.
    /// `scale` and `zero` are `[n, groups]`, bfloat16 or float16.
    ///
    /// # Errors
    /// Unsupported, with the constraint and the value that broke it; what libtorch refuses.
    pub fn new(values: &Tensor, scale: &Tensor, zero: Option<&Tensor>) -> Result<Self, Refusal> {
        let (n, k) = values.size2()?;
        let (rows, groups) = scale.size2()?;
        let unsupported = |text: String| Err(Refusal::Unsupported(text));
        let kind = scale.f_kind()?;
        if !matches!(kind, Kind::BFloat16 | Kind::Half) {
            return unsupported(format!("{kind:?}, but the kernel takes bfloat16 and float16"));
        }
        let group = if groups > 0 && k % groups == 0 { k / groups } else { 0 };
        if rows != n || group == 0 || group % STEP != 0 {
            return unsupported(format!(
                "weight [{n}, {k}] with scales [{rows}, {groups}], but a scale must be there for \
                 each row and each of its groups, whose size is a multiple of {STEP}"
            ));
        }
        // Sizes are passed as int, and rows of blocks are at most 65535.
        let (most_n, most_k) = (65_535 * GEMM_TILE, i64::from(i32::MAX) - GEMM_TILE);
        if n > most_n || k > most_k {
            return unsupported(format!(
                "n = {n} and k = {k}, but the kernel takes up to {most_n} and {most_k}"
            ));
        }
        let values = match (values.f_kind()?, zero) {
            (Kind::Uint8, Some(zero)) if (zero.size(), zero.f_kind()?) == (scale.size(), kind) => {
                pack_nibbles(values)?
            }
            (Kind::Int8, None) if groups == 1 => values.f_contiguous()?,
            (values, zero) => {
                let zero = zero.map(|zero| (zero.f_kind(), zero.size()));
                return unsupported(format!(
                    "{values:?} weights in {groups} groups with zero points {zero:?}, but the \
                     kernel takes Uint8 with them like the scales, or Int8 rows without"
                ));
            }
        };
        let zero = zero.map(Tensor::f_contiguous).transpose()?;
        Ok(Self { values, scale: scale.f_contiguous()?, zero, n, k })
    }

    /// Rows of the weight: columns of y.
    pub fn n(&self) -> i64 {
        self.n
    }

    fn bits(&self) -> u8 {
        if self.zero.is_some() { 4 } else { 8 }
    }
}

/// `[n, k]` numbers from 0 to 15 → `[n, k / 2]` bytes, even indices in the low halves.
fn pack_nibbles(values: &Tensor) -> Result<Tensor, TchError> {
    let (n, k) = values.size2()?;
    let pairs = values.f_reshape([n, k / 2, 2])?;
    let high = pairs.f_select(2, 1)?.f_bitwise_left_shift_tensor_scalar(4)?;
    pairs.f_select(2, 0)?.f_bitwise_or_tensor(&high)?.f_contiguous()
}

/// The kernels for one width and dtype, on one device.
#[derive(Debug)]
pub struct Gemlite {
    gemv: [Function; GEMV_ROWS.len()],
    gemm: Function,
}

impl Gemlite {
    /// Compiles and loads what a weight needs, which lies on a CUDA device.
    ///
    /// # Errors
    /// Skipped where NVRTC, the driver or the device is missing.
    pub fn load(weight: &Packed) -> Result<Self, Refusal> {
        let tch::Device::Cuda(device) = weight.values.device() else {
            let device = weight.values.device();
            return Err(Refusal::Unsupported(format!("a CUDA kernel on {device:?}")));
        };
        let (bits, kind) = (weight.bits(), weight.scale.f_kind()?);
        let module = Module::load(&SOURCE, device)?;
        let gemv = |rows: i64| module.function(&gemv_name(bits, kind, rows));
        let [one, two, four, eight] = GEMV_ROWS;
        Ok(Self {
            gemv: [gemv(one)?, gemv(two)?, gemv(four)?, gemv(eight)?],
            gemm: module.function(&gemm_name(bits, kind))?,
        })
    }

    /// `out [m, n] = x [m, k] · Wᵀ`, sums in float32, `x` and `out` in the dtype of the scales and
    /// contiguous, queued on libtorch's current stream.
    ///
    /// # Errors
    /// When a tensor is not as said, and what the driver says.
    pub fn multiply(&self, x: &Tensor, weight: &Packed, out: &Tensor) -> Result<(), TchError> {
        let (m, k) = x.size2()?;
        let like = |tensor: &Tensor| -> Result<bool, TchError> {
            Ok(tensor.is_contiguous()
                && tensor.device() == weight.values.device()
                && tensor.f_kind()? == weight.scale.f_kind()?)
        };
        if k != weight.k || out.size2()? != (m, weight.n) || !like(x)? || !like(out)? {
            return Err(TchError::Shape(format!("x {x:?} and out {out:?} for {weight:?}")));
        }
        // Memory of libtorch begins at multiples of 512; only a view can begin elsewhere.
        if !(x.data_ptr() as usize).is_multiple_of(16) {
            return Err(TchError::Shape("x begins at an address that 16 does not divide".into()));
        }
        if m == 0 || weight.n == 0 {
            return Ok(());
        }
        let rows = int(m)?;
        let (function, grid) = self.choose(m, weight.n)?;
        let arguments = [
            Argument::pointer(x),
            Argument::pointer(&weight.values),
            Argument::pointer(&weight.scale),
            Argument::pointer(weight.zero.as_ref()),
            Argument::pointer(out),
            Argument::Int(rows),
            Argument::Int(int(weight.n)?),
            Argument::Int(int(k)?),
            Argument::Int(int(k / weight.scale.size2()?.1)?),
        ];
        // SAFETY: the parameters of every kernel of the source; the sizes were compared above and
        // in `Packed::new`, and the kernels touch nothing beyond them.
        unsafe { function.launch(grid, &arguments) }
    }

    fn choose(&self, m: i64, n: i64) -> Result<(Function, Grid), TchError> {
        let (kind, grid) = grid(m, n)?;
        Ok((kind.map_or(self.gemm, |index| self.gemv[index]), grid))
    }
}

/// Which of the `gemv` kernels, or none for `gemm`, and its blocks.
fn grid(m: i64, n: i64) -> Result<(Option<usize>, Grid), TchError> {
    let blocks = |size: i64, of: i64| {
        u32::try_from((size + of - 1) / of).map_err(|error| TchError::Shape(error.to_string()))
    };
    let gemv = GEMV_ROWS.iter().position(|rows| m <= *rows);
    let blocks = match gemv {
        Some(_) => (blocks(n, GEMV_COLUMNS)?, 1),
        None => (blocks(m, GEMM_TILE)?, blocks(n, GEMM_TILE)?),
    };
    Ok((gemv, Grid { blocks, threads: THREADS }))
}

/// A size as the kernels take it: the last tile may go beyond it.
fn int(size: i64) -> Result<i32, TchError> {
    match i32::try_from(size + GEMM_TILE) {
        Ok(end) => Ok(end - GEMM_TILE as i32),
        Err(_) => Err(TchError::Shape(format!("{size} is more than the kernel takes"))),
    }
}

fn gemv_name(bits: u8, kind: Kind, rows: i64) -> String {
    format!("gemlite_gemv_{bits}bit_{}_m{rows}", dtype_name(kind))
}

fn gemm_name(bits: u8, kind: Kind) -> String {
    format!("gemlite_gemm_{bits}bit_{}", dtype_name(kind))
}

fn dtype_name(kind: Kind) -> &'static str {
    if kind == Kind::Half { "f16" } else { "bf16" }
}

#[cfg(test)]
#[path = "gemlite_tests.rs"]
mod tests;

#[cfg(test)]
pub(super) use tests::all_entries as entries;
