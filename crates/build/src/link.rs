//! The link flags of libtorch for the programs that use it.

use libtorch::Libtorch;
use plan::CargoPackage;

/// Sets the flags. What a package's library and programs depend on may be in all that it links. Otherwise only its
/// benchmarks, tests and examples get them, so that a program which does not use libtorch does not load it.
pub fn link(package: &CargoPackage) -> Result<(), String> {
    let found = libtorch::find::of_build()?;
    let arguments: Vec<String> = found.iter().flat_map(Libtorch::link_arguments).collect();
    for instruction in instructions(package) {
        for argument in &arguments {
            println!("cargo::{instruction}={argument}");
        }
    }
    Ok(())
}

/// Cargo's instructions for a flag. It refuses one for targets that the package does not have.
fn instructions(package: &CargoPackage) -> Vec<&'static str> {
    const LIBRARY: &str = "criterion-torch";
    let is_everywhere = package.name() == LIBRARY || package.depends_on(LIBRARY);
    // The tests inside a library's sources have no instruction of their own.
    if is_everywhere || !package.has_target(&["bin", "cdylib"]) {
        return vec!["rustc-link-arg"];
    }
    let of = [
        ("bench", "rustc-link-arg-benches"),
        ("test", "rustc-link-arg-tests"),
        ("example", "rustc-link-arg-examples"),
    ];
    of.into_iter().filter(|(kind, _)| package.has_target(&[kind])).map(|(_, it)| it).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_does_not_use_libtorch_is_not_linked_with_it() {
        const DEPENDENCY: &str = "criterion-torch = { path = \"../criterion-torch\" }\n";
        const ALL: &[&str] = &["rustc-link-arg"];
        let dev = format!("[dev-dependencies]\n{DEPENDENCY}");
        for (name, dependencies, files, expected) in [
            ("mine", &*dev, &["src/lib.rs", "benches/torch.rs"][..], ALL),
            ("mine", &dev, &["src/main.rs", "benches/torch.rs"], &["rustc-link-arg-benches"]),
            (
                "mine",
                &dev,
                &["src/main.rs", "benches/torch.rs", "tests/it.rs", "examples/an.rs"],
                &["rustc-link-arg-benches", "rustc-link-arg-tests", "rustc-link-arg-examples"],
            ),
            ("mine", &format!("[dependencies]\n{DEPENDENCY}"), &["src/main.rs"], ALL),
            ("criterion-torch", "", &["src/main.rs"], ALL),
        ] {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let write = |file: &str, text: &str| {
                let path = folder.path().join(file);
                std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
                std::fs::write(path, text).expect("written");
            };
            let package =
                format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n{dependencies}");
            write("Cargo.toml", &package);
            files.iter().for_each(|file| write(file, ""));
            let real = folder.path().canonicalize().expect("it is there");
            let package = CargoPackage::ask(&real).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(instructions(&package), expected, "{files:?} {dependencies}");
        }
    }
}
