//! `export`, what it writes and what is read back of it; `validate`; `schema`.

mod columns;
mod commands;
mod formats;
mod otava;
mod read_back;
#[cfg(feature = "schema")]
mod schemas;
mod validate;

use clap::Parser;
use criterion_report::cli::writer::Writer;
use criterion_report::views::written::Target;

const TARGET: Target<'_> = Target { colour_terminal: false, width: None, file: None };

#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Command {
    #[command(subcommand)]
    writer: Writer,
}

/// The writer that a command line asks for.
pub fn writer(command: &str) -> Writer {
    Command::parse_from(command.split(' ')).writer
}

/// Why a command line asks for none.
fn refused(command: &str) -> String {
    match Command::try_parse_from(command.split(' ')) {
        Ok(command) => panic!("it was understood: {command:?}"),
        Err(error) => error.to_string(),
    }
}
