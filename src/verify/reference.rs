//! The float64 reference of a case, within bounded work and memory.

use plan::cost::{REFERENCE_ELEMENTS, REFERENCE_ROWS};
use plan::{ModelSizes, ModelWork};
use tch::{Device, Kind, TchError, Tensor};

use crate::inputs;
use crate::models::{self, Parameters};
use crate::recipes::LinearLayer;
use crate::refusal::Refusal;

/// Work that a reference may cost, about half a second of one core, unless [`REFERENCE_ROWS`] cost
/// more.
const MAX_FLOPS: u64 = 1 << 32;
/// Elements of a weight that are in float64 at one time: 128 MiB.
const BLOCK_ELEMENTS: i64 = 1 << 24;

/// Some rows (first dimension) of a model's output, in float64, and which they are. On the host,
/// so that a device's memory is left to the case.
#[derive(Debug)]
pub struct Reference {
    /// Where there are all of them, none are listed.
    rows: Option<Tensor>,
    output: Tensor,
}

impl Reference {
    /// `output` in float64, which is that of the rows `rows` (int64) of the whole.
    pub fn new(rows: Tensor, output: Tensor) -> Self {
        Self { rows: Some(rows), output }
    }

    /// All of the output, in float64.
    pub fn whole(output: Tensor) -> Self {
        Self { rows: None, output }
    }

    /// The reference of a case that is not checked.
    pub fn none() -> Result<Self, TchError> {
        Ok(Self::whole(Tensor::f_zeros([0], (Kind::Double, Device::Cpu))?))
    }

    /// Runs the model in float64 on unquantized parameters.
    pub fn of_model(
        work: &ModelWork,
        parameters: &Parameters,
        input: &Tensor,
    ) -> Result<Self, Refusal> {
        if super::is_done() {
            return Ok(Self::none()?);
        }
        let sizes = models::sizes(work.model, work.shape)?;
        let rows = Tensor::f_from_slice(&model_rows(&sizes))?.f_to_device(input.device())?;
        let input = inputs::float64(&input.f_index_select(0, &rows)?)?;
        let model = models::build(work.model, parameters.for_float64()?, &mut |_, weight| {
            Ok(Box::new(Float64Linear { weight }))
        })?;
        let output = model.forward(&input, None)?.f_to_device(Device::Cpu)?;
        Ok(Self::new(rows, output))
    }

    /// The reference, `[rows, ..]`.
    pub fn output(&self) -> &Tensor {
        &self.output
    }

    /// The rows of `output` that the reference holds, on the host.
    pub fn select(&self, output: &Tensor) -> Result<Tensor, TchError> {
        match &self.rows {
            Some(rows) => output.f_index_select(0, rows)?.f_to_device(Device::Cpu),
            None => output.f_to_device(Device::Cpu),
        }
    }

    /// The row of the whole that stands at `at`.
    pub fn row(&self, at: i64) -> Result<i64, TchError> {
        self.rows.as_ref().map_or(Ok(at), |rows| rows.f_int64_value(&[at]))
    }

    /// How many rows it holds.
    pub fn rows(&self) -> u64 {
        self.output.size().first().map_or(1, |rows| rows.unsigned_abs())
    }
}

/// Rows to compare, out of `all`: all where that is cheap, else as many as the bounds allow, evenly
/// spaced from the first to the last. A row costs `flops`, and its largest activation has `elements`.
pub fn rows(all: u64, flops: u64, elements: u64) -> Vec<i64> {
    let affordable = (MAX_FLOPS / flops.max(1)).min(REFERENCE_ELEMENTS / elements.max(1));
    evenly_spaced(all, affordable.max(REFERENCE_ROWS))
}

/// A few of `all` rows, from the first to the last, whose work is small beside that of [`rows`]; one at least.
pub fn few(all: u64, flops: u64) -> Vec<i64> {
    evenly_spaced(all, (MAX_FLOPS / 8 / flops.max(1)).clamp(1, REFERENCE_ROWS))
}

