//! `setup`, driven as a user drives it, with a python3 that installs a tiny wheel.
#![cfg(unix)]

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Stdio};

use crate::common::{Outcome, Scratch, wait_until};

#[test]
fn setup_provisions_once_and_then_does_nothing() {
    let scratch = Scratch::new();
    let first = scratch.run(&["setup", "--cpu"]);
    first.assert_fine();
    assert_eq!(first.stdout.lines().count(), 1, "{first:?}");
    assert!(first.stdout.starts_with(&format!("libtorch 2.11.0 (cpu) in {}", scratch.cpu())));
    assert!(first.stderr.contains("installing libtorch 2.11.0 (cpu, as asked for)"), "{first:?}");
    assert_eq!(scratch.linked(), scratch.cpu());
    let config = scratch.clone_dir().join(".cargo/config.toml");
    assert!(
        first
            .stderr
            .ends_with(&format!("wrote {}, by which cargo finds .libtorch\n", config.display())),
        "{first:?}"
    );
    let before = fs::symlink_metadata(scratch.link()).expect("the link").modified().expect("time");

    for arguments in [&["setup"][..], &["setup", "--cpu"]] {
        let again = scratch.run(arguments);
        again.assert_fine();
        assert_eq!((&again.stdout, again.stderr.as_str()), (&first.stdout, ""));
    }
    let after = fs::symlink_metadata(scratch.link()).expect("the link").modified().expect("time");
    assert_eq!(before, after, "a correct link is left alone");
    assert_eq!(scratch.installs().len(), 1);
    assert_eq!(scratch.cached(), ["torch-2.11.0-cpu"]);
}

#[test]
fn a_library_that_was_cut_is_installed_again_and_the_doctor_says_so() {
    let scratch = Scratch::new();
    scratch.run(&["setup", "--cpu"]).assert_fine();
    let site = scratch.cache().join("torch-2.11.0-cpu");
    let record = "torch/lib/libtorch_cpu.so,sha256=x,4\ntorch/lib/libtorch_cuda.so,sha256=x,9\n";
    let info = site.join("torch-2.11.0.dist-info");
    fs::create_dir(&info).expect("made");
    fs::write(info.join("RECORD"), record).expect("written");
    scratch.run(&["setup", "--cpu"]).assert_fine();
    assert_eq!(scratch.installs().len(), 1, "whole by its list");
    fs::write(site.join("torch/lib/libtorch_cpu.so"), "cp").expect("cut");
    let said = scratch.run(&["doctor"]).stdout;
    assert!(said.contains("lib/libtorch_cpu.so has 2 bytes, and 4 in its wheel"), "{said}");
    let again = scratch.run(&["setup", "--cpu"]);
    assert!(again.assert_fine().stderr.contains("is damaged, installing it again"), "{again:?}");
    assert_eq!(scratch.installs().len(), 2);
}

#[test]
fn a_configuration_of_the_users_is_read_and_not_edited() {
    let scratch = Scratch::new();
    let config = scratch.clone_dir().join(".cargo/config.toml");
    let put = |text: &str| {
        fs::create_dir_all(config.parent().expect("a folder")).expect("make a scratch folder");
        fs::write(&config, text).expect("write a configuration");
    };
    put("[build]\njobs = 1\n");
    let lines =
        "add to it:\n\n    [env]\n    LIBTORCH = { value = \".libtorch\", relative = true }\n";
    let refused = scratch.run(&["setup", "--cpu"]);
    refused.assert_refused(1, &[".cargo/config.toml does not name libtorch", lines]);
    assert_eq!(fs::read_to_string(&config).expect("readable"), "[build]\njobs = 1\n");
    let doctor = scratch.run(&["doctor"]).stdout;
    assert!(doctor.contains("missing  LIBTORCH      neither set nor named by "), "{doctor}");
    scratch.run(&["bench"]).assert_refused(1, &[lines]);

    put("[env]\nLIBTORCH = { value = \".libtorch\", relative = true }\n");
    scratch.run(&["setup"]).assert_fine();
    let doctor = scratch.run(&["doctor"]).stdout;
    assert!(
        doctor.contains(&format!("ok       LIBTORCH      by {}\n", config.display())),
        "{doctor}"
    );

    // The libtorch is not the link's: the installed tool reads the file, as cargo does.
    put(&format!("[env]\nLIBTORCH = \"{}\"\n", scratch.cpu()));
    fs::remove_file(scratch.link()).expect("unlink");
    let own = scratch.run(&["setup"]);
    let said =
        format!("libtorch 2.11.0 (cpu) in {}, LIBTORCH in {}\n", scratch.cpu(), config.display());
    assert_eq!(own.assert_fine().stdout, said);
    assert!(!scratch.link().is_symlink());
}

