//! The operators: a description of each kernel, by which it is compiled and launched.

use plan::Operator;
use tch::{Device, Kind, TchError, Tensor};

use super::compile::{Constant, Specification, Type};
use super::kernel::{Forms, Kernel, Launch};
use super::tile::Tile;
use crate::cuda::Argument;
use crate::operands::{Operands, TensorOptions};
use crate::rows::Rows;
use native::refusal::Refusal;

/// The most programs that add up parts of a mean: enough for every multiprocessor to hold as many
/// as it can, few enough for one program to add up what they found.
const PARTS: i64 = 2048;

/// A kernel numbers columns, blocks and tiles in 32 bits, also those a step beyond the end.
const MOST: i64 = 1 << 30;

/// The file of a kernel, its name and its parameters there.
type Described = (&'static str, &'static str, &'static [&'static str]);

/// The second kernel of a loss.
const MEAN: Described = ("loss.py", "mean", &["sums", "out", "parts", "count"]);

/// None of an operator that has no kernel here.
fn described(operator: Operator) -> Option<Described> {
    let name = operator.as_str();
    Some(match operator {
        Operator::Gelu | Operator::GeluTanh | Operator::Silu => {
            ("activation.py", name, &["x", "out", "columns", "stride", "blocks"])
        }
        Operator::BiasGelu => ("activation.py", name, &["x", "bias", "out", "rows", "stride"]),
        Operator::LayerNorm => ("norm.py", name, &["x", "weight", "bias", "out", "rows", "stride"]),
        Operator::LayerNormNoAffine => ("norm.py", name, &["x", "out", "rows", "stride"]),
        Operator::RmsNorm => ("norm.py", name, &["x", "weight", "out", "rows", "stride"]),
        Operator::AddLayerNorm => (
            "norm.py",
            name,
            &["x", "residual", "weight", "bias", "out", "rows", "stride", "residual_stride"],
        ),
        Operator::Softmax => ("softmax.py", name, &["x", "out", "rows", "stride"]),
        Operator::CrossEntropy => {
            ("softmax.py", name, &["x", "targets", "sums", "rows", "stride", "tiles"])
        }
        Operator::MseLoss => (
            "loss.py",
            "squared_error",
            &["x", "target", "sums", "columns", "stride", "target_stride", "blocks", "tiles"],
        ),
    })
}

/// An operator's kernels on a device, for one dtype and, unless every element is by itself, for rows
/// of one length.
#[derive(Debug)]
pub struct OperatorKernels {
    form: LaunchPlan,
    kernels: Vec<Kernel>,
}

impl OperatorKernels {
    /// Compiles and loads the kernels for float32, bfloat16 or float16 and rows of `dim` elements; of
    /// a loss, also allocates 8 KiB between them.
    ///
    /// # Errors
    /// Unsupported off CUDA, on a GPU before compute capability 8.0, for another dtype, and for rows
    /// that are too long; skipped without a driver, or a Python with Triton; failed where a kernel
    /// does not compile or load.
    pub fn load(operator: Operator, dim: i64, kind: Kind, device: Device) -> Result<Self, Refusal> {
        let form = LaunchPlan::new(operator, dim, TensorOptions::new(kind, device)?)?;
        let kernels = form
            .specifications()
            .into_iter()
            .map(|(specification, forms)| Kernel::new(&specification, forms, device));
        Ok(Self { kernels: kernels.collect::<Result<_, _>>()?, form })
    }