/// The rows of a model, which are the elements of its batch.
pub(super) fn model_rows(sizes: &ModelSizes) -> Vec<i64> {
    let all = sizes.input.first().copied().unwrap_or_default();
    let (mut flops, mut elements) = (0_u64, 0_u64);
    for linear in &sizes.linears {
        // A row of the output is a batch element: 16 rows of the linears of a transformer block.
        let rows = linear.rows / all.max(1);
        flops = flops.saturating_add(2 * rows * linear.k * linear.n);
        elements = elements.max(rows * (linear.k + linear.n));
    }
    rows(all, flops, elements)
}

/// At most `count` of `0..all`, evenly spaced, the first and the last among them.
fn evenly_spaced(all: u64, count: u64) -> Vec<i64> {
    let count = count.min(all);
    let last = all.saturating_sub(1);
    let gaps = count.saturating_sub(1).max(1);
    (0..count).map(|i| (i * last / gaps).cast_signed()).collect()
}

/// A linear layer that computes in float64 and holds its weight as it came: the conversion is made
/// block by block, never of the whole weight.
struct Float64Linear {
    weight: Tensor,
}

impl LinearLayer for Float64Linear {
    fn forward(&self, x: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
        let (n, k) = self.weight.size2()?;
        let step = (BLOCK_ELEMENTS / k.max(1)).max(1);
        let mut blocks = Vec::new();
        for start in (0..n).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
            let block = self.weight.f_narrow(0, start, step.min(n - start))?;
            blocks.push(x.f_matmul(&inputs::float64(&block)?.f_tr()?)?);
        }
        match out {
            None => Tensor::f_cat(&blocks, -1),
            Some(out) => Tensor::f_cat_out(out, &blocks, -1),
        }
    }

    fn tensors(&self) -> Vec<&Tensor> {
        vec![&self.weight]
    }

    fn kernels(&self) -> Vec<&'static str> {
        vec!["aten::mm"]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_evenly_spaced_with_both_ends() {
        for (all, count, expected) in [
            (5, 9, vec![0, 1, 2, 3, 4]),
            (5, 5, vec![0, 1, 2, 3, 4]),
            (9, 3, vec![0, 4, 8]),
            (1, 4, vec![0]),
            (0, 4, vec![]),
        ] {
            assert_eq!(evenly_spaced(all, count), expected, "{count} of {all}");
        }
        let many = evenly_spaced(128_000, 1000);
        assert_eq!((many.len(), many[0], many[999]), (1000, 0, 127_999));
        assert!(many.windows(2).all(|pair| pair[0] < pair[1]));
    }

    /// An output of a device, here of one without numbers, is compared on the host: one of several rows as one that is the
    /// mean of all of them, such as a loss.
    #[test]
    fn what_is_compared_lies_on_the_host() {
        let output = crate::native::storage::meta(&Tensor::from_slice(&[1.0, 2.0])).unwrap();
        let whole = Reference::whole(Tensor::from_slice(&[1.0, 2.0]));
        let refused = whole.select(&output).unwrap_err().to_string();
        assert!(refused.contains("Cannot copy out of meta tensor"), "{refused}");
    }

    #[test]
    fn blocks_do_not_change_the_product() {
        // 2¹³ features leave 2048 rows to a block, so 5000 outputs take three.
        let mut ramp = Tensor::arange(5000 * 8192, (Kind::Float, Device::Cpu));
        let weight = ramp.sin_().reshape([5000, 8192]);
        let x = weight.narrow(0, 7, 2).to_kind(Kind::Double);
        let whole = x.matmul(&weight.to_kind(Kind::Double).tr());
        let blocks = Float64Linear { weight }.forward(&x, None).unwrap();
        assert!((whole - blocks).abs().max().double_value(&[]) < 1e-10);
    }
}
