//! The scripts of the comprehensive operator benchmark's document, and Python, which runs them.

use std::path::Path;
use std::process::Command;

#[path = "../../../../tests/common/skip.rs"]
pub mod skip;

/// The file that the document's program writes, and its scripts read.
pub const RESULTS: &str = "benchmark_results.json";

/// The document's block of code below a heading, word for word.
pub fn block(heading: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../plan/tests/documents/comprehensive-operator-benchmarks.md");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file:?}: {error}"));
    let below = text.split_once(&format!("\n{heading}\n")).expect("the heading is there").1;
    let code = below.split("```").nth(1).expect("a block");
    code.split_once('\n').expect("its language, then its code").1.to_owned()
}

/// The document's workflow, whose first step, the measurement, is done already; none without python3.
pub fn workflow(folder: &Path) -> Option<String> {
    let python =
        "python() {\n    [ \"$1\" = benchmarks/comprehensive_benchmark.py ] || python3 \"$@\"\n}\n";
    let script = python.to_owned() + &block("## Example Workflow");
    printed(Command::new("bash").args(["-ec", &script]).current_dir(folder))
}

/// Output of a script that runs in a folder; none without python3.
pub fn python(script: &str, folder: &Path) -> Option<String> {
    printed(Command::new("python3").args(["-c", script]).current_dir(folder))
}

fn printed(command: &mut Command) -> Option<String> {
    if Command::new("python3").arg("--version").output().is_err() {
        skip::tool("no python3");
        return None;
    }
    let output = command.output().expect("it can be started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    Some(String::from_utf8(output.stdout).expect("UTF-8"))
}
