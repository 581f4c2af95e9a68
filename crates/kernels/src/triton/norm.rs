//! LayerNorm with and without weights, of a sum, and RMSNorm (`norm.py`).

use tch::{Device, Kind, TchError, Tensor};

use super::compile::{Constant, Specification, Type};
use super::kernel::{Forms, Kernel, Launch, check_kind};
use super::operands::Operands;
use super::tile::Tile;
use super::{blocks, check_columns, constants, rows_of};
use crate::cuda::Argument;
use crate::overlap::refuse_overlap;
use crate::rows::Rows;
use native::refusal::Refusal;

/// What is added to the variance, and to the mean square.
const EPSILON: f64 = plan::Operator::EPSILON;

/// LayerNorm over the last dimension, `(x - mean)/√(var + 1e-5)·weight + bias` with the variance of
/// the row itself (biased), float32 inside, rounded once. A row with NaN or an infinite element is
/// NaN.
#[derive(Debug)]
pub struct LayerNorm {
    form: NormForm,
    kernel: Kernel,
}

impl LayerNorm {
    /// Compiles and loads the kernel for weights `[dim]`, whose dtype and device are those of all.
    ///
    /// # Errors
    /// Unsupported off CUDA, on a GPU before compute capability 8.0, and for a dtype other than
    /// float32, bfloat16 and float16; skipped without a driver, or a Python with Triton; failed for
    /// weights that are not contiguous `[dim]` of one dtype and device, and where the kernel does
    /// not compile or load.
    pub fn new(weight: &Tensor, bias: &Tensor) -> Result<Self, Refusal> {
        Self::build(NormForm::affine("layer_norm", weight, Some(bias))?)
    }

    /// Without weights: `(x - mean)/√(var + 1e-5)`.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn without_affine(dim: i64, kind: Kind, device: Device) -> Result<Self, Refusal> {
        Self::build(NormForm::plain(dim, Operands { kind, device })?)
    }

    fn build(form: NormForm) -> Result<Self, Refusal> {
        Ok(Self { kernel: form.kernel()?, form })
    }

    /// Queues it on libtorch's current stream: `x` `[…, dim]`, its rows of unit stride and equally
    /// far apart; `out` contiguous and of the same size.
    ///
    /// # Errors
    /// When a tensor is not as said or `out` shares memory with what is read, and what the driver
    /// says.
    pub fn run(&self, x: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
        // SAFETY: the launch stays inside x, the weights and out, as the form has checked.
        unsafe { self.kernel.launch(&self.form.launch(&[x], out)?) }
    }

    /// What a record calls the kernel.
    pub fn kernels(&self) -> &'static [&'static str] {
        match self.form.weight {
            Some(_) => &["criterion_torch::layer_norm_triton"],
            None => &["criterion_torch::layer_norm_no_affine_triton"],
        }
    }
}

/// `LayerNorm(x + residual)`, as [`LayerNorm`]; the sum is not rounded.
#[derive(Debug)]
pub struct AddLayerNorm {
    form: NormForm,
    kernel: Kernel,
}

impl AddLayerNorm {
    /// As [`LayerNorm::new`].
    ///
    /// # Errors
    /// As there.
    pub fn new(weight: &Tensor, bias: &Tensor) -> Result<Self, Refusal> {
        let form = NormForm::affine("add_layer_norm", weight, Some(bias))?;
        Ok(Self { kernel: form.kernel()?, form })
    }

    /// As [`LayerNorm::run`], `residual` like `x`, with a stride of its own.
    ///
    /// # Errors
    /// As there.
    pub fn run(&self, x: &Tensor, residual: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
        // SAFETY: the launch stays inside the operands, as the form has checked.
        unsafe { self.kernel.launch(&self.form.launch(&[x, residual], out)?) }
    }

    /// What a record calls the kernel.
    pub fn kernels(&self) -> &'static [&'static str] {
        &["criterion_torch::add_layer_norm_triton"]
    }
}

/// RMSNorm over the last dimension, `x/√(mean(x²) + 1e-5)·weight`, float32 inside, rounded once.
#[derive(Debug)]
pub struct RmsNorm {
    form: NormForm,
    kernel: Kernel,
}

impl RmsNorm {
    /// As [`LayerNorm::new`], without a bias.
    ///
    /// # Errors
    /// As there.
    pub fn new(weight: &Tensor) -> Result<Self, Refusal> {
        let form = NormForm::affine("rms_norm", weight, None)?;
        Ok(Self { kernel: form.kernel()?, form })
    }

