use super::*;

fn edited(text: &str, has_library: bool, programs: &[&str]) -> (String, String) {
    let document = text.parse().expect("a manifest");
    let programs = programs.iter().map(|&name| name.to_owned()).collect();
    let package = Package::with_targets(has_library, programs);
    let manifest = Manifest { document, changes: Vec::new() }.with_targets(&package);
    (manifest.text(), manifest.changes.join(", "))
}

#[test]
fn only_what_is_missing_is_added_and_the_rest_keeps_its_form() {
    const BENCH: &str = "\n[[bench]]\nname = \"torch\"\nharness = false\n";
    let package = "[package] # mine\nname = \"a\"\n";
    let library = format!("{package}\n[lib]\nbench = false\n{BENCH}");
    let program = format!("{package}\n[[bin]]\nname = \"a\"\nbench = false\n{BENCH}");
    for (before, has_library, programs, after, changes) in [
        (package, true, &[][..], library.clone(), "[lib] bench = false, [[bench]] torch"),
        (package, false, &["a"], program, "[[bin]] a: bench = false, [[bench]] torch"),
        (&library, true, &[], library.clone(), ""),
        // As the user has it.
        (
            "[lib]\nname = \"b\" # short\nbench = true\n",
            true,
            &[],
            format!("[lib]\nname = \"b\" # short\nbench = true\n{BENCH}"),
            "[[bench]] torch",
        ),
        (
            "[[bin]]\nname = \"a\"\npath = \"x.rs\"\n\n[[bench]]\nname = \"other\"\n",
            false,
            &["a"],
            format!(
                "[[bin]]\nname = \"a\"\npath = \"x.rs\"\nbench = false\n\n[[bench]]\nname = \
                 \"other\"\n{BENCH}"
            ),
            "[[bin]] a: bench = false, [[bench]] torch",
        ),
    ] {
        let found = edited(before, has_library, programs);
        assert_eq!(found, (after, changes.to_owned()), "{before}");
    }
}

#[test]
fn a_manifest_keeps_its_lines_ends_its_link_and_its_permissions() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [real, path] = ["real.toml", "Cargo.toml"].map(|name| folder.path().join(name));
    fs::write(&real, "a\r\nb\nc").expect("written");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).expect("changed");
    std::os::unix::fs::symlink("real.toml", &path).expect("linked");
    let original = Original::read(&path).expect("readable");
    // As a rename does it.
    fs::remove_file(&path).expect("it was there");
    fs::write(&path, "").expect("written");
    original.write(Some("a\nb\nc\nd\n")).expect("writable");
    assert_eq!(fs::read_to_string(&real).expect("readable"), "a\r\nb\nc\r\nd\r\n");
    assert_eq!(fs::read_link(&path).expect("a link").as_os_str(), "real.toml");
    assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
    original.write(None).expect("writable");
    assert_eq!(fs::read_to_string(&path).expect("readable"), "a\r\nb\nc");
}

#[test]
fn a_bench_target_of_that_name_needs_no_harness() {
    for (text, faults) in [
        ("", &[][..]),
        ("[[bench]]\nname = \"torch\"\nharness = false\n", &[]),
        (
            "[[bench]]\nname = \"torch\"\n",
            &["Cargo.toml: add `harness = false` to [[bench]] torch"],
        ),
        ("[package]\nbuild = false\n", &["Cargo.toml: remove `build = false` from [package]"]),
    ] {
        let document = text.parse().expect("a manifest");
        let manifest = Manifest { document, changes: Vec::new() };
        assert_eq!(manifest.bench_faults(), faults, "{text}");
    }
}
