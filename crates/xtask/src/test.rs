//! `test`: setup, then `cargo test` with the tests of a tier; and the tests that are not run, with their
//! reasons: those that skip themselves, and those that are ignored.

use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};

use ::libtorch::command;
use cargo_torch_bench::cargo;
use cargo_torch_bench::error::{Error, Result};
use cargo_torch_bench::files;
use cargo_torch_bench::output;
use cargo_torch_bench::setup;
use cargo_torch_bench::workspace::Workspace;
use cargo_torch_bench::{eprint, eprintln};

/// The tests that are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tests {
    /// All that are not ignored.
    Usual,
    /// The long ones, too.
    All,
    /// The nightly ones alone, optimized: some try every float32.
    Nightly,
}

/// Begins the name of every test that takes minutes to an hour, and is in the path of no other: libtest selects by paths.
const NIGHTLY: &str = "nightly_";

impl Tests {
    /// The words of cargo. `arguments` are the user's, for cargo and after `--` for the tests.
    fn words(self, arguments: &[OsString]) -> Vec<OsString> {
        let end = arguments.iter().position(|word| word == "--").unwrap_or(arguments.len());
        let (of_cargo, of_tests) = arguments.split_at(end);
        let names_tests = of_cargo.iter().any(|word| !word.to_string_lossy().starts_with('-'));
        let is_package = |word: &OsString| {
            let word = word.to_string_lossy();
            word == "-p" || word == "--package" || word.starts_with("--package=")
        };
        let whole = if of_cargo.iter().any(is_package) { None } else { Some("--workspace") };
        let (cargo, tests): (&[&str], &[&str]) = match self {
            Self::Usual => (&["test"], &[]),
            Self::All => (&["test"], &["--include-ignored", "--skip", NIGHTLY]),
            Self::Nightly => (&["test", "--release"], &["--ignored"]),
        };
        let name = (self == Self::Nightly && !names_tests).then_some(NIGHTLY);
        let words = cargo.iter().copied().chain(whole).chain(name).map(OsString::from);
        let separated = tests.iter().map(OsString::from).chain(of_tests.iter().skip(1).cloned());
        words.chain(of_cargo.iter().cloned()).chain(["--".into()]).chain(separated).collect()
    }
}

/// `cargo xtask test`, which says at the end what it did not run.
pub fn command(workspace: &Workspace, tests: Tests, arguments: &[OsString]) -> Result<ExitCode> {
    setup::ensure(workspace)?;
    let skips = Skips::below(&cargo::target(workspace.root())?)?;
    let mut cargo = cargo::in_folder(workspace.root());
    cargo.args(tests.words(arguments));
    let program = cargo.get_program().to_owned();
    let (status, ignored) = skips
        .run(cargo)
        .map_err(|error| Error::new(format!("cannot run {}: {error}", program.display())))?;
    eprint!("{}", skips.summary(&ignored)?);
    if tests == Tests::Usual && !ignored.is_empty() {
        let all = command::with_arguments("test --all");
        eprintln!("`{all}` runs the long ones, `--nightly` the nightly ones");
    }
    Ok(cargo::exit_code(status))
}

/// Names the file to the tests, which append a line to it: `tests/common/skip.rs`.
const LIST: &str = "CRITERION_TORCH_SKIPPED";

/// The file in which the tests of one run say that they are skipped.
#[derive(Debug)]
struct Skips {
    list: PathBuf,
}

impl Skips {
    /// Empty, below the folder in which cargo builds.
    fn below(target: &Path) -> Result<Self> {
        let folder = target.join("torch-bench");
        files::make_folder(&folder)?;
        let skips = Self { list: folder.join(format!("skipped-{}", std::process::id())) };
        skips.take()?;
        Ok(skips)
    }

    /// Runs the tests and shows what they print; how they ended, and a line for each that is ignored.
    fn run(&self, mut cargo: Command) -> io::Result<(ExitStatus, Vec<String>)> {
        let mut child = cargo.env(LIST, &self.list).stdout(Stdio::piped()).spawn()?;
        let ignored = shown(&mut child, &mut output::Stdout)?;
        Ok((child.wait()?, ignored))
    }

    /// A line for each test and reason, and how many there are.
    fn summary(&self, ignored: &[String]) -> Result<String> {
        let text = self.take()?;
        let skipped = text.lines().filter_map(|line| line.strip_prefix("skipped: "));
        let mut lines: Vec<&str> = skipped.chain(ignored.iter().map(String::as_str)).collect();
        lines.sort_unstable();
        lines.dedup();
        let tests = |line: &&str| line.split(": ").next().unwrap_or_default().to_owned();
        let count = lines.chunk_by(|a, b| tests(a) == tests(b)).count();
        Ok(match count {
            0 => "no test was skipped\n".to_owned(),
            1 => format!("1 test was skipped:\n  {}\n", lines.join("\n  ")),
            _ => format!("{count} tests were skipped:\n  {}\n", lines.join("\n  ")),
        })
    }

    /// Takes the lines out of the file, which is removed.
    fn take(&self) -> Result<String> {
        match fs::read_to_string(&self.list) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
            Err(error) => Err(Error::io("read", &self.list, &error)),
            Ok(text) => {
                fs::remove_file(&self.list)
                    .map_err(|error| Error::io("remove", &self.list, &error))?;
                Ok(text)
            }
        }
    }
}

/// Passes on what the child prints, line by line; the ignored tests among it, as `NAME: REASON`.
fn shown(child: &mut Child, out: &mut impl Write) -> io::Result<Vec<String>> {
    let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
    let (mut ignored, mut line) = (Vec::new(), Vec::new());
    while stdout.read_until(b'\n', &mut line)? > 0 {
        out.write_all(&line)?;
        ignored.extend(ignored_test(&String::from_utf8_lossy(&line)));
        line.clear();
    }
    Ok(ignored)
}

/// libtest says `test NAME ... ignored, REASON`.
fn ignored_test(line: &str) -> Option<String> {
    let (name, reason) = line.trim_end().strip_prefix("test ")?.split_once(" ... ignored, ")?;
    Some(format!("{name}: {reason}"))
}
