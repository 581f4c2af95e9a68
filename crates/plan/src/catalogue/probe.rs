//! Probes of the machine: a limit, at a size, on so many threads; and what a step does, by formula.

use serde::{Deserialize, Serialize};

use super::{COMPARED_BYTES, REFERENCE_ELEMENTS, SizeSet, product, sum};
use crate::settings::Threads;
use crate::words::closed::closed_set;
use crate::words::{CompileMode, Device, Dtype};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// The facts about a probe: what it runs, and what its size means.
enum ProbeFacts {
    /// A product of square matrices, whose size is their rows and columns.
    Product,
    /// An operation of STREAM's on so many arrays, whose size is the bytes of one, with so many
    /// floating-point operations for each element.
    Stream { arrays: u64, flops: u64 },
    /// A kernel on a tensor, whose size is its elements.
    Launch,
    /// An operation of torch on a tensor, compiled or not.
    Call { compile: Option<CompileMode> },
}

/// A kind of probes, which share how a size is read and which property of a machine they show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeKind {
    /// Products of square matrices: floating-point operations per second.
    Product,
    /// STREAM's operations: bytes per second.
    Stream,
    /// Kernels that do next to nothing: what starting one costs.
    Launch,
    /// Operations of torch on one element: what a call costs.
    Call,
}

closed_set! {
    /// A limit of a machine, and what reaches it.
    Probe, "probe", ProbeFacts {
        /// Torch's product of square matrices: floating-point operations per second.
        Matmul = "matmul" => ProbeFacts::Product,
        /// oneDNN's product, one of the matrices in its layout beforehand.
        MatmulOnednn = "matmul_onednn" => ProbeFacts::Product,
        /// STREAM's c = a: bytes per second, as the three below.
        Copy = "copy" => ProbeFacts::Stream { arrays: 2, flops: 0 },
        /// STREAM's b = s·c
        Scale = "scale" => ProbeFacts::Stream { arrays: 2, flops: 1 },
        /// STREAM's c = a + b
        Add = "add" => ProbeFacts::Stream { arrays: 3, flops: 1 },
        /// STREAM's a = b + s·c
        Triad = "triad" => ProbeFacts::Stream { arrays: 3, flops: 2 },
        /// A kernel that does next to nothing: what starting one costs.
        Launch = "launch" => ProbeFacts::Launch,
        /// An operation of torch on one element, called eagerly: what a call costs.
        Call = "call" => ProbeFacts::Call { compile: None },
        /// That operation as Inductor compiles it, run from its package.
        CompiledCall = "compiled_call" => ProbeFacts::Call { compile: Some(CompileMode::Default) },
    }
}

impl Probe {
    /// The kind of the probe.
    pub const fn kind(&self) -> ProbeKind {
        match self.facts() {
            ProbeFacts::Product => ProbeKind::Product,
            ProbeFacts::Stream { .. } => ProbeKind::Stream,
            ProbeFacts::Launch => ProbeKind::Launch,
            ProbeFacts::Call { .. } => ProbeKind::Call,
        }
    }

    /// Whether it is a product of square matrices.
    pub const fn is_product(&self) -> bool {
        matches!(self.kind(), ProbeKind::Product)
    }

    /// Whether it is one of STREAM's.
    pub const fn is_stream(&self) -> bool {
        matches!(self.kind(), ProbeKind::Stream)
    }

    /// Whether it is a call of an operation.
    pub const fn is_call(&self) -> bool {
        matches!(self.kind(), ProbeKind::Call)
    }

    /// Arrays that an operation of STREAM's reads and writes; none of the other probes has such.
    pub const fn arrays(self) -> u64 {
        match self.facts() {
            ProbeFacts::Stream { arrays, .. } => *arrays,
            ProbeFacts::Product | ProbeFacts::Launch | ProbeFacts::Call { .. } => 0,
        }
    }

    /// The size as ids have it: `1024` of matrices, `16KiB` or `4MiB` of arrays.
    pub fn size_name(self, size: u64) -> String {
        let units = [("GiB", 1 << 30), ("MiB", MIB), ("KiB", KIB), ("B", 1)];
        match units.iter().find(|(_, unit)| size.is_multiple_of(*unit)) {
            Some((name, unit)) if self.is_stream() => format!("{}{name}", size / unit),
            _ => size.to_string(),
        }
    }
}

/// The work of a calibration case.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProbeWork {
    /// The probe that is measured.
    pub probe: Probe,
    /// Rows and columns of the square matrices of products; bytes of one array of STREAM's; elements
    /// of the tensor of `launch` and of calls.
    pub size: u64,
    /// Siblings differ in it; it equals the one in the settings.
    #[serde(rename = "thread_count")]
    pub threads: Threads,
    /// How often one step of STREAM's goes over its arrays; 1 for the others.
    pub passes: u64,
}

