//! The harness against known truth, as far as that takes a clock: measures of known things, and the
//! harness's own cost. `cargo test` has the checks that need no clock.
//!
//! ```text
//! cargo bench --bench self_test               # all checks, about two minutes, and one for a GPU
//! cargo bench --bench self_test -- planted    # those whose name holds the text
//! cargo bench --bench self_test -- repeat     # eight runs of the default suite, about six minutes
//! cargo bench --bench self_test -- --list
//! cargo bench --bench self_test -- device --exact   # the one of this name, not `device-memory`
//! cargo bench --bench self_test -- --format json    # a JSON object per finding and line
//! ```
//!
//! Findings go to standard output, progress to standard error.
//!
//! `torchao` as the first argument is no check: it compares our times with torchao's (torchao.rs).
//!
//! Exits with 1 when a check fails. Run it on a quiet machine: it is about the machine too.

mod budget;
mod check;
mod child;
mod decode;
mod faults;
mod gpu;
mod known;
mod options;
mod overhead;
mod planted;
mod repeat;
mod same;
mod sides;
mod torchao;

use std::process::ExitCode;

use check::{Check, Format};
use options::Options;

/// They run in this order; those of a GPU come after them.
const CHECKS: &[Check] = &[
    overhead::CHECK,
    known::CHECK,
    planted::CHECK,
    decode::CHECK,
    same::CHECK,
    same::UPSTREAM,
    budget::CHECK,
    faults::CHECK,
];

/// They take minutes, and run only when they are named.
const NAMED: &[Check] = &[repeat::CHECK];

/// The parts of checks that run in processes of their own.
const PARTS: &[child::Part] = &[
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
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [command, rest @ ..] = arguments.as_slice()
        && command == torchao::COMMAND
    {
        return torchao::main(rest);
    }
    let options = match Options::read(arguments) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    let named = if options.text.is_empty() && !options.lists { &[] } else { NAMED };
    let selected = || {
        CHECKS.iter().chain(gpu::CHECKS).chain(named).filter(|check| options.selects(check.name))
    };
    if options.lists {
        for check in selected() {
            println!("{:13} {}", check.name, check.what);
        }
        return ExitCode::SUCCESS;
    }
    if selected().next().is_none() {
        eprintln!("error: no check is called `{}`; `--list` shows them", options.text);
        return ExitCode::from(2);
    }
    if options.format == Format::Json && selected().any(|check| check.name == repeat::CHECK.name) {
        eprintln!("error: `repeat` prints a table, which is not JSON: leave `--format json` out");
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
