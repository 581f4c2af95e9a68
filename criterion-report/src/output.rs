//! Where text goes: a file that is either complete or as it was, or standard output.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::{Context, Result};

/// Writes `text` to the file, or to standard output without one.
pub fn put(text: &str, file: Option<&Path>) -> Result<()> {
    let Some(file) = file else { return print(text) };
    let mut beside = file.as_os_str().to_owned();
    beside.push(format!(".{}.tmp", std::process::id()));
    let beside = Path::new(&beside);
    let written = fs::write(beside, text).and_then(|()| fs::rename(beside, file));
    if written.is_err() && beside.exists() {
        fs::remove_file(beside)
            .with_context(|| format!("{}: a left-over of a failed write", beside.display()))?;
    }
    written.with_context(|| format!("cannot write {}", file.display()))
}

/// Prints; a reader that closes the pipe early (`| head`) has what it wanted.
fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write to standard output"),
    }
}

/// Whether standard output is a terminal whose user has not asked for plain text.
pub fn colour_terminal() -> bool {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    io::stdout().is_terminal() && !no_color
}

/// Columns of the terminal that standard output is; none when it is something else.
pub fn terminal_width() -> Option<usize> {
    terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0))
}
