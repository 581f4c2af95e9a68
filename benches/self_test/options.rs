//! The options of the command line.

use crate::check::Format;

/// The selected checks, and the format of their findings.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// A part of a check's name, or all of it.
    pub text: String,
    /// Whether it is all of it: `device` is a part of `device-memory`.
    pub exact: bool,
    /// Whether checks are listed and not run.
    pub lists: bool,
    /// How findings are printed.
    pub format: Format,
}

impl Options {
    /// Reads the arguments behind the program's name.
    pub fn read(arguments: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut options = Self::default();
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                // Cargo's own.
                "--bench" => {}
                "--list" => options.lists = true,
                "--exact" => options.exact = true,
                "--format" => {
                    let name = arguments.next().ok_or("`--format` needs `text` or `json`")?;
                    options.format = format(&name)?;
                }
                flag if flag.starts_with("--format=") => {
                    options.format = format(&flag["--format=".len()..])?;
                }
                flag if flag.starts_with('-') => {
                    return Err(format!(
                        "unknown flag `{flag}`; use `--list`, `--exact`, `--format json`, or a part \
                         of a check's name"
                    ));
                }
                text => options.text = text.to_owned(),
            }
        }
        Ok(options)
    }

    /// Whether the check of this name is asked for.
    pub fn selects(&self, name: &str) -> bool {
        if self.exact { name == self.text } else { name.contains(&self.text) }
    }
}

fn format(name: &str) -> Result<Format, String> {
    match name {
        "text" => Ok(Format::Text),
        "json" => Ok(Format::Json),
        // Cargo's `--bench` stands behind what the user wrote.
        other => Err(format!("unknown format `{other}`; `--format` takes `text` or `json`")),
    }
}
