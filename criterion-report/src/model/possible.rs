//! The numbers that a file can have. JSON has neither NaN nor infinity; the rest to refuse are
//! numbers that are no measurement and that would spoil every ratio, sum and axis they come to.

/// No time, count of iterations or energy is larger: 10¹⁸ ns are 31 years.
pub const LARGEST: f64 = 1e18;
/// No amount of memory is larger, so that sums of them have room: an exbibyte.
pub const MOST_BYTES: u64 = 1 << 60;

/// And no time or ratio is smaller, so that one over it is none that is too large.
const SMALLEST: f64 = 1e-18;

/// A time or a ratio.
pub fn positive(value: f64) -> bool {
    (SMALLEST..=LARGEST).contains(&value)
}

/// One that may be nothing.
pub fn not_negative(value: f64) -> bool {
    value == 0.0 || positive(value)
}

pub fn level(value: f64) -> bool {
    value > 0.0 && value < 1.0
}

/// A part of a whole, but for rounding.
pub fn share(value: f64) -> bool {
    value == 0.0 || (SMALLEST..=1.0 + 1e-9).contains(&value)
}

/// One that may be below zero: a temperature, or energy less that of the idle machine.
pub fn signed(value: f64) -> bool {
    value.abs() <= LARGEST
}

/// One that may be beyond every number, or none, as errors are.
pub fn not_below_zero(value: f64) -> bool {
    value.is_nan() || value >= 0.0
}
