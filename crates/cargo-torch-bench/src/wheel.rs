//! torch's wheel, turned into an entry of the cache.

use std::fs;
use std::path::Path;

use crate::cache::Manifest;
use crate::error::{Error, Result};
use crate::files;
use crate::flavour::Flavour;
use crate::python::{Python, WHEELS_OF_ANY};
use ::libtorch::{CUDA_LIBRARY, Libtorch};

/// Fills the folder `into` and checks it. The manifest comes last: without it the folder is not whole.
pub fn install(python: &Python, flavour: Flavour, into: &Path) -> Result<()> {
    python.install(flavour.requirements(), WHEELS_OF_ANY, into)?;
    let root = into.join("torch");
    if flavour == Flavour::Cpu {
        drop_cuda_kernels(&root.join("lib"))?;
    }
    let libtorch = Libtorch::inspect(&root).map_err(unexpected)?;
    if Flavour::from_libtorch(&libtorch) != flavour {
        let state = if libtorch.has_cuda { "there" } else { "missing" };
        return Err(unexpected(format!("{CUDA_LIBRARY} is {state} in a {flavour} libtorch")));
    }
    let bytes = files::on_disk(into).map_err(|error| Error::io("measure", into, &error))?;
    Manifest { version: libtorch.version, flavour, bytes }.write(into)
}

fn unexpected(what: String) -> Error {
    Error::new(format!("pip succeeded, but not with what was expected: {what}"))
        .remedy("check which torch the files in crates/cargo-torch-bench/requirements name")
}

/// Half a gigabyte of kernels that load several gigabytes of further CUDA libraries. torch-sys links
/// them if it sees the file.
fn drop_cuda_kernels(lib: &Path) -> Result<()> {
    let mut dropped = false;
    for path in files::inside(lib)? {
        if is_cuda_kernels(&files::name(&path)) {
            fs::remove_file(&path).map_err(|error| Error::io("remove", &path, &error))?;
            dropped = true;
        }
    }
    if dropped { alias_cpu(lib) } else { Ok(()) }
}

fn is_cuda_kernels(name: &str) -> bool {
    (name.starts_with("libtorch_cuda") && name.ends_with(".so")) || name == "libtorch_nvshmem.so"
}

/// The wheel's libtorch.so is an empty library that loads libtorch_cpu and libtorch_cuda. Without
/// the latter a program that links it could not start, unless its linker happened to drop it as
/// unneeded; so let the name mean what is left of it.
#[cfg(unix)]
fn alias_cpu(lib: &Path) -> Result<()> {
    let all = lib.join("libtorch.so");
    fs::remove_file(&all).map_err(|error| Error::io("remove", &all, &error))?;
    std::os::unix::fs::symlink("libtorch_cpu.so", &all)
        .map_err(|error| Error::io("create", &all, &error))
}

#[cfg(not(unix))]
fn alias_cpu(_: &Path) -> Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_kernels_and_what_needs_them_go() {
        for (name, goes) in [
            ("libtorch_cuda.so", true),
            ("libtorch_cuda_linalg.so", true),
            ("libtorch_nvshmem.so", true),
            ("libtorch_cpu.so", false),
            ("libtorch.so", false),
            ("libc10_cuda.so", false),
        ] {
            assert_eq!(is_cuda_kernels(name), goes, "{name}");
        }
    }
}
