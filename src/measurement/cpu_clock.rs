//! The clock of the core that the calling thread runs on: the time of work whose cycles are known.
//!
//! This works in virtual machines, too, where no file tells the clock. Under an emulator it tells the
//! emulator's speed.

use std::hint::black_box;

use super::chain;
use super::stopwatch::Stopwatch;

/// How the clock is read, as records say it.
pub(super) const METHOD: &str = "dependent-add chain";

/// About 20 µs at 3 GHz.
const TURNS: u64 = 1_875;
/// An interrupt can only lengthen a round, so the fastest counts.
const ROUNDS: usize = 3;

/// The clock in MHz; takes some 60 µs.
///
/// # Errors
/// On a processor for which no chain of known length is written.
pub(super) fn read_mhz() -> Result<f64, String> {
    let per_turn = chain::CYCLES_PER_TURN.ok_or_else(|| {
        format!("the clock is read on x86_64 and aarch64 only, not on {}", std::env::consts::ARCH)
    })?;
    let mut fastest_ns = f64::INFINITY;
    for _ in 0..ROUNDS {
        let watch = Stopwatch::start();
        black_box(chain::run(black_box(TURNS)));
        fastest_ns = fastest_ns.min(watch.ns());
    }
    Ok(mhz(TURNS * per_turn, fastest_ns))
}

fn mhz(cycles: u64, ns: f64) -> f64 {
    cycles as f64 / ns * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_over_time_is_the_clock() {
        assert_eq!(mhz(60_000, 20_000.0), 3_000.0);
    }

    #[test]
    fn the_clock_is_read_wherever_the_chain_is_known() {
        match read_mhz() {
            Ok(mhz) => assert!(mhz > 0.0),
            Err(reason) => {
                assert_eq!(chain::CYCLES_PER_TURN, None);
                assert!(reason.ends_with(std::env::consts::ARCH), "{reason}");
            }
        }
    }
}
