//! Inputs that no kernel has seen, with the outputs that they should have.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::Read as _;

use fastrand::Rng;
use plan::{Case, Check, CheckStatus, Device, Work};
use serde_json::Value;
use tch::Tensor;

use super::memory::{FIRST, Form, Request};
use crate::harness::clock::Stopwatch;
use crate::harness::panics::{self, Caught};
use crate::inputs::{self, Inputs};
use crate::kernel::generated::{Fields, UserKernel};
use crate::refusal::Refusal;
use crate::verify::{self, Judge};
use crate::workload::generated::{user_kernel, work};

/// Inputs that are drawn for a group of cases. Others are mixed of them.
const DRAWS: usize = 2;

/// Inputs of one seed.
pub struct Draw {
    pub seed: i64,
    pub examples: Vec<Tensor>,
    pub judge: Judge,
}

/// The inputs of all kernels that solve one problem at one size and dtype.
pub struct Draws {
    pub all: Vec<Draw>,
    pub parameters: Vec<Tensor>,
    /// Whether the parameters lie in the memory that kernels see.
    pub are_written: Cell<bool>,
    /// The place from where on its tensors lie there.
    offset: usize,
    /// Draws at a size near the case's, or why there are none.
    pub near: Result<Box<Self>, String>,
    /// The finding on the task.
    pub task: Check,
    /// The parameters in float64, for references.
    exact: Vec<Tensor>,
    /// Bytes of an output in the case's dtype.
    output: usize,
    case: Case,
    /// It makes the references.
    kernel: UserKernel,
}

impl Draws {
    /// The draws of a case and its siblings, which are compared on the same.
    ///
    /// # Errors
    /// Why its kernel cannot be judged.
    pub fn new(case: &Case) -> Result<Self, Refusal> {
        let mut draws = Self::drawn(case, DRAWS)?;
        draws.task = draws.examine()?;
        let layout = draws.request(case, false)?.layout().map_err(Refusal::Skipped)?;
        draws.near = draws.draw_near(layout.end);
        Ok(draws)
    }

    /// Whether a case is one of those whose inputs these are.
    pub fn are_of(&self, case: &Case) -> bool {
        let id = &self.case.id;
        (&id.group, &id.parameter) == (&case.id.group, &case.id.parameter)
    }

    /// All of it is on the host, whatever the case's device.
    fn drawn(case: &Case, count: usize) -> Result<Self, Refusal> {
        let case = Case { device: Device::Cpu, ..case.clone() };
        let (seed, kernel, Inputs { examples, parameters }) = drawn(&case)?;
        if examples.is_empty() {
            let what = "its task has no inputs, so there are no others to give it";
            return Err(Refusal::Skipped(what.to_owned()));
        }
        let mut draws = Self {
            all: Vec::new(),
            exact: parameters
                .iter()
                .map(|it| it.f_to_kind(tch::Kind::Double))
                .collect::<Result<_, _>>()?,
            parameters: contiguous(parameters)?,
            are_written: Cell::new(false),
            offset: FIRST,
            near: Err("none were drawn".to_owned()),
            task: Check::skipped("task", "nobody has looked"),
            output: 0,
            case,
            kernel,
        };
        draws.all.push(draws.draw(seed, contiguous(examples)?)?);
        while draws.all.len() < count {
            let (seed, _, inputs) = drawn(&draws.case)?;
            draws.all.push(draws.draw(seed, contiguous(inputs.examples)?)?);
        }
        draws.output = draws.all[0].elements() * draws.case.dtype.bytes() as usize;
        Ok(draws)
    }

    /// Draws at another size, or why there are none. Their tensors lie in the file from `offset` on.
    fn draw_near(&self, offset: usize) -> Result<Box<Self>, String> {
        const TRIES: usize = 4;
        let seed = seed().map_err(|error| format!("no seed: {error}"))?;
        let mut rng = Rng::with_seed(seed as u64);
        let mut why = "its size has no whole number of 8 or more".to_owned();
        for _ in 0..TRIES {
            let Some(size) = near(&self.kernel.problem_size, &mut rng) else { break };
            let case = resized(&self.case, size.clone());
            let what = match panics::catch(|| Self::drawn(&case, 1)) {
                Ok(Ok(draws)) => return Ok(Box::new(Self { offset, ..draws })),
                Ok(Err(refusal)) => refusal.to_string(),
                Err(Caught::Panic(message)) => message,
                Err(Caught::Other(_)) => "a panic without a message".to_owned(),
            };
            why = format!("its task refuses {}: {what}", shown(&size));
        }
        Err(why)
    }

    /// The problem size, for people.
    pub fn size(&self) -> String {
        shown(&self.kernel.problem_size)
    }

