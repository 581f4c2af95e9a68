//! The archive: files on their way into it are hashed, and what comes out is compressed by several threads.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, ErrorKind, IsTerminal as _, Read, Write};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};
use tar::{Builder, EntryType, Header};
use tempfile::NamedTempFile;

use super::manifest::CHECKSUMS;
use crate::error::{Error, Result};
use crate::human;
use ::libtorch::partial;

/// Each of these is compressed for itself. Decompressors take a file of several such frames as one.
const FRAME: usize = 16 << 20;

/// A file of the bundle.
#[derive(Debug)]
pub struct Entry {
    /// The part that it belongs to.
    pub part: &'static str,
    /// Its path in the bundle.
    pub place: String,
    pub source: Source,
    pub is_program: bool,
}

#[derive(Debug)]
pub enum Source {
    File(PathBuf),
    Bytes(Vec<u8>),
    /// A link to a file beside it.
    Link(String),
}

impl Entry {
    pub fn bytes(&self) -> Result<u64> {
        match &self.source {
            Source::File(path) => {
                let metadata = fs::metadata(path);
                Ok(metadata.map_err(|error| Error::io("read", path, &error))?.len())
            }
            Source::Bytes(bytes) => Ok(bytes.len() as u64),
            Source::Link(_) => Ok(0),
        }
    }
}

/// How the archive is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Its level.
    Zstd(i32),
    Plain,
}

/// An archive that is being made beside its place.
#[derive(Debug)]
pub struct Output<'p> {
    to: &'p Path,
    beside: NamedTempFile,
}

fn unwritable(to: &Path, error: &io::Error) -> Error {
    Error::io("write", to, error).remedy("choose another place: --output FILE")
}

/// Begins an archive, so that it is known early whether it can be written. Removes what earlier ones have left in that
/// folder if no process makes them any longer.
pub fn begin<'p>(to: &'p Path, is_bundle: impl Fn(&str) -> bool) -> Result<Output<'p>> {
    let unwritable = |error: io::Error| unwritable(to, &error);
    if to.is_dir() {
        return Err(unwritable(ErrorKind::IsADirectory.into()));
    }
    let folder = to.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    partial::sweep(folder, is_bundle).map_err(unwritable)?;
    let name = to.file_name().unwrap_or_default().to_string_lossy();
    let mut builder = tempfile::Builder::new();
    let prefix = format!("{name}{}", partial::MARK);
    let beside = builder.prefix(&prefix).make_in(folder, |path| {
        // The permissions are those that the umask leaves.
        let file = File::create_new(path)?;
        partial::hold(path, &file)?;
        Ok(file)
    });
    Ok(Output { to, beside: beside.map_err(unwritable)? })
}

/// Writes the entries, then their checksums, below a folder of this name. Returns the archive's size.
pub fn write(
    output: Output<'_>,
    folder: &str,
    entries: &[Entry],
    form: Compression,
) -> Result<u64> {
    let Output { to, beside } = output;
    let unwritable = |error: io::Error| unwritable(to, &error);
    let packed = match form {
        Compression::Plain => fill(beside.as_file(), folder, entries)?.flush(),
        Compression::Zstd(level) => {
            fill(Frames::new(beside.as_file(), level), folder, entries)?.finish()
        }
    };
    packed.map_err(unwritable)?;
    let metadata = beside.as_file().metadata().map_err(unwritable)?;
    beside.persist(to).map_err(|error| unwritable(error.error))?;
    Ok(metadata.len())
}

fn fill<W: Write>(to: W, folder: &str, entries: &[Entry]) -> Result<W> {
    let mut archive = Archive {
        builder: Builder::new(to),
        folder: folder.to_owned(),
        progress: Progress::new(entries)?,
        checksums: String::new(),
    };
    entries.iter().try_for_each(|entry| archive.append(entry))?;
    let checksums = std::mem::take(&mut archive.checksums);
    let (part, place) = ("checksums", CHECKSUMS.to_owned());
    let source = Source::Bytes(checksums.into_bytes());
    archive.append(&Entry { part, place, source, is_program: false })?;
    archive.progress.clear();
    archive.builder.into_inner().map_err(|error| unpacked(CHECKSUMS, &error))
}

fn unpacked(place: &str, error: &io::Error) -> Error {
    Error::new(format!("cannot pack {place}: {error}"))
}

struct Archive<W: Write> {
    builder: Builder<W>,
    folder: String,
    progress: Progress,
    checksums: String,
}

