//! A part of a model's training step: the workload of training.

mod observed;
mod optimizer;
mod passes;

use std::cell::RefCell;
use std::rc::Rc;

use plan::{Accuracy, Case, ModelFacts, ModelSizes, ModelWork, Pass, Variant};
use tch::{Kind, Tensor};

use super::traceable::Eager;
use super::{Displaced, Refusal, Workload, each_once, moved};
use crate::measurement::memory;
use crate::models::{self, Parameters, Passed, TrainedLayer};
use crate::recipes::{self, Casts};
use crate::verify::{self, Drawn, TrainedJudge};
use crate::{device, inputs};
use observed::Observed;
use optimizer::Updates;
use passes::{Passes, Recorded, parameters};

pub(super) struct Training {
    passes: Passes,
    input: Tensor,
    grad_output: Tensor,
    part: StepPart,
    kernels: Vec<String>,
    facts: Option<ModelFacts>,
    saved_bytes: u64,
    judge: TrainedJudge,
}

/// The part that a step runs, with its prepared operands.
enum StepPart {
    Forward,
    Backward(Passed),
    ForwardBackward,
    Step(RefCell<Updates>),
    Casts(Vec<Rc<Observed>>),
    Products(Vec<(Rc<Observed>, Casts)>),
}

impl Training {
    pub(super) fn prepare(case: &Case, work: &ModelWork) -> Result<Self, Refusal> {
        let pass = work.runs().ok_or_else(|| {
            Refusal::Failed("a case of training without a part of a step".to_owned())
        })?;
        let place = device::resolve(case.device)?;
        let sizes = models::sizes(work.model, work.shape)?;
        let (parameters, input, grad_output) = draw(case, work, &sizes, place)?;
        let drawn = Drawn { parameters: &parameters, input: &input, grad_output: &grad_output };
        let judge = tch::no_grad(|| TrainedJudge::new(case, work, &drawn))?;
        let (passes, observed) = build(case, work, parameters)?;
        let (input, grad_output) = (input.set_requires_grad(passes.autograd), grad_output);
        let (saved_bytes, part) = tch::no_grad(|| {
            let saved_bytes = saved_bytes(case, &passes, &input)?;
            Ok::<_, Refusal>((saved_bytes, part(pass, &passes, &input, &grad_output, observed)?))
        })?;
        let facts = (!case.work.has_known_cost()).then(|| ModelFacts {
            flops: work.flops(&sizes),
            output_elements: sizes.output.iter().fold(1, |all, &it| all.saturating_mul(it)),
        });
        let kernels = kernels(&passes);
        Ok(Self { passes, input, grad_output, part, kernels, facts, saved_bytes, judge })
    }

    /// Runs the part; all tensors that it computes.
    fn run(&self) -> Result<Vec<Tensor>, Refusal> {
        match &self.part {
            StepPart::Forward => {
                let Passed { output, saved } = self.passes.forward(&self.input)?;
                // Without the graph, which ends with the pass.
                let output = if self.passes.autograd { output.f_detach()? } else { output };
                Ok([output].into_iter().chain(saved).collect())
            }
            StepPart::Backward(passed) => self.backward(passed, true),
            StepPart::ForwardBackward => self.forward_backward(),
            StepPart::Step(updates) => {
                let tensors = self.forward_backward()?;
                let [_, _, gradients @ ..] = tensors.as_slice() else { return Ok(tensors) };
                let parameters = parameters(&*self.passes.network);
                updates.borrow_mut().step(&parameters, gradients)?;
                Ok(tensors)
            }
            StepPart::Casts(layers) => {
                let casts = layers.iter().map(|layer| Ok(observed::cast(&layer.casts()?)));
                Ok(casts.collect::<Result<Vec<_>, Refusal>>()?.into_iter().flatten().collect())
            }
            StepPart::Products(layers) => {
                let mut tensors = Vec::new();
                for (layer, casts) in layers {
                    let products = layer.linear().products(casts)?;
                    tensors.push(products.output);
                    tensors.extend([products.gradients.input, products.gradients.weight]);
                }
                Ok(tensors)
            }
        }
    }

    fn forward_backward(&self) -> Result<Vec<Tensor>, Refusal> {
        let passed = self.passes.forward(&self.input)?;
        let gradients = self.backward(&passed, false)?;
        let output = passed.output;
        let output = if self.passes.autograd { output.f_detach()? } else { output };
        Ok([output].into_iter().chain(gradients).collect())
    }

    fn backward(&self, passed: &Passed, keep_graph: bool) -> Result<Vec<Tensor>, Refusal> {
        let Self { passes, input, grad_output, .. } = self;
        let gradients = passes.backward(input, passed, grad_output, keep_graph)?;
        Ok([gradients.input].into_iter().chain(gradients.parameters).collect())
    }

