//! Blocks of `sh`: the shell reads them, and each command's own parser its arguments.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use cargo_torch_bench::cli::CommandLine;
use clap::Parser as _;
use criterion_report::cli::Cli;
use plan::flag;
use regex::Regex;

use crate::Fault;
use crate::common::root;

/// Programs that are not ours, and cargo's own commands.
const PROGRAMS: &str = "apt-get cat cd chromium cp critcmp curl echo export git jq mdbook mkdir nsys pip python3 \
                        rm sbatch sha256sum sudo tar uv";
const CARGOS: &str = "add build check clippy doc fmt fuzz insta install new package run test";
const TARGETS: [&str; 5] = ["inference", "fusion", "operators", "calibration", "kernels"];

pub fn check(body: &str) -> Result<(), Fault> {
    let syntax = Command::new("sh").args(["-n", "-c", body]).output().expect("a shell");
    if !syntax.status.success() {
        return Err(String::from_utf8_lossy(&syntax.stderr).into_owned());
    }
    for line in body.replace("\\\n", " ").lines() {
        let words = shlex::split(line).ok_or(format!("`{line}`: a quote is open"))?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        for command in words.split(|word| ["|", "&&", "||", ";"].contains(word)) {
            self::command(command).map_err(|fault| format!("`{line}`: {fault}"))?;
        }
    }
    Ok(())
}

fn command(words: &[&str]) -> Result<(), Fault> {
    let is_variable = |word: &&&str| {
        let name = word.split_once('=').map_or("=", |(name, _)| name);
        name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
    };
    let (variables, words) = words.split_at(words.iter().take_while(is_variable).count());
    let words = words.split(|word| word.starts_with('>')).next().unwrap_or_default();
    let config = variables.iter().find_map(|it| it.strip_prefix("BENCH_CONFIG="));
    match words {
        [] => Ok(()),
        ["cargo", "xtask", rest @ ..] => tool::<xtask::Cli>(rest, config),
        ["cargo", "torch-bench", rest @ ..] => tool::<cargo_torch_bench::cli::Cli>(rest, config),
        ["cargo", "bench-quick" | "bench-full", rest @ ..] => {
            tool::<xtask::Cli>(&[&["kernels"][..], rest].concat(), config)
        }
        ["cargo", "criterion-report", rest @ ..] | ["criterion-report", rest @ ..] => {
            outcome(Cli::try_parse_from(["criterion-report"].iter().chain(rest)).map(drop))
        }
        ["cargo", "bench", rest @ ..] => bench(rest, config),
        [word, rest @ ..] if word.ends_with("/bin/criterion-report") => {
            outcome(Cli::try_parse_from(["criterion-report"].iter().chain(rest)).map(drop))
        }
        [word, rest @ ..] if word.ends_with("/torch-bench-run") => {
            let words = [word].into_iter().chain(rest).map(OsString::from).collect();
            outcome(cargo_torch_bench::check_runner(words))
        }
        ["cargo", word, ..] if known(CARGOS, word) => Ok(()),
        [word, ..] if known(PROGRAMS, word) || root().join(word).is_file() => Ok(()),
        [word, ..] => Err(format!("`{word}` is no known program")),
    }
}

fn known(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|it| it == word)
}

fn tool<C: CommandLine>(words: &[&str], config: Option<&str>) -> Result<(), Fault> {
    let words = ["xtask"].iter().chain(words).map(OsString::from).collect();
    let mut passed_on = Vec::new();
    outcome(cargo_torch_bench::check::<C>(words).map(|words| passed_on = words))?;
    let passed_on: Vec<_> = passed_on.iter().map(|word| word.to_string_lossy()).collect();
    bench(&passed_on.iter().map(|word| &**word).collect::<Vec<_>>(), config)
}

/// Help is no mistake.
fn outcome(parsed: Result<(), clap::Error>) -> Result<(), Fault> {
    parsed.or_else(|error| if error.use_stderr() { Err(error.to_string()) } else { Ok(()) })
}

/// The options of `cargo bench` that documents name.
const CARGO_BENCH: &str = "-p --package --workspace --bench --benches --features --no-default-features --no-run --profile --target --locked --offline --quiet -q";

