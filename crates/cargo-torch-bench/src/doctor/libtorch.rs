//! The libtorch that cargo would build with, and who chose it; and CUDA: whether programs are linked with it
//! and why, the driver, the devices.

use std::path::Path;

use super::{Check, Mark};
use crate::ask::{ProbeError, ask};
use crate::cache::Entry;
use crate::configuration::Naming;
use crate::driver::{Driver, OLDEST_FOR_CUDA_13};
use crate::error::{Error, Result};
use crate::files;
use crate::flavour::Flavour;
use crate::human;
use crate::source::{Link, Source};
use crate::workspace::Workspace;
use ::libtorch::find::OVERRIDES;
use ::libtorch::{CUDA_LIBRARY, Libtorch, cpu_library};

/// A libtorch that can be used, and who chose it.
pub type LibtorchResult = Result<(Libtorch, String)>;

/// The findings about it.
pub fn check(found: &LibtorchResult) -> Vec<Check> {
    let mut checks = match found {
        Ok((libtorch, chosen)) => {
            vec![Check::ok("libtorch", describe(libtorch, chosen)), loads(libtorch)]
        }
        Err(error) => vec![Check::of_error(Mark::Missing, "libtorch", error, "cargo xtask setup")],
    };
    checks.extend(overrides(|name| std::env::var_os(name).is_some()));
    checks
}

/// Whether cargo finds `.libtorch`, or the libtorch that the user names.
pub fn named(workspace: &Workspace) -> Check {
    let name = "LIBTORCH";
    match Naming::new(workspace) {
        Ok(Naming::Named(by)) => Check::ok(name, format!("by {by}")),
        Ok(Naming::Absent(file)) => {
            let found = format!("neither set nor named by {}, so cargo finds none", file.display());
            Check::missing(name, found, "cargo xtask setup, which writes that file")
        }
        Ok(Naming::Lacking(file)) => {
            let found = format!("neither set nor named by {}, so cargo finds none", file.display());
            Check::missing(name, found, "cargo xtask setup, which says what to add to that file")
        }
        Err(error) => Check::of_error(Mark::Missing, name, &error, "mend that file"),
    }
}

/// Starts no other program.
pub fn find(workspace: &Workspace) -> LibtorchResult {
    match Source::of_environment(workspace)? {
        Source::User(chosen) => Ok((chosen.inspect()?, chosen.named_by())),
        Source::Link => match Link::read(workspace)? {
            Link::Absent => Err(Error::new(".libtorch is not there yet")),
            Link::To(target) => Ok((Libtorch::inspect(&target)?, ".libtorch".to_owned())),
        },
    }
}

fn describe(libtorch: &Libtorch, chosen: &str) -> String {
    let Libtorch { root, version, .. } = libtorch;
    // The CUDA libraries lie beside the folder, so an entry of the cache is counted as a whole.
    let bytes = root
        .parent()
        .and_then(Entry::open)
        .filter(|entry| entry.libtorch.root == *root)
        .map(|entry| entry.manifest.bytes)
        .or_else(|| files::on_disk(&root.canonicalize().ok()?).ok());
    let size = bytes.map(|bytes| format!(", {}", human::bytes(bytes))).unwrap_or_default();
    let flavour = Flavour::from_libtorch(libtorch);
    format!("{version} ({flavour}{size}) in {}, by {chosen}", root.display())
}

/// Present is not enough: a library that loads another, absent one stops every program at its start.
fn loads(libtorch: &Libtorch) -> Check {
    let name = "loads";
    match unresolved(&libtorch.root.join(cpu_library())) {
        Err(reason) => Check::skipped(name, reason),
        Ok(missing) if missing.is_empty() => {
            Check::ok(name, format!("{}, with all that it needs", cpu_library()))
        }
        Ok(missing) => Check::missing(
            name,
            format!("{} needs {}, not found", cpu_library(), missing.join(", ")),
            "remove that libtorch and run cargo xtask setup, or install these libraries",
        ),
    }
}

/// torch-sys heeds these before, or instead of, LIBTORCH.
fn overrides(is_set: impl Fn(&str) -> bool) -> Option<Check> {
    let set: Vec<&str> = OVERRIDES.into_iter().filter(|name| is_set(name)).collect();
    (!set.is_empty()).then(|| {
        Check::missing(
            "environment",
            format!(
                "{} set, which builds refuse: torch-sys may use another libtorch than this one",
                set.join(", ")
            ),
            format!("unset {}", set.join(" ")),
        )
    })
}

/// The names that the dynamic loader would not find for a library, or why that cannot be told.
fn unresolved(library: &Path) -> std::result::Result<Vec<String>, String> {
    if !cfg!(target_os = "linux") {
        return Err("ldd exists on Linux only".to_owned());
    }
    let output = ask("ldd", [library]).map_err(|error| format!("ldd: {error}"))?;
    if !output.status.success() {
        return Err(format!("ldd cannot read {}", library.display()));
    }
    Ok(parse_missing(&String::from_utf8_lossy(&output.stdout)))
}

fn parse_missing(text: &str) -> Vec<String> {
    text.lines()
        .filter_map(|line| line.trim().strip_suffix(" => not found"))
        .map(str::to_owned)
        .collect()
}

