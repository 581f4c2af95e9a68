//! The mean squared error, and the second half of every mean (`loss.py`).

use tch::{Device, Kind, TchError, Tensor};

use super::compile::{Constant, Specification, Type};
use super::kernel::{Forms, Kernel, Launch, check_kind};
use super::operands::Operands;
use super::tile::Tile;
use super::{blocks, flat};
use crate::cuda::Argument;
use crate::rows::Rows;
use native::refusal::Refusal;

const FILE: &str = "loss.py";

/// The most programs that add up parts of a mean: enough for every multiprocessor to hold as many
/// as it can, few enough for one program to add up what they found.
pub(super) const PARTS: i64 = 2048;

/// `out = mean((x - target)²)`, float32 inside, rounded once, the same additions in the same order
/// each time.
#[derive(Debug)]
pub struct MseLoss {
    form: MseLossForm,
    parts: Kernel,
    mean: Kernel,
}

impl MseLoss {
    /// Compiles and loads the kernels for tensors of any size, and allocates 8 KiB between them.
    ///
    /// # Errors
    /// Unsupported off CUDA, on a GPU before compute capability 8.0, and for a dtype other than
    /// float32, bfloat16 and float16; skipped without a driver, or a Python with Triton; failed
    /// where a kernel does not compile or load.
    pub fn new(kind: Kind, device: Device) -> Result<Self, Refusal> {
        let form = MseLossForm::new(Operands { kind, device })?;
        let parts = Kernel::new(&form.specification(), Forms::Both, device)?;
        let mean = form.mean.kernel()?;
        Ok(Self { form, parts, mean })
    }

    /// Queues it on libtorch's current stream, on one stream at a time: `x` and `target` of one
    /// size, their rows of unit stride and equally far apart; `out` one element; all of the dtype
    /// and device of the kernels.
    ///
    /// # Errors
    /// When a tensor is not as said, without elements, when `out` shares memory with an operand,
    /// and what the driver says.
    pub fn run(&self, x: &Tensor, target: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
        let [parts, mean] = self.form.launches(x, target, out)?;
        // SAFETY: the launch stays inside x, target and the workspace, as the form has checked.
        unsafe { self.parts.launch(&parts) }?;
        // SAFETY: the launch stays inside the workspace and out.
        unsafe { self.mean.launch(&mean) }
    }

    /// What a record calls the kernels.
    pub fn kernels(&self) -> &'static [&'static str] {
        &["criterion_torch::squared_error_triton", "criterion_torch::mean_triton"]
    }
}

#[derive(Debug)]
pub(super) struct MseLossForm {
    operands: Operands,
    pub mean: Mean,
}

impl MseLossForm {
    pub fn new(operands: Operands) -> Result<Self, Refusal> {
        check_kind(operands.kind)?;
        Ok(Self { operands, mean: Mean::new(operands)? })
    }

    pub fn specification(&self) -> Specification {
        let pointer = Type::Pointer(self.operands.kind);
        Specification {
            file: FILE,
            kernel: "squared_error",
            parameters: vec![
                ("x", pointer),
                ("target", pointer),
                ("sums", Type::Pointer(Kind::Float)),
                ("columns", Type::Long),
                ("stride", Type::Long),
                ("target_stride", Type::Long),
                ("blocks", Type::Int),
                ("tiles", Type::Int),
            ],
            aligned: vec!["x", "target", "columns", "stride", "target_stride"],
            constants: Tile::FLAT.constants()[1..].to_vec(),
            warps: Tile::FLAT.warps,
        }
    }

    pub fn launches(
        &self,
        x: &Tensor,
        target: &Tensor,
        out: &mut Tensor,
    ) -> Result<[Launch; 2], TchError> {
        self.operands.check_inputs(&[x, target])?;
        self.operands.check_scalar(&[x, target], out)?;
        let (mut of_x, mut of_target) = (Rows::of("x", x)?, Rows::of("target", target)?);
        if flat(of_x).count == flat(of_target).count {
            (of_x, of_target) = (flat(of_x), flat(of_target));
        }
        let Rows { count: rows, dim: columns, stride } = of_x;
        let blocks_of_row = blocks(columns, Tile::FLAT.block)?;
        let tiles = blocks(rows * i64::from(blocks_of_row), 1)?;
        let programs = i64::from(tiles).min(PARTS);
        let arguments = vec![
            Argument::pointer(x),
            Argument::pointer(target),
            Argument::pointer(self.mean.sums()),
            Argument::Long(columns),
            Argument::Long(stride),
            Argument::Long(of_target.stride),
            Argument::Int(blocks_of_row),
            Argument::Int(tiles),
        ];
        Ok([Launch { programs, arguments }, self.mean.launch(programs, x.numel() as i64, out)?])
    }
}

/// From the sums of parts to a mean.
#[derive(Debug)]
pub(super) struct Mean {
    /// float32 `[PARTS]`.
    sums: Tensor,
    operands: Operands,
}

impl Mean {
    pub fn new(operands: Operands) -> Result<Self, Refusal> {
        let sums = Tensor::f_zeros([PARTS], (Kind::Float, operands.device))?;
        Ok(Self { sums, operands })
    }

    /// Where the sums of parts go.
    pub fn sums(&self) -> &Tensor {
        &self.sums
    }

    pub fn specification(&self) -> Specification {
        Specification {
            file: FILE,
            kernel: "mean",
            parameters: vec![
                ("sums", Type::Pointer(Kind::Float)),
                ("out", Type::Pointer(self.operands.kind)),
                ("parts", Type::Int),
                ("count", Type::Long),
            ],
            aligned: vec!["sums"],
            constants: vec![("BLOCK", Constant::Integer(PARTS))],
            warps: 8,
        }
    }

    pub fn kernel(&self) -> Result<Kernel, Refusal> {
        Kernel::new(&self.specification(), Forms::General, self.operands.device)
    }

    /// Of `parts` sums, over `count` terms.
    pub fn launch(&self, parts: i64, count: i64, out: &mut Tensor) -> Result<Launch, TchError> {
        if count == 0 {
            return Err(TchError::Shape("the mean of no elements".to_owned()));
        }
        Ok(Launch {
            programs: 1,
            arguments: vec![
                Argument::pointer(&self.sums),
                Argument::pointer(&*out),
                Argument::Int(blocks(parts, 1)?),
                Argument::Long(count),
            ],
        })
    }
}
