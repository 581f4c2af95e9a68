//! Whether the host has what the bundle needs: everything that it lacks, each with a way out.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::super::loader::{LIBRARY_PATH, Trace};
use super::super::manifest::{Cpu, Manifest, SYSTEM};
use super::super::version::Version;
use super::torch::LibtorchChoice;
use super::{checksums, cpu};
use crate::driver::{Driver, OLDEST_FOR_CUDA_13};
use crate::error::{Error, Result};
use crate::files;

/// All that can be told before a program of the bundle runs; else libtorch, and the folders of libraries for its programs.
pub fn library_path(
    bundle: &Path,
    manifest: &Manifest,
    torch: Result<LibtorchChoice>,
) -> std::result::Result<(LibtorchChoice, OsString), Vec<Error>> {
    let mut found = checksums::misplaced(bundle, manifest);
    found.extend(proc(Path::new("/proc/self/exe")));
    found.extend(programs(&env::var_os("PATH").unwrap_or_default()));
    found.extend(glibc(manifest.glibc.as_ref(), host_glibc().as_ref()));
    found.extend(processor(&manifest.cpu, cpu::has));
    let torch = torch.map_err(|error| found.push(error)).ok();
    let torch = torch.and_then(|torch| {
        let path = joined(&torch.libtorch.lib()).map_err(|error| found.push(error)).ok()?;
        Some((torch, path))
    });
    // The loader says less clearly what was found already.
    let Some((torch, path)) = torch.filter(|_| found.is_empty()) else { return Err(found) };
    Ok((torch, loaded(bundle, manifest, path)?))
}

/// The harness starts itself anew by its own path.
fn proc(own: &Path) -> Option<Error> {
    let error = own.read_link().err()?;
    Some(
        Error::new(format!("{}: {error}, and the benchmarks need it", own.display()))
            .remedy("mount it: mount -t proc proc /proc"),
    )
}

