//! `cache`: what it shows and removes of a cache as the library leaves it.
#![cfg(unix)]

use std::fs::{self, File};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::common::{self, Scratch};

const FACTS: &str = r#"{"compilation":{"mode":"max-autotune","options":{"max_autotune":true},
    "compiler":"torch 2.11.0, g++ 12.2.0","seconds":15.25,"package_bytes":5000,"cache_hit":false,
    "key":"a"},"kernels":["cpp_fused_0"],"checksum":17723371717273610423}"#;

/// The key that begins with these digits; what stands behind a dot is kept.
fn key(name: &str) -> String {
    let (digits, rest) = name.split_at(name.find('.').unwrap_or(name.len()));
    format!("{digits:0<32}{rest}")
}

/// A folder of the cache with a package of 5000 bytes in it, not touched for so many days.
fn package(scratch: &Scratch, name: &str, facts: &str, days: u64) -> PathBuf {
    let folder = scratch.cache().join("compiled").join(key(name));
    fs::create_dir_all(&folder).expect("make a package");
    for (file, content) in [("package.pt2", "x".repeat(5000).as_str()), ("facts.json", facts)] {
        let path = folder.join(file);
        fs::write(&path, content).expect("write a file of it");
        age(&path, days);
    }
    age(&folder, days);
    folder
}

fn kernel(scratch: &Scratch, name: &str, days: u64) -> PathBuf {
    let folder = scratch.cache().join("kernels");
    fs::create_dir_all(&folder).expect("make the folder of kernels");
    fs::write(folder.join(name), "elf").expect("write a kernel");
    age(&folder.join(name), days);
    folder.join(name)
}

fn age(path: &PathBuf, days: u64) {
    let then = SystemTime::now() - Duration::from_secs(days * 86_400);
    File::open(path).expect("open it").set_modified(then).expect("set its time");
}

fn stdout_of(scratch: &Scratch, arguments: &[&str]) -> String {
    scratch.run(arguments).assert_fine().stdout.clone()
}

#[test]
fn an_empty_cache_is_shown_and_cleared() {
    let scratch = Scratch::new();
    let shown = stdout_of(&scratch, &["cache"]);
    assert!(shown.starts_with(&format!("{}: 0 kB\n", scratch.cache().display())), "{shown}");
    assert!(shown.contains("compiled: 0  0 kB  4.3 GB at most\n"), "{shown}");
    assert_eq!(stdout_of(&scratch, &["cache", "list"]), "no compiled packages\n");
    assert_eq!(
        stdout_of(&scratch, &["cache", "clear", "all"]),
        "removed 0 compiled packages, 0 kB\nremoved 0 kernels, 0 kB\n"
    );
    assert!(!scratch.cache().exists(), "looking makes nothing");
}

#[test]
fn all_that_is_in_the_cache_is_shown() {
    let scratch = Scratch::new();
    scratch.run(&["setup", "--cpu", "--python"]).assert_fine();
    package(&scratch, "a", FACTS, 2);
    package(&scratch, "b", "cut off", 40);
    package(&scratch, "c.partial-0123456789abcdef", "", 0);
    kernel(&scratch, "gelu.cu-sm_90-0123456789abcdef.cubin", 3);
    fs::write(scratch.cache().join("compiled/probes.json"), "[]")
        .expect("leave what is no package");
    let leftover = scratch.cache().join("torch-2.11.0-cuda.partial-0123456789abcdef");
    fs::create_dir_all(leftover).expect("leave a leftover");

    let shown = stdout_of(&scratch, &["cache"]);
    for text in [
        "  torch-2.11.0-cpu  ",
        "  torchao-0.17.0-python3.12  ",
        "4.3 GB at most, used 2 days to 40 days ago\n",
        "made 3 days ago\n",
        "left by an interrupted setup; cargo xtask setup removes it\n",
    ] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    for (kind, count) in [("compiled", 2), ("kernels", 1), ("unfinished", 1)] {
        assert!(shown.contains(&format!("  {kind}: {count} ")), "{shown}");
    }

    let listed = stdout_of(&scratch, &["cache", "list"]);
    let rows: Vec<Vec<&str>> =
        listed.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows.len(), 3, "{listed}");
    assert_eq!(
        rows[1][..2],
        [key("a").as_str(), "max-autotune"],
        "the one used last first: {listed}"
    );
    let row = "15.2 s       2 days ago   torch 2.11.0, g++ 12.2.0";
    assert!(listed.contains(row), "{listed}");
    assert_eq!(rows[2][..2], [key("b").as_str(), "unknown"], "{listed}");

    let json = stdout_of(&scratch, &["cache", "--format", "json"]);
    for text in [
        "\"bound_bytes\": 4294967296,",
        "\"mode\": \"max-autotune\",",
        "\"seconds\": 15.25",
        "\"facts\": null",
        &format!("\"name\": \"{}\",", key("c.partial-0123456789abcdef")),
        "\"left_over\": true",
    ] {
        assert!(json.contains(text), "{text}: {json}");
    }
    assert_eq!(json.matches("\"name\"").count(), 7, "{json}");
}

