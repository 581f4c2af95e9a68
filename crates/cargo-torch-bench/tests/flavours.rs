//! Another flavour of libtorch in a clone that was built: the real cargo and the real build scripts of
//! torch-sys and of the shim, with a C++ compiler that writes empty files.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::Scratch;
use crate::common::repository::Repository;

/// Without `-o`, it is asked which compiler it is, and fails: it is taken for what its name says.
const COMPILER: &str = r#"while test $# -gt 0 && test "$1" != -o; do shift; done
: >"${2?no output}""#;

/// These variables decide how torch-sys finds libtorch and where cargo builds. A test inherits LIBTORCH from the
/// clone that it is in.
const FOREIGN: [&str; 8] = [
    "LIBTORCH",
    "LIBTORCH_INCLUDE",
    "LIBTORCH_LIB",
    "LIBTORCH_STATIC",
    "LIBTORCH_USE_PYTORCH",
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_TARGET",
    "CARGO_BUILD_TARGET_DIR",
];

/// This repository's sources, without what was built of them.
fn repository() -> Repository {
    let scratch = Scratch::new();
    let clone = scratch.clone_dir();
    fs::remove_dir_all(&clone).expect("make place");
    fs::create_dir(&clone).expect("make a folder");
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("two deep");
    let sources = [
        "benches",
        "build.rs",
        "configs",
        "crates",
        "criterion-report",
        "examples",
        "src",
        "tests",
        ".cargo",
    ];
    for name in sources.into_iter().chain(["Cargo.toml", "Cargo.lock"]) {
        symlink(here.join(name), clone.join(name)).expect("link to the sources");
    }
    scratch.program("c++", COMPILER);
    Repository { scratch, clone }
}

/// After a build, which of the two packages were built in it, and which have CUDA now.
#[derive(Debug, PartialEq, Eq)]
struct Build {
    built: Vec<&'static str>,
    cuda: Vec<&'static str>,
}

const PACKAGES: [&str; 2] = ["torch-sys", "criterion-torch-native"];
const NONE: Vec<&str> = Vec::new();

fn build(repository: &Repository, libtorch: Option<&PathBuf>) -> Build {
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["check", "--locked", "--package", PACKAGES[1], "--message-format=json"])
        .current_dir(&repository.clone)
        .env("CXX", repository.scratch.python().with_file_name("c++"))
        .env("CARGO_TERM_COLOR", "never");
    for name in FOREIGN {
        cargo.env_remove(name);
    }
    cargo.envs(libtorch.map(|path| ("LIBTORCH", path)));
    let output = cargo.output().expect("run cargo");
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{log}");
    let messages = String::from_utf8(output.stdout).expect("cargo prints text");
    let built = |package: &&str| log.contains(&format!("Compiling {package} v"));
    let cuda = |package: &&str| {
        let said = build_script_lines(&messages, package);
        said.contains("rustc-link-lib=torch_cuda\n") || said.contains(",-ltorch_cuda,")
    };
    Build {
        built: PACKAGES.into_iter().filter(built).collect(),
        cuda: PACKAGES.into_iter().filter(cuda).collect(),
    }
}

/// The lines that a package's build script printed when it last ran.
fn build_script_lines(messages: &str, package: &str) -> String {
    let executed = |line: &&str| line.contains("\"reason\":\"build-script-executed\"");
    let of_package = format!("/{package}-");
    let folder = messages.lines().filter(executed).find_map(|line| {
        let (folder, _) = line.split_once("\"out_dir\":\"")?.1.split_once('"')?;
        folder.contains(&of_package).then(|| PathBuf::from(folder))
    });
    let folder = folder.unwrap_or_else(|| panic!("{package} has no build script: {messages}"));
    fs::read_to_string(folder.with_file_name("output")).expect("what it printed")
}

#[test]
#[ignore = "nightly: cargo builds torch-sys again and again, a minute"]
fn nightly_what_is_built_follows_the_flavour() {
    let repository = repository();
    let setup = |flavour: &str| {
        repository.xtask(&format!("setup {flavour}"), &[]).assert_fine();
    };
    let both = || PACKAGES.to_vec();
    let shim = || vec![PACKAGES[1]];
    let assert_built = |libtorch, built, cuda| {
        assert_eq!(build(&repository, libtorch), Build { built, cuda });
        assert_eq!(build(&repository, libtorch).built, NONE, "nothing has changed since");
    };
    setup("--cpu");
    assert_built(None, both(), NONE);
    setup("--cuda");
    assert_built(None, both(), both());
    setup("--cpu");
    assert_built(None, both(), NONE);

    // A link by hand, to files that are older than the last build. The shim alone brings CUDA.
    let cuda = repository.scratch.cache().join("torch-2.11.0-cuda/torch");
    let link = repository.scratch.link();
    fs::remove_file(&link).expect("unlink");
    symlink(&cuda, &link).expect("link by hand");
    assert_built(None, shim(), shim());

    // A libtorch of the user's, to which CUDA is added, and from which it is removed.
    let own = repository.scratch.empty().join("mine");
    fs::rename(&cuda, &own).expect("move it");
    let (library, away) = (own.join("lib/libtorch_cuda.so"), own.join("away"));
    fs::rename(&library, &away).expect("take CUDA away");
    assert_built(Some(&own), both(), NONE);
    fs::rename(&away, &library).expect("add CUDA");
    assert_built(Some(&own), shim(), shim());
    fs::remove_file(&library).expect("remove CUDA");
    assert_built(Some(&own), shim(), NONE);
}