/// Programs with which the harness guards its output.
fn programs(path: &OsStr) -> Option<Error> {
    let is_missing = |name: &&str| files::on_path(name, path).is_none();
    let missing: Vec<&str> = ["sh", "cat"].into_iter().filter(is_missing).collect();
    if missing.is_empty() {
        return None;
    }
    let what = format!("{} not on the PATH, and the benchmarks need it", missing.join(", "));
    Some(Error::new(what).remedy("name their folders: export PATH=/usr/bin:/bin"))
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn host_glibc() -> Option<Version> {
    // SAFETY: it has no requirements, and returns a static string.
    let text = unsafe { libc::gnu_get_libc_version() };
    // SAFETY: glibc's string ends with a zero byte, and lives as long as the process.
    let text = unsafe { std::ffi::CStr::from_ptr(text) };
    Version::parse(text.to_str().ok()?)
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn host_glibc() -> Option<Version> {
    None
}

fn glibc(needed: Option<&Version>, host: Option<&Version>) -> Option<Error> {
    let needed = needed.filter(|needed| host.is_none_or(|host| host < needed))?;
    let host = host.map_or_else(|| "no glibc".to_owned(), |host| format!("glibc {host}"));
    Some(
        Error::new(format!("this host has {host}, and the bundle needs glibc {needed} or newer"))
            .remedy("run it on a newer system or in a container of one")
            .remedy("or make the bundle on an older system"),
    )
}

/// Features that the benchmarks may use and the processor lacks.
fn processor(built_for: &Cpu, has: impl Fn(&str) -> Option<bool>) -> Option<Error> {
    let features = built_for.features.iter().flatten();
    let missing: Vec<&str> =
        features.map(String::as_str).filter(|name| has(name) == Some(false)).collect();
    if missing.is_empty() {
        return None;
    }
    let cpu = built_for.target_cpu.as_ref().map(|cpu| format!(" ({cpu})")).unwrap_or_default();
    Some(
        Error::new(format!(
            "this processor lacks {}, for which the benchmarks were built{cpu}",
            missing.join(", ")
        ))
        .remedy("run it on a processor that has them")
        .remedy(
            "or make the bundle for this one: cargo torch-bench bundle --target-cpu x86-64-v2 …",
        ),
    )
}

/// The folder of libtorch, before those that are named already.
fn joined(lib: &Path) -> Result<OsString> {
    let before = env::var_os(LIBRARY_PATH).unwrap_or_default();
    let before = env::split_paths(&before).filter(|folder| !folder.as_os_str().is_empty());
    let all = [lib.to_owned()].into_iter().chain(before);
    // The loader splits at both.
    let is_split = lib.as_os_str().as_encoded_bytes().iter().any(|byte| b":;".contains(byte));
    let joined = env::join_paths(all).ok().filter(|_| !is_split);
    joined.ok_or_else(|| {
        let what = format!("{} has a `:` or `;`, at which the loader splits paths", lib.display());
        Error::new(what).remedy("move or link it to a folder without")
    })
}

/// Adds the bundle's copies of the compiler's libraries if the loader finds none that do; the host's own are often newer,
/// and others of its libraries need them.
fn loaded(
    bundle: &Path,
    manifest: &Manifest,
    path: OsString,
) -> std::result::Result<OsString, Vec<Error>> {
    let programs: Vec<PathBuf> =
        manifest.benches.iter().map(|bench| bundle.join(&bench.file)).collect();
    let traces = |path: &OsString| {
        programs.iter().map(|it| Trace::new(it, path)).collect::<Result<Vec<_>>>()
    };
    // The loader's own words about a damaged program help nobody.
    let damaged = |error: Error| match checksums::damaged(bundle, manifest) {
        Ok(found) if !found.is_empty() => found,
        _ => vec![error.remedy("unpack the bundle again: tar -xf BUNDLE.tar.zst")],
    };
    let first = traces(&path).map_err(damaged)?;
    if first.iter().all(Trace::is_whole) {
        return Ok(path);
    }
    let system = bundle.join(SYSTEM);
    let with = env::join_paths(env::split_paths(&path).chain([system.clone()]));
    // Behind an older copy of the host's, the bundle's would not be found.
    let before = env::join_paths([system].into_iter().chain(env::split_paths(&path)));
    for path in [with, before].into_iter().flatten() {
        let second = traces(&path).map_err(|error| vec![error])?;
        if second.iter().all(Trace::is_whole) {
            return Ok(path);
        }
    }
    Err(unloaded(&first))
}

/// One error per library that is missing or too old.
fn unloaded(traces: &[Trace]) -> Vec<Error> {
    let missing: std::collections::BTreeSet<_> = traces.iter().flat_map(|it| &it.missing).collect();
    let missing = missing.into_iter().map(|name| {
        Error::new(format!("this host has no {name}, which the benchmarks need"))
            .remedy(format!("install the package of your system that has {name}"))
            .remedy("if it is libtorch's, unpack the bundle again, or name another libtorch: --libtorch DIR")
    });
    let old: std::collections::BTreeSet<_> = traces.iter().flat_map(|it| &it.too_old).collect();
    let old = old.into_iter().map(|line| {
        Error::new(format!("a library of this host is too old: {line}"))
            .remedy("run it on a newer system or in a container of one")
    });
    missing.chain(old).collect()
}

/// The driver that cases on a GPU need; `cuda` is libtorch's.
pub fn driver(cuda: Option<&str>, cases: usize, driver: Option<&Driver>) -> Option<Error> {
    if cases == 0 {
        return None;
    }
    let choose =
        "choose other cases: -- FILTER; `bin/criterion-report plan` names the device of each";
    let Some(cuda) = cuda else {
        let what = format!("{cases} cases are of a GPU, and the bundle's libtorch is without CUDA");
        return Some(
            Error::new(what)
                .remedy("make the bundle after `cargo torch-bench setup --cuda`")
                .remedy(choose),
        );
    };
    let Some(driver) = driver else {
        let what = format!("{cases} cases are of a GPU, and this host has no NVIDIA driver");
        return Some(
            Error::new(what)
                .remedy("run it on a host with a GPU; in a container, start that with `--gpus all`")
                .remedy(choose),
        );
    };
    let oldest = cuda.starts_with("13.").then_some(OLDEST_FOR_CUDA_13)?;
    let found = driver.major().filter(|major| *major < oldest)?;
    Some(
        Error::new(format!(
            "the NVIDIA driver is {found}, and CUDA {cuda} needs {oldest} or newer"
        ))
        .remedy("update the driver"),
    )
}

#[cfg(test)]
#[path = "fit_tests.rs"]
mod tests;
