//! Errors for people: a fact and its remedies.

use std::fmt;
use std::path::Path;

use crate::name::as_typed;

/// An error for a person at a terminal: one fact, then the ways out.
#[derive(Debug, PartialEq, Eq)]
pub struct Error {
    what: String,
    remedies: Vec<String>,
    exit_code: u8,
}

pub type Result<T> = std::result::Result<T, Error>;

impl From<plan::git::Error> for Error {
    fn from(error: plan::git::Error) -> Self {
        let text = error.to_string();
        match error {
            plan::git::Error::Start(_) => {
                Self::new(text).remedy("install git, or put it on the PATH")
            }
            plan::git::Error::Failed { .. } => Self::new(text),
        }
    }
}

impl Error {
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), remedies: Vec::new(), exit_code: 1 }
    }

    /// A command line that cannot be understood.
    pub fn usage(what: impl Into<String>) -> Self {
        Self { exit_code: 2, ..Self::new(what) }
    }

    /// A command that failed, whose exit code becomes that of this one.
    pub fn failed(what: impl Into<String>, exit_code: u8) -> Self {
        Self { exit_code, ..Self::new(what) }
    }

    /// A file operation that the system refused.
    pub fn io(doing: &str, path: &Path, error: &std::io::Error) -> Self {
        Self::new(format!("cannot {doing} {}: {error}", path.display()))
    }

    /// Adds one way out. Several are alternatives, the likeliest first.
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedies.push(remedy.into());
        self
    }

    /// Says during what it went wrong.
    pub fn during(self, what: &str) -> Self {
        Self { what: format!("{what}: {}", self.what), ..self }
    }

    pub fn exit_code(&self) -> u8 {
        self.exit_code
    }

    pub fn what(&self) -> &str {
        &self.what
    }

    pub fn remedies(&self) -> &[String] {
        &self.remedies
    }
}

impl From<String> for Error {
    fn from(what: String) -> Self {
        Self::new(what)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "error: {}", as_typed(&self.what))?;
        for remedy in &self.remedies {
            writeln!(f, "  help: {}", as_typed(remedy))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fact_comes_first_and_each_way_out_has_its_line() {
        let error = Error::new("no wheel").remedy("go online").remedy("set LIBTORCH");
        assert_eq!(error.to_string(), "error: no wheel\n  help: go online\n  help: set LIBTORCH\n");
        assert_eq!(error.exit_code(), 1);
        assert_eq!(Error::usage("what?").exit_code(), 2);
        let failed = Error::failed("cargo failed", 101).during("run 2");
        assert_eq!((failed.what(), failed.exit_code()), ("run 2: cargo failed", 101));
    }
}