    /// The tensors of the part that have a reference, among all that it computes.
    fn judged(&self, tensors: &[Tensor]) -> Result<Accuracy, Refusal> {
        match &self.part {
            StepPart::Forward => self.judge.judge(&tensors[..tensors.len().min(1)]),
            StepPart::Backward(_) | StepPart::ForwardBackward | StepPart::Step(_) => {
                self.judge.judge(tensors)
            }
            // Casts and products are checked by a whole step made of them.
            StepPart::Casts(_) | StepPart::Products(_) => {
                refuse_nonfinite(tensors)?;
                self.judge.judge(&tch::no_grad(|| self.forward_backward())?)
            }
        }
    }

    /// Gives weights that steps have changed their first values.
    fn undo(&self) -> Result<(), Refusal> {
        if let StepPart::Step(updates) = &self.part {
            let parameters = parameters(&*self.passes.network);
            tch::no_grad(|| updates.borrow().undo(&parameters))?;
        }
        Ok(())
    }
}

/// Parameters, input and the output's gradient, in this order, from the case's seed: the first two are those of
/// inference.
fn draw(
    case: &Case,
    work: &ModelWork,
    sizes: &ModelSizes,
    place: tch::Device,
) -> Result<(Parameters, Tensor, Tensor), Refusal> {
    let _drawing = inputs::seeded(case.settings.seed);
    let parameters = Parameters::random(work.model, work.shape, case.dtype, place)?;
    let input = inputs::normal(&sizes.input, case.dtype, place)?;
    let grad_output = inputs::normal(&sizes.output, case.dtype, place)?;
    Ok((parameters, input, grad_output))
}

/// The model, and its linear layers by themselves if the part needs them.
fn build(
    case: &Case,
    work: &ModelWork,
    parameters: Parameters,
) -> Result<(Passes, Vec<Rc<Observed>>), Refusal> {
    let Variant { recipe, autograd, .. } = work.variant;
    let is_apart = matches!(work.runs(), Some(Pass::Casts | Pass::Products));
    for (_, parameter) in parameters.iter().filter(|_| autograd) {
        drop(parameter.f_set_requires_grad(true)?);
    }
    let mut observed = Vec::new();
    let mut make = |_: &str, weight| -> Result<Box<dyn TrainedLayer>, Refusal> {
        let linear = recipes::trained(case, recipe, weight)?;
        if autograd {
            return Ok(Box::new(Recorded(linear)));
        }
        if !is_apart {
            return Ok(Box::new(linear));
        }
        let layer = Observed::new(linear);
        observed.push(Rc::clone(&layer));
        Ok(Box::new(layer))
    };
    let network = models::train(work.model, parameters, &mut make)?;
    Ok((Passes { network, autograd }, observed))
}

fn part(
    pass: Pass,
    passes: &Passes,
    input: &Tensor,
    grad_output: &Tensor,
    observed: Vec<Rc<Observed>>,
) -> Result<StepPart, Refusal> {
    Ok(match pass {
        Pass::Forward => StepPart::Forward,
        Pass::Backward => StepPart::Backward(passes.forward(input)?),
        Pass::ForwardBackward => StepPart::ForwardBackward,
        Pass::StepSgd => StepPart::Step(RefCell::new(Updates::sgd(&parameters(&*passes.network))?)),
        Pass::StepAdamw => {
            StepPart::Step(RefCell::new(Updates::adamw(&parameters(&*passes.network))?))
        }
        Pass::Casts | Pass::Products => {
            // The layers see what they get in a step.
            let passed = passes.forward(input)?;
            passes.backward(input, &passed, grad_output, false)?;
            let casts = observed.iter().map(|layer| layer.casts());
            let casts = casts.collect::<Result<Vec<_>, _>>()?;
            if pass == Pass::Products {
                StepPart::Products(observed.into_iter().zip(casts).collect())
            } else if casts.iter().all(|casts| observed::cast(casts).is_empty()) {
                let what = "casts: with these scaling types nothing is cast";
                return Err(Refusal::Unsupported(what.to_owned()));
            } else {
                StepPart::Casts(observed)
            }
        }
    })
}

/// Bytes of the activations that a forward pass leaves for the backward pass: the input, which every backward
/// pass here reads, and what is new, the output aside.
fn saved_bytes(case: &Case, passes: &Passes, input: &Tensor) -> Result<u64, Refusal> {
    let (passed, memory) = memory::track_libtorch(case.device, || passes.forward(input))?;
    let new = memory.live_bytes.unsigned_abs().saturating_sub(inputs::bytes(&passed?.output));
    Ok(inputs::bytes(input) + new)
}

/// The operations of the products, each once.
fn kernels(passes: &Passes) -> Vec<String> {
    each_once(passes.network.layers().iter().flat_map(|layer| layer.linear().kernels()))
}

/// Whether there are numbers alone; those of float8 by way of float32.
fn refuse_nonfinite(tensors: &[Tensor]) -> Result<(), Refusal> {
    for tensor in tensors {
        let broken = verify::nonfinite(&tensor.f_to_kind(Kind::Float)?)?;
        if broken > 0 {
            let all = tensor.numel();
            return Err(Refusal::Failed(format!("{broken} of {all} outputs are NaN or infinite")));
        }
    }
    Ok(())
}

