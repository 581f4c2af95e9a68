//! Whether the files of a bundle are those that were packed.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};
use walkdir::WalkDir;

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

/// Files whose contents are others, or that the list of checksums lacks or has too many. Reads all of them.
pub fn damaged(bundle: &Path, manifest: &Manifest) -> Result<Vec<Error>> {
    let list = bundle.join(CHECKSUMS);
    let shown = list.display();
    let mut missing: BTreeSet<&str> = packed(manifest).collect();
    let mut found = Vec::new();
    for (index, line) in files::read(&list)?.lines().enumerate() {
        let line_number = index + 1;
        let (expected, place) = line.split_once("  ").ok_or_else(|| {
            unpack_again(Error::new(format!("{shown}:{line_number}: not a checksum")))
        })?;
        let path = bundle.join(place);
        found.extend(match hash(&path) {
            _ if !missing.remove(place) => Some(Error::new(format!(
                "{shown}:{line_number}: {place:?} stands there twice, or not in {}",
                manifest::FILE
            ))),
            Err(error) => Some(Error::io("read", &path, &error)),
            Ok(hash) if hash != expected => Some(Error::new(format!(
                "{} is damaged: its SHA-256 is {hash}, and was {expected}",
                path.display()
            ))),
            Ok(_) => None,
        });
    }
    let missing = missing.into_iter().map(|place| Error::new(format!("{shown} lacks {place}")));
    Ok(found.into_iter().chain(missing).map(unpack_again).collect())
}

/// The files that have a checksum.
fn packed(manifest: &Manifest) -> impl Iterator<Item = &str> {
    manifest.files.iter().map(|file| file.path.as_str()).chain([manifest::FILE])
}

/// Files and folders that were not packed, but for `results` and for the cache, into which runs write.
pub fn strangers(bundle: &Path, manifest: &Manifest, results: &Path) -> Result<Vec<Error>> {
    let known: BTreeSet<&Path> =
        packed(manifest).chain([CHECKSUMS]).flat_map(|it| Path::new(it).ancestors()).collect();
    let results = results.canonicalize().ok();
    let mut found = Vec::new();
    let mut walk = WalkDir::new(bundle).min_depth(1).into_iter();
    while let Some(entry) = walk.next() {
        let entry = entry.map_err(|error| Error::new(format!("cannot read {error}")))?;
        let path = entry.path();
        let place = path.strip_prefix(bundle).expect("the walk began there");
        let real = path.canonicalize().ok();
        // The manifest lists no links; those of libtorch lead to files that were packed.
        let to = real.as_deref().and_then(|real| real.strip_prefix(bundle).ok());
        let is_written = real.is_some() && real == results
            || place == Path::new(manifest::CACHE) && manifest.compiled.is_some();
        if is_written || !to.is_some_and(|to| known.contains(to)) {
            if entry.file_type().is_dir() {
                walk.skip_current_dir();
            }
            if !is_written {
                let what = format!("{} was not packed into the bundle", path.display());
                found.push(Error::new(what).remedy("move it away, or unpack the bundle again"));
            }
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
        put(manifest::FILE, "");
        let file = |path: &str, bytes| manifest::File { path: path.to_owned(), bytes };
        let mut manifest = manifest();
        manifest.files = vec![file("a b", 3), file("c", 0)];
        // FIPS 180-4's example, and the hash of nothing.
        let nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let sums = [
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a b\n".to_owned(),
            format!("{nothing}  c\n"),
            format!("{nothing}  {}\n", manifest::FILE),
        ];
        put(CHECKSUMS, &sums.concat());
        let damaged = || damaged(folder.path(), &manifest);
        assert_eq!(damaged(), Ok(vec![]));
        // A list that was cut, or that has more than the manifest.
        for (text, said) in [
            (sums[..2].concat(), "SHA256SUMS lacks manifest.json"),
            (sums[1..].concat(), "SHA256SUMS lacks a b"),
            (sums.concat() + &sums[1], "SHA256SUMS:4: \"c\" stands there twice"),
            (
                sums.concat() + nothing + "  ../x\n",
                "SHA256SUMS:4: \"../x\" stands there twice, or not in",
            ),
        ] {
            put(CHECKSUMS, &text);
            let found = damaged().expect("the list is readable");
            let [error] = &found[..] else { panic!("{found:?}") };
            assert!(error.what().contains(said), "{error}");
        }
        put(CHECKSUMS, &sums.concat());

        let strangers = |results: &str| {
            let found = strangers(folder.path(), &manifest, &folder.path().join(results));
            found.expect("readable").len()
        };
        assert_eq!(strangers("results"), 0);
        fs::create_dir(folder.path().join("results")).expect("made");
        put("results/x", "");
        assert_eq!((strangers("results"), strangers("other")), (0, 1));
        put("more", "");
        std::os::unix::fs::symlink("c", folder.path().join("link")).expect("linked");
        assert_eq!(strangers("results"), 1);
        std::os::unix::fs::symlink("/bin/sh", folder.path().join("out")).expect("linked");
        assert_eq!(strangers("results"), 2);

        put("a b", "abd");
        fs::remove_file(folder.path().join("c")).expect("it was there");
        let found = damaged().expect("the list is readable");
        let [changed, gone] = &found[..] else { panic!("{found:?}") };
        assert!(changed.what().contains("a b is damaged"), "{changed}");
        assert!(
            gone.what().contains("cannot read") && gone.what().ends_with("(os error 2)"),
            "{gone}"
        );
        assert!(found.iter().all(|error| error.remedies()[0].contains("unpack")), "{found:?}");

        put(CHECKSUMS, "nonsense\n");
        let error = damaged().expect_err("it is no list");
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
