//! `new` with the real cargo, in packages of all forms. Small crates stand for criterion-torch and its build script.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Outcome, Scratch};

/// The variable is not there unless the build script ran.
const STAND_INS: [(&str, &str, &str); 2] = [
    (
        "",
        "criterion-torch",
        "#[macro_export]\nmacro_rules! main {\n    () => {\n        fn main() {\n            let words: \
         Vec<_> = std::env::args().skip(1).collect();\n            println!(\"{} {words:?}\", \
         env!(\"BUILT\"));\n        }\n    };\n}\n",
    ),
    (
        "crates/build",
        "criterion-torch-build",
        "pub fn main() {\n    println!(\"cargo::rustc-env=BUILT=built\");\n}\n",
    ),
];

const TEMPLATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/template");

/// A folder with stand-ins of a checkout, and a package.
struct TestWorkspace {
    scratch: Scratch,
    package: PathBuf,
}

impl TestWorkspace {
    /// A package of these files.
    fn with_files(files: &[(&str, &str)]) -> Self {
        let scratch = Scratch::new();
        let home = scratch.clone_dir().parent().expect("it lies in the scratch folder").to_owned();
        for (folder, name, code) in STAND_INS {
            let folder = home.join("checkout").join(folder);
            let manifest =
                format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
            put(&folder, &[("Cargo.toml", &manifest), ("src/lib.rs", code)]);
        }
        let package = home.join("a package");
        put(&package, files);
        Self { scratch, package }
    }

    fn command(&self, mut command: Command) -> Outcome {
        let inherited = |name| std::env::var_os(name).unwrap_or_default();
        command
            .env("PATH", inherited("PATH"))
            .env("HOME", inherited("HOME"))
            .env("CARGO", env!("CARGO"))
            .env("CARGO_NET_OFFLINE", "true")
            .env("CARGO_TARGET_DIR", self.scratch.fake("target"))
            .env_remove("RUSTC")
            .env_remove("RUSTFLAGS");
        Outcome::run(command)
    }

    fn added_in(&self, folder: &str, options: &[&str]) -> Outcome {
        let mut new = self.scratch.xtask(&[&["torch-bench", "new"], options].concat());
        new.current_dir(self.package.join(folder));
        self.command(new)
    }

    fn added(&self) -> Outcome {
        self.added_in("", &["--path", "../checkout"])
    }

    /// Cargo in the package; every other variable is the test's.
    fn cargo(&self, words: &[&str]) -> Outcome {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(words).current_dir(&self.package);
        self.command(cargo)
    }

    fn read(&self, file: &str) -> String {
        let path = self.package.join(file);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// `cargo bench -- --quick` starts the benchmark and nothing that refuses the option.
    fn assert_benches(&self) {
        let outcome = self.cargo(&["bench", "--quiet", "--", "--quick"]);
        assert_eq!(outcome.assert_fine().stdout, "built [\"--quick\", \"--bench\"]\n");
    }
}

fn put(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("make a scratch folder");
        fs::write(path, text).expect("write a scratch file");
    }
}

const MANIFEST: &str =
    "[package]\nname = \"mine\" # short\nversion = \"0.1.0\"\nedition = \"2024\"\n";
const TESTED: &str =
    "pub fn one() -> u8 {\n    1\n}\n\n#[test]\nfn it_is() {\n    assert_eq!(one(), 1);\n}\n";

#[test]
fn an_empty_package_has_benchmarks_afterwards() {
    let workspace = TestWorkspace::with_files(&[("Cargo.toml", MANIFEST), ("src/lib.rs", TESTED)]);
    let outcome = workspace.added();
    let said = &outcome.assert_fine().stdout;
    let expected = "\
changed  Cargo.toml: criterion-torch, criterion-torch-build, [lib] bench = false, [[bench]] torch
wrote    build.rs
wrote    benches/torch.rs
wrote    configs/inference/linear.yml
wrote    benches/kernels/saxpy/bench.yaml
wrote    benches/kernels/saxpy/kernel.rs
wrote    benches/kernels/saxpy/torch.rs
next     cargo torch-bench setup, then cargo bench
";
    assert_eq!(said, expected);
    assert_eq!(outcome.stderr, "");
    assert!(!workspace.package.join(".cargo").exists(), "setup names libtorch once it is there");
    let files = ["build.rs", "benches/torch.rs", "configs/inference/linear.yml"];
    for file in files.iter().chain(&["benches/kernels/saxpy/torch.rs"]) {
        let template = fs::read_to_string(Path::new(TEMPLATE).join(file)).expect("readable");
        assert_eq!(workspace.read(file), template, "{file}");
    }
    let manifest = workspace.read("Cargo.toml");
    assert!(manifest.starts_with("[package]\nname = \"mine\" # short\n"), "{manifest}");
    for table in [
        "[dev-dependencies]\ncriterion-torch = {",
        "[build-dependencies]\ncriterion-torch-build = {",
    ] {
        assert!(manifest.contains(table), "{manifest}");
    }
    workspace.assert_benches();
    let tested = workspace.cargo(&["test", "--quiet", "--lib"]);
    assert!(tested.assert_fine().stdout.contains("1 passed"), "its own tests still run");

    // Again: everything is there, and nothing changes.
    let again = workspace.added();
    let kept = "\
kept     the dependency criterion-torch
kept     the dependency criterion-torch-build
kept     build.rs
kept     benches/torch.rs
kept     configs, without the example
kept     benches/kernels, without the example
next     cargo torch-bench setup, then cargo bench
";
    assert_eq!(again.assert_fine().stdout, kept);
    assert_eq!(workspace.read("Cargo.toml"), manifest);
}

