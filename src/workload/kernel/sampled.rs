//! Some parts of an output beside float64, and where the kernel has it, value by value.

use std::cell::RefCell;

use plan::cost::REFERENCE_ELEMENTS;
use plan::{Accuracy, Case, Gate};
use tch::{Device, TchError, Tensor};

use super::{Check, Kernel, tooled_context, trials};
use crate::device;
use crate::inputs::{self, Inputs};
use crate::kernel::{
    Computation, KernelContext, Parts, Shipped, Step, Tolerance, over_nan, unravel,
};
use crate::refusal::Refusal;
use crate::verify::{self, Distance, Judge, Reference};

pub(in crate::workload) fn prepare<W: Shipped>(case: &Case, work: W) -> Result<Kernel, Refusal> {
    let context = tooled_context(case, work)?;
    Kernel::prepare(&context, |inputs| Sampled::new(case, context, inputs))
}

pub(super) struct Sampled<W> {
    context: KernelContext<W>,
    judge: Judge,
    /// The tolerance of each value that the reference has.
    tolerance: Option<Tolerance>,
    /// Errors of libtorch's own operation, once it was tried.
    findings: RefCell<Vec<String>>,
}

impl<W: Shipped> Sampled<W> {
    /// Runs the elementary operations in float64: on some parts, or on all where these are averaged. A device that
    /// computes in float64 does so, and the host computes a few parts again.
    pub(super) fn new(
        case: &Case,
        context: KernelContext<W>,
        inputs: &Inputs,
    ) -> Result<Self, Refusal> {
        if verify::is_done() {
            let judge = Judge::new(case, Reference::none()?, context.min_sqnr_db());
            return Ok(Self { context, judge, tolerance: None, findings: RefCell::default() });
        }
        let by_part = inputs.examples.iter().map(|it| context.work.by_part(it));
        let parameters = inputs.parameters.iter().map(Tensor::shallow_clone).collect();
        let inputs = Inputs { examples: by_part.collect::<Result<_, _>>()?, parameters };
        let at = |rows: &[i64], place| -> Result<Expected, Refusal> {
            let inputs = inputs.in_float64(&Tensor::f_from_slice(rows)?, place)?;
            let output = trials::reference(&context, &inputs)?;
            let operation = context.work.operation();
            let judge = operation.by_value();
            let tolerance = judge.map(|it| it.tolerance(&context, &inputs, &output)).transpose()?;
            Ok(on_host(&output, tolerance)?)
        };
        let place = inputs::float64_place(context.torch_device);
        let of = |rows: &[i64]| where_it_fits(place, |place| at(rows, place));
        let parts = W::parts(&context);
        let (reference, tolerance) = if parts.are_averaged {
            let few = verify::few(parts.all, parts.flops);
            confirm(place, || Ok((of(&few)?.0, at(&few, Device::Cpu)?.0)))?;
            let (output, tolerance) = average(parts, of)?;
            (Reference::whole(output), tolerance)
        } else {
            let rows = rows(parts);
            let (output, tolerance) = of(&rows)?;
            confirm(place, || {
                let few = verify::few(rows.len() as u64, parts.flops);
                let again: Vec<i64> = few.iter().map(|&it| rows[it as usize]).collect();
                let found = output.f_index_select(0, &Tensor::f_from_slice(&few)?)?;
                Ok((found, at(&again, Device::Cpu)?.0))
            })?;
            let rows = Tensor::f_from_slice(&rows)?.f_to_device(context.torch_device)?;
            (Reference::new(rows, output), tolerance)
        };
        if place != Device::Cpu {
            // The case finds the device's memory as if nothing had been computed there.
            device::empty_cache(case.device)?;
        }
        let judge = Judge::new(case, reference, context.min_sqnr_db());
        Ok(Self { context, judge, tolerance, findings: RefCell::default() })
    }

