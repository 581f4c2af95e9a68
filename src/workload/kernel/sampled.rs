//! Some parts of an output beside float64, and where the kernel has it, value by value.

use std::cell::RefCell;

use plan::cost::REFERENCE_ELEMENTS;
use plan::{Accuracy, Case, Gate};
use tch::{TchError, Tensor};

use super::{Check, Kernel, drawn, trials};
use crate::inputs::Inputs;
use crate::kernel::{Parts, Shipped, Site, Step, Tolerance, over_nan, unravel};
use crate::refusal::Refusal;
use crate::verify::{self, Judge, Reference};

pub(in crate::workload) fn prepare<W: Shipped>(case: &Case, work: W) -> Result<Kernel, Refusal> {
    let (site, inputs) = drawn(case, work)?;
    let check = tch::no_grad(|| Sampled::new(case, site, &inputs))?;
    Kernel::built(&site, inputs, check)
}

pub(super) struct Sampled<W> {
    site: Site<W>,
    judge: Judge,
    /// The tolerance of each value that the reference has.
    tolerance: Option<Tolerance>,
    /// Of libtorch's own operation, once it was tried.
    findings: RefCell<Vec<String>>,
}

impl<W: Shipped> Sampled<W> {
    /// Runs the elementary operations in float64: on some parts, or on all where these are averaged.
    pub(super) fn new(case: &Case, site: Site<W>, inputs: &Inputs) -> Result<Self, Refusal> {
        let by_part = inputs.examples.iter().map(|it| site.work.by_part(it));
        let parameters = inputs.parameters.iter().map(Tensor::shallow_clone).collect();
        let inputs = Inputs { examples: by_part.collect::<Result<_, _>>()?, parameters };
        let of = |rows: &[i64]| -> Result<(Tensor, Option<Tolerance>), Refusal> {
            let inputs = inputs.in_float64(&Tensor::f_from_slice(rows)?)?;
            let output = site.reference(inputs.share())?;
            let operation = site.work.operation();
            let judge = operation.by_value();
            let tolerance = judge.map(|it| it.tolerance(&site, &inputs, &output)).transpose()?;
            Ok((output, tolerance))
        };
        let parts = W::parts(&site);
        let (reference, tolerance) = if parts.are_averaged {
            let (output, tolerance) = average(parts, of)?;
            (Reference::whole(output), tolerance)
        } else {
            let rows = rows(parts);
            let (output, tolerance) = of(&rows)?;
            let rows = Tensor::f_from_slice(&rows)?.f_to_device(site.place)?;
            (Reference::new(rows, output), tolerance)
        };
        let judge = Judge::new(case, reference, site.min_sqnr_db());
        Ok(Self { site, judge, tolerance, findings: RefCell::default() })
    }

    /// The gate of the case's own output, value by value.
    fn own(&self, output: &Tensor, by_part: &Tensor) -> Result<Option<Gate>, Refusal> {
        let (Some(tolerance), Some(reference)) = (&self.tolerance, self.judge.reference()) else {
            return Ok(None);
        };
        let mut worst = tolerance.worst(&reference.select(by_part)?)?;
        let size = by_part.size();
        let inside = worst.index.iter().zip(&size).skip(1);
        let (first, row) = (worst.index.first(), size.iter().skip(1).product::<i64>());
        let first = reference.row(first.copied().unwrap_or(0))? * row;
        let place = first + inside.fold(0, |place, (at, size)| place * size + at);
        worst.index = unravel(place, &output.size());
        tolerance.gate(OWN, worst).map(Some)
    }
}

/// The name of the case's inputs in the record.
const OWN: &str = "own";

pub(super) fn rows(Parts { all, flops, elements, .. }: Parts) -> Vec<i64> {
    verify::rows(all, flops, elements)
}

/// The mean over all parts, block by block, of what is a mean over each block; so is what is allowed.
fn average(
    Parts { all, elements, .. }: Parts,
    of_block: impl Fn(&[i64]) -> Result<(Tensor, Option<Tolerance>), Refusal>,
) -> Result<(Tensor, Option<Tolerance>), Refusal> {
    let block = (REFERENCE_ELEMENTS / elements.max(1)).max(1).min(all.max(1));
    let (mut sum, mut allowed) = (0.0, 0.0);
    let mut start = 0;
    loop {
        let end = all.min(start + block);
        let of: Vec<i64> = (start.cast_signed()..end.cast_signed()).collect();
        let (mean, tolerance) = of_block(&of)?;
        let part = (end - start) as f64 / all as f64;
        let number =
            |tensor: &Tensor| -> Result<f64, TchError> { Ok(tensor.f_double_value(&[])? * part) };
        sum += number(&mean)?;
        if let Some(tolerance) = &tolerance {
            allowed += number(&tolerance.allowed)?;
        }
        start = end;
        if start >= all {
            let mean = Tensor::f_from_slice(&[sum])?;
            let whole = |tolerance: Tolerance| -> Result<Tolerance, TchError> {
                let allowed = Tensor::f_from_slice(&[allowed])?;
                Ok(Tolerance { reference: mean.shallow_clone(), allowed, ..tolerance })
            };
            let tolerance = tolerance.map(whole).transpose()?;
            return Ok((mean, tolerance));
        }
    }
}

impl<W: Shipped> Check for Sampled<W> {
    fn judge(&self, output: &Tensor) -> Result<Accuracy, Refusal> {
        let by_part = self.site.work.by_part(output)?;
        let accuracy = self.judge.one(&by_part)?;
        Ok(Accuracy { gates: self.own(output, &by_part)?.into_iter().collect(), ..accuracy })
    }

    fn check(&self, step: &Step) -> Result<Accuracy, Refusal> {
        if self.tolerance.is_none() {
            if let Some(rewind) = &step.rewind {
                drop(rewind()?);
            }
            return self.judge(&step.run()?);
        }
        let output = over_nan(|| step.run())?;
        let mut accuracy = self.judge(&output)?;
        drop(output);
        let passed = trials::pass(&self.site, &|site, inputs| site.build(inputs))?;
        passed.cover(&step.kernels)?;
        accuracy.gates.extend(passed.gates);
        self.findings.replace(passed.findings);
        Ok(accuracy)
    }

    fn notes(&self) -> Vec<String> {
        self.findings.borrow().clone()
    }
}
