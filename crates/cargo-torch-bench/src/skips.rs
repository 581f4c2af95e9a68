//! The tests that are not run, with their reasons: those that skip themselves, and those that are ignored.

use std::fs;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::error::{Error, Result};
use crate::files;

/// Names the file to the tests, which append a line to it: `tests/common/skip.rs`.
const LIST: &str = "CRITERION_TORCH_SKIPPED";

/// The file in which the tests of one run say that they are skipped.
#[derive(Debug)]
pub struct Skips {
    list: PathBuf,
}

impl Skips {
    /// Empty, below the folder in which cargo builds.
    pub fn below(target: &Path) -> Result<Self> {
        let folder = target.join("torch-bench");
        files::make_folder(&folder)?;
        let skips = Self { list: folder.join(format!("skipped-{}", std::process::id())) };
        skips.take()?;
        Ok(skips)
    }

    /// Runs the tests and shows what they print; how they ended, and a line for each that is ignored.
    pub fn run(&self, mut cargo: Command) -> io::Result<(ExitStatus, Vec<String>)> {
        let mut child = cargo.env(LIST, &self.list).stdout(Stdio::piped()).spawn()?;
        let ignored = shown(&mut child, &mut io::stdout())?;
        Ok((child.wait()?, ignored))
    }

    /// A line for each test and reason, and how many there are.
    pub fn summary(&self, ignored: &[String]) -> Result<String> {
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
