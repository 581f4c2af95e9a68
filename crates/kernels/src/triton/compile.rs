//! From Triton's Python to a cubin, in a child process (`compile.py`).

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tch::Kind;

use super::python::{self, DRIVER, Python, TRITON};
use crate::cache;
use crate::cuda::Capability;
use native::refusal::Refusal;

/// The files of kernels; each may import from the first.
pub(super) const FILES: [(&str, &str); 6] = [
    ("prelude.py", include_str!("prelude.py")),
    ("activation.py", include_str!("activation.py")),
    ("gemlite.py", include_str!("gemlite.py")),
    ("loss.py", include_str!("loss.py")),
    ("norm.py", include_str!("norm.py")),
    ("softmax.py", include_str!("softmax.py")),
];

/// Parameters that Triton appends: addresses of scratch memory on the device, for the kernel and
/// for its profiler.
pub(super) const HIDDEN: usize = 2;

/// A parameter's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    /// An address of elements of this dtype.
    Pointer(Kind),
    Int,
    Long,
}

impl Type {
    /// In Triton's signatures.
    fn name(self) -> &'static str {
        match self {
            Self::Pointer(Kind::Float) => "*fp32",
            Self::Pointer(Kind::BFloat16) => "*bf16",
            Self::Pointer(Kind::Half) => "*fp16",
            Self::Pointer(Kind::Int64) => "*i64",
            Self::Pointer(Kind::Int) => "*i32",
            Self::Pointer(Kind::Int8) => "*i8",
            Self::Pointer(kind) => unreachable!("no kernel reads {kind:?}"),
            Self::Int => "i32",
            Self::Long => "i64",
        }
    }

    fn bits(self) -> u32 {
        if self == Self::Int { 32 } else { 64 }
    }
}

/// A `tl.constexpr` parameter's value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Constant {
    Integer(i64),
    Real(f64),
    /// An optional parameter that is not given.
    Absent,
}

/// The extension of the files in which compiled kernels are kept.
pub(super) const EXTENSION: &str = "triton";

/// A kernel and what it is compiled for, the GPU aside.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Specification {
    pub file: &'static str,
    pub kernel: &'static str,
    /// In order, without the constants.
    pub parameters: Vec<(&'static str, Type)>,
    /// The parameters that are multiples of 16.
    pub aligned: Vec<&'static str>,
    pub constants: Vec<(&'static str, Constant)>,
    pub warps: u32,
    /// Blocks of a product's operands that are on their way at once; elsewhere Triton's default.
    pub stages: Option<u32>,
}

impl Specification {
    /// The request that `compile.py` reads.
    pub(super) fn request(&self, capability: Capability) -> Value {
        let object = |pairs: Vec<(&str, Value)>| -> Value {
            pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
        };
        json!({
            "files": object(FILES.map(|(name, text)| (name, json!(text))).to_vec()),
            "file": self.file,
            "kernel": self.kernel,
            "parameters": self.parameters.iter().map(|(name, it)| (name, it.name())).collect::<Vec<_>>(),
            "aligned": self.aligned,
            "constants": object(self.constants.iter().map(|(name, it)| (*name, json!(it))).collect()),
            "capability": capability.major * 10 + capability.minor,
            "warps": self.warps,
            "stages": self.stages,
        })
    }

    /// The name under which it is kept, and loaded.
    fn name(&self, capability: Capability) -> String {
        let request = self.request(capability);
        let key = plan::fnv1a(format!("Triton {TRITON}\n{DRIVER}\n{request}"));
        format!("{}.{}-{capability}-{key:016x}.{EXTENSION}", self.file, self.kernel)
    }
}

/// Facts for the launch of a compiled kernel, as `compile.py` writes them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Metadata {
    /// The version that compiled.
    triton: String,
    /// The entry function.
    pub name: String,
    /// Bytes of dynamic shared memory of a block.
    pub shared: u32,
    pub warps: u32,
    /// Types of all parameters of the entry function, as PTX has them: `u64`.
    parameters: Vec<String>,
    /// Blocks of a cluster.
    ctas: u32,
    /// Bytes that each block needs.
    global_scratch: u64,
    profile_scratch: u64,
    cooperative: bool,
    dependent: bool,
}

