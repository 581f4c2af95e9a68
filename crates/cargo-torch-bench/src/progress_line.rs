//! A run of benchmarks as one line that is rewritten; what they print goes to a file.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, IsTerminal as _, Write as _};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use plan::budget::{SHARED, Shared};

use crate::bench_arguments::{budget_s, split};
use crate::cargo;
use crate::error::{Error, Result};
use crate::files;
use crate::human;

/// Has cargo run the other bench targets, too, when cases of one have failed. Its exit code is 101 then, whatever theirs were.
const KEEP_GOING: &str = "--no-fail-fast";
/// Lines of the file that are shown of a run that died.
const LAST: usize = 20;
/// Columns of a terminal that does not say how many it has.
const COLUMNS: usize = 80;

/// Runs `cargo bench` with these arguments. With a `log`, its output goes there and a progress line over the listed
/// cases is shown; without one, all output goes to the terminal.
pub fn measure(
    bench: impl Fn(&[OsString]) -> Command,
    arguments: &[OsString],
    log: Option<&Path>,
) -> Result<ExitStatus> {
    let (of_cargo, of_criterion) = split(arguments);
    let mut words = arguments.to_vec();
    if log.is_some() && !of_cargo.iter().any(|word| word == KEEP_GOING) {
        words.insert(0, KEEP_GOING.into());
    }
    let mut cargo = bench(&words);
    let total_s = budget_s(of_criterion)?;
    if log.is_none() && total_s.is_none() {
        return cargo::status(cargo);
    }
    let listing = ["--".into(), "--list".into()];
    let listing = [of_cargo, &listing, of_criterion].concat();
    let mut listing = bench(&listing);
    // Lives until everything is measured.
    let shared = total_s.map(|_| shared_file()).transpose()?;
    if let Some(shared) = &shared {
        listing.env(SHARED, shared.path());
        cargo.env(SHARED, shared.path());
    }
    let cases = cargo::listed_cases(&mut listing)?;
    if let (Some(total_s), Some(shared)) = (total_s, &shared) {
        check(shared.path(), total_s)?;
    }
    let Some(log) = log else { return cargo::status(cargo) };
    log.parent().map_or(Ok(()), files::make_folder)?;
    run(cargo, cases, log)
}

/// The file by which the bench targets share a budget.
pub fn shared_file() -> Result<tempfile::NamedTempFile> {
    let made = tempfile::NamedTempFile::with_prefix("torch-bench-budget-");
    made.map_err(|error| Error::io("make a file in", &std::env::temp_dir(), &error))
}

/// Refuses a total budget that is not enough for all bench targets, which have listed their cases.
pub fn check(shared: &Path, total_s: f64) -> Result<()> {
    let needs = Shared::read(shared).map_err(|error| Error::io("read", shared, &error))?;
    needs.check(total_s).map_err(Error::usage)
}

/// Runs `cargo bench` over so many cases. Progress goes to stderr, if that is a terminal; of a run that did not
/// come to its end, so do the last lines.
fn run(mut cargo: Command, cases: usize, log: &Path) -> Result<ExitStatus> {
    let unwritable =
        |error: io::Error| Error::new(format!("cannot write {}: {error}", log.display()));
    let mut file = File::create(log).map_err(unwritable)?;
    // One pipe keeps the order of both.
    let piped = |error: io::Error| Error::new(format!("no pipe to the benchmarks: {error}"));
    let (reader, writer) = io::pipe().map_err(piped)?;
    cargo.stdout(writer.try_clone().map_err(piped)?).stderr(writer);
    let mut child = cargo.spawn().map_err(|error| cargo::not_run(&cargo, &error))?;
    // This closes our ends of the pipe.
    drop(cargo);

    let mut line = ProgressLine::new(cases);
    let mut last = VecDeque::new();
    let mut failures = Vec::new();
    for text in BufReader::new(reader).split(b'\n') {
        let text =
            text.map_err(|error| Error::new(format!("cannot read the benchmarks: {error}")))?;
        let text = String::from_utf8_lossy(&text);
        writeln!(file, "{text}").map_err(unwritable)?;
        line.see(&text);
        failures.extend(failure(&text));
        last.push_back(text.into_owned());
        if last.len() > LAST {
            last.pop_front();
        }
    }
    line.line.clear();
    let status = child.wait().map_err(|error| Error::new(format!("the benchmarks: {error}")))?;
    let only_cases =
        !failures.is_empty() && failures.iter().all(|it| *it == Some(cargo::CASES_FAILED));
    let status = if only_cases { exit_status(cargo::CASES_FAILED) } else { status };
    if !status.success() && status.code() != Some(cargo::CASES_FAILED) {
        last.iter().for_each(|text| eprintln!("{text}"));
    }
    Ok(status)
}

/// How a bench target has failed, by what cargo says of it: its exit code, or no code of one that a signal ended.
fn failure(text: &str) -> Option<Option<i32>> {
    let (_, ended) =
        text.trim_start().strip_prefix("process didn't exit successfully: ")?.rsplit_once(" (")?;
    Some(ended.strip_prefix("exit status: ").and_then(|it| it.strip_suffix(')')?.parse().ok()))
}

#[cfg(unix)]
fn exit_status(code: i32) -> ExitStatus {
    std::os::unix::process::ExitStatusExt::from_raw(code << 8)
}