    /// As [`LayerNorm::run`].
    ///
    /// # Errors
    /// As there.
    pub fn run(&self, x: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
        // SAFETY: the launch stays inside x, the weight and out, as the form has checked.
        unsafe { self.kernel.launch(&self.form.launch(&[x], out)?) }
    }

    /// What a record calls the kernel.
    pub fn kernels(&self) -> &'static [&'static str] {
        &["criterion_torch::rms_norm_triton"]
    }
}

/// A normalization without its device.
#[derive(Debug)]
pub(super) struct NormForm {
    kernel: &'static str,
    weight: Option<Tensor>,
    bias: Option<Tensor>,
    columns: i64,
    operands: Operands,
    tile: Tile,
}

impl NormForm {
    pub fn affine(
        kernel: &'static str,
        weight: &Tensor,
        bias: Option<&Tensor>,
    ) -> Result<Self, Refusal> {
        let form = Self::of(kernel, weight.size1()?, Operands::of(weight)?)?;
        form.operands.check_vector("weight", weight, form.columns)?;
        if let Some(bias) = bias {
            form.operands.check_vector("bias", bias, form.columns)?;
        }
        let weight = Some(weight.shallow_clone());
        Ok(Self { weight, bias: bias.map(Tensor::shallow_clone), ..form })
    }

    pub fn plain(columns: i64, operands: Operands) -> Result<Self, Refusal> {
        Self::of("layer_norm_no_affine", columns, operands)
    }

    fn of(kernel: &'static str, columns: i64, operands: Operands) -> Result<Self, Refusal> {
        check_kind(operands.kind)?;
        check_columns(columns)?;
        let tile = Tile::of_rows(columns);
        Ok(Self { kernel, weight: None, bias: None, columns, operands, tile })
    }

    fn kernel(&self) -> Result<Kernel, Refusal> {
        Kernel::new(&self.specification(), Forms::of(self.columns), self.operands.device)
    }

    fn has_residual(&self) -> bool {
        self.kernel == "add_layer_norm"
    }

    fn vectors(&self) -> impl Iterator<Item = &Tensor> {
        self.weight.iter().chain(&self.bias)
    }

    pub fn specification(&self) -> Specification {
        let residual = self.has_residual();
        let pointers = [
            (true, "x"),
            (residual, "residual"),
            (self.weight.is_some(), "weight"),
            (self.bias.is_some(), "bias"),
            (true, "out"),
        ];
        let sizes = [(true, "rows"), (true, "stride"), (residual, "residual_stride")];
        let there = |(is_there, name): (bool, &'static str)| is_there.then_some(name);
        let pointers: Vec<_> = pointers.into_iter().filter_map(there).collect();
        let sizes: Vec<_> = sizes.into_iter().filter_map(there).collect();
        let pointer = |name: &&'static str| (*name, Type::Pointer(self.operands.kind));
        let long = |name: &&'static str| (*name, Type::Long);
        let mut constants = constants(self.columns, self.tile);
        constants.push(("EPSILON", Constant::Real(EPSILON)));
        Specification {
            file: "norm.py",
            kernel: self.kernel,
            parameters: pointers.iter().map(pointer).chain(sizes.iter().map(long)).collect(),
            aligned: pointers.iter().chain(&sizes[1..]).copied().collect(),
            constants,
            warps: self.tile.warps,
        }
    }

    /// `inputs` are x, and what is added to it.
    pub fn launch(&self, inputs: &[&Tensor], out: &mut Tensor) -> Result<Launch, TchError> {
        self.operands.check(inputs, out)?;
        refuse_overlap(out, self.vectors())?;
        let rows = inputs.iter().map(|input| rows_of(input, self.columns));
        let rows = rows.collect::<Result<Vec<Rows>, _>>()?;
        let count = rows.first().map_or(0, |it| it.count);
        let pointers = inputs.iter().copied().chain(self.vectors()).chain([&*out]);
        let sizes = [count].into_iter().chain(rows.iter().map(|it| it.stride));
        Ok(Launch {
            programs: blocks(count, self.tile.rows)?.into(),
            arguments: pointers.map(Argument::pointer).chain(sizes.map(Argument::Long)).collect(),
        })
    }
}