#[test]
fn torch_for_python_is_provisioned_once_and_compare_torchao_takes_it() {
    let scratch = Scratch::new();
    let first = scratch.run(&["setup", "--cpu", "--python"]);
    first.assert_fine();
    let place = scratch.cache().join("torchao-0.17.0-python3.12");
    let [libtorch, python] = &first.stdout.lines().collect::<Vec<_>>()[..] else {
        panic!("{first:?}")
    };
    assert!(libtorch.starts_with("libtorch 2.11.0 (cpu) in "), "{first:?}");
    let said = format!("python with torch 2.11.0, torchao 0.17.0 in {}, ", place.display());
    assert!(python.starts_with(&said), "{first:?}");
    if cfg!(target_os = "linux") {
        assert!(first.stderr.contains("2.7 GB to download"), "{first:?}");
    }
    assert_eq!(scratch.cached(), ["torch-2.11.0-cpu", "torchao-0.17.0-python3.12"]);

    let interpreter = format!("{}\n", place.join("bin/python").display());
    assert_eq!(scratch.run(&["python"]).assert_fine().stdout, interpreter);
    let mut again = scratch.xtask(&["setup", "--python"]);
    again.env("CRITERION_TORCH_PYTHON", "/own/python");
    let again = Outcome::run(again);
    again.assert_fine();
    assert_eq!(again.stdout, first.stdout);
    assert_eq!(
        again.stderr,
        "note: CRITERION_TORCH_PYTHON is set, so /own/python is what compiles\n"
    );
    let installs = scratch.installs();
    let [_, install] = &installs[..] else { panic!("two installs") };
    assert!(install.contains("--no-deps --require-hashes --target"), "{install}");
    assert!(install.contains(" torchao==0.17.0"), "{install}");
}

#[test]
fn torch_for_python_that_cannot_be_had_leaves_nothing_but_libtorch() {
    let scratch = Scratch::new();
    scratch.run(&["setup", "--cpu"]).assert_fine();
    scratch.set("offline", "");
    scratch
        .run(&["setup", "--python"])
        .assert_refused(1, &["pip failed", "export CRITERION_TORCH_PYTHON=/path/to/it"]);
    assert_eq!(scratch.cached(), ["torch-2.11.0-cpu"]);
    scratch.unset("offline");

    scratch.set("hold", "");
    let mut killed =
        scratch.xtask(&["setup", "--python"]).stderr(Stdio::null()).spawn().expect("start a setup");
    wait_until("pip is midway", || scratch.fake("half").exists());
    killed.kill().expect("kill -9");
    killed.wait().expect("collect it");
    assert_eq!(scratch.finished_and_begun(), ["torch-2.11.0-cpu", "torchao-0.17.0-python3.12…"]);
    scratch.unset("hold");
    let outcome = scratch.run(&["setup", "--python"]);
    outcome.assert_fine();
    assert!(outcome.stderr.contains("left by an interrupted setup"), "{outcome:?}");
    assert_eq!(scratch.cached(), ["torch-2.11.0-cpu", "torchao-0.17.0-python3.12"]);
}

