use std::path::PathBuf;

use clap::CommandFactory;
use clap::error::ErrorKind;

use super::*;
use ::libtorch::command;

#[path = "../../../tests/common/help.rs"]
mod help;

/// The command of a line, as `cargo xtask` reads it.
pub fn parsed(line: &str) -> Result<Command, clap::Error> {
    let words = std::iter::once("xtask").chain(line.split_whitespace()).map(OsString::from);
    super::parsed::<Cli>(words.collect()).map(|cli| cli.command)
}

#[test]
fn the_command_line_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn our_options_stand_anywhere_before_the_dashes_and_everything_else_is_passed_on() {
    let words = |line: &str| line.split_whitespace().map(OsString::from).collect();
    for (line, repeat, arguments) in [
        ("bench", None, ""),
        ("bench --list", None, "--list"),
        ("bench -- --list", None, "-- --list"),
        ("bench --bench inference -- int8wo --help", None, "--bench inference -- int8wo --help"),
        ("bench -- -- -s", None, "-- -- -s"),
        ("bench x -- --repeat=3 --list", None, "x -- --repeat=3 --list"),
        ("bench --repeat 8", Some(8), ""),
        ("bench --repeat=8 --bench x", Some(8), "--bench x"),
        ("bench --bench x --repeat 3 -- -s pr --repeat", Some(3), "--bench x -- -s pr --repeat"),
        ("bench --repeat 2 --repeat 1", Some(1), ""),
        ("bench --nightly", None, "--nightly"),
    ] {
        let (budget, full, device, verbose, torchao_output) = (None, false, None, false, None);
        let arguments = words(arguments);
        let expected =
            Command::Bench { repeat, budget, full, device, verbose, torchao_output, arguments };
        assert_eq!(parsed(line).expect(line), expected, "{line}");
    }
    for line in ["bench --budget 3min", "bench x --device cuda --budget=3min -- y"] {
        let Ok(Command::Bench { budget, .. }) = parsed(line) else { panic!("{line}") };
        assert_eq!(budget.as_deref(), Some("3min"), "{line}");
    }
}

#[test]
fn torchaos_folder_stands_behind_an_equals_sign() {
    for (line, expected, passed_on) in [
        ("bench --torchao-output int8wo", Some(None), &["int8wo"][..]),
        (
            "bench --bench x --torchao-output=out -- y",
            Some(Some("out")),
            &["--bench", "x", "--", "y"],
        ),
        ("bench -- --torchao-output", None, &["--", "--torchao-output"]),
    ] {
        let Command::Bench { torchao_output, arguments, .. } = parsed(line).expect(line) else {
            panic!("{line}")
        };
        let expected = expected.map(|folder| folder.map(PathBuf::from));
        assert_eq!(
            (torchao_output, arguments),
            (expected, passed_on.iter().map(Into::into).collect())
        );
    }
    let both =
        parsed("bench --repeat 3 --torchao-output").expect_err("no report follows several runs");
    assert!(both.to_string().contains("cannot be used with"), "{both}");
}

#[test]
fn every_other_command_is_understood() {
    for (line, same) in [
        ("setup --cpu --cpu", "setup --cpu"),
        ("setup --python --cpu", "setup --cpu --python"),
        ("cache --format table", "cache"),
        ("cache list --format table", "cache list"),
        ("cache clear --older-than 3 all", "cache clear all --older-than=3"),
        (
            "calibrate --fusion-patterns conv,linear --hardware a --quick",
            "calibrate --quick --hardware a --only=conv,linear",
        ),
        ("operators --operations Loss,GELU", "operators --operations=Loss,gelu"),
        ("bundle --output a.tar -- x", "bundle --output=a.tar -- x"),
        (
            "bundle --output a.tar -p b --bench c --config d --compiled",
            "bundle --compiled --config=d --bench=c --package=b --profile bench --output=a.tar",
        ),
        ("flavour", "flavour"),
        ("python", "python"),
        ("doctor", "doctor"),
    ] {
        assert_eq!(parsed(line).expect(line), parsed(same).expect(same), "{line}");
    }
}