impl Eager for Training {
    fn tensors(&self) -> Vec<Tensor> {
        let Self { input, grad_output, part, passes, .. } = self;
        let parameters = parameters(&*passes.network).into_iter().map(Tensor::shallow_clone);
        let both = || [input, grad_output].map(Tensor::shallow_clone);
        let tensors: Vec<Tensor> = match part {
            StepPart::Forward => [input.shallow_clone()].into_iter().chain(parameters).collect(),
            StepPart::ForwardBackward | StepPart::Step(_) => {
                both().into_iter().chain(parameters).collect()
            }
            StepPart::Backward(passed) => {
                let saved = passed.saved.iter().map(Tensor::shallow_clone);
                both().into_iter().chain(parameters).chain(saved).collect()
            }
            StepPart::Casts(layers) => {
                let weights = layers.iter().map(|layer| layer.linear().weight().shallow_clone());
                layers.iter().flat_map(|layer| layer.operands()).chain(weights).collect()
            }
            StepPart::Products(layers) => {
                layers.iter().flat_map(|(_, casts)| observed::all(casts)).collect()
            }
        };
        distinct(tensors)
    }

    fn outputs(&self) -> Result<Vec<Tensor>, Refusal> {
        Ok(unshared(self.run()?, &self.tensors()))
    }

    fn judge(&self, outputs: &[Tensor]) -> Result<Accuracy, Refusal> {
        self.judged(outputs)
    }
}

/// Each tensor once.
fn distinct(tensors: Vec<Tensor>) -> Vec<Tensor> {
    let same = |a: &Tensor, b: &Tensor| {
        (a.data_ptr(), a.size(), a.stride(), a.kind())
            == (b.data_ptr(), b.size(), b.stride(), b.kind())
    };
    let mut found: Vec<Tensor> = Vec::new();
    for tensor in tensors {
        if !found.iter().any(|it| same(it, &tensor)) {
            found.push(tensor);
        }
    }
    found
}

/// The tensors that share memory with none of `inputs` and with none before them.
fn unshared(tensors: Vec<Tensor>, inputs: &[Tensor]) -> Vec<Tensor> {
    let span = |tensor: &Tensor| {
        let reach = tensor
            .size()
            .into_iter()
            .zip(tensor.stride())
            .map(|(size, stride)| (size - 1) * stride);
        let elements = reach.sum::<i64>().unsigned_abs() as usize + 1;
        let start = tensor.data_ptr() as usize;
        start..start + elements * tensor.kind().elt_size_in_bytes()
    };
    let mut taken: Vec<_> = inputs.iter().map(span).collect();
    let mut own = Vec::new();
    for tensor in tensors {
        let span = span(&tensor);
        if taken.iter().all(|it| it.end <= span.start || span.end <= it.start) {
            taken.push(span);
            own.push(tensor);
        }
    }
    own
}

impl Workload for Training {
    fn step(&self) -> Result<Tensor, Refusal> {
        let first = self.run()?.into_iter().next();
        first.ok_or_else(|| Refusal::Failed("the step computes nothing".to_owned()))
    }

    fn check(&self) -> Result<Accuracy, Refusal> {
        self.undo()?;
        let tensors = tch::no_grad(|| self.run())?;
        self.judged(&tensors)
    }

    fn rebuild(&self) -> Result<Option<Displaced>, Refusal> {
        moved(&self.tensors())
    }

    /// After many updates, and from the first weights once more.
    fn recheck(&self) -> Result<(), Refusal> {
        let StepPart::Step(_) = &self.part else { return Ok(()) };
        let parameters = parameters(&*self.passes.network);
        let parameters: Vec<_> = parameters.into_iter().map(Tensor::shallow_clone).collect();
        refuse_nonfinite(&parameters).map_err(|refusal| match refusal {
            Refusal::Failed(what) => {
                Refusal::Failed(format!("parameters after all updates: {what}"))
            }
            other => other,
        })?;
        self.check().map(drop)
    }

    fn weights_bytes(&self) -> u64 {
        let parameters = parameters(&*self.passes.network);
        let state = match &self.part {
            StepPart::Step(updates) => {
                updates.borrow().state().into_iter().map(Tensor::shallow_clone).collect()
            }
            _ => Vec::new(),
        };
        models::distinct_bytes(parameters.into_iter().chain(&state))
    }

    fn inputs_bytes(&self) -> u64 {
        let tensors = self.tensors();
        let all = models::distinct_bytes(&tensors);
        let parameters = parameters(&*self.passes.network);
        let read = tensors.iter().map(Tensor::data_ptr).collect::<Vec<_>>();
        let among = parameters.into_iter().filter(|it| read.contains(&it.data_ptr()));
        all - models::distinct_bytes(among)
    }

    fn saved_bytes(&self) -> Option<u64> {
        Some(self.saved_bytes)
    }

    fn model(&self) -> Option<ModelFacts> {
        self.facts
    }

    fn kernels(&self) -> Vec<String> {
        match self.part {
            StepPart::Casts(_) => Vec::new(),
            _ => self.kernels.clone(),
        }
    }
}

#[cfg(test)]
mod regression_tests;
#[cfg(test)]
mod tests;
