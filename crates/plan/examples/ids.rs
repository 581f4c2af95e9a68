//! Checks configs and prints the id of every case: `cargo run -p criterion-torch-plan --example ids -- FILE…`

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    match plan::load(&files) {
        Ok(plan) => {
            plan.cases().for_each(|case| println!("{}", case.id));
            ExitCode::SUCCESS
        }
        // One line per mistake, with its place and the nearest word.
        Err(mistakes) => {
            eprintln!("{mistakes}");
            ExitCode::FAILURE
        }
    }
}
