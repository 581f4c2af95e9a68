//! GELU, SiLU and GELU of x + b (`activation.py`).

use tch::{Device, Kind, TchError, Tensor};

use super::compile::{Specification, Type};
use super::kernel::{Forms, Kernel, Launch, check_kind};
use super::operands::Operands;
use super::tile::Tile;
use super::{blocks, check_columns, constants, flat, rows_of};
use crate::cuda::Argument;
use crate::overlap::refuse_overlap;
use crate::rows::Rows;
use native::refusal::Refusal;

const FILE: &str = "activation.py";

/// A function of one element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Formula {
    /// x·Φ(x), Φ by erf.
    Gelu,
    /// ½x(1 + tanh(√(2/π)(x + 0.044715x³))).
    GeluTanh,
    /// x·σ(x).
    Silu,
}

impl Formula {
    fn kernel(self) -> &'static str {
        match self {
            Self::Gelu => "gelu",
            Self::GeluTanh => "gelu_tanh",
            Self::Silu => "silu",
        }
    }

    /// What a record calls it.
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Gelu => &["criterion_torch::gelu_triton"],
            Self::GeluTanh => &["criterion_torch::gelu_tanh_triton"],
            Self::Silu => &["criterion_torch::silu_triton"],
        }
    }
}

/// `out = f(x)`, element by element, float32 inside, rounded once. NaN gives NaN, +inf gives +inf,
/// and -inf gives NaN, as in ATen.
#[derive(Debug)]
pub struct Activation {
    form: ActivationForm,
    kernel: Kernel,
}

impl Activation {
    /// Compiles and loads the kernel for tensors of any size.
    ///
    /// # Errors
    /// Unsupported off CUDA, on a GPU before compute capability 8.0, and for a dtype other than
    /// float32, bfloat16 and float16; skipped without a driver, or a Python with Triton; failed
    /// where the kernel does not compile or load.
    pub fn new(formula: Formula, kind: Kind, device: Device) -> Result<Self, Refusal> {
        let form = ActivationForm::new(formula, Operands { kind, device })?;
        let kernel = Kernel::new(&form.specification(), Forms::Both, device)?;
        Ok(Self { form, kernel })
    }

    /// Queues it on libtorch's current stream: `x` of any size, its rows of unit stride and equally
    /// far apart; `out` contiguous and of the same size; both of the dtype and device of the kernel.
    ///
    /// # Errors
    /// When a tensor is not as said or they share memory, and what the driver says.
    pub fn run(&self, x: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
        // SAFETY: the launch stays inside x and out, as the form has checked.
        unsafe { self.kernel.launch(&self.form.launch(x, out)?) }
    }

    /// What a record calls the kernel.
    pub fn kernels(&self) -> &'static [&'static str] {
        self.form.formula.names()
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct ActivationForm {
    formula: Formula,
    operands: Operands,
}

impl ActivationForm {
    pub fn new(formula: Formula, operands: Operands) -> Result<Self, Refusal> {
        check_kind(operands.kind)?;
        Ok(Self { formula, operands })
    }

    pub fn specification(&self) -> Specification {
        let pointer = Type::Pointer(self.operands.kind);
        Specification {
            file: FILE,
            kernel: self.formula.kernel(),
            parameters: vec![
                ("x", pointer),
                ("out", pointer),
                ("columns", Type::Long),
                ("stride", Type::Long),
                ("blocks", Type::Int),
            ],
            aligned: vec!["x", "out", "columns", "stride"],
            constants: Tile::FLAT.constants()[1..].to_vec(),
            warps: Tile::FLAT.warps,
        }
    }

    pub fn launch(&self, x: &Tensor, out: &mut Tensor) -> Result<Launch, TchError> {
        self.operands.check(&[x], out)?;
        let Rows { count: rows, dim: columns, stride } = flat(Rows::of("x", x)?);
        let blocks = blocks(columns, Tile::FLAT.block)?;
        Ok(Launch {
            programs: rows * i64::from(blocks),
            arguments: vec![
                Argument::pointer(x),
                Argument::pointer(&*out),
                Argument::Long(columns),
                Argument::Long(stride),
                Argument::Int(blocks),
            ],
        })
    }
}

/// `out = gelu(x + bias)`, GELU by erf, the bias along the last dimension, float32 inside, rounded
/// once.
#[derive(Debug)]
pub struct BiasGelu {
    form: BiasGeluForm,
    kernel: Kernel,
}

impl BiasGelu {
    /// Compiles and loads the kernel for a bias `[dim]`, whose dtype and device are those of all.
    ///
    /// # Errors
    /// As for [`Activation::new`]; failed for a bias that is not contiguous `[dim]`.
    pub fn new(bias: &Tensor) -> Result<Self, Refusal> {
        let form = BiasGeluForm::new(bias)?;
        let kernel =
            Kernel::new(&form.specification(), Forms::of(form.columns), form.operands.device)?;
        Ok(Self { form, kernel })
    }

    /// Queues it on libtorch's current stream: `x` `[…, dim]`, its rows of unit stride and equally
    /// far apart; `out` contiguous and of the same size.
    ///
    /// # Errors
    /// When a tensor is not as said or `out` shares memory with what is read, and what the driver
    /// says.
    pub fn run(&self, x: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
        // SAFETY: the launch stays inside x, the bias and out, as the form has checked.
        unsafe { self.kernel.launch(&self.form.launch(x, out)?) }
    }

    /// What a record calls the kernel.
    pub fn kernels(&self) -> &'static [&'static str] {
        &["criterion_torch::bias_gelu_triton"]
    }
}

#[derive(Debug)]
pub(super) struct BiasGeluForm {
    bias: Tensor,
    columns: i64,
    operands: Operands,
    tile: Tile,
}

impl BiasGeluForm {
    pub fn new(bias: &Tensor) -> Result<Self, Refusal> {
        let (operands, columns) = (Operands::of(bias)?, bias.size1()?);
        check_kind(operands.kind)?;
        check_columns(columns)?;
        operands.check_vector("bias", bias, columns)?;
        let tile = Tile::of_columns(columns);
        Ok(Self { bias: bias.shallow_clone(), columns, operands, tile })
    }

    pub fn specification(&self) -> Specification {
        let pointer = Type::Pointer(self.operands.kind);
        Specification {
            file: FILE,
            kernel: "bias_gelu",
            parameters: vec![
                ("x", pointer),
                ("bias", pointer),
                ("out", pointer),
                ("rows", Type::Long),
                ("stride", Type::Long),
            ],
            aligned: vec!["x", "bias", "out", "stride"],
            constants: constants(self.columns, self.tile),
            warps: self.tile.warps,
        }
    }

    pub fn launch(&self, x: &Tensor, out: &mut Tensor) -> Result<Launch, TchError> {
        self.operands.check(&[x], out)?;
        refuse_overlap(out, [&self.bias])?;
        let Rows { count: rows, stride, .. } = rows_of(x, self.columns)?;
        let tiles = i64::from(blocks(rows, self.tile.rows)?);
        Ok(Launch {
            programs: tiles * i64::from(blocks(self.columns, self.tile.block)?),
            arguments: vec![
                Argument::pointer(x),
                Argument::pointer(&self.bias),
                Argument::pointer(&*out),
                Argument::Long(rows),
                Argument::Long(stride),
            ],
        })
    }
}
