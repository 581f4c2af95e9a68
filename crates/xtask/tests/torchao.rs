//! `compare-torchao`: the Python that it provisions or is given.

use std::fs;

use crate::common::{Outcome, Scratch};

/// A config in the clone, and the call that compares it.
fn comparable(scratch: &Scratch) -> String {
    let config = scratch.clone_dir().join("my.yml");
    fs::write(&config, "").expect("write a config");
    format!("bench --bench self_test -- torchao {}", config.display())
}

#[test]
fn compare_torchao_provisions_a_python_once_and_compares_with_it() {
    let scratch = Scratch::provisioned();
    let call = comparable(&scratch);
    let first = scratch.run(&["compare-torchao", "my.yml"]);
    first.assert_fine();
    assert!(first.stderr.contains("installing torchao 0.17.0 and torch 2.11.0"), "{first:?}");
    let again = scratch.run(&["compare-torchao", "my.yml", "--filter", "int8wo"]);
    again.assert_fine();
    assert_eq!(again.stderr, "", "nothing is left to do");

    assert_eq!(scratch.calls(), [call.clone(), format!("{call} --filter int8wo")]);
    let python = scratch.cache().join("torchao-0.17.0-python3.12/bin/python");
    let with = format!("{} passive", python.display());
    assert_eq!(scratch.log("cargo-python"), [with.clone(), with]);
    assert_eq!(scratch.cached(), ["torch-2.11.0-cpu", "torchao-0.17.0-python3.12"]);
    let [_, install] = &scratch.installs()[..] else { panic!("{:?}", scratch.installs()) };
    assert!(install.contains(" torchao==0.17.0") && install.contains(" numpy=="), "{install}");
    assert!(install.contains("/lib/python3.12/site-packages"), "{install}");
}

#[test]
fn compare_torchao_takes_a_python_that_is_named_and_has_both() {
    let scratch = Scratch::provisioned();
    comparable(&scratch);
    let python = scratch.python();
    let named = python.display().to_string();
    scratch.run(&["compare-torchao", "my.yml", "--python", &named]).assert_fine();
    let mut by_variable = scratch.xtask(&["compare-torchao", "my.yml"]);
    by_variable.env("SELF_TEST_PYTHON", &python).env("OMP_WAIT_POLICY", "active");
    Outcome::run(by_variable).assert_fine();
    let with = |policy: &str| format!("{named} {policy}");
    assert_eq!(scratch.log("cargo-python"), [with("passive"), with("active")]);

    scratch.set("versions", "2.11.0 0.14.1\n");
    let said = ["it has torch 2.11.0 and torchao 0.14.1, wanted 2.11.0 and 0.17.0", "leave out"];
    scratch.run(&["compare-torchao", "my.yml", "--python", &named]).assert_refused(1, &said);
    let nowhere = ["compare-torchao", "my.yml", "--python", "/nowhere/python"];
    scratch.run(&nowhere).assert_refused(1, &["--python: /nowhere/python cannot be used"]);
    assert_eq!((scratch.calls().len(), scratch.installs().len()), (2, 1));
}

#[test]
fn compare_torchao_leaves_nothing_half_installed_and_repairs() {
    let scratch = Scratch::provisioned();
    comparable(&scratch);
    scratch.set("versions", "2.11.0 0.16.0\n");
    let outcome = scratch.run(&["compare-torchao", "my.yml"]);
    outcome.assert_refused(1, &["pip succeeded, but", "torchao 0.16.0", "--python /path/to/it"]);
    assert_eq!(scratch.cached(), ["torch-2.11.0-cpu"]);
    scratch.unset("versions");

    scratch.set("offline", "");
    let outcome = scratch.run(&["compare-torchao", "my.yml"]);
    outcome.assert_refused(1, &["pip failed", "--python /path/to/it"]);
    scratch.unset("offline");

    scratch.run(&["compare-torchao", "my.yml"]).assert_fine();
    let installs = scratch.installs().len();
    scratch.set("broken", "");
    let passing = ["cannot be used: exit status: 1: OSError: no memory", "rm -r ", "--python"];
    scratch.run(&["compare-torchao", "my.yml"]).assert_refused(1, &passing);
    scratch.unset("broken");
    scratch.run(&["compare-torchao", "my.yml"]).assert_fine();
    assert_eq!(scratch.installs().len(), installs, "nothing was installed again");

    let place = scratch.cache().join("torchao-0.17.0-python3.12");
    fs::remove_file(place.join("bin/python")).expect("break it");
    let outcome = scratch.run(&["compare-torchao", "my.yml"]);
    outcome.assert_fine();
    assert!(
        outcome.stderr.contains("lacks one of the two releases, installing both again"),
        "{outcome:?}"
    );
    assert!(place.join("bin/python").exists());
    assert_eq!(scratch.cached(), ["torch-2.11.0-cpu", "torchao-0.17.0-python3.12"]);
}

#[test]
fn compare_torchao_wants_a_config_that_is_there() {
    let scratch = Scratch::new();
    let missing = scratch.run(&["compare-torchao", "missing.yml"]);
    missing.assert_refused(1, &["cannot read missing.yml"]);
    assert!(scratch.installs().is_empty(), "nothing is downloaded before that is known");
}

#[test]
fn compare_torchao_takes_the_python_of_setup() {
    let scratch = Scratch::provisioned();
    comparable(&scratch);
    scratch.run(&["setup", "--python"]).assert_fine();
    let installs = scratch.installs().len();
    let compared = scratch.run(&["compare-torchao", "my.yml"]);
    assert_eq!(compared.assert_fine().stderr, "", "nothing is left to do");
    assert_eq!(scratch.installs().len(), installs);
}