/// The target is there, the options are criterion's or ours, and the filter selects a case.
fn bench(words: &[&str], config: Option<&str>) -> Result<(), Fault> {
    let end = words.iter().position(|word| *word == "--").unwrap_or(words.len());
    let (cargos, ours) = words.split_at(end);
    let is_option = |word: &&&str| {
        word.starts_with('-') && !known(CARGO_BENCH, word.split('=').next().unwrap_or(word))
    };
    if let Some(unknown) = cargos.iter().find(is_option) {
        return Err(format!("`{unknown}` is no option of `cargo bench`"));
    }
    let target = cargos.iter().position(|it| *it == "--bench").and_then(|at| cargos.get(at + 1));
    let manifests = ["Cargo.toml", "criterion-report/Cargo.toml"];
    let manifests = manifests.map(|it| fs::read_to_string(root().join(it)).expect("readable"));
    let has =
        |target: &str| manifests.concat().contains(&format!("[[bench]]\nname = \"{target}\"\n"));
    if let Some(unknown) = target.filter(|target| !has(target)) {
        return Err(format!("there is no bench target `{unknown}`"));
    }
    let ours: Vec<String> = ours.iter().skip(1).map(|word| (*word).to_owned()).collect();
    let filter = flag::filter(&ours);
    if target.is_some_and(|target| !TARGETS.contains(target)) {
        return Ok(());
    }
    let mut options =
        flag::words(&ours).filter(|it| it.written.starts_with('-') && it.written != "--");
    if let Some(unknown) = options.find(|it| it.option.is_none()) {
        return Err(format!("`{}` is no option of a bench target", unknown.written));
    }
    let is_placeholder = |filter: &str| filter.chars().all(|c| c.is_ascii_uppercase());
    match filter {
        Some((filter, exact)) if !is_placeholder(filter) => {
            selects(filter, exact, target.copied(), config)
        }
        _ => Ok(()),
    }
}

fn selects(
    filter: &str,
    exact: bool,
    target: Option<&str>,
    config: Option<&str>,
) -> Result<(), Fault> {
    let files: Vec<PathBuf> = match config.map(|it| root().join(it)) {
        // A reader's own.
        Some(file) if !file.exists() => return Ok(()),
        Some(file) => vec![file],
        None => {
            let targets = TARGETS.iter().filter(|it| target.is_none_or(|target| **it == target));
            let folders = targets.map(|it| root().join("configs").join(it));
            let files = folders.flat_map(|it| fs::read_dir(it).expect("readable"));
            files.map(|entry| entry.expect("readable").path()).collect()
        }
    };
    let plan = plan::load(&files).map_err(|errors| errors.to_string())?;
    let regex = Regex::new(filter).map_err(|error| error.to_string())?;
    let mut ids = plan.cases().map(|case| case.id.to_string());
    let is_any = ids.any(|id| if exact { id == filter } else { regex.is_match(&id) });
    if is_any { Ok(()) } else { Err(format!("`{filter}` selects no case")) }
}

#[test]
fn wrong_commands_are_found() {
    for (line, what) in [
        ("cargo torch-bench results", "unrecognized subcommand 'results'"),
        ("cargo xtask bnech", "unrecognized subcommand 'bnech'"),
        ("cargo criterion-report show --colums x", "unexpected argument"),
        ("cargo bench --bench infrence", "no bench target `infrence`"),
        ("cargo bench -- --saev-baseline x", "no option"),
        ("cargo xtask bench --bugdet 3min", "`--bugdet` is no option of `cargo bench`"),
        ("cargo xtask bench -- int8w0", "selects no case"),
        ("cargo bench -- int8w0", "selects no case"),
        ("cargo bench --bench fusion -- int8wo", "selects no case"),
        ("cargo xtask doctor && frobnicate", "`frobnicate` is no known program"),
        ("cargo xtask 'doctor", ""),
    ] {
        let fault = check(line).expect_err(line);
        assert!(fault.contains(what), "{line}: {fault}");
    }
    for line in [
        "# a comment\ncargo xtask setup  # more",
        "BENCH_CONFIG=my.yml cargo bench -- whatever",
        "cargo bench -- FILTER --save-baseline main | cat > x",
    ] {
        assert_eq!(check(line), Ok(()), "{line}");
    }
}
