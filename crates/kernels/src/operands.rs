//! The tensors that an operator reads, and the demands of its kernels on them.

use plan::Operator;
use tch::{Device, Kind, TchError, Tensor};

use crate::overlap::refuse_overlap;
use crate::rows::Rows;
use native::refusal::Refusal;

/// The tensors that an operator reads.
#[derive(Debug, Clone, Copy)]
pub struct Operands<'t> {
    /// `[…, dim]`, with neighbouring values in the last dimension and one stride between rows.
    pub x: &'t Tensor,
    /// The residual of `add_layer_norm` or the target of `mse_loss`, like x; or the classes of
    /// `cross_entropy`, contiguous int64 `[rows]`.
    pub other: Option<&'t Tensor>,
    /// `[dim]`, contiguous.
    pub weight: Option<&'t Tensor>,
    /// `[dim]`, contiguous.
    pub bias: Option<&'t Tensor>,
}

/// The tensors of a call as rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OperandRows {
    pub x: Rows,
    /// The residual or target that is like x.
    pub other: Option<Rows>,
    pub out: Rows,
}

impl<'t> Operands<'t> {
    /// x alone.
    pub fn unary(x: &'t Tensor) -> Self {
        Self { x, other: None, weight: None, bias: None }
    }

    pub(crate) fn tensors(&self) -> impl Iterator<Item = &'t Tensor> {
        [self.x].into_iter().chain(self.other).chain(self.weight).chain(self.bias)
    }

    /// Demands the operands that the operator has, and no others.
    pub(crate) fn demand(&self, operator: Operator) -> Result<(), TchError> {
        use Operator::{AddLayerNorm, BiasGelu, LayerNorm, RmsNorm};
        let is_affine = matches!(operator, LayerNorm | AddLayerNorm);
        for (what, is_needed, tensor) in [
            (other_name(operator), operator == AddLayerNorm || operator.is_loss(), self.other),
            ("the weight", is_affine || operator == RmsNorm, self.weight),
            ("the bias", is_affine || operator == BiasGelu, self.bias),
        ] {
            let problem = match (is_needed, tensor) {
                (true, None) => "needs",
                (false, Some(_)) => "does not use",
                _ => continue,
            };
            return Err(TchError::Shape(format!("{operator} {problem} {what}")));
        }
        Ok(())
    }

    /// Demands the operands that the operator has, of the dtype and device of `options` and of sizes
    /// that belong together; and an output like x, or of a loss one number, that shares no memory
    /// with them.
    pub(crate) fn check(
        &self,
        operator: Operator,
        options: TensorOptions,
        out: &Tensor,
    ) -> Result<OperandRows, TchError> {
        self.demand(operator)?;
        let what = other_name(operator);
        let x = options.rows("x", self.x)?;
        let mut like_x = None;
        match self.other {
            Some(classes) if operator == Operator::CrossEntropy => {
                TensorOptions { kind: Kind::Int64, ..options }
                    .check_vector(what, classes, x.count)?;
            }
            Some(other) => {
                check_like(what, other, self.x)?;
                like_x = Some(options.rows(what, other)?);
            }
            None => {}
        }
        for (what, vector) in [("the weight", self.weight), ("the bias", self.bias)] {
            if let Some(vector) = vector {
                options.check_vector(what, vector, x.dim)?;
            }
        }
        let out_rows = if operator.is_loss() {
            options.check("out", out)?;
            if out.numel() != 1 {
                let size = out.size();
                return Err(TchError::Shape(format!("out is {size:?}, but must be a scalar")));
            }
            Rows::single(1)
        } else {
            options.rows_of_output(out, self.x)?
        };
        refuse_overlap(out, self.tensors())?;
        Ok(OperandRows { x, other: like_x, out: out_rows })
    }
}

/// [`Operands::other`] in messages.
fn other_name(operator: Operator) -> &'static str {
    if operator == Operator::AddLayerNorm { "the residual" } else { "the target" }
}

/// The dtype and the device that a kernel was loaded for, in libtorch's word for the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TensorOptions {
    pub kind: Kind,
    pub device: Device,
}