    /// The gate of the case's own output, value by value.
    fn own_gate(&self, output: &Tensor, by_part: &Tensor) -> Result<Option<Gate>, Refusal> {
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

/// An output in float64, and how far another may be from it.
type Expected = (Tensor, Option<Tolerance>);

/// Moves both to the host, where outputs are compared: a device's memory is left to the case.
fn on_host(output: &Tensor, tolerance: Option<Tolerance>) -> Result<Expected, TchError> {
    let output = output.f_to_device(Device::Cpu)?;
    let tolerance = tolerance.map(|it| {
        let allowed = it.allowed.f_to_device(Device::Cpu)?;
        Ok::<_, TchError>(Tolerance { reference: output.shallow_clone(), allowed, ..it })
    });
    Ok((output, tolerance.transpose()?))
}

/// Computes at `place`, or on the host where the device's memory does not suffice for float64.
fn where_it_fits<T>(
    place: Device,
    compute: impl Fn(Device) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    match compute(place) {
        Err(Refusal::Oom(_)) if place != Device::Cpu => compute(Device::Cpu),
        computed => computed,
    }
}

/// Least agreement of a device's float64 with the host's, in dB: two orders of the same sum are apart by less.
const CONFIRMED_DB: f64 = 200.0;

/// Refuses the float64 of a device that the host does not confirm: `both` gives some values of the device, and the same
/// values of the host.
fn confirm(
    place: Device,
    both: impl FnOnce() -> Result<(Tensor, Tensor), Refusal>,
) -> Result<(), Refusal> {
    if place == Device::Cpu {
        return Ok(());
    }
    let (found, expected) = both()?;
    // NaN or infinity of the formula itself is for the check of the output to report.
    if verify::nonfinite(&expected)? > 0 {
        return Ok(());
    }
    let Distance { sqnr_db, .. } = Distance::between(&expected, &found)?;
    if sqnr_db >= CONFIRMED_DB {
        return Ok(());
    }
    Err(Refusal::Failed(format!(
        "the reference in float64 differs between {place:?} and the host ({sqnr_db:.1} dB signal-to-noise ratio, at least \
         {CONFIRMED_DB} expected): the device or its libraries compute wrongly"
    )))
}

/// The name of the case's inputs in the record.
const OWN: &str = "own";

pub(super) fn rows(Parts { all, flops, elements, .. }: Parts) -> Vec<i64> {
    verify::rows(all, flops, elements)
}

/// The mean over all parts, block by block, of what is a mean over each block; so is what is allowed.
fn average(
    Parts { all, elements, .. }: Parts,
    of_block: impl Fn(&[i64]) -> Result<Expected, Refusal>,
) -> Result<Expected, Refusal> {
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
        let by_part = self.context.work.by_part(output)?;
        let accuracy = self.judge.accuracy_of(&by_part)?;
        Ok(Accuracy { gates: self.own_gate(output, &by_part)?.into_iter().collect(), ..accuracy })
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
        let passed = trials::pass(&self.context, &|context, inputs| context.build(inputs))?;
        passed.cover(&step.kernels)?;
        accuracy.gates.extend(passed.gates);
        self.findings.replace(passed.findings);
        Ok(accuracy)
    }

    fn notes(&self) -> Vec<String> {
        self.findings.borrow().clone()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::native::storage::meta;

    const GPU: Device = Device::Cuda(0);

    #[test]
    fn the_host_computes_what_does_not_fit_into_the_devices_memory() {
        let computed = |refused: &dyn Fn(Device) -> Option<Refusal>| {
            let places = RefCell::new(Vec::new());
            let result = where_it_fits(GPU, |place| {
                places.borrow_mut().push(place);
                refused(place).map_or(Ok(place), Err)
            });
            (result, places.into_inner())
        };
        let oom = || Refusal::Oom("CUDA out of memory".to_owned());
        let fault = || Refusal::Failed("illegal memory access".to_owned());
        assert_eq!(computed(&|_| None), (Ok(GPU), vec![GPU]));
        let fits_nowhere = computed(&|_| Some(oom()));
        assert_eq!(fits_nowhere, (Err(oom()), vec![GPU, Device::Cpu]));
        let on_host = computed(&|place| (place == GPU).then(oom));
        assert_eq!(on_host, (Ok(Device::Cpu), vec![GPU, Device::Cpu]));
        assert_eq!(computed(&|_| Some(fault())), (Err(fault()), vec![GPU]));
        let host = where_it_fits(Device::Cpu, |_| Err::<(), _>(oom()));
        assert_eq!(host, Err(oom()), "the host is asked once");
    }

    #[test]
    fn a_device_whose_float64_is_wrong_is_refused() {
        let confirmed = |place, found: &[f64], expected: &[f64]| {
            confirm(place, || Ok((Tensor::from_slice(found), Tensor::from_slice(expected))))
        };
        assert_eq!(confirmed(GPU, &[3.0, 4.0 + 1e-14], &[3.0, 4.0]), Ok(()));
        let refused = confirmed(GPU, &[3.0, 4.0 + 1e-7], &[3.0, 4.0]).unwrap_err().to_string();
        assert!(refused.contains("between Cuda(0) and the host (154.0 dB"), "{refused}");
        assert!(confirmed(GPU, &[3.0, f64::NAN], &[3.0, 4.0]).is_err());
        assert_eq!(confirmed(GPU, &[1.0, f64::NAN], &[3.0, f64::NAN]), Ok(()), "not its fault");
        assert_eq!(confirm(Device::Cpu, || panic!("the host needs no other")), Ok(()));
    }

    /// The device is torch's `meta`, which has no numbers.
    #[test]
    fn references_and_tolerances_lie_on_the_host() {
        let host = || Tensor::from_slice(&[1.0, 2.0]);
        let device = || meta(&host()).unwrap();
        let of = |reference: Tensor, allowed: Tensor| {
            let output = reference.shallow_clone();
            let (size, largest, infinity_may_be_nan) = (vec![2], 1e3, false);
            let tolerance = Tolerance { size, reference, allowed, largest, infinity_may_be_nan };
            on_host(&output, Some(tolerance))
        };
        assert!(of(host(), host()).is_ok());
        for moved in [of(device(), host()), of(host(), device())] {
            let refused = moved.unwrap_err().to_string();
            assert!(refused.contains("Cannot copy out of meta tensor"), "{refused}");
        }
    }
}
