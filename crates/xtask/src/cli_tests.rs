use std::ffi::OsString;
use std::path::PathBuf;

use clap::CommandFactory;
use clap::error::ErrorKind;
use libtorch::TORCHAO;

use super::*;

#[path = "../../../tests/common/help.rs"]
mod help;

fn parsed(line: &str) -> std::result::Result<Command, clap::Error> {
    let words = std::iter::once("xtask").chain(line.split_whitespace()).map(OsString::from);
    cli::parsed::<Cli>(words.collect()).map(|cli| cli.command)
}

#[test]
fn the_command_line_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn the_options_of_test_stand_anywhere_before_the_dashes() {
    let words = |line: &str| line.split_whitespace().map(OsString::from).collect();
    for (line, all, nightly, arguments) in [
        ("test", false, false, ""),
        ("test expand -- --nocapture", false, false, "expand -- --nocapture"),
        ("test --all", true, false, ""),
        ("test expand --all -- --all", true, false, "expand -- --all"),
        ("test --nightly", false, true, ""),
        ("test exp_is --nightly -- --test-threads 1", false, true, "exp_is -- --test-threads 1"),
        ("test --lib --nightly", false, true, "--lib"),
        ("test -- --nightly -h", false, false, "-- --nightly -h"),
        ("test --repeat 3", false, false, "--repeat 3"),
    ] {
        let expected = Command::Test { all, nightly, arguments: words(arguments) };
        assert_eq!(parsed(line).expect(line), expected, "{line}");
    }
    assert!(parsed("test --all --nightly").is_err());
}

#[test]
fn every_other_command_is_understood() {
    for (line, same) in [
        ("results repeat fusion", "results repeat fusion"),
        ("results --list", "results --list"),
        ("gpu-check --quick --output a", "gpu-check --output=a --quick"),
        ("compare-torchao a --filter -x", "compare-torchao --filter=-x a"),
        ("setup --cpu --cpu", "setup --cpu"),
    ] {
        assert_eq!(parsed(line).expect(line), parsed(same).expect(same), "{line}");
    }
    let request = gpu_check::Request { output: Some(PathBuf::from("a")), quick: true };
    assert_eq!(parsed("gpu-check --quick --output a").expect("fine"), Command::GpuCheck(request));
}

#[test]
fn anything_else_is_a_usage_error() {
    for (line, what) in [
        ("", "Usage: cargo xtask <COMMAND>"),
        ("instal", "unrecognized subcommand 'instal'"),
        ("calibrate --hardware x --only linear,all", "`all` is every family"),
        ("compare-torchao", "  <CONFIG>"),
        ("compare-torchao a.yml b.yml", "unexpected argument 'b.yml'"),
        ("compare-torchao --filter", "a value is required for '--filter <REGEX>'"),
        ("compare-torchao --json x", "unexpected argument '--json'"),
        ("results speed", "invalid value 'speed' for '[NAME]...'"),
        ("results --list repeat", "'--list' cannot be used with"),
        ("results --fast", "unexpected argument '--fast'"),
        ("gpu-check --output", "a value is required for '--output <DIR>'"),
        ("gpu-check --slow", "unexpected argument '--slow'"),
    ] {
        let error = parsed(line).expect_err(line);
        assert!(error.to_string().contains(what), "{line}: {error}");
        assert_eq!(error.exit_code(), 2, "{line}");
    }
}

#[test]
fn help_fits_on_a_screen_and_its_examples_are_understood() {
    for example in help::examples(Cli::command(), COLUMNS, str::to_owned) {
        let (_, line) = example.split_once("cargo ").expect("a command of cargo's");
        let line = line.split("  ").next().expect("text before the remark");
        if let Some(line) = line.strip_prefix("xtask ") {
            let parsed = parsed(line);
            assert!(parsed.is_ok(), "{example}: {parsed:?}");
        }
    }
}

#[test]
fn every_command_has_its_help() {
    for name in ["bench", "test", "results", "compare-torchao", "gpu-check"] {
        for line in [format!("help {name}"), format!("{name} --help"), format!("{name} -h")] {
            let help = parsed(&line).expect_err(&line);
            assert_eq!(help.kind(), ErrorKind::DisplayHelp, "{line}");
            assert!(help.to_string().contains(&format!("Usage: cargo xtask {name}")), "{help}");
        }
    }
    let help = parsed("test x --help -- y").expect_err("help");
    assert_eq!(help.kind(), ErrorKind::DisplayHelp);
    let help = parsed("compare-torchao --help").expect_err("help").to_string();
    assert!(help.contains(&format!("torchao {TORCHAO}'s own")), "{help}");
}
