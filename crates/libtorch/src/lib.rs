#![doc = include_str!("../README.md")]
//!
//! No libtorch is needed: `cargo torch-bench` asks before it is there, the shim's build script after.

pub mod child;
pub mod command;
pub mod find;
mod interpreter;
#[cfg(feature = "packages")]
pub mod lock;
pub mod memory;
#[cfg(feature = "packages")]
pub mod packages;
#[cfg(feature = "packages")]
pub mod partial;
pub mod processor;
mod python;
mod versions;

use std::ffi::OsString;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

pub use interpreter::Interpreter;
pub use python::{COMPILER_PYTHON, PythonSource, compiler_python, environment, interpreter};
pub use versions::{CXX_STANDARD, TCH, TORCHAO, TRITON, VERSION};

/// A note for people. Where standard error cannot be written to, nobody can be told.
fn note(text: std::fmt::Arguments<'_>) {
    std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("note: {text}\n")).ok();
}

/// The environment variable that names a Python with torch, and torchao where that is compared.
pub const PYTHON: &str = "SELF_TEST_PYTHON";

/// A folder of the form that torch-sys expects in LIBTORCH, of the wanted version and whole.
#[derive(Debug, PartialEq, Eq)]
pub struct Libtorch {
    /// The folder.
    pub root: PathBuf,
    /// As the folder itself states it, with its build suffix ("2.11.0+cu130").
    pub version: String,
    /// Whether it holds the library that torch-sys takes as a sign of CUDA.
    pub has_cuda: bool,
}

impl Libtorch {
    /// Reads the folder.
    ///
    /// # Errors
    /// Unless it is [`VERSION`] and whole: what it is instead.
    pub fn inspect(root: &Path) -> Result<Self, String> {
        Self::with_files(root, &[cpu_library(), TORCH_HEADER])
    }

    /// Reads a folder that programs load and nothing is built with, so that it needs no headers.
    ///
    /// # Errors
    /// Unless it is [`VERSION`] and whole: what it is instead.
    pub fn of_programs(root: &Path) -> Result<Self, String> {
        Self::with_files(root, &[cpu_library()])
    }

    fn with_files(root: &Path, files: &[&str]) -> Result<Self, String> {
        if !root.is_dir() {
            return Err(format!("{} is not a folder", root.display()));
        }
        let version = read_version(root).ok_or_else(|| {
            format!(
                "no libtorch version found in {}: none of {} states one",
                root.display(),
                VERSION_FILES.join(", ")
            )
        })?;
        if release(&version) != VERSION {
            return Err(format!(
                "wrong libtorch version in {}: wanted {VERSION}, found {version}",
                root.display()
            ));
        }
        for file in files {
            if !fs::metadata(root.join(file)).is_ok_and(|file| file.len() > 0) {
                return Err(format!(
                    "libtorch in {} is incomplete: {file} is missing",
                    root.display()
                ));
            }
        }
        if let Some(how) = cut(root) {
            return Err(format!("libtorch in {} is incomplete: {how}", root.display()));
        }
        if has_old_abi(root) {
            return Err(format!(
                "libtorch in {} has the C++ ABI of before GCC 5 (_GLIBCXX_USE_CXX11_ABI=0), which tch does not link",
                root.display()
            ));
        }
        let has_cuda = root.join(CUDA_LIBRARY).exists();
        Ok(Self { root: root.to_path_buf(), version, has_cuda })
    }
}

/// How a library differs from what was installed, by the wheel's list of sizes where there is one; else by its own header.
/// The CPU flavour is a wheel without the libraries of CUDA.
fn cut(root: &Path) -> Option<String> {
    let Some(record) = record(root) else { return is_cut_elf(&root.join(cpu_library())) };
    record.lines().find_map(|line| {
        let mut fields = line.rsplitn(3, ',');
        let (size, _hash, file) =
            (fields.next()?.parse::<u64>().ok()?, fields.next()?, fields.next()?);
        let name = file.strip_prefix("torch/lib/").filter(|name| !name.contains('/'))?;
        let is_of_cuda = name.contains("cuda") || name.contains("nvshmem");
        match fs::symlink_metadata(root.join("lib").join(name)) {
            Ok(found) if found.is_symlink() || found.len() == size => None,
            Ok(found) => {
                Some(format!("lib/{name} has {} bytes, and {size} in its wheel", found.len()))
            }
            Err(_) if is_of_cuda => None,
            Err(error) => Some(format!("lib/{name}: {error}")),
        }
    })
}

/// Pip's list of the wheel's files, which lies beside the folder.
fn record(root: &Path) -> Option<String> {
    let beside = fs::read_dir(root.canonicalize().ok()?.parent()?).ok()?;
    let mut names = beside.filter_map(|entry| Some(entry.ok()?.path()));
    let is_torch = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("torch-") && name.ends_with(".dist-info")
    };
    fs::read_to_string(names.find(is_torch)?.join("RECORD")).ok()
}

