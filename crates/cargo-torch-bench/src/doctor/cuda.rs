//! CUDA: whether programs are linked with it and why, the driver, the devices.

use std::process::Command;

use super::check::Check;
use super::loader;
use crate::ask::{Silence, ask};
use crate::driver::Driver;
use ::libtorch::{CUDA_LIBRARY, Libtorch};

/// The wheel is built with CUDA 13.0, and that release asks for this driver.
const OLDEST_DRIVER: u32 = 580;

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
        Some(major) if major < OLDEST_DRIVER => Check::warning(
            name,
            format!("{found}, too old for CUDA 13.0"),
            format!("update the driver to {OLDEST_DRIVER} or newer, or cargo xtask setup --cpu"),
        ),
        _ => Check::ok(name, found),
    }
}

pub fn linked(libtorch: Option<&Libtorch>, driver: bool) -> Check {
    let name = "CUDA";
    let Some(libtorch) = libtorch else {
        return Check::skipped(name, "no libtorch to look at");
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
    match loader::unresolved(&libtorch.root.join(CUDA_LIBRARY)) {
        Ok(missing) if !missing.is_empty() => Check::missing(
            name,
            format!("{why}, but it needs {}, not found", missing.join(", ")),
            "cargo xtask setup --cuda, which brings these libraries along",
        ),
        _ if !driver => Check::warning(
            name,
            format!("{why}, but no driver was found: CUDA cases will be skipped"),
            "install NVIDIA's driver, or save the room with cargo xtask setup --cpu",
        ),
        Ok(_) => Check::ok(name, format!("{why}, with all that it needs")),
        Err(reason) => Check::ok(name, format!("{why} (what it needs is not checked: {reason})")),
    }
}

pub fn devices() -> Check {
    let name = "devices";
    let mut command = Command::new("nvidia-smi");
    command.arg("-L");
    let output = match ask(command) {
        Ok(output) => output,
        Err(Silence::NotFound) => return Check::skipped(name, "no nvidia-smi to ask"),
        Err(Silence::Other(why)) => {
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
    use crate::doctor::check::Mark;

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
