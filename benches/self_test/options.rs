//! The options of the command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use regex::Regex;

use crate::check::Format;

const EXAMPLES: &str = "\
Examples:
  cargo bench --bench self_test                      all checks but repeat, about two minutes
  cargo bench --bench self_test -- planted           the checks whose name contains planted
  cargo bench --bench self_test -- repeat            eight runs of the default suite, six minutes

Read more: docs/book/src/method/tester.md";

const TORCHAO: &str = "\
Example:
  cargo bench --bench self_test -- torchao configs/suites/recipes-cpu.yml --filter /int8wo/

Read more: docs/book/src/method/torchao.md";

/// Check the harness against values that are known beforehand
///
/// Findings go to standard output, progress to standard error. Run it on a quiet machine: the result
/// depends on the machine, too.
///
/// Exit codes: 0 no check failed; 1 a check failed; 2 wrong usage.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo bench --bench self_test --", max_term_width = 100)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
#[command(after_long_help = EXAMPLES)]
pub struct Options {
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Only checks whose name contains this text
    #[arg(value_name = "CHECK", default_value = "", hide_default_value = true)]
    pub text: String,
    /// Take CHECK as a whole name: `device` is part of `device-memory`
    #[arg(long)]
    pub exact: bool,
    /// Print the names of the checks, and run none
    #[arg(long)]
    pub list: bool,
    /// Lines of text, or a JSON object per finding and line
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
    /// Cargo adds it to what the user wrote.
    #[arg(long, hide = true, global = true)]
    bench: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compare our times with torchao's; `compare-torchao` of the command-line tool provides its Python
    #[command(after_long_help = TORCHAO)]
    Torchao(Torchao),
}

/// The cases that are compared with torchao's.
#[derive(Debug, Args)]
pub struct Torchao {
    /// The config whose cases are compared
    pub config: PathBuf,
    /// Only cases whose id matches
    #[arg(long, value_name = "REGEX", allow_hyphen_values = true)]
    pub filter: Option<Regex>,
}

impl Options {
    /// Whether the check of this name is selected.
    pub fn selects(&self, name: &str) -> bool {
        if self.exact { name == self.text } else { name.contains(&self.text) }
    }
}
