//! Inputs that no kernel has seen, with the outputs that they should have.

use std::io::Read as _;

use plan::Case;
use tch::Tensor;

use super::memory::{Form, Request};
use crate::inputs::Inputs;
use crate::kernel::generated::UserKernel;
use crate::refusal::Refusal;
use crate::verify::{self, Judge};
use crate::workload::generated::{user_kernel, work};

/// Inputs that are drawn for a group of cases. Others are mixed of them.
const DRAWS: usize = 3;

/// Inputs of one seed.
pub struct Draw {
    pub seed: i64,
    pub examples: Vec<Tensor>,
    pub judge: Judge,
}

/// The inputs of all kernels that solve one problem at one size and dtype.
pub struct Draws {
    key: String,
    pub all: Vec<Draw>,
    pub parameters: Vec<Tensor>,
    /// Bytes of an output in the case's dtype.
    output: usize,
    case: Case,
    /// It makes the references.
    kernel: UserKernel,
}

impl Draws {
    /// The draws of a case: `last` again, where they are, so that siblings are compared on the same.
    ///
    /// # Errors
    /// Why its kernel cannot be judged.
    pub fn of_case(case: &Case, last: Option<Self>) -> Result<Self, Refusal> {
        let key = format!("{}/{}", case.id.group, case.id.parameter);
        if let Some(last) = last.filter(|it| it.key == key) {
            return Ok(last);
        }
        let (seed, kernel, Inputs { examples, parameters }) = drawn(case)?;
        if examples.is_empty() {
            let what = "its task has no inputs, so there are no others to give it";
            return Err(Refusal::Skipped(what.to_owned()));
        }
        let (case, parameters) = (case.clone(), contiguous(parameters)?);
        let mut draws = Self { key, all: Vec::new(), parameters, output: 0, case, kernel };
        draws.all.push(draws.draw(seed, contiguous(examples)?)?);
        while draws.all.len() < DRAWS {
            let (seed, _, inputs) = drawn(&draws.case)?;
            draws.all.push(draws.draw(seed, contiguous(inputs.examples)?)?);
        }
        draws.output = draws.all[0].elements() * draws.case.dtype.bytes() as usize;
        Ok(draws)
    }

    /// Examples of a new seed.
    pub fn others(&self) -> Result<Vec<Tensor>, Refusal> {
        contiguous(drawn(&self.case)?.2.examples)
    }

    /// The demands on the output of a call on these examples.
    pub fn judge_of(&self, examples: Vec<Tensor>) -> Result<Judge, Refusal> {
        Ok(self.draw(0, examples)?.judge)
    }

    fn draw(&self, seed: i64, examples: Vec<Tensor>) -> Result<Draw, Refusal> {
        let Self { case, kernel, .. } = self;
        let parameters = self.parameters.iter().map(Tensor::shallow_clone).collect();
        let inputs = Inputs { examples, parameters };
        let reference = kernel.computation.reference(inputs.all_in_float64()?)?;
        let none =
            || Refusal::Skipped("it has no reference to compare its outputs with".to_owned());
        let reference = reference.ok_or_else(none)?;
        // The kernel declares operations by its own code.
        let elements = inputs.tensors().iter().map(Tensor::numel).sum();
        let terms = verify::kernel_terms(None, reference.numel(), elements);
        let judge = Judge::user_kernel(case, work(case)?, Some(reference), terms)?;
        Ok(Draw { seed, examples: inputs.examples, judge })
    }

    pub fn request(&self, case: &Case) -> Result<Request, Refusal> {
        let forms = |tensors: &[Tensor]| {
            tensors
                .iter()
                .map(Form::of_tensor)
                .collect::<Result<Vec<_>, _>>()
                .map_err(Refusal::Skipped)
        };
        Ok(Request {
            id: case.full_id(),
            examples: forms(&self.all[0].examples)?,
            parameters: forms(&self.parameters)?,
            output: self.output,
        })
    }
}

impl Draw {
    /// Elements of its output.
    fn elements(&self) -> usize {
        self.judge.reference().map_or(0, |it| it.output().numel())
    }
}

/// A new seed, the case's kernel with it, and the inputs of its task.
fn drawn(case: &Case) -> Result<(i64, UserKernel, Inputs), Refusal> {
    let seed = seed().map_err(|error| Refusal::Failed(format!("no seed: {error}")))?;
    let kernel = user_kernel(case, seed)?;
    let inputs = kernel.computation.inputs()?;
    Ok((seed, kernel, inputs))
}

fn contiguous(tensors: Vec<Tensor>) -> Result<Vec<Tensor>, Refusal> {
    Ok(tensors.iter().map(Tensor::f_contiguous).collect::<Result<_, _>>()?)
}

/// A seed that nobody can guess.
pub fn seed() -> std::io::Result<i64> {
    let mut bytes = [0; 8];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(i64::from_ne_bytes(bytes) & i64::MAX)
}
