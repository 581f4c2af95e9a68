//! `export`, what it writes and what is read back of it; `validate`; `schema`.

#[path = "../common/mod.rs"]
mod common;
mod formats;
mod read_back;

use clap::Parser;
use criterion_report::write::{Target, Writer};

const TARGET: Target<'_> = Target { colour_terminal: false, width: None, file: None };

/// The writer that a command line asks for.
fn writer(command: &str) -> Writer {
    #[derive(Parser)]
    #[command(no_binary_name = true)]
    struct Command {
        #[command(subcommand)]
        writer: Writer,
    }
    Command::parse_from(command.split(' ')).writer
}
