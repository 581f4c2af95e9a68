//! What went wrong, and what to do about it.

use std::fmt;
use std::path::Path;

/// An error for a person at a terminal: one fact, then the ways out.
#[derive(Debug, PartialEq, Eq)]
pub struct Error {
    what: String,
    remedies: Vec<String>,
    usage: bool,
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), remedies: Vec::new(), usage: false }
    }

    /// A command line that cannot be understood.
    pub fn usage(what: impl Into<String>) -> Self {
        Self { usage: true, ..Self::new(what) }
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

    pub fn exit_code(&self) -> u8 {
        if self.usage { 2 } else { 1 }
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
        writeln!(f, "error: {}", self.what)?;
        for remedy in &self.remedies {
            writeln!(f, "  help: {remedy}")?;
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
    }
}