impl TensorOptions {
    /// A dtype that the kernels take.
    ///
    /// # Errors
    /// Unsupported for another dtype.
    pub fn new(kind: Kind, device: Device) -> Result<Self, Refusal> {
        if !matches!(kind, Kind::Float | Kind::BFloat16 | Kind::Half) {
            return Err(Refusal::Unsupported(format!(
                "{kind:?}, but the kernel takes float32, bfloat16 and float16"
            )));
        }
        Ok(Self { kind, device })
    }

    /// Demands this dtype and device.
    pub fn check(self, what: &str, tensor: &Tensor) -> Result<(), TchError> {
        let found = Self { kind: tensor.f_kind()?, device: tensor.device() };
        if found == self {
            return Ok(());
        }
        Err(TchError::Shape(format!(
            "{what} is {:?} on {:?}, but the kernel was loaded for {:?} on {:?}",
            found.kind, found.device, self.kind, self.device
        )))
    }

    fn rows(self, what: &str, tensor: &Tensor) -> Result<Rows, TchError> {
        self.check(what, tensor)?;
        Rows::new(what, tensor)
    }

    /// Demands a tensor of `dim` values, one after another.
    fn check_vector(self, what: &str, tensor: &Tensor, dim: i64) -> Result<(), TchError> {
        self.check(what, tensor)?;
        if tensor.size() == [dim] && tensor.is_contiguous() {
            return Ok(());
        }
        let (size, strides) = (tensor.size(), tensor.stride());
        Err(TchError::Shape(format!(
            "{what} is {size:?} with strides {strides:?}, but must be [{dim}]"
        )))
    }

    fn rows_of_output(self, out: &Tensor, x: &Tensor) -> Result<Rows, TchError> {
        check_like("out", out, x)?;
        self.check("out", out)?;
        Rows::of_output("out", out)
    }
}