/// Whether a library of 64 bits, little-endian, ends before its table of sections, which stands last.
fn is_cut_elf(library: &Path) -> Option<String> {
    let mut header = [0; 64];
    let mut file = fs::File::open(library).ok()?;
    let length = file.metadata().ok()?.len();
    file.read_exact(&mut header).ok()?;
    if !header.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let number = |at: usize| u64::from(u16::from_le_bytes([header[at], header[at + 1]]));
    let table = u64::from_le_bytes(header[0x28..0x30].try_into().ok()?);
    let whole = table.saturating_add(number(0x3a) * number(0x3c));
    let name = library.file_name()?.display();
    (length < whole).then(|| format!("{name} has {length} bytes, and {whole} by its own header"))
}

/// Whether the names of functions that take strings are those of the old C++ ABI. Only GCC's library has had two, and
/// libtorch's smallest library has many such functions.
fn has_old_abi(root: &Path) -> bool {
    let Ok(library) = fs::read(root.join("lib/libc10.so")) else { return false };
    let names = |part: &str| library.windows(part.len()).any(|bytes| bytes == part.as_bytes());
    names("_ZN3c10") && !names("__cxx11")
}

/// torch-sys links CUDA if and only if this file is there.
pub const CUDA_LIBRARY: &str = "lib/libtorch_cuda.so";

/// The per-user folder for what is downloaded or compiled once, by these environment variables in
/// this order: `CRITERION_TORCH_CACHE` as it is, `XDG_CACHE_HOME`, `HOME`. None where none is set.
pub fn cache_dir(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let value = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    value("CRITERION_TORCH_CACHE")
        .or_else(|| Some(value("XDG_CACHE_HOME")?.join("criterion-torch")))
        .or_else(|| Some(value("HOME")?.join(".cache/criterion-torch")))
}

/// The most bytes that compiled packages may take together: `CRITERION_TORCH_COMPILED_MB` in MiB,
/// else 4096 MiB.
///
/// # Errors
/// When the variable is not a whole number.
pub fn compiled_bound(variable: impl Fn(&str) -> Option<OsString>) -> Result<u64, String> {
    const NAME: &str = "CRITERION_TORCH_COMPILED_MB";
    let Some(value) = variable(NAME).filter(|value| !value.is_empty()) else {
        return Ok(4096 << 20);
    };
    let number = value.to_str().and_then(|value| value.parse::<u64>().ok());
    number
        .and_then(|number| number.checked_mul(1 << 20))
        .ok_or_else(|| format!("{NAME} is \"{}\", which is not a number of MiB", value.display()))
}

const TORCH_HEADER: &str = "include/torch/csrc/api/include/torch/torch.h";

/// The library that every program of this project needs.
pub fn cpu_library() -> &'static str {
    if cfg!(target_os = "macos") { "lib/libtorch_cpu.dylib" } else { "lib/libtorch_cpu.so" }
}

/// The C++ compiler that Inductor takes: the one that CXX names, else the system's own.
pub fn inductor_compiler(named: Option<OsString>) -> OsString {
    let usual = if cfg!(target_os = "macos") { "clang++" } else { "g++" };
    named.filter(|it| !it.is_empty()).unwrap_or_else(|| usual.into())
}

/// In this order: the archive of libtorch, a wheel, an installation of the headers alone.
const VERSION_FILES: [&str; 3] =
    ["build-version", "version.py", "include/torch/headeronly/version.h"];

fn read_version(root: &Path) -> Option<String> {
    let parsers = [from_build_version, from_python, from_header];
    VERSION_FILES
        .iter()
        .zip(parsers)
        .find_map(|(file, parse)| parse(&fs::read_to_string(root.join(file)).ok()?))
}

fn from_build_version(text: &str) -> Option<String> {
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

fn from_python(text: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let value = line.strip_prefix("__version__")?.trim_start().strip_prefix('=')?.trim();
        Some(value.trim_matches(['\'', '"']).to_owned())
    })
}

fn from_header(text: &str) -> Option<String> {
    let number = |name: &str| {
        text.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            let found = words.next() == Some("#define") && words.next() == Some(name);
            if found { words.next()?.parse::<u32>().ok() } else { None }
        })
    };
    let (major, minor, patch) = (
        number("TORCH_VERSION_MAJOR")?,
        number("TORCH_VERSION_MINOR")?,
        number("TORCH_VERSION_PATCH")?,
    );
    Some(format!("{major}.{minor}.{patch}"))
}

/// A version without its build suffix: "2.11.0+cu130" is release 2.11.0.
pub fn release(version: &str) -> &str {
    version.split('+').next().unwrap_or(version)
}

#[cfg(test)]
#[path = "lib_tests.rs"]
mod tests;