impl ProbeWork {
    /// The probe at a size. On the CPU, a step of STREAM's goes over an array that fits a cache for
    /// 512 MiB, which takes a first cache some milliseconds, so that the work is long against waking
    /// threads and waiting for them, and over a larger one for 64 MiB; on a device, once.
    pub fn new(probe: Probe, size: u64, threads: Threads, device: Device) -> Self {
        const CACHED: u64 = 8 * MIB;
        let step: u64 = if size <= CACHED { 512 * MIB } else { 64 * MIB };
        let is_repeated = probe.is_stream() && device == Device::Cpu;
        let passes = if is_repeated { step.div_ceil(size.max(1)) } else { 1 };
        Self { probe, size, threads, passes }
    }

    /// The sizes of a set: upstream's for products; for STREAM's from the first cache to memory, as
    /// one thread sees them. Two or three arrays of 8 KiB fit a first cache of 32 KiB, of 128 KiB a
    /// second one of 512 KiB and more, of 4 MiB a third one of 16 MiB; 256 MiB is four times a third
    /// one of 64 MiB, as STREAM asks of memory, and 1 GiB of 256 MiB. Several threads share an array,
    /// so that each of them works on a part only, in a nearer cache.
    pub fn sizes(probe: Probe, set: SizeSet) -> Vec<u64> {
        match (probe.facts(), set) {
            (ProbeFacts::Product, SizeSet::Full) => vec![512, 1024, 2048, 4096],
            (ProbeFacts::Product, SizeSet::Quick) => vec![1024, 2048],
            (ProbeFacts::Stream { .. }, SizeSet::Full) => {
                let caches = [8, 32, 128, 512].map(|size| size * KIB);
                let larger = [2, 8, 32, 256, 1024].map(|size| size * MIB);
                [&caches[..], &larger[..]].concat()
            }
            (ProbeFacts::Stream { .. }, SizeSet::Quick) => {
                vec![8 * KIB, 128 * KIB, 4 * MIB, 256 * MIB]
            }
            (ProbeFacts::Launch | ProbeFacts::Call { .. }, _) => vec![1],
        }
    }

    /// The mode of `torch.compile` of what runs compiled.
    pub const fn compile(&self) -> Option<CompileMode> {
        match self.probe.facts() {
            ProbeFacts::Call { compile } => *compile,
            ProbeFacts::Product | ProbeFacts::Stream { .. } | ProbeFacts::Launch => None,
        }
    }

    /// Floating-point operations of one step.
    pub fn flops(&self, dtype: Dtype) -> u64 {
        self.costs(dtype).flops
    }

    /// Bytes that one step reads and writes, each operand once.
    pub fn bytes(&self, dtype: Dtype) -> u64 {
        self.costs(dtype).bytes
    }

    /// Bytes of the host's memory that a probe of a device takes.
    pub(crate) fn host_bytes(&self, dtype: Dtype) -> u64 {
        self.costs(dtype).host
    }

    /// Bytes that it holds, with what it is compared with.
    pub fn memory_bytes(&self, dtype: Dtype) -> u64 {
        self.costs(dtype).memory
    }

    fn costs(&self, dtype: Dtype) -> Costs {
        let (size, element) = (self.size, dtype.bytes());
        match *self.probe.facts() {
            ProbeFacts::Product => {
                let matrix = product(&[size, size]);
                Costs {
                    flops: product(&[2, matrix, size]),
                    bytes: product(&[3, element, matrix]),
                    // With their reference in float64.
                    memory: product(&[3 * element + 24, matrix]),
                    // One matrix is drawn at a time; the reference holds one whole matrix, some rows of
                    // the other and of the result.
                    host: sum(&[
                        product(&[8 + element, matrix]),
                        2 * 8 * matrix.min(REFERENCE_ELEMENTS),
                    ]),
                }
            }
            ProbeFacts::Stream { arrays, flops } => Costs {
                flops: product(&[flops, size / element, self.passes]),
                // STREAM's own count, in every pass.
                bytes: product(&[arrays, size, self.passes]),
                memory: product(&[3, size]),
                // Arrays are drawn where they lie: the host has the elements that are compared.
                host: COMPARED_BYTES * (size / element).min(REFERENCE_ELEMENTS),
            },
            ProbeFacts::Launch | ProbeFacts::Call { .. } => {
                // A call has its result, too, and beside a compiled one the eager result.
                let tensors = if self.probe.is_call() { 3 } else { 1 };
                Costs {
                    flops: size,
                    bytes: product(&[2, element, size]),
                    memory: product(&[tensors, element, size]),
                    host: product(&[element, size]),
                }
            }
        }
    }
}

/// Operations and bytes of a probe.
struct Costs {
    flops: u64,
    bytes: u64,
    memory: u64,
    host: u64,
}

#[cfg(test)]
#[path = "probe_tests.rs"]
mod tests;