/// Demands the shape of x.
pub(crate) fn check_like(what: &str, tensor: &Tensor, x: &Tensor) -> Result<(), TchError> {
    if tensor.size() == x.size() {
        return Ok(());
    }
    let (found, expected) = (tensor.size(), x.size());
    Err(TchError::Shape(format!("{what} is {found:?}, but x is {expected:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: TensorOptions = TensorOptions { kind: Kind::Float, device: Device::Cpu };

    fn zeros(size: &[i64]) -> Tensor {
        Tensor::zeros(size, (Kind::Float, Device::Cpu))
    }

    #[test]
    fn rows_of_an_output_may_not_overlap() {
        let x = zeros(&[3, 4]);
        assert!(OPTIONS.rows_of_output(&x, &x).is_ok());
        assert!(OPTIONS.rows_of_output(&zeros(&[3, 9]).narrow(1, 2, 4), &x).is_ok());
        for (out, text) in [
            (zeros(&[1, 4]).expand([3, 4], false), "the rows of out overlap"),
            (zeros(&[12]).as_strided([3, 4], [3, 1], 0), "the rows of out overlap"),
            (zeros(&[4, 3]), "out is [4, 3], but x is [3, 4]"),
            (
                x.to_kind(Kind::Half),
                "out is Half on Cpu, but the kernel was loaded for Float on Cpu",
            ),
        ] {
            let found = OPTIONS.rows_of_output(&out, &x).unwrap_err().to_string();
            assert!(found.contains(text), "{found}");
        }
    }

    #[test]
    fn a_dtype_without_kernels_is_unsupported() {
        for kind in [Kind::Double, Kind::Int64, Kind::Float8e4m3fn] {
            let refusal = TensorOptions::new(kind, Device::Cpu).expect_err("no kernel");
            assert!(matches!(&refusal, Refusal::Unsupported(text) if text.contains("float16")));
        }
        assert_eq!(
            TensorOptions::new(Kind::Half, Device::Cuda(3)).unwrap().device,
            Device::Cuda(3)
        );
    }

    fn refusal(operator: Operator, operands: Operands, out: &Tensor) -> String {
        operands.check(operator, OPTIONS, out).expect_err("unfit").to_string()
    }

    #[test]
    fn an_operator_has_its_operands_and_no_others() {
        use Operator::{
            AddLayerNorm, BiasGelu, Gelu, LayerNorm, LayerNormNoAffine, MseLoss, RmsNorm,
        };
        let (x, other, out, vector) = (zeros(&[4, 6]), zeros(&[4, 6]), zeros(&[4, 6]), zeros(&[6]));
        let alone = Operands::unary(&x);
        let layer = Operands { weight: Some(&vector), bias: Some(&vector), ..alone };
        let all = Operands { other: Some(&other), ..layer };
        assert!(layer.check(LayerNorm, OPTIONS, &out).is_ok());
        assert!(all.check(AddLayerNorm, OPTIONS, &out).is_ok());
        for (operator, operands, text) in [
            (LayerNorm, all, "layer_norm does not use the target"),
            (AddLayerNorm, layer, "add_layer_norm needs the residual"),
            (LayerNorm, Operands { bias: None, ..layer }, "layer_norm needs the bias"),
            (RmsNorm, layer, "rms_norm does not use the bias"),
            (LayerNormNoAffine, layer, "does not use the weight"),
            (Gelu, Operands { bias: Some(&vector), ..alone }, "gelu does not use the bias"),
            (BiasGelu, alone, "bias_gelu needs the bias"),
            (MseLoss, alone, "mse_loss needs the target"),
        ] {
            let found = refusal(operator, operands, &out);
            assert!(found.contains(text), "{found}");
        }
    }

    #[test]
    fn tensors_that_do_not_fit_are_refused() {
        use Operator::{AddLayerNorm, BiasGelu, CrossEntropy, Gelu, MseLoss, RmsNorm};
        let (x, like, vector) = (zeros(&[4, 6]), zeros(&[4, 6]), zeros(&[6]));
        let (out, turned, scalar) = (zeros(&[4, 6]), zeros(&[6, 4]), zeros(&[]));
        let alone = Operands::unary(&x);
        let biased = |bias| Operands { bias: Some(bias), ..alone };
        let with = |other| Operands { other: Some(other), ..alone };
        let (short, every_second) = (zeros(&[4]), zeros(&[12]).slice(0, 0, 12, 2));
        let (columns, half) = (turned.tr(), x.to_kind(Kind::Half));
        let [classes, few] = [4, 5].map(|rows| Tensor::zeros([rows], (Kind::Int64, Device::Cpu)));
        let numbers = classes.to_kind(Kind::Int);
        let shared = [out.get(0), like.get(0).get(0)];
        let weighted = Operands { weight: Some(&short), ..alone };
        let added = Operands { weight: Some(&vector), bias: Some(&vector), ..with(&turned) };
        for (operator, operands, out, text) in [
            (BiasGelu, biased(&short), &out, "the bias is [4]"),
            (BiasGelu, biased(&every_second), &out, "the bias is [6] with strides [2]"),
            (RmsNorm, weighted, &out, "the weight is [4]"),
            (AddLayerNorm, added, &out, "the residual is [6, 4]"),
            (Gelu, alone, &turned, "out is [6, 4], but x is [4, 6]"),
            (Gelu, Operands::unary(&columns), &out, "one stride apart"),
            (Gelu, Operands::unary(&half), &out, "x is Half on Cpu"),
            (Gelu, alone, &x, "shares memory"),
            (BiasGelu, biased(&shared[0]), &out, "shares memory"),
            (MseLoss, with(&vector), &scalar, "the target is [6]"),
            (MseLoss, with(&like), &vector, "must be a scalar"),
            (MseLoss, with(&like), &half.get(0).get(0), "out is Half"),
            (MseLoss, with(&like), &shared[1], "shares memory"),
            (CrossEntropy, with(&few), &scalar, "the target is [5]"),
            (CrossEntropy, with(&numbers), &scalar, "the target is Int on"),
            (CrossEntropy, Operands { x: &columns, ..with(&classes) }, &scalar, "one stride"),
        ] {
            let found = refusal(operator, operands, out);
            assert!(found.contains(text), "{found}");
        }
        assert!(with(&classes).check(CrossEntropy, OPTIONS, &scalar).is_ok());
    }
}
