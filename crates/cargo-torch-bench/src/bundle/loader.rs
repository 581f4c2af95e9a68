//! The dynamic loader's own answer to which libraries a program would get, as ldd asks for it: nothing of the program
//! is run, so a processor without its instructions can be asked, too.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ask;
use crate::error::{Error, Result};

/// The loader's variable for folders of libraries.
pub const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Libraries by their names.
    pub found: BTreeMap<String, PathBuf>,
    pub missing: BTreeSet<String>,
    /// The loader's lines about libraries that are too old.
    pub too_old: BTreeSet<String>,
}

impl Trace {
    /// Asks about one program, with these folders of libraries.
    pub fn new(program: &Path, library_path: &OsStr) -> Result<Self> {
        let mut command = Command::new(program);
        command.env("LD_TRACE_LOADED_OBJECTS", "1").env(LIBRARY_PATH, library_path);
        let ended = ask::ended(command).map_err(|why| {
            Error::new(format!("{} cannot be started: {why}", program.display())).remedy(
                "if its folder is on a drive that is mounted with `noexec`, copy it to another one",
            )
        })?;
        let [stdout, stderr] =
            [&ended.stdout, &ended.stderr].map(|it| String::from_utf8_lossy(it).into_owned());
        let trace = Self::parse(&format!("{stdout}\n{stderr}"));
        if !ended.status.success() && trace.is_whole() {
            let said = stderr.trim();
            let how = if said.is_empty() { ended.status.to_string() } else { said.to_owned() };
            return Err(Error::new(format!("{} cannot be loaded: {how}", program.display())));
        }
        Ok(trace)
    }

    fn parse(text: &str) -> Self {
        let mut trace = Self::default();
        for line in text.lines().map(str::trim) {
            if line.contains(": version `") && line.contains("' not found") {
                trace.too_old.insert(line.to_owned());
            } else if let Some(name) = line.strip_suffix(" => not found") {
                trace.missing.insert(name.to_owned());
            } else if let Some((name, place)) = line.split_once(" => ") {
                // The address stands behind, in parentheses; a path may have some of its own.
                let path = place.rsplit_once(" (").map_or(place, |(path, _)| path);
                trace.found.insert(name.to_owned(), path.into());
            }
        }
        trace
    }

    pub fn is_whole(&self) -> bool {
        self.missing.is_empty() && self.too_old.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loaders_lines_are_read() {
        let text = "\tlinux-vdso.so.1 (0x00007ffd)\n\
            \tlibtorch_cpu.so => /a (b)/lib/libtorch_cpu.so (0x00007f00)\n\
            \tlibstdc++.so.6 => not found\n\
            \t/lib64/ld-linux-x86-64.so.2 (0x00007f01)\n\
            /b/x: /lib/libc.so.6: version `GLIBC_2.38' not found (required by /b/x)\n";
        let trace = Trace::parse(text);
        let found =
            BTreeMap::from([("libtorch_cpu.so".into(), "/a (b)/lib/libtorch_cpu.so".into())]);
        assert_eq!(trace.found, found);
        assert_eq!(trace.missing, BTreeSet::from(["libstdc++.so.6".to_owned()]));
        assert_eq!(trace.too_old.len(), 1);
        assert!(!trace.is_whole());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_real_loader_answers_and_runs_nothing() {
        let program = std::env::current_exe().expect("a path");
        let trace = Trace::new(&program, OsStr::new("")).expect("it can be loaded");
        assert!(trace.is_whole(), "{trace:?}");
        assert!(trace.found["libc.so.6"].is_file(), "{trace:?}");
        let nothing = Trace::new(Path::new("/nowhere/program"), OsStr::new(""));
        assert!(nothing.expect_err("there is none").what().contains("cannot be started"));
    }
}
