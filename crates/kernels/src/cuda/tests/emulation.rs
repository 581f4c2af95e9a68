//! Kernels executed on the CPU (`emulation.h`).

use std::io::Write;
use std::process::{Command, Stdio};

use tch::{Kind, Tensor};

use super::{Grid, Source};
#[cfg(test)]
use super::{launch::Launch, module};

/// A source built with the host's C++ compiler, the one that builds the shim.
pub struct Emulation {
    folder: tempfile::TempDir,
}

/// A parameter of the kernel.
pub enum Argument<'t> {
    /// A tensor that is read.
    In(&'t Tensor),
    /// A tensor that is written.
    Out(&'t mut Tensor),
    /// From so many bytes on.
    InAt(&'t Tensor, usize),
    /// As above, and what the kernel leaves there is put into the tensor.
    InOutAt(&'t mut Tensor, usize),
    /// No address.
    Null,
    /// A number.
    Int(i64),
}

impl Emulation {
    /// Compiles it. Panics with the compiler's message where it does not compile.
    pub fn build(source: &Source) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("emulate.cpp");
        std::fs::write(&file, include_str!("emulation.h").to_owned() + source.text).unwrap();
        let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
        let output = Command::new(compiler)
            // Compiling takes longer than running what comes out.
            .args(["-std=c++20", "-O0", "-g1", "-rdynamic", "-ffp-contract=off"])
            // Kernels read a pair of values as one word, as CUDA allows.
            .args(["-fno-strict-aliasing", "-fsanitize=address,undefined"])
            .args(["-fno-sanitize-recover=all", "-w", "-o"])
            .args([&folder.path().join("emulate"), &file])
            .arg("-ldl")
            .output()
            .expect("there is a C++ compiler");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self { folder }
    }

    /// Runs a kernel to its end. Panics with the sanitizer's report where it does what it must not.
    pub fn run(&self, name: &str, grid: Grid, arguments: &mut [Argument]) {
        let mut command = Command::new(self.folder.path().join("emulate"));
        let (x, y) = grid.blocks;
        command.arg(name).args([x, y, grid.threads].map(|it| it.to_string()));
        // Leaks are not looked for: that needs to trace the process.
        command.env("ASAN_OPTIONS", "detect_leaks=0");
        let mut input = Vec::new();
        for argument in arguments.iter() {
            command.arg(match argument {
                Argument::In(tensor) => format!("in:{}", feed(&mut input, tensor)),
                Argument::InAt(tensor, at) => format!("in:{}@{at}", feed(&mut input, tensor)),
                Argument::InOutAt(tensor, at) => {
                    format!("inout:{}@{at}", feed(&mut input, tensor))
                }
                Argument::Out(tensor) => format!("out:{}", bytes(tensor).len()),
                Argument::Null => "null".to_owned(),
                Argument::Int(value) => format!("int:{value}"),
            });
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(&input).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let mut rest = output.stdout.as_slice();
        for argument in arguments {
            if let Argument::Out(tensor) | Argument::InOutAt(tensor, _) = argument {
                let (own, others) = rest.split_at(bytes(tensor).len());
                rest = others;
                // Into the same memory, of which there may be views.
                tensor.copy_(&Tensor::from_data_size(own, &tensor.size(), tensor.kind()));
            }
        }
    }

    /// Runs an operator's launches, one after another. What their pointers lead into is given as
    /// whole tensors: what is read, and what is also written.
    #[cfg(test)]
    pub(super) fn launch(
        &self,
        entries: &[String],
        launches: &[Launch],
        read: &[&Tensor],
        written: &mut [&mut Tensor],
    ) {
        for launch in launches {
            let mut read: Vec<&Tensor> = read.to_vec();
            let mut written: Vec<&mut Tensor> = written.iter_mut().map(|it| &mut **it).collect();
            let mut arguments: Vec<Argument> = Vec::new();
            for argument in &launch.arguments {
                arguments.push(match argument {
                    module::Argument::Int(value) => Argument::Int(i64::from(*value)),
                    module::Argument::Long(value) => Argument::Int(*value),
                    // Words go through registers of integers.
                    module::Argument::Float(_) | module::Argument::Double(_) => {
                        panic!("{}: floating-point parameters", entries[launch.kernel])
                    }
                    module::Argument::Pointer(address) if address.is_null() => Argument::Null,
                    module::Argument::Pointer(address) => {
                        let address = *address as usize;
                        if let Some(index) = read.iter().position(|it| holds(it, address)) {
                            let tensor = read.swap_remove(index);
                            Argument::InAt(tensor, address - tensor.data_ptr() as usize)
                        } else {
                            let index = written.iter().position(|it| holds(it, address));
                            let tensor = written.swap_remove(index.expect("memory of a test"));
                            let at = address - tensor.data_ptr() as usize;
                            Argument::InOutAt(tensor, at)
                        }
                    }
                });
            }
            self.run(&entries[launch.kernel], launch.grid, &mut arguments);
        }
    }
}

/// Whether the address is in the tensor, or right behind it.
#[cfg(test)]
fn holds(tensor: &Tensor, address: usize) -> bool {
    let start = tensor.data_ptr() as usize;
    (start..=start + bytes(tensor).len()).contains(&address)
}

/// Appends the memory of a contiguous tensor; its length.
fn feed(input: &mut Vec<u8>, tensor: &Tensor) -> usize {
    let bytes = bytes(tensor);
    input.extend_from_slice(&bytes);
    bytes.len()
}

/// The memory of a contiguous tensor.
fn bytes(tensor: &Tensor) -> Vec<u8> {
    let flat = tensor.reshape([-1]).view_dtype(Kind::Uint8);
    let mut bytes = vec![0; flat.numel()];
    flat.copy_data_u8(&mut bytes, flat.numel());
    bytes
}

/// A barrier's purpose: without it, threads read values that others have not yet written, or wait
/// for some that do not come.
#[cfg(test)]
mod tests {
    use super::*;
    use tch::Device;

    /// Each of 64 threads in two blocks passes a number on to its opposite.
    fn run(barrier: &str) -> Tensor {
        let text = "
            extern \"C\" __global__ void reverse(int* y) {
              __shared__ int values[64];
              values[threadIdx.x] = threadIdx.x + 64 * blockIdx.x;
              BARRIER
              y[threadIdx.x + 64 * blockIdx.x] = values[63 - threadIdx.x];
            }";
        let text = text.replace("BARRIER", barrier).leak();
        let mut y = Tensor::zeros([2, 64], (Kind::Int, Device::Cpu));
        let grid = Grid { blocks: (2, 1), threads: 64 };
        let source = Source { name: "reverse.cu", text };
        Emulation::build(&source).run("reverse", grid, &mut [Argument::Out(&mut y)]);
        y
    }

    fn expected() -> Tensor {
        Tensor::arange(128, (Kind::Int, Device::Cpu)).reshape([2, 64]).flip([1])
    }

    #[test]
    fn a_missing_barrier_is_noticed_in_whatever_order_warps_run() {
        assert!(run("__syncthreads();").equal(&expected()));
        let is_wrong = run("").ne_tensor(&expected()).any_dim(1, false);
        assert_eq!(Vec::<bool>::try_from(is_wrong).unwrap(), [true, true]);
    }

    #[test]
    #[should_panic(expected = "threads wait for others that do not come")]
    fn a_barrier_that_some_threads_pass_by_is_noticed() {
        drop(run("if (threadIdx.x < 32) __syncthreads();"));
    }
}