pub fn driver(driver: Option<&Driver>) -> Check {
    let name = "NVIDIA driver";
    let Some(driver) = driver else {
        return Check::skipped(name, "none found, CUDA cases will be skipped");
    };
    let found = match &driver.version {
        Some(version) => format!("{version} ({})", driver.evidence.display()),
        None => format!("version unknown ({})", driver.evidence.display()),
    };
    match driver.major() {
        Some(major) if major < OLDEST_FOR_CUDA_13 => Check::warning(
            name,
            format!("{found}, too old for CUDA 13.0"),
            format!(
                "update the driver to {OLDEST_FOR_CUDA_13} or newer, or cargo xtask setup --cpu"
            ),
        ),
        _ => Check::ok(name, found),
    }
}

pub fn linked(libtorch: Option<&Libtorch>, driver: bool) -> Check {
    let name = "CUDA";
    let Some(libtorch) = libtorch else {
        return Check::skipped(name, "there is no libtorch to inspect");
    };
    if !libtorch.has_cuda {
        let why = format!("not linked: libtorch has no {CUDA_LIBRARY}");
        return if driver {
            Check::warning(name, format!("{why}, but a driver is here"), "cargo xtask setup --cuda")
        } else {
            Check::skipped(name, why)
        };
    }
    let why = format!("linked: libtorch has {CUDA_LIBRARY}");
    match unresolved(&libtorch.root.join(CUDA_LIBRARY)) {
        Ok(missing) if !missing.is_empty() => Check::missing(
            name,
            format!("{why}, but it needs {}, not found", missing.join(", ")),
            "cargo xtask setup --cuda, which brings these libraries along",
        ),
        _ if !driver => Check::warning(
            name,
            format!("{why}, but no driver was found: CUDA cases will be skipped"),
            "install NVIDIA's driver, or save disk space with cargo xtask setup --cpu",
        ),
        Ok(_) => Check::ok(name, format!("{why}, with all that it needs")),
        Err(reason) => Check::ok(name, format!("{why} (what it needs is not checked: {reason})")),
    }
}

pub fn devices() -> Check {
    let name = "devices";
    let output = match ask("nvidia-smi", ["-L"]) {
        Ok(output) => output,
        Err(ProbeError::NotFound) => return Check::skipped(name, "no nvidia-smi to ask"),
        Err(ProbeError::Other(why)) => {
            return Check::warning(
                name,
                format!("nvidia-smi -L: {why}"),
                "see what the driver says (dmesg), and reset the device or restart the machine",
            );
        }
    };
    let text = String::from_utf8_lossy(&output.stdout);
    if output.status.success() {
        Check::ok(name, parse_devices(&text).join("; "))
    } else {
        Check::warning(
            name,
            format!("nvidia-smi -L failed: {}", text.lines().next().unwrap_or("no message")),
            "see that the driver is loaded (dmesg) and the devices are visible (container flags)",
        )
    }
}

/// Without the long unique ids.
fn parse_devices(text: &str) -> Vec<&str> {
    text.lines()
        .map(|line| line.split(" (UUID").next().unwrap_or(line).trim())
        .filter(|line| !line.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_lead_torch_sys_elsewhere_are_told() {
        assert_eq!(overrides(|_| false), None);
        let check = overrides(|name| name == "LIBTORCH_LIB").expect("one is set");
        assert_eq!(check.mark, Mark::Missing);
        assert!(check.to_string().contains("unset LIBTORCH_LIB"), "{check}");
    }

    #[test]
    fn absent_libraries_are_named() {
        let text = "\tlinux-vdso.so.1 (0x00007ffe)\n\tlibcudnn.so.9 => not found\n\
            \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f1c)\n\
            \tlibcublas.so.13 => not found\n";
        assert_eq!(parse_missing(text), ["libcudnn.so.9", "libcublas.so.13"]);
    }

    #[test]
    fn the_driver_must_be_new_enough() {
        let with = |version: Option<&str>| Driver {
            evidence: "/dev/nvidia0".into(),
            version: version.map(str::to_owned),
        };
        for (found, mark) in [
            (None, Mark::Skipped),
            (Some(with(Some("535.104.05"))), Mark::Warning),
            (Some(with(Some("580.65.06"))), Mark::Ok),
            (Some(with(None)), Mark::Ok),
        ] {
            assert_eq!(driver(found.as_ref()).mark, mark, "{found:?}");
        }
    }

    #[test]
    fn libtorch_and_driver_should_agree() {
        let with =
            |has_cuda| Libtorch { root: "/nowhere".into(), version: "2.11.0".into(), has_cuda };
        for (libtorch, driver, mark) in [
            (None, true, Mark::Skipped),
            (Some(with(false)), false, Mark::Skipped),
            (Some(with(false)), true, Mark::Warning),
            (Some(with(true)), false, Mark::Warning),
            (Some(with(true)), true, Mark::Ok),
        ] {
            assert_eq!(linked(libtorch.as_ref(), driver).mark, mark, "{libtorch:?} {driver}");
        }
    }

    #[test]
    fn devices_are_named_without_their_ids() {
        let text = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-5a)\nGPU 1: NVIDIA L4 (UUID: GPU-6b)\n";
        assert_eq!(parse_devices(text), ["GPU 0: NVIDIA H100 80GB HBM3", "GPU 1: NVIDIA L4"]);
    }
}
