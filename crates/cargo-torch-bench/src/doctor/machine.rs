//! The system: its kind, its C library, its memory, its processor with the instructions on which quantized
//! kernels depend.

use std::fs;
use std::path::Path;

use super::Check;
use crate::ask::first_line;
use crate::human;
use ::libtorch::VERSION;
use ::libtorch::memory::Memory;
use ::libtorch::processor::{self, CPUS, cpu_model, field};

/// Systems that torch has wheels for whose threads are those of GCC's OpenMP, as the shim needs it.
const SYSTEMS: [(&str, &str); 2] = [("linux", "x86_64"), ("linux", "aarch64")];

pub fn system() -> Check {
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    let found = format!("{os} {arch}");
    if SYSTEMS.contains(&(os, arch)) {
        Check::ok("system", found)
    } else {
        Check::missing(
            "system",
            format!("{found}, for which torch has no wheel that could be provisioned"),
            format!("build libtorch {VERSION} yourself and set LIBTORCH to it"),
        )
    }
}

pub fn glibc() -> Check {
    if !cfg!(target_os = "linux") {
        return Check::skipped("glibc", "matters on Linux only");
    }
    // A C library other than glibc has no such variable.
    judge_glibc(&first_line("getconf", ["GNU_LIBC_VERSION"]).unwrap_or_default())
}

fn judge_glibc(text: &str) -> Check {
    let version = text.strip_prefix("glibc ").unwrap_or_default();
    let numbers = version.split_once('.').map(|(major, minor)| (major.parse(), minor.parse()));
    match numbers {
        Some((Ok(major), Ok(minor))) if (major, minor) >= (2, 28) => Check::ok("glibc", version),
        Some((Ok::<u32, _>(_), Ok::<u32, _>(_))) => Check::missing(
            "glibc",
            format!("{version}, but torch's wheels need 2.28"),
            "use a newer distribution, or a libtorch of your own: LIBTORCH",
        ),
        _ => Check::missing(
            "glibc",
            "not found, but torch's wheels need glibc 2.28 (musl will not do)",
            "use a distribution with glibc, or a libtorch of your own: LIBTORCH",
        ),
    }
}

/// Compiling torch-sys' generated C++ takes about 2 GB in one compiler process.
const COMFORTABLE_MEMORY: u64 = 4_000_000_000;

pub fn memory() -> Check {
    let Some(Memory { total, available, limit }) = Memory::read() else {
        return Check::skipped("memory", "no /proc/meminfo to read");
    };
    let mut found = format!("{}, {} available", human::bytes(total), human::bytes(available));
    if let Some(limit) = limit {
        found += &format!(", limited to {}", human::bytes(limit));
    }
    if limit.unwrap_or(total) < COMFORTABLE_MEMORY {
        Check::warning(
            "memory",
            format!("{found}: little for compiling torch-sys, and for large shapes"),
            "build with fewer jobs: cargo xtask bench -j1",
        )
    } else {
        Check::ok("memory", found)
    }
}

/// Their names in Linux.
const X86: [&str; 8] = [
    "avx2",
    "avx512f",
    "avx512_bf16",
    "avx_vnni",
    "avx512_vnni",
    "amx_tile",
    "amx_int8",
    "amx_bf16",
];
const ARM: [&str; 5] = ["asimddp", "i8mm", "bf16", "sve", "sve2"];

pub fn processor() -> Vec<Check> {
    let Ok(text) = fs::read_to_string("/proc/cpuinfo") else {
        return vec![
            Check::ok("processor", format!("{}, {}", model_by_sysctl(), cores())),
            Check::skipped("instructions", "no /proc/cpuinfo to read"),
        ];
    };
    let model = cpu_model(&text).unwrap_or_else(|| "model unknown".to_owned());
    let flags = field(&text, "flags").or_else(|| field(&text, "Features")).unwrap_or_default();
    vec![
        Check::ok("processor", format!("{model}, {}", cores())),
        instructions(flags),
        governor(governor_here().as_deref()),
    ]
}

fn cores() -> String {
    match std::thread::available_parallelism() {
        Ok(count) => format!("{count} logical cores usable"),
        Err(error) => format!("cores unknown ({error})"),
    }
}

fn model_by_sysctl() -> String {
    first_line("sysctl", ["-n", "machdep.cpu.brand_string"])
        .unwrap_or_else(|_| "model unknown".to_owned())
}

/// Without a dot product of bytes, oneDNN multiplies u8 by s8 with an instruction that saturates at 16
/// bits, so int8dq is not exact there.
fn instructions(flags: &str) -> Check {
    let name = "instructions";
    let has = |wanted: &str| flags.split_whitespace().any(|flag| flag == wanted);
    let present: Vec<&str> = X86.into_iter().chain(ARM).filter(|wanted| has(wanted)).collect();
    let found = if present.is_empty() { "none that matter".to_owned() } else { present.join(" ") };
    let exact = ["avx_vnni", "avx512_vnni", "amx_int8", "asimddp"].into_iter().any(has);
    if exact {
        Check::ok(name, found)
    } else {
        Check::warning(
            name,
            format!("{found}: no VNNI, which int8dq needs to be exact in oneDNN"),
            "measure int8dq on a processor with avx512_vnni or avx_vnni (ARM: asimddp)",
        )
    }
}

/// The governor of the CPUs that may be used.
fn governor_here() -> Option<String> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    processor::governor(&Path::new("/").join(CPUS), field(&status, "Cpus_allowed_list")?)
}

fn governor(governor: Option<&str>) -> Check {
    match governor {
        None => Check::skipped("governor", "not readable, as in most virtual machines"),
        Some("performance") => Check::ok("governor", "performance"),
        Some(other) => Check::warning(
            "governor",
            format!("{other}: the clock follows the load, and times with it"),
            "sudo cpupower frequency-set --governor performance",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::doctor::Mark;

    #[test]
    fn glibc_must_be_that_of_the_wheels() {
        for (text, mark) in [
            ("glibc 2.36", Mark::Ok),
            ("glibc 2.28", Mark::Ok),
            ("glibc 2.17", Mark::Missing),
            ("", Mark::Missing),
        ] {
            assert_eq!(judge_glibc(text).mark, mark, "{text}");
        }
    }

    #[test]
    fn int8dq_needs_a_dot_product_of_bytes() {
        for (flags, mark) in [
            ("fpu avx2 avx512f avx512_vnni", Mark::Ok),
            ("fpu avx2 avx_vnni", Mark::Ok),
            ("fp asimd asimddp bf16", Mark::Ok),
            ("fpu avx2 avx512f", Mark::Warning),
            ("", Mark::Warning),
        ] {
            assert_eq!(instructions(flags).mark, mark, "{flags}");
        }
    }

    #[test]
    fn a_clock_that_moves_is_told() {
        assert_eq!(governor(None).mark, Mark::Skipped);
        assert_eq!(governor(Some("performance")).mark, Mark::Ok);
        assert_eq!(governor(Some("powersave")).mark, Mark::Warning);
    }
}