#[test]
fn anything_else_is_a_usage_error() {
    for (line, what) in [
        ("", "Usage: cargo xtask <COMMAND>"),
        ("instal", "unrecognized subcommand 'instal'"),
        ("bench --repeat", "a value is required for '--repeat <N>'"),
        ("bench --repeat --bench x", "invalid value '--bench' for '--repeat <N>'"),
        ("bench --repeat -- x", "invalid value '--' for '--repeat <N>'"),
        ("bench --repeat 0", "'--repeat <N>': it is a number of runs, 1 or more"),
        ("bench --repeat=", "invalid value '' for '--repeat <N>'"),
        ("compare-branches a", "  <B>"),
        ("setup --rocm", "unexpected argument '--rocm'"),
        ("setup cpu", "unexpected argument 'cpu'"),
        ("setup --cpu --cuda", "'--cpu' cannot be used with '--cuda'"),
        ("cache clear", "  <WHAT>"),
        ("cache clear torch", "[possible values: compiled, kernels, all]"),
        ("cache clear all --older-than -1", "unexpected argument '-1'"),
        ("cache clear all --older-than soon", "invalid value 'soon' for '--older-than <DAYS>'"),
        ("cache clear all --format json", "unexpected argument '--format'"),
        ("cache --format json clear all", "cannot be used with"),
        ("cache --older-than 3", "unexpected argument '--older-than'"),
        ("cache list --format csv", "[possible values: table, json]"),
        ("cache show", "unrecognized subcommand 'show'"),
        ("bundle", "  --output <FILE>"),
        ("bundle --output a.tar x", "unexpected argument 'x'"),
        ("flavour --cpu", "unexpected argument '--cpu'"),
        ("python -c", "unexpected argument '-c'"),
        ("doctor --fix", "unexpected argument '--fix'"),
    ] {
        let error = parsed(line).expect_err(line);
        assert!(error.to_string().contains(what), "{line}: {error}");
        assert_eq!(error.exit_code(), 2, "{line}");
    }
}

#[test]
fn help_fits_on_a_screen_and_its_examples_are_understood() {
    let installed = |text: &str| text.replace(name::ALIAS, command::INSTALLED);
    for example in help::examples(Cli::command(), COLUMNS, installed) {
        let (_, line) = example.split_once("cargo ").expect("a command of cargo's");
        let line = line.split("  ").next().expect("text before the remark");
        if let Some(line) = line.strip_prefix("torch-bench ") {
            let parsed = parsed(line);
            assert!(parsed.is_ok(), "{example}: {parsed:?}");
        }
    }
}

#[test]
fn every_command_has_its_help() {
    for command in Cli::command().get_subcommands() {
        let name = command.get_name();
        for line in [format!("help {name}"), format!("{name} --help"), format!("{name} -h")] {
            let help = parsed(&line).expect_err(&line);
            assert_eq!(help.kind(), ErrorKind::DisplayHelp, "{line}");
            assert!(help.to_string().contains(&format!("Usage: cargo xtask {name}")), "{help}");
        }
    }
    for line in ["bench --repeat 3 --help", "bench --bench x -h"] {
        assert_eq!(parsed(line).expect_err(line).kind(), ErrorKind::DisplayHelp, "{line}");
    }
}

#[test]
fn the_page_about_bundles_names_every_option() {
    let page = include_str!("../../../docs/book/src/scale/bundle.md");
    let cli = Cli::command();
    let bundle = cli.find_subcommand("bundle").expect("there is one").clone();
    for command in [bundle, crate::bundle::run::command_line()] {
        for option in command.get_arguments().filter_map(|it| it.get_long()) {
            let is_own = !["help", "version"].contains(&option);
            assert!(!is_own || page.contains(&format!("| `--{option}")), "{option}");
        }
    }
}
