use super::*;

fn entry(place: &str, source: Source) -> Entry {
    Entry { part: "test", place: place.to_owned(), source, is_program: place.starts_with("bin/") }
}

/// More than two frames, of which zstd makes little.
fn long() -> Vec<u8> {
    (0..2 * FRAME + 12_345).map(|index| (index / 977) as u8).collect()
}

#[test]
fn what_is_packed_can_be_unpacked_and_its_checksums_are_right() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name);
    fs::write(path("library"), long()).expect("written");
    let entries = [
        entry("manifest.json", Source::Bytes(b"{}".to_vec())),
        entry("bin/program", Source::Bytes(b"#!/bin/sh\n".to_vec())),
        entry("lib/library.so", Source::File(path("library"))),
        entry("lib/link.so", Source::Link("library.so".to_owned())),
    ];
    for (name, form) in [("a.tar.zst", Compression::Zstd(3)), ("a.tar", Compression::Plain)] {
        let size = write(begin(&path(name), |_| false).expect("writable"), "a", &entries, form)
            .expect("it can be written");
        assert_eq!(size, fs::metadata(path(name)).expect("it is there").len());
        let bytes = fs::read(path(name)).expect("readable");
        let bytes = match form {
            Compression::Zstd(_) => zstd::stream::decode_all(&bytes[..]).expect("whole frames"),
            Compression::Plain => bytes,
        };
        assert!(form == Compression::Plain || size < 1_000_000, "{size}");
        let out = tempfile::tempdir().expect("a temporary folder");
        tar::Archive::new(&bytes[..]).unpack(out.path()).expect("a whole archive");
        let out = out.path().join("a");
        assert!(fs::read(out.join("lib/link.so")).expect("it leads there") == long());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode =
                |file: &str| fs::metadata(out.join(file)).expect("there").permissions().mode();
            assert_eq!(
                [mode("bin/program") & 0o777, mode("manifest.json") & 0o777],
                [0o755, 0o644]
            );
        }
        let mut sums = std::process::Command::new("sha256sum");
        sums.args(["--check", "--strict", CHECKSUMS]).current_dir(&out);
        let output = sums.output().expect("sha256sum runs");
        assert!(output.status.success(), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 3, "{output:?}");
    }
}

#[test]
fn what_cannot_be_packed_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let gone = entry("lib/gone.so", Source::File(folder.path().join("gone")));
    let to = folder.path().join("a.tar");
    let error = write(begin(&to, |_| false).expect("writable"), "a", &[gone], Compression::Plain)
        .expect_err("gone");
    assert!(error.what().contains("cannot read") && error.what().contains("gone"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 0);
}
