//! The tests that skip themselves, counted.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};

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
        let folder = target.join("xtask");
        fs::create_dir_all(&folder).map_err(|error| Error::io("create", &folder, &error))?;
        let skips = Self { list: folder.join(format!("skipped-{}", std::process::id())) };
        skips.take()?;
        Ok(skips)
    }

    pub fn told(&self, mut cargo: Command) -> Command {
        cargo.env(LIST, &self.list);
        cargo
    }

    /// One line for each test and reason, and how many there are.
    pub fn summary(&self) -> Result<String> {
        let text = self.take()?;
        let mut lines: Vec<&str> =
            text.lines().filter_map(|line| line.strip_prefix("skipped: ")).collect();
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