#[test]
fn a_second_clone_takes_what_the_first_provisioned() {
    let scratch = Scratch::new();
    scratch.run(&["setup", "--cpu"]).assert_fine();
    fs::remove_file(scratch.link()).expect("unlink");

    // From a folder inside of the clone, and with LIBTORCH as .cargo/config.toml sets it.
    let mut second = scratch.xtask(&["setup", "--cpu"]);
    second.current_dir(scratch.clone_dir().join("crates/inner")).env("LIBTORCH", scratch.link());
    Outcome::run(second).assert_fine();
    assert_eq!(scratch.linked(), scratch.cpu());
    assert_eq!(scratch.installs().len(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn the_cpu_flavour_drops_what_needs_cuda_and_the_cuda_flavour_keeps_it() {
    let scratch = Scratch::new();
    scratch.run(&["setup", "--cpu"]).assert_fine();
    let lib = scratch.link().join("lib");
    let there = |name: &str| lib.join(name).exists();
    assert!(!there("libtorch_cuda.so") && !there("libtorch_cuda_linalg.so"));
    assert!(!there("libtorch_nvshmem.so"));
    assert!(there("libtorch_cpu.so") && there("libc10_cuda.so"));
    let alias = fs::read_link(lib.join("libtorch.so")).expect("libtorch.so is an alias now");
    assert_eq!(alias, Path::new("libtorch_cpu.so"));

    let cuda = scratch.run(&["setup", "--cuda"]);
    cuda.assert_fine();
    assert!(cuda.stdout.starts_with("libtorch 2.11.0 (cuda) in "), "{cuda:?}");
    assert!(cuda.stderr.contains("replacing the link .libtorch"), "{cuda:?}");
    assert!(there("libtorch_cuda.so"));
    assert!(!lib.join("libtorch.so").is_symlink());

    // Without a wish the choice stands, and going back costs no download.
    assert_eq!(scratch.run(&["setup"]).assert_fine().stdout, cuda.stdout);
    scratch.run(&["setup", "--cpu"]).assert_fine();
    assert_eq!(scratch.linked(), scratch.cpu());

    let installs = scratch.installs();
    let [first, second] = &installs[..] else { panic!("two installs") };
    for install in [first, second] {
        assert!(install.contains("--no-deps --require-hashes --python-version 3.12"), "{install}");
        assert!(install.contains("nvidia-cuda-cupti==13.0.85"), "{install}");
    }
    assert!(!first.contains("nvidia-cublas=="), "{first}");
    assert!(second.contains("nvidia-cublas=="), "{second}");
}

#[test]
fn a_users_libtorch_wins_and_nothing_is_provisioned() {
    let scratch = Scratch::new();
    scratch.run(&["setup", "--cpu"]).assert_fine();
    fs::remove_file(scratch.link()).expect("unlink");
    let own = scratch.cpu();

    let mut setup = scratch.xtask(&["setup"]);
    setup.env("LIBTORCH", &own);
    let outcome = Outcome::run(setup);
    outcome.assert_fine();
    assert_eq!(outcome.stdout, format!("libtorch 2.11.0 (cpu) in {own}, your own LIBTORCH\n"));
    assert!(!scratch.link().is_symlink());
    assert_eq!(scratch.installs().len(), 1);
}

#[test]
fn a_wrong_version_is_refused_with_both_versions() {
    let scratch = Scratch::new();
    let own = scratch.empty();
    fs::write(own.join("build-version"), "2.10.0+cpu\n").expect("write a version");

    let mut setup = scratch.xtask(&["setup"]);
    setup.env("LIBTORCH", &own);
    let outcome = Outcome::run(setup);
    outcome.assert_refused(1, &[]);
    assert_eq!(
        outcome.stderr,
        format!(
            "error: LIBTORCH is set, but cannot be used: wrong libtorch version in {}: wanted \
             2.11.0, found 2.10.0+cpu\n  help: unset LIBTORCH, and libtorch is provisioned for \
             you\n  help: or set LIBTORCH to a libtorch 2.11.0\n",
            own.display()
        )
    );
    assert!(scratch.installs().is_empty());
}

#[test]
fn without_python3_or_pip_the_way_out_is_named() {
    let scratch = Scratch::new();
    let mut setup = scratch.xtask(&["setup", "--cpu"]);
    setup.env("PATH", scratch.empty());
    Outcome::run(setup).assert_refused(
        1,
        &["error: python3 not found", "apt install python3", "export LIBTORCH=/path/to/it"],
    );

    scratch.set("no-pip", "");
    scratch.run(&["setup", "--cpu"]).assert_refused(
        1,
        &["error: python3 (3.12.1) has no pip", "python3 -m ensurepip", "export LIBTORCH="],
    );
    scratch.unset("no-pip");
    scratch.set("old-pip", "");
    scratch.run(&["setup", "--cpu"]).assert_refused(
        1,
        &["error: pip 20.0.2 is too old", "wanted 20.3 or newer", "install --user --upgrade pip"],
    );
    assert!(!scratch.link().is_symlink());
    assert!(scratch.cached().is_empty());
}

#[test]
fn offline_nothing_is_left_or_linked_and_the_next_setup_works() {
    let scratch = Scratch::new();
    scratch.set("offline", "");
    scratch.run(&["setup", "--cpu"]).assert_refused(
        1,
        &[
            "ERROR: No matching distribution found",
            "error: pip failed (exit status: 1)",
            "tried: python3 -m pip install --no-input",
            "torch==2.11.0",
            "this needs the Python package index",
            "export LIBTORCH=/path/to/it",
        ],
    );
    assert!(!scratch.link().is_symlink());
    assert!(scratch.cached().is_empty(), "{:?}", scratch.cached());

    scratch.unset("offline");
    scratch.run(&["setup", "--cpu"]).assert_fine();
    assert_eq!(scratch.linked(), scratch.cpu());
}

#[test]
fn a_wheel_that_is_not_what_was_asked_for_is_never_linked() {
    for (file, text, said) in [
        ("version", "2.10.0+cu128", "wanted 2.11.0, found 2.10.0+cu128"),
        ("headless", "", "is incomplete: include/torch/csrc/api/include/torch/torch.h is missing"),
    ] {
        let scratch = Scratch::new();
        scratch.set(file, text);
        scratch
            .run(&["setup", "--cpu"])
            .assert_refused(1, &["pip succeeded, but not with what was expected", said]);
        assert!(!scratch.link().is_symlink());
        assert!(scratch.cached().is_empty(), "{:?}", scratch.cached());
    }
}

#[test]
fn killed_midway_setup_recovers() {
    let scratch = Scratch::new();
    scratch.set("hold", "");
    let mut killed =
        scratch.xtask(&["setup", "--cpu"]).stderr(Stdio::null()).spawn().expect("start a setup");
    wait_until("pip is midway", || scratch.fake("half").exists());
    killed.kill().expect("kill -9");
    killed.wait().expect("collect it");
    assert!(!scratch.link().is_symlink());
    assert_eq!(scratch.finished_and_begun(), ["torch-2.11.0-cpu…"]);

    // Its pip is an orphan now, and still at work when the next setup comes.
    scratch.unset("hold");
    let outcome = scratch.run(&["setup", "--cpu"]);
    outcome.assert_fine();
    assert!(outcome.stderr.contains("left by an interrupted setup"), "{outcome:?}");
    assert_eq!(scratch.cached(), ["torch-2.11.0-cpu"]);
    assert_eq!(scratch.linked(), scratch.cpu());
}

#[test]
fn a_leftover_is_removed_even_when_there_is_nothing_else_to_do() {
    let scratch = Scratch::new();
    scratch.run(&["setup", "--cpu"]).assert_fine();
    let leftover = scratch.cache().join("torch-2.11.0-cuda.partial-0123456789abcdef");
    fs::create_dir_all(leftover.join("torch/lib")).expect("leave a leftover");

    // Not while an installation runs: the lock says so.
    let lock = File::create(scratch.cache().join("setup.lock")).expect("open the lock");
    lock.lock().expect("hold the lock");
    scratch.run(&["setup"]).assert_fine();
    assert!(leftover.exists());
    // Not dropped: a process that another test is starting may hold a copy of it for a moment.
    lock.unlock().expect("release the lock");
    scratch.run(&["setup"]).assert_fine();
    assert!(!leftover.exists());
}

/// Two setups at once: the first is held midway through its installation, the second waits for it.
fn one_midway_and_one_waiting(scratch: &Scratch) -> (Child, Child) {
    scratch.set("hold", "");
    let start = |name: &str| {
        let log = File::create(scratch.fake(name)).expect("open a log");
        scratch.xtask(&["setup", "--cpu"]).stderr(log).spawn().expect("start a setup")
    };
    let first = start("first");
    wait_until("the first is midway", || scratch.fake("half").exists());
    let second = start("second");
    wait_until("the second waits", || {
        scratch.log("second").iter().any(|line| line.contains("another setup is running"))
    });
    (first, second)
}

#[test]
fn two_setups_at_once_install_once() {
    let scratch = Scratch::new();
    let (mut first, mut second) = one_midway_and_one_waiting(&scratch);
    assert!(!scratch.link().is_symlink(), "nothing is linked before it is whole");
    scratch.set("go", "");
    assert!(first.wait().expect("it ends").success());
    assert!(second.wait().expect("it ends").success());
    assert_eq!(scratch.installs().len(), 1);
    assert_eq!(scratch.cached(), ["torch-2.11.0-cpu"]);
    assert_eq!(scratch.linked(), scratch.cpu());
}

#[test]
fn a_waiting_setup_takes_over_from_a_killed_one() {
    let scratch = Scratch::new();
    let (mut first, mut second) = one_midway_and_one_waiting(&scratch);
    scratch.unset("hold");
    first.kill().expect("kill -9");
    first.wait().expect("collect it");
    assert!(second.wait().expect("it ends").success());
    assert_eq!(scratch.cached(), ["torch-2.11.0-cpu"]);
    assert_eq!(scratch.linked(), scratch.cpu());
}

#[test]
fn what_was_damaged_in_the_cache_is_installed_again() {
    let scratch = Scratch::new();
    scratch.run(&["setup", "--cpu"]).assert_fine();
    fs::remove_file(scratch.link().join("version.py")).expect("damage it");
    let outcome = scratch.run(&["setup", "--cpu"]);
    outcome.assert_fine();
    assert!(outcome.stderr.contains("is damaged, installing it again"), "{outcome:?}");
    assert!(scratch.link().join("version.py").exists());
    assert_eq!(scratch.installs().len(), 2);
}