#[test]
fn only_what_was_asked_for_is_cleared() {
    let scratch = Scratch::new();
    scratch.run(&["setup", "--cpu"]).assert_fine();
    let (new, old) = (package(&scratch, "a", FACTS, 1), package(&scratch, "0", FACTS, 9));
    let kernel = kernel(&scratch, "gelu.cu-sm_90-0123456789abcdef.cubin", 9);

    let by_age = stdout_of(&scratch, &["cache", "clear", "compiled", "--older-than", "8"]);
    assert!(by_age.starts_with("removed 1 compiled package, "), "{by_age}");
    assert!(new.exists() && !old.exists() && kernel.exists());
    let by_kind = stdout_of(&scratch, &["cache", "clear", "kernels"]);
    assert!(by_kind.starts_with("removed 1 kernel, "), "{by_kind}");
    assert!(new.exists() && !kernel.exists());
    stdout_of(&scratch, &["cache", "clear", "all"]);
    let left = fs::read_dir(scratch.cache().join("compiled")).expect("it stays").count();
    assert_eq!(left, 0, "nothing lies beside it");
    assert!(scratch.link().join("version.py").exists(), "libtorch is not cleared");
}

#[test]
fn what_is_being_made_or_used_stays() {
    let scratch = Scratch::new();
    let partial = package(&scratch, "a.partial-0123456789abcdef", "", 2);
    let unlocked = package(&scratch, "b.partial-0123456789abcdef", "", 0);
    let lockless = package(&scratch, "c.partial-0123456789abcdef", "", 0);
    let used = package(&scratch, "d", FACTS, 9);
    let written = kernel(&scratch, "gelu.cu-sm_90-01.partial-0123456789abcdef", 0);
    let compiled = scratch.cache().join("compiled");
    let lock = File::create(compiled.join(key("a.lock"))).expect("open the lock");
    lock.lock().expect("hold the lock, as who compiles it does");
    let facts = File::open(used.join("facts.json")).expect("open the facts");
    facts.lock_shared().expect("hold the package, as who uses it does");
    fs::write(compiled.join(key("b.lock")), "").expect("leave a lock");

    let cleared = stdout_of(&scratch, &["cache", "clear", "all"]);
    let lines: Vec<&str> = cleared.lines().collect();
    assert!(
        lines[0].starts_with("removed 0 compiled packages, 0 kB; 2 never finished, "),
        "{cleared}"
    );
    assert!(lines[0].ends_with("; kept 2 that a process is using or making"), "{cleared}");
    assert!(lines[1].ends_with("; kept 1 that a process is using or making"), "{cleared}");
    assert!(partial.exists() && used.join("package.pt2").exists() && written.exists());
    assert!(!unlocked.exists(), "its process gave the lock back by ending");
    assert!(!lockless.exists(), "its process took the lock away, and ended before its folder went");
    assert!(!compiled.join(key("b.lock")).exists());

    lock.unlock().expect("release the lock");
    facts.unlock().expect("release the package");
    age(&written, 1);
    stdout_of(&scratch, &["cache", "clear", "all"]);
    let left = |folder| fs::read_dir(scratch.cache().join(folder)).expect("it stays").count();
    assert_eq!((left("compiled"), left("kernels")), (0, 0));
}

#[test]
fn what_is_not_ours_stays() {
    let scratch = Scratch::new();
    let compiled = scratch.cache().join("compiled");
    fs::create_dir_all(compiled.join("notes")).expect("make a folder");
    fs::write(compiled.join("probes.json"), "[]").expect("write a file");
    let cleared = stdout_of(&scratch, &["cache", "clear", "compiled"]);
    assert_eq!(cleared, "removed 0 compiled packages, 0 kB\n");
    assert_eq!(fs::read_dir(&compiled).expect("list it").count(), 2);
}

#[test]
fn what_cannot_be_read_is_told() {
    let scratch = Scratch::new();
    let mut show = scratch.xtask(&["cache"]);
    show.env("CRITERION_TORCH_COMPILED_MB", "4 GB");
    common::Outcome::run(show).assert_refused(
        1,
        &["CRITERION_TORCH_COMPILED_MB is \"4 GB\", which is not a number of MiB", "or set it to"],
    );
    fs::create_dir_all(scratch.cache()).expect("make the cache");
    fs::write(scratch.cache().join("compiled"), "").expect("a file in its place");
    scratch.run(&["cache", "clear", "compiled"]).assert_refused(1, &["cannot read "]);
}