#[cfg(windows)]
fn exit_status(code: i32) -> ExitStatus {
    std::os::windows::process::ExitStatusExt::from_raw(code as u32)
}

/// One line on stderr that is overwritten; none where stderr is no terminal.
pub struct Line {
    columns: Option<usize>,
}

impl Line {
    pub fn new() -> Self {
        let size = terminal_size::terminal_size_of(io::stderr());
        let columns = size.map_or(COLUMNS, |(columns, _)| columns.0.into());
        Self { columns: io::stderr().is_terminal().then_some(columns) }
    }

    pub fn show(&self, text: &str) {
        if let Some(columns) = self.columns {
            let text: String = text.chars().take(columns.saturating_sub(1)).collect();
            eprint!("\r\x1b[2K{text}");
        }
    }

    pub fn clear(&self) {
        if self.columns.is_some() {
            eprint!("\r\x1b[2K");
        }
    }
}

struct ProgressLine {
    started: Instant,
    cases: usize,
    begun: usize,
    line: Line,
}

impl ProgressLine {
    fn new(cases: usize) -> Self {
        Self { started: Instant::now(), cases, begun: 0, line: Line::new() }
    }

    fn see(&mut self, text: &str) {
        let Some(case) = case(text) else { return };
        self.begun += 1;
        self.line.show(&status_line(self.begun, self.cases, case, self.started.elapsed()));
    }
}

/// The case that a line of a benchmark announces: `[3/16, about 20 s left] inference/…`.
fn case(text: &str) -> Option<&str> {
    let (head, case) = text.strip_prefix('[')?.split_once("] ")?;
    let (place, _) = head.split_once(", ")?;
    let (number, of) = place.split_once('/')?;
    let is_case = !case.contains(' ');
    ([number, of].iter().all(|it| it.parse::<usize>().is_ok()) && is_case).then_some(case)
}

/// `17 of 60, about 50 s left: fusion/…`
fn status_line(begun: usize, cases: usize, case: &str, elapsed: Duration) -> String {
    let done = begun - 1;
    if done == 0 {
        return format!("{begun} of {cases}: {case}");
    }
    let left = elapsed.mul_f64(cases.saturating_sub(done) as f64 / done as f64);
    format!("{begun} of {cases}, about {} left: {case}", human::duration(left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_has_failed_with_the_code_that_cargo_names() {
        let of = |end: &str| {
            failure(&format!("  process didn't exit successfully: `/x (y) --bench` ({end})"))
        };
        assert_eq!(of("exit status: 1"), Some(Some(1)));
        assert_eq!(of("exit status: 101"), Some(Some(101)));
        assert_eq!(of("signal: 11, SIGSEGV: invalid memory reference"), Some(None));
        assert_eq!(failure("inference: 5 cases: 4 measured, 1 failed"), None);
    }

    #[test]
    fn only_announcements_of_cases_move_the_line() {
        let id = "inference/default/linear/cpu/int8wo/bf16-1x4096x4096";
        assert_eq!(case(&format!("[3/16, about 20 s left] {id}")), Some(id));
        for other in [
            "[3/16, about 20 s left] further looks at 2 speed-ups",
            "Benchmarking inference/default: Warming up for 5.0000 ms",
            "                        time:   [13.860 ms 15.345 ms 16.982 ms]",
            "inference: 5 cases: 5 measured",
            "[warning] x",
            "",
        ] {
            assert_eq!(case(other), None, "{other}");
        }
    }

    /// Two targets that need 40 s and 60 s when they list their cases; measuring leaves a file.
    fn benchmarks(ran: &Path) -> impl Fn(&[OsString]) -> Command {
        let ran = ran.to_owned();
        move |arguments| {
            let listed = r#"for need in a:40.0 b:60.0; do
                echo "$need: benchmark"
                echo "{\"need\":{\"target\":\"${need%:*}\",\"cases\":1,\"least_s\":${need#*:}}}" >>"$1"
            done"#;
            let script = if arguments.iter().any(|it| it == "--list") {
                format!("set -- \"${SHARED}\"; {listed}")
            } else {
                format!("test -s \"${SHARED}\" && touch '{}'", ran.display())
            };
            let mut command = Command::new("sh");
            command.args(["-c", &script]);
            command
        }
    }

    #[test]
    fn a_budget_is_held_against_what_all_targets_need_before_any_is_measured() {
        let folder = tempfile::tempdir().expect("a folder");
        let ran = folder.path().join("ran");
        let measured = |budget: &str| {
            let arguments = ["--", "--budget", budget].map(OsString::from);
            measure(benchmarks(&ran), &arguments, None)
        };
        let refused = measured("99s").expect_err("it is too small").to_string();
        assert!(refused.contains("sample 2 cases once takes about 100s at least"), "{refused}");
        assert!(!ran.exists());
        assert!(measured("100s").expect("it is enough").success() && ran.exists());
    }

    #[test]
    fn what_is_left_follows_from_what_is_done() {
        let line = |begun, seconds| status_line(begun, 60, "a/b", Duration::from_secs(seconds));
        assert_eq!(line(1, 0), "1 of 60: a/b");
        assert_eq!(line(31, 45), "31 of 60, about 45 s left: a/b");
        assert_eq!(
            status_line(61, 60, "a/b", Duration::from_secs(9)),
            "61 of 60, about 0.0 s left: a/b"
        );
    }
}
