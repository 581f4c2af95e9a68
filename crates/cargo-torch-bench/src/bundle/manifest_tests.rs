use super::*;

pub fn manifest() -> Manifest {
    Manifest {
        format: FORMAT,
        version: "0.1.0".to_owned(),
        revision: Some("0123456789ab".to_owned()),
        target: "x86_64-unknown-linux-gnu".to_owned(),
        glibc: Version::parse("2.34"),
        cpu: Cpu { target_cpu: None, features: Some(vec!["sse2".to_owned()]) },
        torch: Torch {
            version: "2.11.0+cu130".to_owned(),
            release: "2.11.0".to_owned(),
            cuda: None,
            folder: Some("lib/torch".to_owned()),
        },
        compiled: None,
        made_by: Vec::new(),
        filter: None,
        benches: Vec::new(),
        host_libraries: vec!["libc.so.6".to_owned()],
        parts: Vec::new(),
        files: Vec::new(),
    }
}

#[test]
fn a_manifest_is_read_as_it_was_written() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let put = |text: &str| std::fs::write(folder.path().join(FILE), text).expect("written");
    put(&manifest().text());
    assert_eq!(Manifest::read(folder.path()), Ok(manifest()));
    for (text, what) in [
        (manifest().text().replace("\"format\": 1", "\"format\": 9"), "`format` is 9"),
        (manifest().text().replace("2.34", "two"), "`two` is not a version"),
        (manifest().text().replace("\"filter\"", "\"filters\""), "unknown field `filters`"),
        ("{".to_owned(), "EOF"),
        (manifest().text().replace("lib/torch", "/lib"), "\"/lib\" is not the path"),
        (manifest().text().replace("lib/torch", "lib/../../x"), "\"lib/../../x\" is not the path"),
        (manifest().text().replace("lib/torch", ""), "\"\" is not the path"),
    ] {
        put(&text);
        let error = Manifest::read(folder.path()).expect_err(what);
        assert!(error.what().contains(what) && error.what().contains(FILE), "{error}");
        assert!(!error.remedies().is_empty(), "{error}");
    }
}

#[test]
fn cuda_stands_in_the_suffix_of_a_version() {
    for (version, expected) in [
        ("2.11.0+cu130", Some("13.0")),
        ("2.11.0+cu128", Some("12.8")),
        ("2.11.0+cpu", None),
        ("2.11.0+cu", None),
        ("2.11.0+cu1", None),
        ("2.11.0", None),
    ] {
        assert_eq!(cuda(version).as_deref(), expected, "{version}");
    }
}
