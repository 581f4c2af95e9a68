//! Whether the files of a bundle are those that were packed.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::super::manifest::{self, CHECKSUMS, Manifest};
use super::super::pack::hex;
use crate::error::{Error, Result};
use crate::files;

/// Files that are gone or have another size, as an interrupted unpacking leaves them. This reads no contents.
pub fn misplaced(bundle: &Path, manifest: &Manifest) -> Vec<Error> {
    let wrong = |file: &manifest::File| {
        let path = bundle.join(&file.path);
        match fs::metadata(&path) {
            Err(error) => Some(Error::io("read", &path, &error)),
            Ok(metadata) if metadata.len() != file.bytes => Some(Error::new(format!(
                "{} has {} bytes, and {} when it was packed",
                path.display(),
                metadata.len(),
                file.bytes
            ))),
            Ok(_) => None,
        }
    };
    manifest.files.iter().filter_map(wrong).map(unpack_again).collect()
}

/// Files whose contents are others. Reads all of them.
pub fn damaged(bundle: &Path) -> Result<Vec<Error>> {
    let list = bundle.join(CHECKSUMS);
    let mut found = Vec::new();
    for (index, line) in files::read(&list)?.lines().enumerate() {
        let (expected, place) = line.split_once("  ").ok_or_else(|| {
            unpack_again(Error::new(format!("{}:{}: not a checksum", list.display(), index + 1)))
        })?;
        let path = bundle.join(place);
        match hash(&path) {
            Err(error) => found.push(unpack_again(Error::io("read", &path, &error))),
            Ok(hash) if hash != expected => found.push(unpack_again(Error::new(format!(
                "{} is damaged: its SHA-256 is {hash}, and was {expected}",
                path.display()
            )))),
            Ok(_) => {}
        }
    }
    Ok(found)
}

fn hash(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut file = File::open(path)?;
    let mut bytes = vec![0; 1 << 20];
    loop {
        match file.read(&mut bytes)? {
            0 => return Ok(hex(&hash.finalize())),
            count => hash.update(&bytes[..count]),
        }
    }
}

fn unpack_again(error: Error) -> Error {
    error.remedy("unpack the bundle again: tar -xf BUNDLE.tar.zst")
}

#[cfg(test)]
mod tests {
    use super::super::super::manifest::tests::manifest;
    use super::*;

    #[test]
    fn a_damaged_file_is_named() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let put =
            |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
        put("a b", "abc");
        put("c", "");
        // FIPS 180-4's example, and the hash of nothing.
        let sums = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a b\n\
            e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  c\n";
        put(CHECKSUMS, sums);
        assert_eq!(damaged(folder.path()), Ok(vec![]));

        put("a b", "abd");
        fs::remove_file(folder.path().join("c")).expect("it was there");
        let found = damaged(folder.path()).expect("the list is readable");
        let [changed, gone] = &found[..] else { panic!("{found:?}") };
        assert!(changed.what().contains("a b is damaged"), "{changed}");
        assert!(
            gone.what().contains("cannot read") && gone.what().ends_with("(os error 2)"),
            "{gone}"
        );
        assert!(found.iter().all(|error| error.remedies()[0].contains("unpack")), "{found:?}");

        put(CHECKSUMS, "nonsense\n");
        let error = damaged(folder.path()).expect_err("it is no list");
        assert!(error.what().ends_with("SHA256SUMS:1: not a checksum"), "{error}");
    }

    #[test]
    fn half_an_unpacked_bundle_is_noticed_without_reading_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("a"), "ab").expect("written");
        let file = |path: &str, bytes| manifest::File { path: path.to_owned(), bytes };
        let mut manifest = manifest();
        manifest.files = vec![file("a", 2)];
        assert_eq!(misplaced(folder.path(), &manifest), []);
        manifest.files = vec![file("a", 3), file("b", 1)];
        let found = misplaced(folder.path(), &manifest);
        let [cut, gone] = &found[..] else { panic!("{found:?}") };
        assert!(cut.what().contains("has 2 bytes, and 3 when it was packed"), "{cut}");
        assert!(gone.what().contains("cannot read"), "{gone}");
    }
}
