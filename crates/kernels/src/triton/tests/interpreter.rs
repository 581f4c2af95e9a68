//! Kernels executed on the CPU by Triton's interpreter (`interpret.py`).

use std::time::Duration;

use libtorch::child::{self, Patience, Program, RunError};
use serde_json::{Value, json};
use tch::{Kind, Tensor};

use super::super::compile::{self, Specification, Type};
use super::super::kernel::Launch;
use super::super::python::{self, Python};
use crate::cuda::{Argument, Capability};
use native::refusal::Refusal;

/// The Python that has Triton. Without one the test says so and checks nothing; where a Python was
/// chosen, it has to have it.
pub(super) fn triton() -> Option<&'static Python> {
    match python::python() {
        Ok(python) => Some(python),
        Err(Refusal::Skipped(reason)) => lacking(&reason),
        Err(other) => panic!("{other}"),
    }
}

/// A Python that also has what the interpreter needs.
pub(in crate::triton) fn interpreter() -> Option<&'static libtorch::Interpreter> {
    triton()?;
    let python = libtorch::Interpreter::compiling();
    match run(python, "import numpy", "looking for numpy", b"") {
        Ok(_) => Some(python),
        Err(error) => lacking(&format!("{error:?}")),
    }
}

fn run(
    python: &libtorch::Interpreter,
    script: &str,
    what: &str,
    input: &[u8],
) -> Result<Vec<u8>, RunError> {
    let patience = Patience { quiet: None, limit: Duration::from_secs(300) };
    let program = Program { interpreter: python.program(), script, what, patience };
    program.output(input, |command| child::without_variables(command, &["TRITON_"]))
}

fn lacking<T>(reason: &str) -> Option<T> {
    let is_chosen = std::env::var_os("CRITERION_TORCH_PYTHON").is_some_and(|it| !it.is_empty());
    assert!(!is_chosen, "{reason}");
    crate::skip::tool(reason);
    None
}

/// A tensor with memory around it that no kernel may touch.
pub(in crate::triton) struct Guarded {
    memory: Tensor,
    pub tensor: Tensor,
}

/// Elements on either side.
const GUARD: i64 = 32;

impl Guarded {
    /// The values, in rows that are `gap` elements longer than they are. Between the rows and around
    /// them is NaN, or what is no index where these are indices.
    pub fn new(values: &Tensor, gap: i64) -> Self {
        let size = values.size();
        let columns = size.last().copied().unwrap_or(1);
        let rows = values.numel() as i64 / columns.max(1);
        let length = rows * (columns + gap);
        let device = (values.kind(), values.device());
        let guard = if values.kind() == Kind::Int64 { f64::from(i32::MIN) } else { f64::NAN };
        let memory = Tensor::full([length + 2 * GUARD], guard, device);
        let wide = memory.narrow(0, GUARD, length).view([rows, columns + gap]);
        let mut strided: Vec<i64> = size.clone();
        if let Some(last) = strided.last_mut() {
            *last += gap;
        }
        let tensor = wide.view(strided.as_slice());
        let mut tensor = if size.is_empty() { tensor } else { tensor.narrow(-1, 0, columns) };
        tensor.copy_(values);
        Self { memory, tensor }
    }

    /// Memory for a contiguous result, in which no element is right yet.
    pub fn for_output(size: &[i64], kind: Kind) -> Self {
        Self::new(&Tensor::full(size, 77.0, (kind, tch::Device::Cpu)), 0)
    }

    /// That nothing was written beyond a contiguous tensor.
    pub fn check_guard(&self) {
        let length = self.memory.numel() as i64;
        for start in [0, length - GUARD] {
            let guard = self.memory.narrow(0, start, GUARD);
            assert!(guard.isnan().all().int64_value(&[]) == 1, "written outside of out");
        }
    }
}

/// Launches to be executed one after the other, on the memory of tensors.
#[derive(Default)]
pub(in crate::triton) struct Interpreter {
    memory: Vec<Tensor>,
    launches: Vec<Value>,
}

impl Interpreter {
    pub fn add(&mut self, memory: &[&Guarded]) {
        self.memory.extend(memory.iter().map(|it| it.memory.shallow_clone()));
    }

    /// Contiguous memory of the kernels' own.
    pub fn add_tensor(&mut self, tensor: &Tensor) {
        self.memory.push(tensor.view([-1]));
    }

    pub fn launch(&mut self, specification: &Specification, launch: &Launch) {
        let Launch { programs, arguments } = launch;
        assert_eq!(arguments.len(), specification.parameters.len(), "{specification:?}");
        let arguments: Vec<Value> = arguments
            .iter()
            .zip(&specification.parameters)
            .map(|(argument, (name, it))| match (argument, it) {
                (Argument::Pointer(address), Type::Pointer(kind)) => {
                    self.place(*address as usize, *kind)
                }
                (Argument::Int(value), Type::Int) => json!(value),
                (Argument::Long(value), Type::Long) => json!(value),
                _ => panic!("{name} is {it:?}, but {argument:?} was given"),
            })
            .collect();
        let request = specification.request(Capability { major: 9, minor: 0 });
        self.launches.push(json!({
            "file": request["file"], "kernel": request["kernel"],
            "constants": request["constants"], "programs": programs, "arguments": arguments,
        }));
    }

    /// Which region an address is in, and where.
    fn place(&self, address: usize, kind: Kind) -> Value {
        let dtype = match kind {
            Kind::Float => "float32",
            Kind::BFloat16 => "bfloat16",
            Kind::Half => "float16",
            Kind::Int64 => "int64",
            Kind::Int => "int32",
            Kind::Int8 => "int8",
            other => panic!("{other:?}"),
        };
        for (region, tensor) in self.memory.iter().enumerate() {
            let start = tensor.data_ptr() as usize;
            let bytes = tensor.numel() * tensor.kind().elt_size_in_bytes();
            if (start..=start + bytes).contains(&address) {
                return json!([region, address - start, dtype]);
            }
        }
        panic!("an address that is in no tensor");
    }

    pub fn run(mut self, python: &libtorch::Interpreter) {
        let bytes: Vec<Vec<u8>> = self
            .memory
            .iter()
            .map(|tensor| Vec::try_from(tensor.view_dtype(Kind::Uint8)).unwrap())
            .collect();
        let files: serde_json::Map<String, Value> =
            compile::FILES.iter().map(|(name, text)| ((*name).to_owned(), json!(text))).collect();
        let request = json!({
            "files": files, "launches": self.launches,
            "regions": bytes.iter().map(Vec::len).collect::<Vec<_>>(),
        });
        let input = [format!("{request}\n").into_bytes(), bytes.concat()].concat();
        let script = include_str!("interpret.py");
        let output = run(python, script, "interpreting", &input);
        let output = output.unwrap_or_else(|it| panic!("{it:?}"));
        assert_eq!(output.len(), bytes.concat().len());
        let mut rest = output.as_slice();
        for (tensor, bytes) in self.memory.iter_mut().zip(&bytes) {
            let (region, after) = rest.split_at(bytes.len());
            rest = after;
            let size = tensor.size();
            tensor.copy_(&Tensor::from_data_size(region, &size, tensor.kind()));
        }
    }
}
