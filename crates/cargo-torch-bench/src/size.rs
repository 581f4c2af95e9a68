//! Bytes on a disk.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Bytes that `path` and everything in it occupy. Links are counted, not followed; a file that goes
/// meanwhile counts nothing.
pub fn on_disk(path: &Path) -> io::Result<u64> {
    let metadata = fs::symlink_metadata(path)?;
    let mut bytes = occupied(&metadata);
    if metadata.is_dir() {
        for entry in fs::read_dir(path)? {
            bytes += match on_disk(&entry?.path()) {
                Err(error) if error.kind() == ErrorKind::NotFound => 0,
                weighed => weighed?,
            };
        }
    }
    Ok(bytes)
}

/// Whole blocks, as `du` counts them: the wheel holds twelve thousand small headers.
#[cfg(unix)]
fn occupied(metadata: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    metadata.blocks() * 512
}

#[cfg(not(unix))]
fn occupied(metadata: &fs::Metadata) -> u64 {
    metadata.len()
}

/// Decimal units, as package indexes and disk makers write them.
pub fn human(bytes: u64) -> String {
    let bytes = bytes as f64;
    match bytes {
        b if b < 1e6 => format!("{:.0} kB", b / 1e3),
        b if b < 1e9 => format!("{:.0} MB", b / 1e6),
        b => format!("{:.1} GB", b / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_as_people_write_them() {
        for (bytes, text) in [(0, "0 kB"), (532_000_000, "532 MB"), (4_700_000_000, "4.7 GB")] {
            assert_eq!(human(bytes), text);
        }
    }

    #[test]
    fn a_folder_weighs_at_least_what_its_files_hold() {
        let dir = std::env::temp_dir().join(format!("xtask-size-{}", std::process::id()));
        fs::create_dir_all(dir.join("inner")).expect("make a scratch folder");
        fs::write(dir.join("inner/file"), vec![1; 10_000]).expect("write a scratch file");
        let bytes = on_disk(&dir).expect("measure the scratch folder");
        fs::remove_dir_all(&dir).expect("remove the scratch folder");
        assert!(bytes >= 10_000, "{bytes}");
        assert!(on_disk(&dir).is_err());
    }
}
