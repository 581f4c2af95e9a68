//! The words that a bench target gets, and what its end says.

use std::ffi::OsString;
use std::process::ExitStatus;

use plan::exit::{CASES_FAILED, RETRY, UNUSABLE};
use plan::flag::{self, Word};

/// Options that are about the choice of cases or about all of a run.
const OF_A_CHOICE: [&str; 3] = ["exact", "budget", "profile"];

/// By which the loader and shells end where a program cannot be loaded.
pub const NOT_LOADED: i32 = 127;

/// The options among the words, without a filter and what belongs to one.
pub fn options(words: &[OsString]) -> Vec<OsString> {
    let is_kept = |it: &Word<'_, OsString>| {
        it.option.is_some() && !OF_A_CHOICE.iter().any(|name| it.is(name))
    };
    flag::words(words).filter(is_kept).flat_map(|it| it.words).cloned().collect()
}

/// How a bench target ended, as an exit code. Signals that come from outside can be different the next time; those of a
/// fault in a program cannot.
pub fn code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return if is_fault(signal) { CASES_FAILED } else { RETRY };
    }
    if status.code() == Some(NOT_LOADED) { UNUSABLE } else { crate::cargo::code(status) }
}

/// Whether a program's own fault ended it.
pub fn is_fault(signal: i32) -> bool {
    [libc::SIGILL, libc::SIGSEGV, libc::SIGFPE, libc::SIGABRT, libc::SIGSYS, libc::SIGTRAP]
        .contains(&signal)
}

/// The code of several runs. A refusal stays one however often it is tried. A run that can be tried again leaves cases
/// to be measured, also where others have failed.
pub fn worst(codes: impl IntoIterator<Item = u8>) -> u8 {
    let rank = |code: &u8| match *code {
        0 => 0,
        RETRY => 2,
        UNUSABLE => 3,
        _ => 1,
    };
    codes.into_iter().max_by_key(rank).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    #[test]
    fn options_are_kept_and_filters_are_not() {
        for (line, expected) in [
            ("", ""),
            ("int8wo", ""),
            ("--quick int8wo --exact", "--quick"),
            ("--save-baseline main int8wo", "--save-baseline main"),
            ("-s main --sample-size=10 x", "-s main --sample-size=10"),
            ("--budget 10min x --quick", "--quick"),
            ("--quick -- --exact", "--quick"),
        ] {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            assert_eq!(options(&words).join(" ".as_ref()), expected, "{line}");
        }
    }

    #[test]
    fn a_killed_process_can_be_tried_again_and_a_crash_cannot() {
        let code = |status| code(ExitStatus::from_raw(status));
        assert_eq!(code(0), 0);
        assert_eq!(code(1 << 8), 1);
        assert_eq!(code(75 << 8), RETRY);
        assert_eq!(code(NOT_LOADED << 8), UNUSABLE);
        for signal in [libc::SIGKILL, libc::SIGTERM, libc::SIGHUP, libc::SIGBUS] {
            assert_eq!(code(signal), RETRY, "{signal}");
        }
        for signal in [libc::SIGSEGV, libc::SIGILL, libc::SIGABRT] {
            assert_eq!(code(signal), 1, "{signal}");
        }
    }

    #[test]
    fn what_helps_a_scheduler_most_is_the_code_of_all() {
        for (codes, expected) in [
            (&[][..], 0),
            (&[0, 0], 0),
            (&[0, 1, 0], 1),
            (&[1, RETRY, 0], RETRY),
            (&[RETRY, UNUSABLE, 1], UNUSABLE),
            (&[101, 0], 101),
        ] {
            assert_eq!(worst(codes.iter().copied()), expected, "{codes:?}");
        }
    }
}
