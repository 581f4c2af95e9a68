//! Tests NVTX ranges with a fake profiler and with NVIDIA's. Each test runs in its own process, because a profiler
//! attaches once.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use native::nvtx::{self, Range};

#[path = "../../../tests/common/skip.rs"]
mod skip;

const CHILD: &str = "NVTX_TEST_CHILD";

/// Runs [`ranges`] in a child under a profiler and returns its output.
fn child(profiler: Option<&Path>, log: &Path) -> String {
    let mut command = Command::new(env::current_exe().expect("this program"));
    command.args(["--exact", "ranges", "--nocapture"]).env(CHILD, "1").env("FAKE_NVTX_LOG", log);
    command.env_remove(nvtx::INJECTION);
    if let Some(profiler) = profiler {
        command.env(nvtx::INJECTION, profiler);
    }
    let Output { status, stdout, stderr } = command.output().expect("it starts");
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{stdout}{stderr}");
    stdout.into_owned()
}

/// The program of the other tests.
#[test]
fn ranges() {
    if env::var_os(CHILD).is_none() {
        return;
    }
    println!("listens: {:?}", nvtx::listens());
    let mut names = 0;
    let mut name = |text: &str| {
        names += 1;
        text.to_owned()
    };
    let outer = Range::open(|| name("a/b/cpu: sampling"));
    {
        let _inner = Range::open(|| name("step\0hidden"));
        let _innermost = Range::open(|| name("größer"));
    }
    drop(outer);
    drop(Range::open(|| name("")));
    println!("names: {names}");
}

#[test]
fn a_profiler_is_told_of_every_range_and_its_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = folder.path().join("libfake_nvtx.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_nvtx.cpp");
    let compiler = env::var_os("CXX").unwrap_or_else(|| "g++".into());
    let mut compile = Command::new(compiler);
    compile.args(["-std=c++17", "-shared", "-fPIC", "-o"]).arg(&library).arg(source);
    assert!(compile.status().expect("the C++ compiler starts").success());
    let log = folder.path().join("log");
    let said = child(Some(&library), &log);
    assert!(said.contains("listens: Ok(true)") && said.contains("names: 4"), "{said}");
    let log = std::fs::read_to_string(log).expect("ranges were written");
    let lines: Vec<&str> = log.lines().map(str::trim_end).collect();
    let expected = [
        "push 0 a/b/cpu: sampling",
        "push 1 step",
        "push 2 größer",
        "pop 2",
        "pop 1",
        "pop 0",
        "push 0",
        "pop 0",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn without_a_profiler_nothing_is_done_and_a_wrong_one_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let (log, missing) = (folder.path().join("log"), folder.path().join("gone.so"));
    let said = child(None, &log);
    assert!(said.contains("listens: Ok(false)") && said.contains("names: 0"), "{said}");
    let said = child(Some(&missing), &log);
    let named = format!("Err(\"NVTX_INJECTION64_PATH is {}: ", missing.display());
    assert!(said.contains(&named) && said.contains("names: 0"), "{said}");
    let said = child(Some(Path::new("libc.so.6")), &log);
    assert!(said.contains("it has no InitializeInjectionNvtx2"), "{said}");
    assert!(!log.exists());
}

/// CUPTI reads NVTX as Nsight Systems does, and needs no GPU to attach.
#[test]
fn nvidias_own_library_attaches() {
    let root = libtorch::find::find(|name| env::var_os(name)).expect("libtorch").root;
    // `.libtorch` of a clone is a link.
    let root = root.canonicalize().expect("a folder");
    let beside = root.parent().expect("it lies in a folder").join("nvidia/cu13/lib/libcupti.so.13");
    let Some(library) = Some(beside).filter(|it: &PathBuf| it.is_file()) else {
        skip::tool("no CUPTI beside libtorch; `cargo xtask setup` brings it");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let said = child(Some(&library), &folder.path().join("log"));
    assert!(said.contains("listens: Ok("), "{said}");
    assert!(!said.contains("Err"), "{said}");
}
