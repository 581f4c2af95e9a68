//! Reading a file that someone else wrote.

use std::fs::{self, DirEntry, File};
use std::io::{self, Read};
use std::path::Path;

/// Beyond this it is none of the files that are read here: a million samples are 40 MB.
const LARGEST: u64 = 1 << 30;
/// What editors of another system put before UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What lies in a folder; nothing where there is no such folder.
pub fn entries(folder: &Path) -> io::Result<Vec<DirEntry>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// All bytes of a regular file, without a byte-order mark. A pipe could be waited for without end,
/// and a device has no end.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let about = fs::metadata(path)?;
    if about.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !about.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    if about.len() > LARGEST {
        return Err(io::Error::other(format!(
            "{} bytes, and none of these files has more than {LARGEST}",
            about.len()
        )));
    }
    let mut bytes = Vec::with_capacity(about.len() as usize);
    // As long as it was found: its end needs no look of its own.
    File::open(path)?.take(about.len()).read_to_end(&mut bytes)?;
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    Ok(bytes)
}
