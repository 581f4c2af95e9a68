//! The C++ compiler that Inductor takes, and the machine that it compiles for.
//!
//! Both are part of a package's key, and found without Python: where the package is kept, none is
//! needed.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::process::Command;
use std::sync::OnceLock;

use crate::native;
use crate::refusal::Refusal;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Compiler {
    /// The value of Inductor's variable CXX.
    pub program: String,
    /// The first line that it says of itself: `g++ (Debian 12.2.0-14) 12.2.0`.
    pub version: String,
}

/// The compiler that CXX names, else the system's, as Inductor looks for it; asked once.
pub(super) fn compiler() -> Result<&'static Compiler, Refusal> {
    static FOUND: OnceLock<Result<Compiler, Refusal>> = OnceLock::new();
    FOUND.get_or_init(|| find(std::env::var("CXX").ok())).as_ref().map_err(Clone::clone)
}

fn find(variable: Option<String>) -> Result<Compiler, Refusal> {
    let program = ::libtorch::inductor_compiler(variable.map(Into::into)).display().to_string();
    let skipped = |why: &str| {
        Refusal::Skipped(format!(
            "the C++ compiler {program} does not run: {why}; install g++, or set CXX to a compiler \
             of C++17"
        ))
    };
    let output = Command::new(&program)
        .arg("--version")
        .output()
        .map_err(|error| skipped(&error.to_string()))?;
    let said = String::from_utf8_lossy(&output.stdout);
    match said.lines().next().filter(|line| output.status.success() && !line.is_empty()) {
        Some(line) => Ok(Compiler { program, version: line.to_owned() }),
        None => Err(skipped(&output.status.to_string())),
    }
}

impl Compiler {
    /// Without what a distribution adds: `g++ 12.2.0`.
    pub fn short(&self) -> String {
        let mut words: Vec<&str> =
            self.version.split('(').next().unwrap_or("").split(' ').collect();
        if let Some((_, after)) = self.version.rsplit_once(')') {
            words.extend(after.split(' '));
        }
        words.retain(|word| !word.is_empty());
        words.join(" ")
    }
}

/// The machine that code is compiled for, as far as it decides the code.
pub(super) fn target(place: tch::Device) -> Result<String, Refusal> {
    match place {
        tch::Device::Cuda(index) => {
            let device = native::cuda::device(index)?;
            let (major, minor) = device.capability;
            Ok(format!("{} sm_{major}{minor}\n{}", device.name, cpu()?))
        }
        _ => cpu(),
    }
}

/// Names the vector instructions that libtorch's kernels keep to, and by Inductor's choice the
/// generated ones.
pub(super) const CAPABILITY: &str = "ATEN_CPU_CAPABILITY";

/// The value of [`CAPABILITY`].
pub(super) fn capability() -> Option<OsString> {
    std::env::var_os(CAPABILITY)
}

/// The processor: what `-march=native` and Inductor's choice of vectors depend on.
fn cpu() -> Result<String, Refusal> {
    const CPUINFO: &str = "/proc/cpuinfo";
    // Other systems have no such file, and packages of one architecture there.
    let processor = if cfg!(target_os = "linux") {
        named(CPUINFO, std::fs::read_to_string(CPUINFO))?
    } else {
        String::new()
    };
    Ok(described(&processor, capability()))
}

/// The processor of a file; without it, packages of different processors would have one name.
fn named(path: &str, text: std::io::Result<String>) -> Result<String, Refusal> {
    let skipped = |why: &str| {
        let reason = "compiled packages are stored per processor, and it is not known";
        Err(Refusal::Skipped(format!("{reason}: {path} {why}")))
    };
    match text.map(|text| of_cpuinfo(&text)) {
        Ok(processor) if processor.is_empty() => skipped("does not name it"),
        Ok(processor) => Ok(processor),
        Err(error) => skipped(&format!("cannot be read: {error}")),
    }
}

fn described(processor: &str, capability: Option<OsString>) -> String {
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    let capability = capability.map(|it| format!("{CAPABILITY}={}\n", it.display()));
    format!("{os} {arch}\n{processor}{}", capability.unwrap_or_default())
}

/// Model and features of the first processor.
fn of_cpuinfo(text: &str) -> String {
    const X86: [&str; 5] = ["vendor_id", "cpu family", "model", "stepping", "flags"];
    const ARM: [&str; 4] = ["CPU implementer", "CPU variant", "CPU part", "Features"];
    let first = text.split("\n\n").next().unwrap_or_default();
    let fields = first.lines().filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        let known = X86.iter().chain(&ARM).any(|known| *known == name.trim());
        // Kernels list features in different orders.
        let words: BTreeSet<&str> = value.split_whitespace().collect();
        known.then(|| format!("{}: {}\n", name.trim(), Vec::from_iter(words).join(" ")))
    });
    fields.collect()
}

#[cfg(test)]
#[path = "toolchain_tests.rs"]
mod tests;
