//! Writes to standard output and standard error. These macros stand in the place of std's, which panic where writing
//! fails: whoever has closed the pipe has what he wanted, and what a command does must not end with its words.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};
use std::sync::Mutex;

use crate::error::{Error, Result};

/// Why standard output is incomplete, unless its reader closed it.
static FAILED: Mutex<Option<io::Error>> = Mutex::new(None);

pub fn print(text: Arguments<'_>) {
    keep(io::stdout().write_fmt(text));
}

/// Standard output for what writes by itself; it never fails.
pub struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        keep(io::stdout().write_all(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        keep(io::stdout().flush());
        Ok(())
    }
}

/// Nobody can be told that standard error cannot be written to; the exit code says how it ended.
pub fn eprint(text: Arguments<'_>) {
    io::stderr().write_fmt(text).ok();
}

fn keep(written: io::Result<()>) {
    if let Err(error) = written
        && error.kind() != ErrorKind::BrokenPipe
        && let Ok(mut failed) = FAILED.lock()
    {
        failed.get_or_insert(error);
    }
}

/// Fails where standard output lacks something that its reader still waits for.
pub fn check() -> Result<()> {
    keep(io::stdout().flush());
    match FAILED.lock().ok().and_then(|mut failed| failed.take()) {
        Some(error) => Err(Error::new(format!("cannot write to standard output: {error}"))),
        None => Ok(()),
    }
}

#[doc(hidden)]
#[macro_export]
macro_rules! print {
    ($($text:tt)*) => { $crate::output::print(format_args!($($text)*)) };
}

#[doc(hidden)]
#[macro_export]
macro_rules! println {
    ($($text:tt)*) => { $crate::output::print(format_args!("{}\n", format_args!($($text)*))) };
}

#[doc(hidden)]
#[macro_export]
macro_rules! eprint {
    ($($text:tt)*) => { $crate::output::eprint(format_args!($($text)*)) };
}

#[doc(hidden)]
#[macro_export]
macro_rules! eprintln {
    ($($text:tt)*) => { $crate::output::eprint(format_args!("{}\n", format_args!($($text)*))) };
}
