//! The link to libtorch: the flavour it leads to, when it moves, and what `setup` finds in its place.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::common::{Outcome, Scratch};

#[cfg(target_os = "linux")]
#[test]
fn the_flavour_is_that_of_the_libtorch_in_use_and_asking_provisions_none() {
    let scratch = Scratch::new();
    let flavour = |libtorch: Option<&Path>| {
        let mut xtask = scratch.xtask(&["flavour"]);
        let outcome = Outcome::run(match libtorch {
            Some(path) => {
                xtask.env("LIBTORCH", path);
                xtask
            }
            None => xtask,
        });
        outcome.assert_fine();
        outcome.stdout
    };
    // The driver decides, which this machine may have.
    let by_driver = flavour(None);
    assert!(["cpu\n", "cuda\n"].contains(&by_driver.as_str()), "{by_driver}");
    assert!(scratch.cached().is_empty() && !scratch.link().is_symlink());
    scratch.run(&["setup"]).assert_fine();
    assert_eq!(flavour(None), by_driver, "and setup chooses the same");
    for name in ["cpu", "cuda"] {
        scratch.run(&["setup", &format!("--{name}")]).assert_fine();
        assert_eq!(flavour(None), format!("{name}\n"));
    }
    let own = scratch.cache().join("torch-2.11.0-cpu/torch");
    assert_eq!(flavour(Some(&own)), "cpu\n");
}

#[test]
fn the_link_stays_until_what_was_built_with_it_is_removed() {
    let scratch = Scratch::new();
    scratch.run(&["setup", "--cpu"]).assert_fine();
    assert!(scratch.log("cargo-calls").is_empty(), "nothing was built with another libtorch");
    scratch.set("fail", "101");
    scratch.run(&["setup", "--cuda"]).assert_refused(
        1,
        &["cargo clean --package torch-sys --profile dev failed", "stays as it"],
    );
    assert_eq!(scratch.linked(), scratch.cpu());
    scratch.unset("fail");
    scratch.run(&["setup", "--cuda"]).assert_fine();
    let calls = scratch.log("cargo-calls");
    assert!(calls[1].ends_with(": clean --quiet --package torch-sys --profile dev"), "{calls:?}");
    assert!(calls[2].ends_with(": clean --quiet --package torch-sys --profile release"));
    scratch.run(&["setup", "--cuda"]).assert_fine();
    assert_eq!(scratch.log("cargo-calls").len(), 3, "the link leads there already");
}

#[test]
fn what_stands_at_the_links_place_is_respected() {
    let scratch = Scratch::new();
    // A dangling link is replaced.
    symlink("/nowhere/torch-2.10.0-cpu/torch", scratch.link()).expect("link to nowhere");
    let outcome = scratch.run(&["setup", "--cpu"]);
    outcome.assert_fine();
    assert!(outcome.stderr.contains("which led to /nowhere/torch-2.10.0-cpu/torch"), "{outcome:?}");

    // A link made by hand to a libtorch that will do is left alone.
    let own = scratch.empty().join("mine");
    fs::rename(scratch.cache().join("torch-2.11.0-cpu/torch"), &own).expect("move libtorch out");
    fs::remove_file(scratch.link()).expect("unlink");
    symlink(&own, scratch.link()).expect("link by hand");
    let outcome = scratch.run(&["setup"]);
    outcome.assert_fine();
    assert!(outcome.stdout.contains(&own.display().to_string()), "{outcome:?}");
    assert_eq!(scratch.installs().len(), 1);

    // A folder is somebody's work.
    fs::remove_file(scratch.link()).expect("unlink");
    fs::create_dir(scratch.link()).expect("make a folder");
    scratch
        .run(&["setup", "--cpu"])
        .assert_refused(1, &["is not a symbolic link, so setup leaves it alone", "move it away"]);
    assert!(scratch.link().is_dir());
}