    /// Queues the operator on libtorch's current stream, a loss on one stream at a time. `out` is
    /// contiguous. Arithmetic is float32, rounded once, and of a loss the same additions in the same
    /// order each time.
    ///
    /// | operator | what is NaN |
    /// |---|---|
    /// | activations | f(−∞), as in ATen |
    /// | normalizations | a row with NaN or an infinite element |
    /// | softmax | a row with NaN or +∞, or of −∞ alone; entries of −∞ beside others are 0 |
    /// | cross_entropy | the mean, where a logit is NaN or +∞ or a target outside 0..dim; none is ignored |
    ///
    /// # Errors
    /// When a tensor is not as said and as [`Operands`] says, the mean of no elements, and what the
    /// driver says.
    pub fn run(&self, operands: &Operands, out: &mut Tensor) -> Result<(), TchError> {
        let launches = self.form.launches(operands, out)?;
        for (kernel, launch) in self.kernels.iter().zip(&launches) {
            // SAFETY: the launch stays inside the operands, the workspace and out, as the form has
            // checked; which column a target chooses, the kernel checks.
            unsafe { kernel.launch(launch) }?;
        }
        Ok(())
    }

    /// The names of the kernels in records.
    pub fn kernels(&self) -> Vec<String> {
        let specifications = self.form.specifications();
        let name = |it: &Specification| format!("criterion_torch::{}_triton", it.kernel);
        specifications.iter().map(|(it, _)| name(it)).collect()
    }
}

/// An operator without its device.
#[derive(Debug)]
pub(super) struct LaunchPlan {
    operator: Operator,
    described: Described,
    options: TensorOptions,
    columns: i64,
    tile: Tile,
    /// float32, what the programs of a loss found; empty for others.
    pub sums: Tensor,
}

impl LaunchPlan {
    pub fn new(operator: Operator, columns: i64, options: TensorOptions) -> Result<Self, Refusal> {
        let Some(described) = described(operator) else {
            let text = format!("operator `{operator}` has no kernel in Triton");
            return Err(Refusal::Unsupported(text));
        };
        if !is_flat(described) && !(1..=MOST).contains(&columns) {
            return Err(Refusal::Unsupported(format!(
                "rows of {columns} elements, but the kernel takes 1 to {MOST}"
            )));
        }
        let tile = match operator {
            _ if is_flat(described) => Tile::FLAT,
            Operator::BiasGelu => Tile::of_columns(columns),
            _ => Tile::of_rows(columns),
        };
        let parts = if operator.is_loss() { PARTS } else { 0 };
        let sums = Tensor::f_zeros([parts], (Kind::Float, options.device))?;
        Ok(Self { operator, described, options, columns, tile, sums })
    }

    /// The kernels to compile, each with its forms.
    pub fn specifications(&self) -> Vec<(Specification, Forms)> {
        let Self { operator, described, columns, tile, .. } = *self;
        let forms = if is_flat(described) { Forms::Both } else { Forms::for_columns(columns) };
        let mut constants = tile.constants().to_vec();
        if is_flat(described) {
            constants.remove(0);
        } else {
            constants.insert(0, ("COLUMNS", Constant::Integer(columns)));
        }
        let (file, ..) = described;
        if file == "norm.py" {
            constants.push(("EPSILON", Constant::Real(Operator::EPSILON)));
        }
        let first = self.specification(described, constants, tile.warps);
        let mut all = vec![(first, forms)];
        if operator.is_loss() {
            let constants = vec![("BLOCK", Constant::Integer(PARTS))];
            all.push((self.specification(MEAN, constants, 8), Forms::General));
        }
        all
    }

    fn specification(
        &self,
        (file, kernel, names): Described,
        constants: Vec<(&'static str, Constant)>,
        warps: u32,
    ) -> Specification {
        let typed = |name: &&'static str| {
            let it = match *name {
                "blocks" | "tiles" | "parts" => Type::Int,
                "rows" | "columns" | "stride" | "residual_stride" | "target_stride" | "count" => {
                    Type::Long
                }
                "targets" => Type::Pointer(Kind::Int64),
                "sums" => Type::Pointer(Kind::Float),
                _ => Type::Pointer(self.options.kind),
            };
            (*name, it)
        };
        let is_aligned = |(name, it): &(&str, Type)| match it {
            Type::Pointer(_) => !matches!(*name, "sums" | "targets"),
            Type::Long => !matches!(*name, "rows" | "count"),
            Type::Int => false,
        };
        let parameters: Vec<_> = names.iter().map(typed).collect();
        let aligned = parameters.iter().filter(|it| is_aligned(it)).map(|(name, _)| *name);
        let aligned = aligned.collect();
        Specification { file, kernel, parameters, aligned, constants, warps, stages: None }
    }

