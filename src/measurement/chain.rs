//! Work that takes a known number of cycles: a chain of additions, each waiting for the one before.
//!
//! An addition of two registers takes one cycle on every x86-64 and ARM core. (One of a constant will
//! not do: recent cores fold them.) What counts the turns of the loop runs beside the chain.

pub(super) use platform::{CYCLES_PER_TURN, run};

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod platform {
    /// Additions in one turn.
    pub const CYCLES_PER_TURN: Option<u64> = Some(32);

    #[cfg(target_arch = "x86_64")]
    macro_rules! turn {
        () => {
            "2: .rept 32; add {sum}, {one}; .endr; sub {turns}, 1; jnz 2b"
        };
    }
    #[cfg(target_arch = "aarch64")]
    macro_rules! turn {
        () => {
            "2: .rept 32; add {sum}, {sum}, {one}; .endr; subs {turns}, {turns}, #1; b.ne 2b"
        };
    }

    /// Runs `turns` turns, at least one; returns the sum, one per addition.
    pub fn run(turns: u64) -> u64 {
        let mut sum = 0_u64;
        // SAFETY: only registers that are declared here, and the flags, change.
        unsafe {
            std::arch::asm!(
                turn!(),
                sum = inout(reg) sum,
                one = in(reg) 1_u64,
                turns = inout(reg) turns.max(1) => _,
                options(nomem, nostack),
            );
        }
        sum
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod platform {
    /// Every turn does equal work, but of unknown length.
    pub const CYCLES_PER_TURN: Option<u64> = None;

    /// Runs `turns` turns, at least one; returns the sum, one per addition.
    pub fn run(turns: u64) -> u64 {
        (0..32 * turns.max(1)).fold(0, |sum, _| std::hint::black_box(sum) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_is_as_long_as_it_is_said_to_be() {
        for (turns, additions) in [(0, 32), (1, 32), (1000, 32_000)] {
            assert_eq!(run(turns), additions);
        }
        assert_eq!(CYCLES_PER_TURN.unwrap_or(32), run(1));
    }
}