impl<W: Write> Archive<W> {
    fn append(&mut self, entry: &Entry) -> Result<()> {
        let mut header = Header::new_gnu();
        header.set_mode(if entry.is_program { 0o755 } else { 0o644 });
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        header.set_mtime(now.as_secs());
        header.set_size(entry.bytes()?);
        let path = format!("{}/{}", self.folder, entry.place);
        let failed = |error: io::Error| unpacked(&entry.place, &error);
        self.progress.shows(&entry.place);
        let mut hashed = |bytes: &mut dyn Read, header: &mut Header| {
            let mut hashed =
                Hashed { from: bytes, hash: Sha256::new(), progress: &mut self.progress };
            self.builder.append_data(header, &path, &mut hashed).map_err(failed)?;
            let hash = hashed.hash.finalize();
            self.checksums.push_str(&format!("{hash:x}  {}\n", entry.place));
            Ok(())
        };
        match &entry.source {
            Source::File(source) => {
                let mut file =
                    File::open(source).map_err(|error| Error::io("read", source, &error))?;
                hashed(&mut file, &mut header)
            }
            Source::Bytes(bytes) => hashed(&mut &bytes[..], &mut header),
            Source::Link(to) => {
                header.set_entry_type(EntryType::Symlink);
                self.builder.append_link(&mut header, &path, to).map_err(failed)
            }
        }
    }
}

/// Hashes what is read.
struct Hashed<'h> {
    from: &'h mut dyn Read,
    hash: Sha256,
    progress: &'h mut Progress,
}

impl Read for Hashed<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(into)?;
        self.hash.update(&into[..count]);
        self.progress.advances(count as u64);
        Ok(count)
    }
}

/// A line that is rewritten, if stderr is a terminal.
struct Progress {
    is_shown: bool,
    place: String,
    done: u64,
    all: u64,
    told: u64,
}

impl Progress {
    /// Bytes between two times that the line is written.
    const STEP: u64 = 8 << 20;

    fn new(entries: &[Entry]) -> Result<Self> {
        let all = entries.iter().map(Entry::bytes).sum::<Result<u64>>()?;
        let is_shown = io::stderr().is_terminal();
        Ok(Self { is_shown, place: String::new(), done: 0, all, told: 0 })
    }

    fn shows(&mut self, place: &str) {
        self.place = place.rsplit('/').next().unwrap_or(place).to_owned();
    }

    fn advances(&mut self, bytes: u64) {
        self.done += bytes;
        if self.is_shown && self.done - self.told >= Self::STEP {
            self.told = self.done;
            let (done, all) = (human::bytes(self.done), human::bytes(self.all));
            eprint!("\r\x1b[2Kpacking {done} of {all}: {}", self.place);
        }
    }

    fn clear(&self) {
        if self.is_shown {
            eprint!("\r\x1b[2K");
        }
    }
}

/// Compresses frames of equal size on threads of their own, and writes them in order.
struct Frames<W: Write> {
    to: W,
    level: i32,
    frame: Vec<u8>,
    running: VecDeque<JoinHandle<io::Result<Vec<u8>>>>,
    threads: usize,
}

impl<W: Write> Frames<W> {
    fn new(to: W, level: i32) -> Self {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        Self { to, level, frame: Vec::with_capacity(FRAME), running: VecDeque::new(), threads }
    }

    fn begin(&mut self) -> io::Result<()> {
        if self.running.len() >= self.threads {
            self.end_first()?;
        }
        let frame = std::mem::replace(&mut self.frame, Vec::with_capacity(FRAME));
        let level = self.level;
        self.running.push_back(thread::spawn(move || zstd::bulk::compress(&frame, level)));
        Ok(())
    }

    fn end_first(&mut self) -> io::Result<()> {
        let Some(first) = self.running.pop_front() else { return Ok(()) };
        let compressed = first.join().map_err(|_| io::Error::other("a compressor panicked"))??;
        self.to.write_all(&compressed)
    }

    fn finish(mut self) -> io::Result<()> {
        self.begin()?;
        while !self.running.is_empty() {
            self.end_first()?;
        }
        self.to.flush()
    }
}

impl<W: Write> Write for Frames<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(FRAME - self.frame.len());
        self.frame.extend_from_slice(&bytes[..count]);
        if self.frame.len() == FRAME {
            self.begin()?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[path = "pack_tests.rs"]
mod tests;
