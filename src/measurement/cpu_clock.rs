//! The clock of the core that the calling thread runs on, by timing instructions whose cost in cycles
//! is known.
//!
//! An addition of two registers takes one cycle on every x86-64 and ARM core, and a chain of them,
//! each waiting for the one before, as many cycles as it has links. (Additions of constants will not
//! do: recent cores fold them.) So time tells the clock, in virtual machines too, where no file does.
//! Under an emulator it tells the emulator's speed.

use super::stopwatch::Stopwatch;

/// How the clock is read, as records say it.
pub(super) const METHOD: &str = "dependent-add chain";

/// Additions in one turn of the loop; what counts the turns runs beside them.
const LINKS: u32 = 32;
/// About 20 µs at 3 GHz.
const TURNS: u64 = 1_875;
/// An interrupt can only lengthen a round, so the fastest counts.
const ROUNDS: usize = 3;

/// The clock in MHz; takes some 60 µs.
///
/// # Errors
/// On a processor for which no chain is written.
pub(super) fn read_mhz() -> Result<f64, String> {
    let mut fastest_ns = f64::INFINITY;
    for _ in 0..ROUNDS {
        let watch = Stopwatch::start();
        std::hint::black_box(chain::run(TURNS)?);
        fastest_ns = fastest_ns.min(watch.ns());
    }
    Ok(mhz(TURNS * u64::from(LINKS), fastest_ns))
}

fn mhz(cycles: u64, ns: f64) -> f64 {
    cycles as f64 / ns * 1e3
}

#[cfg(target_arch = "x86_64")]
mod chain {
    /// The sum of the chain: as many additions of one as it has links.
    pub(super) fn run(turns: u64) -> Result<u64, String> {
        let mut sum = 0_u64;
        // SAFETY: only registers that are declared here, and the flags, change.
        unsafe {
            std::arch::asm!(
                "2:",
                ".rept 32",
                "add {sum}, {one}",
                ".endr",
                "sub {turns}, 1",
                "jnz 2b",
                sum = inout(reg) sum,
                one = in(reg) 1_u64,
                turns = inout(reg) turns => _,
                options(nomem, nostack),
            );
        }
        Ok(sum)
    }
}

#[cfg(target_arch = "aarch64")]
mod chain {
    /// The sum of the chain: as many additions of one as it has links.
    pub(super) fn run(turns: u64) -> Result<u64, String> {
        let mut sum = 0_u64;
        // SAFETY: only registers that are declared here, and the flags, change.
        unsafe {
            std::arch::asm!(
                "2:",
                ".rept 32",
                "add {sum}, {sum}, {one}",
                ".endr",
                "subs {turns}, {turns}, #1",
                "b.ne 2b",
                sum = inout(reg) sum,
                one = in(reg) 1_u64,
                turns = inout(reg) turns => _,
                options(nomem, nostack),
            );
        }
        Ok(sum)
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod chain {
    pub(super) fn run(_: u64) -> Result<u64, String> {
        Err(format!(
            "the clock is read on x86_64 and aarch64 only, not on {}",
            std::env::consts::ARCH
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_over_time_is_the_clock() {
        assert_eq!(mhz(60_000, 20_000.0), 3_000.0);
    }

    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    #[test]
    fn the_chain_is_as_long_as_it_is_said_to_be() {
        assert_eq!(chain::run(TURNS), Ok(TURNS * u64::from(LINKS)));
        assert!(read_mhz().unwrap() > 0.0);
    }
}
