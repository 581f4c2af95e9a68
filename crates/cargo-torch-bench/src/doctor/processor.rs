//! The processor: model, cores, and the instructions on which quantized kernels depend.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::check::Check;
use crate::ask::first_line;
use ::libtorch::processor::{self, CPUS, cpu_model, field};

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

pub fn check() -> Vec<Check> {
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
    let mut sysctl = Command::new("sysctl");
    sysctl.args(["-n", "machdep.cpu.brand_string"]);
    first_line(sysctl).unwrap_or_else(|_| "model unknown".to_owned())
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
    use crate::doctor::check::Mark;

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
