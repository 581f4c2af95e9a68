//! Inputs that no kernel has seen, with the outputs that they should have.

use std::io::Read as _;

use plan::Case;
use tch::Tensor;

use super::memory::Form;
use super::zygote::Request;
use crate::inputs::Inputs;
use crate::kernel::generated::UserKernel;
use crate::refusal::Refusal;
use crate::verify::{self, Judge};
use crate::workload::generated::user_kernel;

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
    /// It makes references of other inputs.
    problem: Option<(Case, UserKernel)>,
}

impl Draws {
    /// Those of the case: `last` again, where they are, so that siblings are compared on the same.
    ///
    /// # Errors
    /// Why its kernel cannot be judged.
    pub fn of_case(case: &Case, last: Option<Self>) -> Result<Self, Refusal> {
        let key = format!("{}/{}", case.id.group, case.id.parameter);
        if let Some(last) = last.filter(|it| it.key == key) {
            return Ok(last);
        }
        let mut draws =
            Self { key, all: Vec::new(), parameters: Vec::new(), output: 0, problem: None };
        for place in 0..DRAWS {
            let seed = seed().map_err(|error| Refusal::Failed(format!("no seed: {error}")))?;
            let kernel = user_kernel(case, seed)?;
            let Inputs { examples, parameters } = kernel.computation.inputs()?;
            if examples.is_empty() {
                let what = "its task has no inputs, so there are no others to give it";
                return Err(Refusal::Skipped(what.to_owned()));
            }
            if place == 0 {
                draws.parameters = contiguous(parameters)?;
            }
            draws.all.push(draws.draw(case, seed, contiguous(examples)?, &kernel)?);
            draws.problem = Some((case.clone(), kernel));
        }
        draws.output = draws.all[0].elements() * case.dtype.bytes() as usize;
        Ok(draws)
    }

    /// The demands on the output of a call on these examples.
    pub fn judge_of(&self, examples: Vec<Tensor>) -> Result<Judge, Refusal> {
        let none = || Refusal::Failed("nothing is drawn".to_owned());
        let (case, kernel) = self.problem.as_ref().ok_or_else(none)?;
        Ok(self.draw(case, 0, examples, kernel)?.judge)
    }

    fn draw(
        &self,
        case: &Case,
        seed: i64,
        examples: Vec<Tensor>,
        kernel: &UserKernel,
    ) -> Result<Draw, Refusal> {
        let parameters = self.parameters.iter().map(Tensor::shallow_clone).collect();
        let inputs = Inputs { examples, parameters };
        let reference = kernel.computation.reference(inputs.all_in_float64()?)?;
        let none =
            || Refusal::Skipped("it has no reference to compare its outputs with".to_owned());
        let reference = reference.ok_or_else(none)?;
        let none = || Refusal::Failed(format!("{} is not a case of a kernel", case.id));
        let work = case.work.kernel().ok_or_else(none)?;
        // What the kernel declares is its own code.
        let elements = inputs.tensors().iter().map(Tensor::numel).sum();
        let terms = verify::kernel_terms(None, reference.numel(), elements);
        let judge = Judge::user_kernel(case, work, Some(reference), terms)?;
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

fn contiguous(tensors: Vec<Tensor>) -> Result<Vec<Tensor>, Refusal> {
    Ok(tensors.iter().map(Tensor::f_contiguous).collect::<Result<_, _>>()?)
}

/// A seed that nobody can guess.
pub fn seed() -> std::io::Result<i64> {
    let mut bytes = [0; 8];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(i64::from_ne_bytes(bytes) & i64::MAX)
}
