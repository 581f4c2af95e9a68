//! Parts of a check that need a process of their own: this program, started again.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, ExitCode, Output};
use std::time::{Duration, Instant};

use plan::Record;

/// Says which part a child is to run.
const PART: &str = "CRITERION_TORCH_SELF_TEST_PART";

/// A part, by its name.
pub type Part = (&'static str, fn() -> ExitCode);

/// Runs the one of `parts` that the environment names; `None` in the program that the user started.
pub fn main(parts: &[Part]) -> Option<ExitCode> {
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
///
/// # Errors
/// When it cannot be started, or when it fails; with what it said.
pub fn start(part: &str, home: &Path, arguments: &[&str]) -> Result<Ended, String> {
    let start = Instant::now();
    let home = home.join("criterion");
    let output = run(part, arguments, &[("CRITERION_HOME", home.as_os_str())])?;
    let wall = start.elapsed();
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{part}: {}: {}", output.status, said.trim()));
    }
    Ok(Ended { wall, stdout: String::from_utf8_lossy(&output.stdout).into_owned() })
}

/// Starts this program as `part` and waits for its end, however it ends.
///
/// # Errors
/// When it cannot be started.
pub fn run(
    part: &str,
    arguments: &[&str],
    environment: &[(&str, &OsStr)],
) -> Result<Output, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    Command::new(program)
        .args(arguments)
        .env(PART, part)
        .envs(environment.iter().copied())
        .output()
        .map_err(|error| format!("{part}: cannot be started: {error}"))
}

/// The median of criterion's estimates in a folder, in nanoseconds, with its interval.
///
/// # Errors
/// When there is none.
pub fn median(folder: &Path) -> Result<[f64; 3], String> {
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
    read().ok_or_else(|| format!("{} holds no estimate of criterion's", path.display()))
}

/// The records that a child left under `home`.
///
/// # Errors
/// When there are none, or when one cannot be read.
pub fn records(home: &Path) -> Result<Vec<Record>, String> {
    let path = home.join("criterion-torch/new/inference.jsonl");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let record = |line| serde_json::from_str(line).map_err(|error| error.to_string());
    text.lines().map(record).collect()
}
