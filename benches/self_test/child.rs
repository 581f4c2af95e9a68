//! Parts of a check that need a process of their own: this program, started again.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, ExitCode, Output};
use std::time::{Duration, Instant};

use criterion_torch::refusal::Refusal;
use plan::Record;

/// Says which part a child is to run.
const PART: &str = "CRITERION_TORCH_SELF_TEST_PART";

/// A part, by its name.
pub type NamedPart = (&'static str, fn() -> ExitCode);

/// Runs the one of `parts` that the environment names; `None` in the program that the user started.
pub fn main(parts: &[NamedPart]) -> Option<ExitCode> {
    let name = std::env::var(PART).ok()?;
    let part = parts.iter().find(|(part, _)| *part == name);
    Some(part.map_or(ExitCode::from(2), |(_, run)| run()))
}

/// The output and status of a child that ended.
pub struct Ended {
    /// Wall time of the process, start and end included.
    pub wall: Duration,
    /// Its standard output.
    pub stdout: String,
}

/// Starts this program as `part`, with criterion's files under `home`.
pub fn start(part: &str, home: &Path, arguments: &[&str]) -> Result<Ended, Refusal> {
    let start = Instant::now();
    let home = home.join("criterion");
    let output = run(part, arguments, &[("CRITERION_HOME", home.as_os_str())])?;
    let wall = start.elapsed();
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Refusal::Failed(format!("{part}: {}: {}", output.status, said.trim())));
    }
    Ok(Ended { wall, stdout: String::from_utf8_lossy(&output.stdout).into_owned() })
}

/// Starts this program as `part` and waits for its end, however it ends.
pub fn run(
    part: &str,
    arguments: &[&str],
    environment: &[(&str, &OsStr)],
) -> Result<Output, Refusal> {
    let output = std::env::current_exe().and_then(|program| {
        let environment = environment.iter().copied();
        Command::new(program).args(arguments).env(PART, part).envs(environment).output()
    });
    output.map_err(|error| Refusal::Failed(format!("{part}: cannot be started: {error}")))
}

/// The median of criterion's estimates in a folder, in nanoseconds, with its interval.
pub fn median(folder: &Path) -> Result<[f64; 3], Refusal> {
    let path = folder.join("new/estimates.json");
    let read = || -> Option<[f64; 3]> {
        let text = std::fs::read_to_string(&path).ok()?;
        let estimates: serde_json::Value = serde_json::from_str(&text).ok()?;
        let median = &estimates["median"];
        let interval = &median["confidence_interval"];
        Some([
            median["point_estimate"].as_f64()?,
            interval["lower_bound"].as_f64()?,
            interval["upper_bound"].as_f64()?,
        ])
    };
    read().ok_or_else(|| {
        Refusal::Failed(format!("{} holds no estimate of criterion's", path.display()))
    })
}

/// The records that a child left under `home`.
pub fn records(home: &Path) -> Result<Vec<Record>, Refusal> {
    let path = home.join("criterion-torch/new/inference.jsonl");
    let failed = |error: String| Refusal::Failed(format!("{}: {error}", path.display()));
    let text = std::fs::read_to_string(&path).map_err(|error| failed(error.to_string()))?;
    let record = |line| serde_json::from_str(line).map_err(|error| failed(error.to_string()));
    text.lines().map(record).collect()
}

/// A folder for criterion's files, removed with the value.
pub fn home() -> Result<tempfile::TempDir, Refusal> {
    tempfile::tempdir().map_err(|error| Refusal::Failed(format!("a temporary folder: {error}")))
}
