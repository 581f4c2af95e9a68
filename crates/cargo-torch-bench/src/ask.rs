//! Programs that are asked a short question, such as their version, with a time limit.

use std::ffi::OsStr;
use std::fmt;
use std::io::ErrorKind;
use std::process::Command;
use std::time::Duration;

use ::libtorch::child::{self, Ended, Patience, RunError};

/// Names another limit, in seconds.
const VARIABLE: &str = "CRITERION_TORCH_ASK_S";

/// A driver that wakes up, or a Python on a network drive, takes seconds.
const LIMIT_S: f64 = 20.0;

/// Why a program gave no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeError {
    /// There is no such program.
    NotFound,
    /// It cannot be run, or hangs: what happened.
    Other(String),
}

impl fmt::Display for ProbeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("not found"),
            Self::Other(what) => f.write_str(what),
        }
    }
}

/// Runs the program; how it ended is the caller's to judge. One that hangs is killed.
pub fn ask<A: AsRef<OsStr>>(
    program: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = A>,
) -> Result<Ended, ProbeError> {
    let mut command = Command::new(program);
    command.args(arguments);
    ended(command)
}

/// As [`ask`], for a command that is prepared.
pub fn ended(command: Command) -> Result<Ended, ProbeError> {
    run(command, "asking", limit(std::env::var(VARIABLE).ok().as_deref()))
}

/// Asks any program within a limit; `what` it does is for messages.
pub fn run(command: Command, what: &str, limit: Duration) -> Result<Ended, ProbeError> {
    child::run(command, b"", what, Patience { quiet: None, limit }).map_err(|error| match error {
        RunError::Start(error) if error.kind() == ErrorKind::NotFound => ProbeError::NotFound,
        RunError::Start(error) => ProbeError::Other(format!("cannot be run: {error}")),
        RunError::Failed(what) => ProbeError::Other(what),
        RunError::Hung(what) => ProbeError::Other(what),
    })
}

/// The first line that the program prints, if it succeeds.
pub fn first_line<A: AsRef<OsStr>>(
    program: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = A>,
) -> Result<String, ProbeError> {
    let Ended { status, stdout, .. } = ask(program, arguments)?;
    if !status.success() {
        return Err(ProbeError::Other(format!("ends with {status}")));
    }
    let text = String::from_utf8_lossy(&stdout);
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

fn limit(asked: Option<&str>) -> Duration {
    let asked = asked.and_then(|text| text.trim().parse::<f64>().ok());
    let sound = asked.filter(|seconds| *seconds > 0.0);
    let limit = |seconds: f64| Duration::try_from_secs_f64(seconds).ok();
    sound.and_then(limit).unwrap_or(Duration::from_secs_f64(LIMIT_S))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_the_variables_where_that_is_a_time() {
        let default = Duration::from_secs_f64(LIMIT_S);
        for (asked, expected) in [
            (Some("0.5"), Duration::from_millis(500)),
            (Some(" 60 "), Duration::from_secs(60)),
            (None, default),
            (Some("soon"), default),
            (Some("-1"), default),
            (Some("NaN"), default),
            (Some("1e300"), default),
        ] {
            assert_eq!(limit(asked), expected, "{asked:?}");
        }
    }

    #[test]
    fn silence_says_why() {
        let sh = |script: &str| first_line("sh", ["-c", script]);
        assert_eq!(sh("echo ' 1.2 '; echo more"), Ok("1.2".to_owned()));
        let fails = sh("exit 3").unwrap_err().to_string();
        assert!(fails.contains("exit status: 3"), "{fails}");
        assert_eq!(first_line("/nowhere/x", [""; 0]), Err(ProbeError::NotFound));
    }
}
