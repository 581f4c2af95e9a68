//! Cargo's flags for `--target-cpu`.

use std::env;
use std::ffi::OsString;

use plan::results::variable;
use toml_edit::{DocumentMut, Item};

use crate::ask::ask;
use crate::error::{Error, Result};

/// Both of them win over cargo's configuration, the first over the second.
const ENCODED: &str = "CARGO_ENCODED_RUSTFLAGS";
const PLAIN: &str = "RUSTFLAGS";

/// The arguments added to a command of cargo's.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Flags {
    pub arguments: Vec<String>,
    pub variable: Option<(&'static str, OsString)>,
}

impl Flags {
    /// Adds `-C target-cpu` to the flags that apply anyway. Cargo takes them from one place only, so they are added to
    /// that one. With a target, cargo does not build its build scripts with them, which run here.
    pub fn new(cpu: &str, triple: &str, configuration: &[DocumentMut]) -> Result<Self> {
        Self::with_environment(cpu, triple, configuration, variable)
    }

    fn with_environment(
        cpu: &str,
        triple: &str,
        configuration: &[DocumentMut],
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self> {
        let flag = format!("-Ctarget-cpu={cpu}");
        let mut flags =
            Self { arguments: vec!["--target".to_owned(), triple.to_owned()], variable: None };
        for (name, between) in [(ENCODED, "\x1f"), (PLAIN, " ")] {
            if let Some(mut value) = variable(name) {
                value.push(between);
                value.push(&flag);
                flags.variable = Some((name, value));
                return Ok(flags);
            }
        }
        let key = match Configured::new(triple, configuration) {
            Configured { target: true, .. } => format!("target.{triple}.rustflags"),
            Configured { conditional: true, build: true, .. } => {
                return Err(Error::usage(
                    "--target-cpu: cargo's configuration has `rustflags` in [build] and in a [target.'cfg(…)'], of which \
                     only one applies",
                )
                .remedy(format!("name all flags: export {PLAIN}='…'")));
            }
            Configured { conditional: true, .. } => format!("target.{triple}.rustflags"),
            Configured { .. } => "build.rustflags".to_owned(),
        };
        flags.arguments.extend(["--config".to_owned(), format!("{key}=[\"{flag}\"]")]);
        Ok(flags)
    }
}

/// The place in cargo's configuration that has flags of the compiler.
#[derive(Debug, Default)]
struct Configured {
    build: bool,
    /// For the target's own name.
    target: bool,
    /// For targets with a property.
    conditional: bool,
}

impl Configured {
    fn new(triple: &str, configuration: &[DocumentMut]) -> Self {
        let mut found = Self::default();
        let flagged = |item: &Item| item.get("rustflags").is_some();
        for document in configuration {
            found.build |= document.get("build").is_some_and(flagged);
            let targets = document.get("target").and_then(Item::as_table_like);
            for (name, table) in targets.into_iter().flat_map(|it| it.iter()) {
                found.target |= name == triple && flagged(table);
                found.conditional |= name.starts_with("cfg(") && flagged(table);
            }
        }
        found
    }
}

/// The compiler's own target.
pub fn host() -> Result<String> {
    let said = rustc(&["-vV"])?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| Error::new("rustc -vV does not name its host"))
}

/// Refuses a processor that the compiler does not know.
pub fn check(cpu: &str) -> Result<()> {
    let said = rustc(&["--print", "target-cpus"])?;
    let known = |line: &str| line.split_whitespace().next().is_some_and(|name| name == cpu);
    match said.lines().any(known) {
        true => Ok(()),
        false => Err(Error::usage(format!("--target-cpu {cpu}: rustc knows no such processor"))
            .remedy("levels are x86-64-v2, x86-64-v3 (AVX2) and x86-64-v4 (AVX-512); `native` is this machine")
            .remedy("all of them: rustc --print target-cpus")),
    }
}

fn rustc(arguments: &[&str]) -> Result<String> {
    let program = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let ended = ask(program, arguments).map_err(|why| Error::new(format!("rustc: {why}")))?;
    if !ended.status.success() {
        return Err(Error::new(format!(
            "rustc {} ends with {}",
            arguments.join(" "),
            ended.status
        )));
    }
    Ok(String::from_utf8_lossy(&ended.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIPLE: &str = "x86_64-unknown-linux-gnu";

    fn flags(configuration: &[&str], variables: &[(&str, &str)]) -> Result<Flags> {
        let documents: Vec<DocumentMut> =
            configuration.iter().map(|text| text.parse().expect("TOML")).collect();
        let variable = |name: &str| {
            let found = variables.iter().find(|(it, _)| *it == name);
            found.map(|(_, value)| OsString::from(value))
        };
        Flags::with_environment("x86-64-v3", TRIPLE, &documents, variable)
    }

    #[test]
    fn the_flag_is_added_where_the_others_come_from() {
        let build = "build.rustflags=[\"-Ctarget-cpu=x86-64-v3\"]";
        let target = "target.x86_64-unknown-linux-gnu.rustflags=[\"-Ctarget-cpu=x86-64-v3\"]";
        for (configuration, config) in [
            ("", build),
            ("[build]\nrustflags = [\"-g\"]", build),
            ("[target.aarch64-unknown-linux-gnu]\nrustflags = [\"-g\"]", build),
            ("[target.x86_64-unknown-linux-gnu]\nlinker = \"cc\"", build),
            ("[target.x86_64-unknown-linux-gnu]\nrustflags = [\"-g\"]", target),
            ("[target.'cfg(unix)']\nrustflags = [\"-g\"]", target),
            (
                "[build]\nrustflags = [\"-g\"]\n[target.x86_64-unknown-linux-gnu]\nrustflags = [\"-g\"]",
                target,
            ),
        ] {
            let found = flags(&["[net]\noffline = true", configuration], &[]).expect("clear");
            assert_eq!(
                found.arguments,
                ["--target", TRIPLE, "--config", config],
                "{configuration}"
            );
            assert_eq!(found.variable, None);
        }
    }

    #[test]
    fn variables_win_over_the_configuration() {
        let configured = ["[build]\nrustflags = [\"-O\"]"];
        for (variables, name, value) in [
            (&[(PLAIN, "-g")][..], PLAIN, "-g -Ctarget-cpu=x86-64-v3"),
            (
                &[(PLAIN, "-g"), (ENCODED, "-a\x1f-b")],
                ENCODED,
                "-a\x1f-b\x1f-Ctarget-cpu=x86-64-v3",
            ),
        ] {
            let found = flags(&configured, variables).expect("clear");
            assert_eq!(found.arguments, ["--target", TRIPLE]);
            assert_eq!(found.variable, Some((name, value.into())));
        }
    }

    #[test]
    fn flags_of_which_one_kind_applies_are_refused() {
        let both = ["[build]\nrustflags = [\"-g\"]", "[target.'cfg(unix)']\nrustflags = [\"-g\"]"];
        let error = flags(&both, &[]).expect_err("cargo takes one of them");
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("export RUSTFLAGS"), "{error}");
    }

    #[test]
    fn unknown_processors_are_refused() {
        let error = check("x86-64-v9").expect_err("there is none");
        assert!(error.what().contains("x86-64-v9") && error.exit_code() == 2, "{error}");
        check("generic").expect("every target has it");
        assert!(host().expect("rustc is there").contains('-'));
    }
}
