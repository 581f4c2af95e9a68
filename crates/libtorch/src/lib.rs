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
pub use python::{COMPILER_PYTHON, Chosen, compiler_python, environment, interpreter};
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
        Self::with(root, &[cpu_library(), TORCH_HEADER])
    }

    /// Reads a folder that programs load and nothing is built with, so that it needs no headers.
    ///
    /// # Errors
    /// Unless it is [`VERSION`] and whole: what it is instead.
    pub fn of_programs(root: &Path) -> Result<Self, String> {
        Self::with(root, &[cpu_library()])
    }

    fn with(root: &Path, files: &[&str]) -> Result<Self, String> {
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

/// What pip has written of the wheel's files, beside the folder.
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
mod tests {
    use super::*;

    const HEADER: &str = "#pragma once\n/// major version\n#define TORCH_VERSION_MAJOR 2\n\n\
        #define TORCH_VERSION_MINOR 11\n#define TORCH_VERSION_PATCH 0\n\
        #define TORCH_VERSION \\\n  \"2.11.0\"\n";

    #[test]
    fn every_form_of_a_version_is_read() {
        let python = "from typing import Optional\n__all__ = ['__version__']\n\
            __version__ = '2.11.0+cu130'\ndebug = False\n";
        assert_eq!(from_build_version("2.11.0+cpu\n"), Some("2.11.0+cpu".into()));
        assert_eq!(from_build_version("\n"), None);
        assert_eq!(from_python(python), Some("2.11.0+cu130".into()));
        assert_eq!(from_python("__all__ = ['__version__']"), None);
        assert_eq!(from_header(HEADER), Some("2.11.0".into()));
        assert_eq!(from_header("#define TORCH_VERSION_MAJOR 2"), None);
    }

    #[test]
    fn the_build_suffix_does_not_count_and_a_pre_release_is_not_the_release() {
        for (version, same) in
            [("2.11.0", true), ("2.11.0+cpu", true), ("2.11.0a0+git", false), ("2.10.0", false)]
        {
            assert_eq!(release(version) == VERSION, same, "{version}");
        }
    }

    #[test]
    fn a_library_that_was_cut_is_noticed() {
        let site = tempfile::tempdir().expect("a temporary folder");
        let root = site.path().join("torch");
        let put = |file: &str, bytes: &[u8]| {
            let path = site.path().join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, bytes).expect("written");
        };
        let cpu = format!("torch/{}", cpu_library());
        put("torch/version.py", b"__version__ = '2.11.0'");
        put("torch/lib/libc10.so", b"elf");
        put(&format!("torch/{TORCH_HEADER}"), b"// header");
        // The largest library's own header: 2 sections of 64 bytes from byte 128 on.
        let mut elf = vec![0; 256];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (elf[0x28], elf[0x3a], elf[0x3c]) = (128, 64, 2);
        put(&cpu, &elf);
        Libtorch::inspect(&root).expect("whole");
        put(&cpu, &elf[..255]);
        let refusal = || Libtorch::inspect(&root).expect_err("it was cut");
        assert!(refusal().contains("has 255 bytes, and 256 by its own header"), "{}", refusal());
        // The wheel's list knows the others, too.
        put(&cpu, &elf);
        let record = format!(
            "torch/__init__.py,sha256=x,1\n{cpu},sha256=x,256\ntorch/lib/libc10.so,sha256=x,4\n\
             torch/lib/libtorch_cuda.so,sha256=x,9\ntorch-2.11.0.dist-info/RECORD,,\n"
        );
        put("torch-2.11.0.dist-info/RECORD", record.as_bytes());
        assert!(
            refusal().ends_with("lib/libc10.so has 3 bytes, and 4 in its wheel"),
            "{}",
            refusal()
        );
        put("torch/lib/libc10.so", b"elf!");
        Libtorch::inspect(&root).expect("without the libraries of CUDA it is the CPU's");
        fs::remove_file(root.join("lib/libc10.so")).expect("it was there");
        assert!(refusal().contains("lib/libc10.so: "), "{}", refusal());
    }

    #[test]
    fn a_folder_is_refused_until_it_is_whole() {
        let root = std::env::temp_dir().join(format!("xtask-libtorch-{}", std::process::id()));
        let put = |file: &str, text: &str| {
            let path = root.join(file);
            fs::create_dir_all(path.parent().expect("a file lies in a folder"))
                .expect("make a scratch folder");
            fs::write(path, text).expect("write a scratch file");
        };
        let refusal = || Libtorch::inspect(&root).expect_err("not whole yet").replace('\\', "/");

        assert!(refusal().ends_with("is not a folder"));
        put("lib/libc10.so", "elf");
        assert!(refusal().contains("none of build-version, version.py, include/"), "{}", refusal());
        put("include/torch/headeronly/version.h", HEADER);
        assert!(refusal().ends_with(&format!("{} is missing", cpu_library())), "{}", refusal());
        put(cpu_library(), "elf");
        put(TORCH_HEADER, "");
        assert!(refusal().ends_with("torch.h is missing"), "{}", refusal());
        put(TORCH_HEADER, "// header");
        let found = Libtorch::inspect(&root).expect("whole now");
        assert_eq!((found.version.as_str(), found.has_cuda), ("2.11.0", false));
        put(CUDA_LIBRARY, "elf");
        put("build-version", "2.10.0+cpu");
        assert!(refusal().ends_with("wanted 2.11.0, found 2.10.0+cpu"), "{}", refusal());
        fs::remove_dir_all(&root).expect("remove the scratch folder");
    }
}
