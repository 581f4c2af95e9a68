//! The harness against known truth, as far as that takes a clock: measures of known things, and the
//! harness's own cost. `cargo test` has the checks that need no clock.
//!
//! `cargo bench --bench self_test -- --help` shows its options.

mod budget;
mod check;
mod child;
mod decode;
mod faults;
mod gpu;
mod known;
mod options;
mod overhead;
mod parts;
mod planted;
mod repeat;
mod same;
mod sides;
mod torchao;

use std::process::ExitCode;

use check::{Check, Format};
use clap::Parser;
use options::{Command, Options};

/// They run in this order; those of a GPU come after them.
const CHECKS: &[Check] = &[
    overhead::CHECK,
    known::CHECK,
    planted::CHECK,
    decode::CHECK,
    same::CHECK,
    same::UPSTREAM,
    parts::CHECK,
    budget::CHECK,
    faults::CHECK,
];

/// They take minutes, and run only when they are named.
const NAMED: &[Check] = &[repeat::CHECK];

/// The parts of checks that run in processes of their own.
const PARTS: &[child::NamedPart] = &[
    (overhead::PART, overhead::child),
    (budget::OURS, budget::ours),
    (budget::UPSTREAM, budget::upstream),
    (faults::RETAINED, faults::retained),
    (faults::SYSTEM, faults::system),
    (repeat::RUN, repeat::one_run),
];

fn main() -> ExitCode {
    criterion_torch::native::huge_pages::enable();
    if let Some(code) = child::main(&[PARTS, gpu::PARTS].concat()) {
        return code;
    }
    let mut options = Options::parse();
    if let Some(Command::Torchao(options)) = options.command.take() {
        return torchao::main(options);
    }
    let named = if options.text.is_empty() && !options.list { &[] } else { NAMED };
    let selected = || {
        CHECKS.iter().chain(gpu::CHECKS).chain(named).filter(|check| options.selects(check.name))
    };
    if options.list {
        for check in selected() {
            println!("{:13} {}", check.name, check.what);
        }
        return ExitCode::SUCCESS;
    }
    if selected().next().is_none() {
        eprintln!("error: no check has a name with `{}`; `--list` shows the names", options.text);
        return ExitCode::from(2);
    }
    if options.format == Format::Json && selected().any(|check| check.name == repeat::CHECK.name) {
        eprintln!("error: `repeat` prints a table and no JSON: run it without `--format json`");
        return ExitCode::from(2);
    }
    let _no_gradients = tch::no_grad_guard();
    let mut failed = 0;
    for (number, check) in selected().enumerate() {
        eprintln!("[{}/{}] {}: {}", number + 1, selected().count(), check.name, check.what);
        let findings = check.findings();
        failed += findings.iter().filter(|finding| finding.is_failure()).count();
        for finding in findings {
            println!("{}", finding.line(check.name, options.format));
        }
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