#[test]
fn programs_other_benchmarks_and_libraries_as_the_user_has_them() {
    let nothing = "fn main() {}\n";
    let other = "fn main() {\n    assert!(std::env::args().any(|it| it == \"--quick\"));\n}\n";
    let manifest = format!(
        "{MANIFEST}autobenches = false\n\n[lib]\nname = \"other\"\nbench = false\n\n[[bench]]\nname = \
         \"other\"\nharness = false\n"
    );
    let workspace = TestWorkspace::with_files(&[
        ("Cargo.toml", &manifest),
        ("src/lib.rs", TESTED),
        ("src/main.rs", nothing),
        ("src/bin/second.rs", nothing),
        ("benches/other.rs", other),
        ("tests/t.rs", ""),
        ("examples/e.rs", nothing),
    ]);
    let said = workspace.added().assert_fine().stdout.clone();
    let changed = "[[bin]] mine: bench = false, [[bin]] second: bench = false, [[bench]] torch\n";
    assert!(said.contains(changed), "{said}");
    workspace.assert_benches();
}

#[test]
fn in_a_workspace_the_roots_configuration_is_written() {
    let root_manifest = "[workspace]\nmembers = [\"crates/mine\"]\nresolver = \"3\"\n";
    let workspace = TestWorkspace::with_files(&[
        ("Cargo.toml", root_manifest),
        ("crates/mine/Cargo.toml", MANIFEST),
        ("crates/mine/src/main.rs", "fn main() {}\n"),
    ]);
    let refused = workspace.added();
    refused.assert_refused(1, &["Cargo.toml has no [package]", "the folder of a member: mine"]);
    let path = ["--path", "../../../checkout"];
    // As after setup.
    std::os::unix::fs::symlink("/opt/torch", workspace.package.join(".libtorch")).expect("linked");
    let outcome = workspace.added_in("crates/mine", &path);
    let config = workspace.package.join(".cargo/config.toml");
    let wrote = format!("wrote {}, by which cargo finds .libtorch\n", config.display());
    assert_eq!(outcome.assert_fine().stderr, wrote);
    let template = Path::new(TEMPLATE).join(".cargo/config.toml");
    assert_eq!(fs::read_to_string(config).ok(), fs::read_to_string(template).ok());
    assert!(!workspace.package.join("crates/mine/.cargo").exists());
    let mut bench = Command::new(env!("CARGO"));
    bench
        .args(["bench", "--quiet", "--", "--quick"])
        .current_dir(workspace.package.join("crates/mine"));
    let outcome = workspace.command(bench);
    assert_eq!(outcome.assert_fine().stdout, "built [\"--quick\", \"--bench\"]\n");
}

#[test]
fn what_exists_stays_and_what_it_lacks_is_told() {
    let theirs = [
        ("build.rs", "fn main() {}\n"),
        ("benches/torch.rs", "fn main() {}\n"),
        ("configs/app.yml", "a: 1\n"),
        (".cargo/config.toml", "[env]\nX = \"1\"\n"),
    ];
    let files = [("Cargo.toml", MANIFEST), ("src/lib.rs", "")];
    let workspace = TestWorkspace::with_files(&[&theirs[..], &files].concat());
    let outcome = workspace.added();
    for kept in ["build.rs", "benches/torch.rs", "configs, without the example"] {
        assert!(outcome.stdout.contains(&format!("kept     {kept}\n")), "{outcome:?}");
    }
    let remedies = [
        ".cargo/config.toml: add to its table [env]:\n\n    LIBTORCH = { value = \".libtorch\", relative = true }",
        "build.rs: add `criterion_torch_build::main();` to its `main`",
        "benches/torch.rs: add `criterion_torch::main!();` to it",
    ];
    outcome.assert_refused(1, &remedies);
    for (file, text) in theirs {
        assert_eq!(workspace.read(file), text, "{file}");
    }
    // As it was told.
    put(
        &workspace.package,
        &[
            ("build.rs", "fn main() {\n    criterion_torch_build::main();\n}\n"),
            ("benches/torch.rs", "criterion_torch::main!();\n"),
            (".cargo/config.toml", "[env]\nX = \"1\"\nLIBTORCH = \"/opt/torch\"\n"),
        ],
    );
    workspace.added().assert_fine();
    workspace.assert_benches();
}

