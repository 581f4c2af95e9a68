//! Softmax, and the mean cross entropy of logits (`softmax.py`).

use tch::{Device, Kind, TchError, Tensor};

use super::compile::{Specification, Type};
use super::kernel::{Forms, Kernel, Launch, check_kind};
use super::loss::{Mean, PARTS};
use super::operands::Operands;
use super::tile::Tile;
use super::{blocks, check_columns, constants, rows_of};
use crate::cuda::Argument;
use crate::overlap::refuse_overlap;
use crate::rows::Rows;
use native::refusal::Refusal;

const FILE: &str = "softmax.py";

/// Softmax over the last dimension, float32 inside, rounded once. Entries of -inf are 0; a row with
/// NaN or +inf, or with nothing but -inf, is NaN.
#[derive(Debug)]
pub struct Softmax {
    form: SoftmaxForm,
    kernel: Kernel,
}

impl Softmax {
    /// Compiles and loads the kernel for rows of `dim` elements.
    ///
    /// # Errors
    /// Unsupported off CUDA, on a GPU before compute capability 8.0, and for a dtype other than
    /// float32, bfloat16 and float16; skipped without a driver, or a Python with Triton; failed
    /// where the kernel does not compile or load.
    pub fn new(dim: i64, kind: Kind, device: Device) -> Result<Self, Refusal> {
        let form = SoftmaxForm::new(dim, Operands { kind, device })?;
        let kernel = Kernel::new(&form.specification(), Forms::of(dim), device)?;
        Ok(Self { form, kernel })
    }

    /// Queues it on libtorch's current stream: `x` `[…, dim]`, its rows of unit stride and equally
    /// far apart; `out` contiguous and of the same size.
    ///
    /// # Errors
    /// When a tensor is not as said or they share memory, and what the driver says.
    pub fn run(&self, x: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
        // SAFETY: the launch stays inside x and out, as the form has checked.
        unsafe { self.kernel.launch(&self.form.launch(x, out)?) }
    }

    /// What a record calls the kernel.
    pub fn kernels(&self) -> &'static [&'static str] {
        &["criterion_torch::softmax_triton"]
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct SoftmaxForm {
    columns: i64,
    operands: Operands,
    tile: Tile,
}

impl SoftmaxForm {
    pub fn new(columns: i64, operands: Operands) -> Result<Self, Refusal> {
        check_kind(operands.kind)?;
        check_columns(columns)?;
        Ok(Self { columns, operands, tile: Tile::of_rows(columns) })
    }

    pub fn specification(&self) -> Specification {
        let pointer = Type::Pointer(self.operands.kind);
        Specification {
            file: FILE,
            kernel: "softmax",
            parameters: vec![
                ("x", pointer),
                ("out", pointer),
                ("rows", Type::Long),
                ("stride", Type::Long),
            ],
            aligned: vec!["x", "out", "stride"],
            constants: constants(self.columns, self.tile),
            warps: self.tile.warps,
        }
    }

    pub fn launch(&self, x: &Tensor, out: &mut Tensor) -> Result<Launch, TchError> {
        self.operands.check(&[x], out)?;
        let Rows { count: rows, stride, .. } = rows_of(x, self.columns)?;
        Ok(Launch {
            programs: blocks(rows, self.tile.rows)?.into(),
            arguments: vec![
                Argument::pointer(x),
                Argument::pointer(&*out),
                Argument::Long(rows),
                Argument::Long(stride),
            ],
        })
    }
}

/// `out = mean over rows of logsumexp(row) - row[target]`, float32 inside, rounded once, the same
/// additions in the same order each time. A target outside `[0, dim)` makes it NaN: none is
/// ignored. NaN or +inf among the logits makes it NaN.
#[derive(Debug)]
pub struct CrossEntropy {
    form: CrossEntropyForm,
    parts: Kernel,
    mean: Kernel,
}

impl CrossEntropy {
    /// Compiles and loads the kernels for rows of `dim` logits, and allocates 8 KiB between them.
    ///
    /// # Errors
    /// As for [`Softmax::new`].
    pub fn new(dim: i64, kind: Kind, device: Device) -> Result<Self, Refusal> {
        let form = CrossEntropyForm::new(dim, Operands { kind, device })?;
        let parts = Kernel::new(&form.specification(), Forms::of(dim), device)?;
        let mean = form.mean.kernel()?;
        Ok(Self { form, parts, mean })
    }

    /// Queues it on libtorch's current stream, on one stream at a time: `x` `[…, dim]`, its rows of
    /// unit stride and equally far apart; `target` int64, contiguous, one for each row; `out` one
    /// element of `x`'s dtype.
    ///
    /// # Errors
    /// When a tensor is not as said, without rows, when `out` shares memory with an operand, and
    /// what the driver says.
    pub fn run(&self, x: &Tensor, target: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
        let [parts, mean] = self.form.launches(x, target, out)?;
        // SAFETY: the launch stays inside x, the targets and the workspace, as the form has checked;
        // which column a target chooses, the kernel checks.
        unsafe { self.parts.launch(&parts) }?;
        // SAFETY: the launch stays inside the workspace and out.
        unsafe { self.mean.launch(&mean) }
    }

    /// What a record calls the kernels.
    pub fn kernels(&self) -> &'static [&'static str] {
        &["criterion_torch::cross_entropy_triton", "criterion_torch::mean_triton"]
    }
}

#[derive(Debug)]
pub(super) struct CrossEntropyForm {
    columns: i64,
    operands: Operands,
    tile: Tile,
    pub mean: Mean,
}

impl CrossEntropyForm {
    pub fn new(columns: i64, operands: Operands) -> Result<Self, Refusal> {
        let SoftmaxForm { tile, .. } = SoftmaxForm::new(columns, operands)?;
        Ok(Self { columns, operands, tile, mean: Mean::new(operands)? })
    }

    pub fn specification(&self) -> Specification {
        Specification {
            file: FILE,
            kernel: "cross_entropy",
            parameters: vec![
                ("x", Type::Pointer(self.operands.kind)),
                ("targets", Type::Pointer(Kind::Int64)),
                ("sums", Type::Pointer(Kind::Float)),
                ("rows", Type::Long),
                ("stride", Type::Long),
                ("tiles", Type::Int),
            ],
            aligned: vec!["x", "stride"],
            constants: constants(self.columns, self.tile),
            warps: self.tile.warps,
        }
    }

    pub fn launches(
        &self,
        x: &Tensor,
        target: &Tensor,
        out: &mut Tensor,
    ) -> Result<[Launch; 2], TchError> {
        self.operands.check_inputs(&[x])?;
        self.operands.check_scalar(&[x], out)?;
        refuse_overlap(out, [target])?;
        let Rows { count: rows, stride, .. } = rows_of(x, self.columns)?;
        let targets = Operands { kind: Kind::Int64, device: self.operands.device };
        if Operands::of(target)? != targets
            || target.numel() as i64 != rows
            || !target.is_contiguous()
        {
            return Err(TchError::Shape(format!(
                "the target is {target:?}, but has to be {rows} contiguous elements of {targets:?}"
            )));
        }
        let tiles = blocks(rows, self.tile.rows)?;
        let programs = i64::from(tiles).min(PARTS);
        let arguments = vec![
            Argument::pointer(x),
            Argument::pointer(target),
            Argument::pointer(self.mean.sums()),
            Argument::Long(rows),
            Argument::Long(stride),
            Argument::Int(tiles),
        ];
        Ok([Launch { programs, arguments }, self.mean.launch(programs, rows, out)?])
    }
}
