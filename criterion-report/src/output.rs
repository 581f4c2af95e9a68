//! The target of output: a file that is either complete or as it was, or standard output.

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::visible;

/// Writes `text` to the file, or to standard output without one.
pub fn put(text: &str, file: Option<&Path>) -> Result<()> {
    stream(file, |out| Ok(out.write_all(text.as_bytes())?)).map(|_| ())
}

/// Whether a path names standard output, as for other programs.
pub fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

/// Lets `write` write to the file, or to standard output without one. Nothing is returned where the
/// reader of a pipe has closed it early (`| head`): it has what it wanted.
pub fn stream<T>(
    file: Option<&Path>,
    write: impl FnOnce(&mut dyn Write) -> Result<T>,
) -> Result<Option<T>> {
    let Some(file) = file.filter(|it| !is_standard(it)) else { return print(write) };
    let written = match real_file(file) {
        Ok(Some(real)) => replace(&real, write),
        // A pipe or a device is not replaced, it is written to.
        Ok(None) => File::options()
            .write(true)
            .open(file)
            .map_err(Into::into)
            .and_then(|device| buffered(device, write)),
        Err(error) => Err(error.into()),
    };
    written.map(Some).map_err(|error| match failed_output(&error) {
        Some(_) => error.context(format!("cannot write {}", file.display())),
        None => error,
    })
}

/// Says something to people, on standard error. Whoever has closed it, or has no room for it, cannot be
/// told that either: the exit code says how it ended.
pub fn tell(text: &str) {
    writeln!(io::stderr(), "{}", visible::lines(text)).ok();
}

/// Prints a single line on standard error, whatever names it quotes.
pub fn tell_line(kind: &str, text: &str) {
    tell(&format!("{kind}: {}", visible::line(text)));
}

/// The file itself where the path is a link to one; none where it is there and no file.
fn real_file(path: &Path) -> io::Result<Option<PathBuf>> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => path.canonicalize().map(Some),
        Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(_) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Some(path.to_owned())),
        Err(error) => Err(error),
    }
}

/// Writes beside the file, and takes its place when all is on disk. A failure leaves nothing.
fn replace<T>(file: &Path, write: impl FnOnce(&mut dyn Write) -> Result<T>) -> Result<T> {
    let folder = file.parent().unwrap_or(Path::new(""));
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".");
    // Created as any file is, with the permissions that the umask leaves.
    let beside = tempfile::Builder::new()
        .prefix(&name)
        .suffix(".tmp")
        .make_in(folder, |path| File::create_new(path))?;
    let result = buffered(beside.as_file(), write)?;
    beside.as_file().sync_all()?;
    beside.persist(file).map_err(io::Error::from)?;
    Ok(result)
}

/// Bytes that are collected before the system is asked to write them.
const AT_ONCE: usize = 1 << 18;

fn buffered<T>(out: impl Write, write: impl FnOnce(&mut dyn Write) -> Result<T>) -> Result<T> {
    let mut out = BufWriter::with_capacity(AT_ONCE, out);
    let result = write(&mut out)?;
    out.flush()?;
    Ok(result)
}

fn print<T>(write: impl FnOnce(&mut dyn Write) -> Result<T>) -> Result<Option<T>> {
    match buffered(io::stdout().lock(), write) {
        Ok(result) => Ok(Some(result)),
        Err(error) if is_closed_pipe(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    failed_output(error) == Some(io::ErrorKind::BrokenPipe)
}

/// How the output failed, if it is that and not what was to be written. serde_json's errors do not
/// name the system's as their cause.
fn failed_output(error: &anyhow::Error) -> Option<io::ErrorKind> {
    error.chain().find_map(|cause| match cause.downcast_ref::<io::Error>() {
        Some(error) => Some(error.kind()),
        None => cause.downcast_ref::<serde_json::Error>()?.io_error_kind(),
    })
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
