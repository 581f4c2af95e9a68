//! Reading a file that someone else wrote.

use std::fmt::Display;
use std::fs::{self, DirEntry, File};
use std::io::{self, BufRead, BufReader, Read, Take};
use std::path::Path;

use anyhow::anyhow;

/// Beyond this it is no file of one case, one run or one machine: a million samples are 40 MB.
const OF_ONE: u64 = 1 << 27;
/// And beyond this none of all cases.
const OF_ALL: u64 = 1 << 30;
/// Some editors put it before UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A file that cannot be used, and why.
pub fn unusable(path: &Path, why: impl Display) -> anyhow::Error {
    anyhow!("{}: {why}", path.display())
}

/// Unusable lines of a file: the first ones, and the number of the others.
#[derive(Debug, Default)]
pub struct Unusable {
    first: Vec<String>,
    more: usize,
}

impl Unusable {
    /// The most lines that are told of one file: nobody reads more.
    const MOST: usize = 10;

    /// Adds what is told behind the file's name.
    pub fn add(&mut self, text: impl FnOnce() -> String) {
        match self.first.len() < Self::MOST {
            true => self.first.push(text()),
            false => self.more += 1,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// Each with the file's name.
    pub fn of_file(self, path: &Path) -> impl Iterator<Item = String> {
        let more = (self.more > 0).then(|| format!(": and {} more", self.more));
        let name = path.display().to_string();
        self.first.into_iter().chain(more).map(move |text| name.clone() + &text)
    }
}

/// The entries of a folder; none if there is no such folder.
pub fn entries(folder: &Path) -> io::Result<Vec<DirEntry>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// A file of one case, one run or one machine, without a byte-order mark.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    whole(open(path, OF_ONE)?)
}

/// Like [`read`], as text.
pub fn text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// A file of all cases, without a byte-order mark.
pub fn read_all(path: &Path) -> io::Result<Vec<u8>> {
    whole(open_all(path)?)
}

/// Lines of a file that are held at once.
const AT_ONCE: usize = 256;

/// Hands on the lines of a file of all cases, some at once, each with its number; without a
/// byte-order mark.
pub fn lines(path: &Path, mut visit: impl FnMut(&[(usize, Vec<u8>)])) -> io::Result<()> {
    let file = BufReader::with_capacity(1 << 18, open_all(path)?);
    let mut lines = (1..).zip(file.split(b'\n'));
    loop {
        let some = lines.by_ref().take(AT_ONCE).map(|(number, line)| Ok((number, line?)));
        let mut some: Vec<(usize, Vec<u8>)> = some.collect::<io::Result<_>>()?;
        match some.first_mut() {
            None => return Ok(()),
            Some((1, line)) => without_mark(line),
            Some(_) => {}
        }
        visit(&some);
    }
}

/// Opens a file to be read in pieces, with the mark.
pub fn open_all(path: &Path) -> io::Result<Take<File>> {
    open(path, OF_ALL)
}

/// A regular file. A pipe could be waited for without end, and a device has no end.
fn open(path: &Path, most: u64) -> io::Result<Take<File>> {
    let mut options = File::options();
    options.read(true);
    // A pipe without a writer is opened at once, and refused below.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let file = options.open(path)?;
    let about = file.metadata()?;
    if about.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !about.is_file() {
        return Err(io::Error::other(
            "not a regular file, and only those are known to have an end",
        ));
    }
    if about.len() > most {
        return Err(io::Error::other(format!(
            "{} bytes, and no file of its kind has more than {most}",
            about.len()
        )));
    }
    Ok(file.take(about.len()))
}

/// Reads the file at the length that was found: its end needs no look of its own.
fn whole(mut file: Take<File>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(file.limit() as usize);
    file.read_to_end(&mut bytes)?;
    without_mark(&mut bytes);
    Ok(bytes)
}

fn without_mark(text: &mut Vec<u8>) {
    if text.starts_with(BYTE_ORDER_MARK) {
        text.drain(..BYTE_ORDER_MARK.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_their_numbers_however_many_are_held_at_once() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let text: String = (1..=2 * AT_ONCE + 1).map(|number| format!("{number}\n")).collect();
        fs::write(file.path(), format!("\u{feff}{text}last")).expect("written");
        let mut found = Vec::new();
        lines(file.path(), |some| {
            assert!(some.len() <= AT_ONCE);
            found.extend_from_slice(some);
        })
        .expect("readable");
        let last = found.pop();
        assert_eq!(last, Some((2 * AT_ONCE + 2, b"last".to_vec())));
        assert_eq!(found.len(), 2 * AT_ONCE + 1);
        for (number, line) in found {
            assert_eq!(line, number.to_string().into_bytes());
        }
    }
}
