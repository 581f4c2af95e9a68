use super::*;

/// A whole package in a new folder.
pub(in crate::packages) fn written(folder: &Path, content: &[u8]) -> Facts {
    fs::create_dir_all(folder).unwrap();
    let facts = Facts {
        compilation: plan::Compilation {
            mode: plan::CompileMode::Default,
            options: [("cpp.threads".to_owned(), 2.into())].into(),
            compiler: "torch 2.11.0, g++ 12.2.0, AVX2".to_owned(),
            seconds: 12.5,
            package_bytes: content.len() as u64,
            cache_hit: false,
            key: "0".repeat(32),
            cuda_graph: None,
        },
        kernels: vec!["cpp_fused_add_0".to_owned()],
        checksum: plan::fnv1a(content),
    };
    fs::write(folder.join(PACKAGE), content).unwrap();
    fs::write(folder.join(FACTS), serde_json::to_vec(&facts).unwrap()).unwrap();
    facts
}

#[test]
fn what_was_written_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let facts = written(folder.path(), b"a package");
    let held = PackageLease::open(folder.path()).unwrap();
    assert_eq!((held.facts, held.package), (facts, folder.path().join(PACKAGE)));
}

#[test]
fn a_package_that_is_not_as_it_was_written_counts_as_absent() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path(), b"a package");
    for name in [PACKAGE, FACTS] {
        let path = folder.path().join(name);
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            assert!(PackageLease::open(folder.path()).is_none(), "{name} cut to {length}");
        }
        let garbage = [whole.as_slice(), b"}"].concat();
        let mut flipped = whole.clone();
        flipped[0] ^= 1;
        for other in [garbage, flipped] {
            fs::write(&path, other).unwrap();
            assert!(PackageLease::open(folder.path()).is_none(), "{name}");
        }
        fs::remove_file(&path).unwrap();
        assert!(PackageLease::open(folder.path()).is_none(), "{name} is gone");
        fs::write(&path, whole).unwrap();
        assert!(PackageLease::open(folder.path()).is_some());
    }
}

#[test]
fn use_is_written_down() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path(), b"a package");
    let facts = File::options().append(true).open(folder.path().join(FACTS)).unwrap();
    facts.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    let used = || fs::metadata(folder.path().join(FACTS)).unwrap().modified().unwrap();
    assert_eq!(used(), SystemTime::UNIX_EPOCH);
    let before = SystemTime::now() - std::time::Duration::from_secs(60);
    PackageLease::open(folder.path()).unwrap().touch();
    assert!(used() > before);
}