    /// Exchanges each input by itself: the output that the reference has then has to be one that would be refused.
    fn examine(&self) -> Result<Check, Refusal> {
        /// Seconds that all references may take.
        const MOST_S: f64 = 2.0;
        let [one, other, ..] = &self.all[..] else { return Ok(self.task.clone()) };
        let (watch, mut idle) = (Stopwatch::start(), Vec::new());
        for index in 0..one.examples.len() {
            let mut found = self.exchanged(one, &other.examples[index], index)?;
            if found.is_some() {
                // Two seeds may happen to be alike.
                found = self.exchanged(one, &self.others()?[index], index)?;
            }
            idle.extend(found.map(|what| format!("input {index} {what}")));
            if watch.seconds() > MOST_S && index + 1 < one.examples.len() {
                return Ok(Check::skipped("task", "references take too long to try each input"));
            }
        }
        if idle.is_empty() {
            return Ok(Check::passed("task", format!("on each of {}", one.examples.len())));
        }
        let remedy =
            "a kernel may leave such an input out: have its values matter, or take it away";
        Ok(Check::graded("task", CheckStatus::Warning, idle.join("; "), remedy))
    }

    /// The finding, if a draw does not change with another input.
    fn exchanged(&self, one: &Draw, other: &Tensor, index: usize) -> Result<Option<&str>, Refusal> {
        let mut examples: Vec<Tensor> = one.examples.iter().map(Tensor::shallow_clone).collect();
        examples[index] = other.shallow_clone();
        if examples[index] == one.examples[index] {
            return Ok(Some("is the same for every seed"));
        }
        let passes = self.passes_for(one, examples)?;
        Ok(passes.then_some("changes nothing that its tolerances would see"))
    }

    /// Whether the reference's output on these examples would pass for that of a draw.
    fn passes_for(&self, draw: &Draw, examples: Vec<Tensor>) -> Result<bool, Refusal> {
        let judge = self.judge_of(examples)?;
        let Some(reference) = judge.reference() else { return Ok(false) };
        let output = reference.output().f_to_kind(inputs::kind(self.case.dtype))?;
        Ok(draw.judge.accuracy_of(&output).is_ok())
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
        let parameters = self.exact.iter().map(Tensor::shallow_clone).collect();
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

    /// The request to run a case's kernel; `is_fenced`: with tensors that it has to stay within.
    pub fn request(&self, case: &Case, is_fenced: bool) -> Result<Request, Refusal> {
        let forms = |tensors: &[Tensor]| {
            tensors
                .iter()
                .map(Form::of_tensor)
                .collect::<Result<Vec<_>, _>>()
                .map_err(Refusal::Skipped)
        };
        Ok(Request {
            id: case.full_id(),
            problem_size: work(&self.case)?.problem_size.clone(),
            is_fenced,
            offset: self.offset,
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

/// A case at another size.
pub fn resized(case: &Case, size: Fields) -> Case {
    let mut case = case.clone();
    if let Work::Kernel(work) = &mut case.work {
        work.problem_size = size;
    }
    case
}

/// A size near this one, of other whole numbers: smaller by a quarter at most, equal ones alike. Their powers of two stay
/// as far as there is room, because kernels work in blocks.
fn near(size: &Fields, rng: &mut Rng) -> Option<Fields> {
    fn shrink(value: &mut Value, shrunk: &mut BTreeMap<u64, u64>, rng: &mut Rng) {
        if let Value::Array(values) = value {
            values.iter_mut().for_each(|value| shrink(value, shrunk, rng));
        }
        let Some(n) = value.as_u64().filter(|it| *it >= 8) else { return };
        let block = 1 << n.trailing_zeros().min((n / 8).ilog2()).min(6);
        let other = *shrunk.entry(n).or_insert_with(|| n - block * rng.u64(1..=n / 4 / block));
        *value = other.into();
    }
    let (mut other, mut shrunk) = (size.clone(), BTreeMap::new());
    other.retain(|_, value| !value.is_null());
    other.values_mut().for_each(|value| shrink(value, &mut shrunk, rng));
    (!shrunk.is_empty()).then_some(other)
}

fn shown(size: &Fields) -> String {
    let fields = size.iter().map(|(name, value)| format!("{name} {value}"));
    fields.collect::<Vec<_>>().join(", ")
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn other_sizes_are_near_and_keep_what_blocks_need() {
        let fields = |value: Value| serde_json::from_value::<Fields>(value).expect("fields");
        let mut rng = Rng::with_seed(1);
        let size = fields(
            json!({ "m": 4096, "n": 4096, "k": 100, "radius": 3, "dims": [24, 7], "eps": 0.5 }),
        );
        for _ in 0..100 {
            let other = near(&size, &mut rng).expect("there are others");
            let of = |name: &str| other[name].as_u64().expect("a whole number");
            assert_eq!((of("m"), of("radius"), &other["eps"]), (of("n"), 3, &json!(0.5)));
            assert!((3072..4096).contains(&of("m")) && of("m") % 64 == 0, "{other:?}");
            assert!((75..100).contains(&of("k")) && of("k") % 4 == 0, "{other:?}");
            assert!(
                [18, 20, 22].contains(&other["dims"][0].as_u64().expect("a number")),
                "{other:?}"
            );
            assert_eq!(other["dims"][1], 7);
        }
        assert_eq!(near(&fields(json!({ "n": 7, "text": "eight" })), &mut rng), None);
    }
}