impl Metadata {
    /// That the launch will give the kernel what it expects.
    fn check(&self, specification: &Specification) -> Result<(), String> {
        let needs = [
            ("clusters of blocks", self.ctas != 1),
            ("scratch memory", self.global_scratch != 0),
            ("memory for a profile", self.profile_scratch != 0),
            ("a cooperative launch", self.cooperative),
            ("a dependent launch", self.dependent),
        ];
        if let Some((what, _)) = needs.iter().find(|(_, needed)| *needed) {
            return Err(format!("it needs {what}, which the launch does not provide"));
        }
        // A name of PTX's types is a letter and bits.
        let found: Vec<u32> = self
            .parameters
            .iter()
            .map(|name| name.trim_start_matches(char::is_alphabetic).parse().unwrap_or(0))
            .collect();
        let mut expected: Vec<u32> =
            specification.parameters.iter().map(|(_, it)| it.bits()).collect();
        expected.extend([64; HIDDEN]);
        if found != expected || self.warps != specification.warps {
            return Err(format!(
                "it takes parameters of {found:?} bits in {} warps, but is launched with \
                 {expected:?} in {}; install triton: pip install triton=={TRITON}",
                self.warps, specification.warps
            ));
        }
        Ok(())
    }
}

/// A compiled kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Compiled {
    /// It and all that decided what it is.
    pub name: String,
    pub metadata: Metadata,
    pub cubin: Vec<u8>,
}

/// Takes what is kept on disk, or compiles for a capability.
pub(super) fn compiled(
    specification: &Specification,
    capability: Capability,
) -> Result<Compiled, Refusal> {
    let name = specification.name(capability);
    let is_answer = |content: &[u8]| parse(content).is_ok();
    let make = || compile(python::python()?, specification, capability);
    let answer = cache::kept(&name, is_answer, make)?;
    understood(name, &answer, specification)
}

/// Runs the compiler: its answer, which can be parsed.
pub(super) fn compile(
    python: &Python,
    specification: &Specification,
    capability: Capability,
) -> Result<Vec<u8>, Refusal> {
    let what =
        format!("compiling {} of {} for {capability}", specification.kernel, specification.file);
    let request = specification.request(capability).to_string();
    let answer = python.ask(&request, &what)?;
    parse(&answer)
        .map_err(|why| Refusal::Failed(format!("Triton {TRITON}, {what}: its answer: {why}")))?;
    Ok(answer)
}

/// The answer taken apart, and held against what was asked for.
pub(super) fn understood(
    name: String,
    answer: &[u8],
    specification: &Specification,
) -> Result<Compiled, Refusal> {
    let failed = |triton: &str, why: String| {
        let Specification { file, kernel, .. } = specification;
        Refusal::Failed(format!("Triton {triton}, {kernel} of {file}: {why}"))
    };
    let (metadata, cubin) = parse(answer).map_err(|why| failed("?", why))?;
    metadata.check(specification).map_err(|why| failed(&metadata.triton, why))?;
    Ok(Compiled { name, metadata, cubin: cubin.to_vec() })
}

/// A line of JSON and a cubin.
fn parse(answer: &[u8]) -> Result<(Metadata, &[u8]), String> {
    let end = answer.iter().position(|byte| *byte == b'\n').ok_or("no line of metadata")?;
    let (line, rest) = answer.split_at(end);
    let metadata = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let cubin = &rest[1..];
    if !cubin.starts_with(cache::ELF) {
        return Err(format!("{} bytes that are not a cubin", cubin.len()));
    }
    Ok((metadata, cubin))
}

#[cfg(test)]
#[path = "compile_tests.rs"]
mod tests;
