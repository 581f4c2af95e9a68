//! The system: its kind, its C library, its memory.

use std::process::Command;

use super::check::Check;
use crate::ask::first_line;
use crate::files;
use ::libtorch::memory::Memory;

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
            "build libtorch 2.11.0 yourself and set LIBTORCH to it",
        )
    }
}

pub fn glibc() -> Check {
    if !cfg!(target_os = "linux") {
        return Check::skipped("glibc", "matters on Linux only");
    }
    // A C library other than glibc has no such variable.
    let mut getconf = Command::new("getconf");
    getconf.arg("GNU_LIBC_VERSION");
    judge_glibc(&first_line(getconf).unwrap_or_default())
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
    let mut found = format!("{}, {} available", files::human(total), files::human(available));
    if let Some(limit) = limit {
        found += &format!(", limited to {}", files::human(limit));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::check::Mark;

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
}
