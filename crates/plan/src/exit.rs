//! How a bench target ends, for whatever decides on running it again: a scheduler, or the program that started it.

/// A case failed or took too long. Running it again changes nothing.
pub const CASES_FAILED: u8 = 1;
/// Wrong usage, a wrong config, or another run in the same folder.
pub const UNUSABLE: u8 = 2;
/// `EX_TEMPFAIL` of sysexits.h: the machine failed, not a case, and the same command may go well later or elsewhere.
pub const RETRY: u8 = 75;
