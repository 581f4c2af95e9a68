//! How a bench target ends, for whatever decides on running it again: a scheduler, or the program that started it.

/// A case failed or took too long. Running it again changes nothing.
pub const CASES_FAILED: u8 = 1;
/// Wrong usage, a wrong config, or another run in the same folder.
pub const UNUSABLE: u8 = 2;
/// `EX_TEMPFAIL` of sysexits.h: the machine failed, not a case, and the same command may go well later or elsewhere.
pub const RETRY: u8 = 75;

/// Whether a process that ended with `code` may end better when it is run again. A process that a signal ended has no
/// code; a shell in between reports 128 and the signal's number.
pub fn is_retryable(code: Option<i32>) -> bool {
    /// The numbers of signals.
    const SIGNALS: std::ops::RangeInclusive<i32> = 1..=64;
    match code {
        None => true,
        Some(code) => code == i32::from(RETRY) || SIGNALS.contains(&(code - 128)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_machine_did_is_tried_again() {
        let by_signal = [None, Some(128 + 9), Some(128 + 15)];
        for code in by_signal.into_iter().chain([Some(i32::from(RETRY))]) {
            assert!(is_retryable(code), "{code:?}");
        }
        for code in [0, i32::from(CASES_FAILED), i32::from(UNUSABLE), 101, 127, 128, 255] {
            assert!(!is_retryable(Some(code)), "{code}");
        }
    }
}
