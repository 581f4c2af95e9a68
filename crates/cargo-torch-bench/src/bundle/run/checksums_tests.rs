use super::super::super::manifest::tests::manifest;
use super::*;

#[test]
fn a_damaged_file_is_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
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
    assert!(gone.what().contains("cannot read") && gone.what().ends_with("(os error 2)"), "{gone}");
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
