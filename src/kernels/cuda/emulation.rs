//! Kernels executed on the CPU (`emulation.h`).

use std::io::Write;
use std::process::{Command, Stdio};

use tch::{Kind, Tensor};

use super::{Grid, Source};

/// A source built with the host's C++ compiler, the one that builds the shim.
pub(super) struct Emulation {
    folder: tempfile::TempDir,
}

/// A parameter of the kernel.
pub(super) enum Argument<'t> {
    In(&'t Tensor),
    Out(&'t mut Tensor),
    Null,
    Int(i64),
}

impl Emulation {
    pub fn build(source: &Source) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("emulate.cpp");
        std::fs::write(&file, include_str!("emulation.h").to_owned() + source.text).unwrap();
        let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
        let output = Command::new(compiler)
            .args(["-std=c++20", "-O1", "-g", "-rdynamic", "-ffp-contract=off"])
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
                Argument::In(tensor) => {
                    let bytes = bytes(tensor);
                    input.extend_from_slice(&bytes);
                    format!("in:{}", bytes.len())
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
            if let Argument::Out(tensor) = argument {
                let (own, others) = rest.split_at(bytes(tensor).len());
                rest = others;
                **tensor = Tensor::from_data_size(own, &tensor.size(), tensor.kind());
            }
        }
    }
}

/// The memory of a contiguous tensor.
fn bytes(tensor: &Tensor) -> Vec<u8> {
    let flat = tensor.reshape([-1]).view_dtype(Kind::Uint8);
    let mut bytes = vec![0; flat.numel()];
    flat.copy_data_u8(&mut bytes, flat.numel());
    bytes
}