    /// A launch of each kernel.
    pub fn launches(&self, operands: &Operands, out: &Tensor) -> Result<Vec<Launch>, TchError> {
        let rows = operands.check(self.operator, self.options, out)?;
        if !out.is_contiguous() {
            let strides = out.stride();
            return Err(TchError::Shape(format!(
                "out is {out:?} with strides {strides:?}, but has to be contiguous"
            )));
        }
        let (mut x, mut other) = (rows.x, rows.other);
        if is_flat(self.described) {
            if other.is_none_or(|other| flat(x).count == flat(other).count) {
                (x, other) = (flat(x), other.map(flat));
            }
        } else if x.dim != self.columns {
            let (x, columns) = (operands.x, self.columns);
            return Err(TchError::Shape(format!(
                "{x:?}, but the kernel was compiled for rows of {columns}"
            )));
        }
        let blocks = blocks(x.dim, self.tile.block)?;
        let is_cut = is_flat(self.described) || self.operator == Operator::BiasGelu;
        let tiles_of_rows = x.count / self.tile.rows + i64::from(x.count % self.tile.rows != 0);
        let tiles = tiles_of_rows.saturating_mul(if is_cut { blocks.into() } else { 1 });
        let tiles = self::blocks(tiles, 1)?;
        let is_loss = self.operator.is_loss();
        let programs = if is_loss { PARTS.min(tiles.into()) } else { tiles.into() };
        let is_mse = self.operator == Operator::MseLoss;
        let count = if is_mse { x.values() } else { x.count };
        if is_loss && count == 0 {
            return Err(TchError::Shape("the mean of no elements".to_owned()));
        }
        let argument = |name: &&str| match *name {
            "x" => Argument::pointer(operands.x),
            "residual" | "target" | "targets" => Argument::pointer(operands.other),
            "weight" => Argument::pointer(operands.weight),
            "bias" => Argument::pointer(operands.bias),
            "out" => Argument::pointer(out),
            "sums" => Argument::pointer(&self.sums),
            "rows" => Argument::Long(x.count),
            "columns" => Argument::Long(x.dim),
            "stride" => Argument::Long(x.stride),
            "residual_stride" | "target_stride" => {
                Argument::Long(other.map_or(0, |other| other.stride))
            }
            "blocks" => Argument::Int(blocks),
            "tiles" => Argument::Int(tiles),
            "parts" => Argument::Int(programs as i32),
            "count" => Argument::Long(count),
            other => unreachable!("no kernel has a parameter {other}"),
        };
        let launch = |programs, (_, _, names): (_, _, &[&str])| Launch {
            programs,
            arguments: names.iter().map(argument).collect(),
        };
        let mut launches = vec![launch(programs, self.described)];
        if is_loss {
            launches.push(launch(1, MEAN));
        }
        Ok(launches)
    }
}

/// Whether elements are taken in blocks, however long the rows are.
fn is_flat((_, _, parameters): Described) -> bool {
    parameters.contains(&"blocks")
}

/// Joins rows that follow each other into one row.
fn flat(rows: Rows) -> Rows {
    if rows.count > 0 && rows.is_dense() { rows.joined() } else { rows }
}

/// Blocks of a size.
fn blocks(of: i64, size: i64) -> Result<i32, TchError> {
    let blocks = of / size + i64::from(of % size != 0);
    match i32::try_from(blocks) {
        Ok(count) if blocks <= MOST => Ok(count),
        _ => {
            Err(TchError::Shape(format!("{of} in blocks of {size}, but at most {MOST} are taken")))
        }
    }
}