#[test]
fn the_manifest_keeps_its_form() {
    let crlf = MANIFEST.replace('\n', "\r\n");
    let workspace = TestWorkspace::with_files(&[("real.toml", &crlf), ("src/lib.rs", "")]);
    std::os::unix::fs::symlink("real.toml", workspace.package.join("Cargo.toml")).expect("linked");
    workspace.added().assert_fine();
    let link = fs::read_link(workspace.package.join("Cargo.toml")).expect("still a link");
    assert_eq!(link, Path::new("real.toml"));
    let manifest = workspace.read("real.toml");
    assert!(manifest.contains("[[bench]]\r\nname = \"torch\"\r\n"), "{manifest:?}");
    assert_eq!(manifest.matches('\n').count(), manifest.matches("\r\n").count(), "{manifest:?}");
    workspace.assert_benches();
}

/// All that is in the package: paths with what links lead to.
fn everything(folder: &Path) -> Vec<(PathBuf, Option<PathBuf>, String)> {
    let entries = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter();
    let paths = entries.map(|entry| entry.expect("readable").into_path());
    let seen = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap_or_default();
        (path.clone(), fs::read_link(&path).ok(), text)
    };
    paths.map(seen).collect()
}

#[test]
fn what_cannot_be_added_is_refused_before_anything_is_written() {
    type Prepare = fn(&Path);
    let link: Prepare = |package| {
        std::os::unix::fs::symlink("nowhere", package.join("build.rs")).expect("linked");
    };
    let folder_link: Prepare = |package| {
        std::os::unix::fs::symlink("nowhere", package.join("benches")).expect("linked");
    };
    let kernels: Prepare = |package| put(package, &[("benches/kernels", "")]);
    let cases: [(Prepare, &str); 7] = [
        (link, "build.rs is a link that leads nowhere"),
        (folder_link, "benches is no folder, and benches/torch.rs is to be in it"),
        (|package| put(package, &[("benches", "")]), "benches is no folder"),
        (|package| put(package, &[("configs/inference", ""), ("x", "")]), ""),
        (kernels, ""),
        (|package| put(package, &[("benches/torch/main.rs", "")]), "called torch already"),
        (
            |package| {
                let manifest = format!("bench = [{{ name = \"torch\" }}]\n{MANIFEST}");
                put(package, &[("Cargo.toml", &manifest), ("benches/torch.rs", "")]);
            },
            "write each of its targets as a table: [[bench]]",
        ),
    ];
    for (prepare, said) in cases {
        let workspace = TestWorkspace::with_files(&[("Cargo.toml", MANIFEST), ("src/lib.rs", "")]);
        prepare(&workspace.package);
        let before = everything(&workspace.package);
        let outcome = workspace.added();
        if said.is_empty() {
            // The user has something better there.
            outcome.assert_fine();
        } else {
            outcome.assert_refused(1, &[said, "help: "]);
            assert_eq!(everything(&workspace.package), before, "{said}");
        }
    }
}

#[test]
fn nothing_is_written_before_everything_is_checked() {
    let files = [("Cargo.toml", MANIFEST), ("src/lib.rs", "")];
    let workspace = TestWorkspace::with_files(&files);
    let unchanged = || {
        let mut names: Vec<_> = fs::read_dir(&workspace.package)
            .expect("readable")
            .map(|entry| entry.expect("readable").file_name())
            .collect();
        names.sort();
        names == ["Cargo.toml", "src"] && workspace.read("Cargo.toml") == MANIFEST
    };
    let elsewhere = workspace.added_in("", &["--path", ".."]);
    elsewhere.assert_refused(2, &["--path: no package in ", "a checkout of criterion-torch"]);
    let unknown = workspace.added_in("", &["--registry", "nowhere"]);
    unknown.assert_refused(1, &["cargo add --dev criterion-torch@", "`nowhere`", "--path DIR"]);
    put(&workspace.package.join("../checkout/crates/build"), &[("Cargo.toml", "[package]\n")]);
    workspace.added().assert_refused(1, &["cargo add --build criterion-torch-build --path "]);
    assert!(unchanged());
    let both = workspace.added_in("", &["--registry", "a", "--path", "b"]);
    both.assert_refused(2, &["cannot be used with"]);
    fs::remove_file(workspace.package.join("Cargo.toml")).expect("remove it");
    workspace.added_in("", &[]).assert_refused(1, &["no Cargo.toml at or above", "cargo new"]);
}
