//! The command: exit codes, messages and files.

use std::process::{Command, Output};

use super::*;
use crate::common::err;

fn run(fixture: &str, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_criterion-report"))
        .args(["fusion", "--criterion-dir"])
        .arg(crate::common::fixture(fixture).join("criterion"))
        .args(args)
        .env_remove("CRITERION_HOME")
        .output()
        .expect("the program starts")
}

#[test]
fn exit_codes_and_messages() {
    assert!(run("fusion", &[]).status.success());
    assert!(run("fusion", &["--strict", "--filter", ATTENTION]).status.success());
    // A failed case of another bench target is not this command's.
    let strict = run("fusion", &["--strict", "--format", "json"]);
    assert_eq!(strict.status.code(), Some(1));
    assert!(!strict.stdout.is_empty(), "the document is written all the same");
    assert!(err(&strict).starts_with("--strict: 7 cases have no time:\n"), "{}", err(&strict));
    assert!(!err(&strict).contains("inference/"), "{}", err(&strict));

    for (fixture, args, message) in [
        (
            "two-siblings",
            &[][..],
            "error: the records of `new` hold no fusion case\n  measure some with `cargo bench \
             --bench fusion`\n",
        ),
        (
            "two-siblings",
            &["--filter", "int8wo"],
            "error: the records of `new` hold no fusion case\n  measure some with `cargo bench \
             --bench fusion`\n",
        ),
        (
            "fusion",
            &["--filter", "/unfused/"],
            "error: none of the 28 recorded fusion cases shown is fused\n  measure some with `cargo \
             bench --bench fusion`\n",
        ),
        (
            "fusion",
            &["--filter", "int8wo"],
            "error: --filter int8wo matches none of 28 recorded cases in [folder]\n  `criterion-report show --columns \
             full-id` lists their ids\n",
        ),
    ] {
        let output = run(fixture, args);
        assert_eq!(output.status.code(), Some(2), "{fixture} {args:?}");
        assert!(output.stdout.is_empty());
        // The folder is made of the fixture.
        let folder = crate::common::fixture(fixture).join("criterion-torch");
        let said = err(&output).replace(folder.to_str().expect("UTF-8"), "[folder]");
        assert_eq!(said, message, "{fixture} {args:?}");
    }
}

#[test]
fn a_file_holds_what_would_be_printed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("fusion.json");
    let path = file.to_str().expect("text");
    let output = run("fusion", &["--format", "json", "--output", path]);
    assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty());
    let text = std::fs::read_to_string(&file).expect("written");
    assert_eq!(text.as_bytes(), run("fusion", &["--format", "json"]).stdout);
    assert_eq!(text, write(&JSON, &report("")));
    let target = Target { colour_terminal: true, width: None, file: Some(&file) };
    let (_, notes) = text_and_notes(&TABLE, &report(""), target).expect("written");
    assert!(notes.is_empty(), "the table says everything itself");
}
