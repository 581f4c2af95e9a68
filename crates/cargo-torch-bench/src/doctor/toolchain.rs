//! rustc, cargo, the C++ compiler that builds torch-sys and our own shim, and python3 with its pip, which
//! provision libtorch.

use std::ffi::OsString;
use std::path::Path;

use super::{Check, Mark};
use crate::ask::first_line;
use crate::python::Python;
use crate::template;

pub fn check() -> Vec<Check> {
    let mut checks = vec![tool("rustc", "RUSTC", "rustc"), tool("cargo", "CARGO", "cargo")];
    let compiler = Compiler::find(std::env::var_os("CXX"), first_line_of_version);
    if cfg!(target_os = "linux")
        && let Some(compiler) = &compiler
    {
        checks.push(openmp(compiler));
    }
    checks.insert(2, compiler_check(compiler.as_ref()));
    checks
}

fn tool(name: &'static str, variable: &str, fallback: &str) -> Check {
    let program = std::env::var_os(variable).unwrap_or_else(|| fallback.into());
    match first_line(program, ["--version"]) {
        Ok(line) => Check::ok(name, line.trim_start_matches(name).trim()),
        Err(why) => {
            Check::missing(name, why.to_string(), "install it with rustup: https://rustup.rs")
        }
    }
}

struct Compiler {
    program: OsString,
    /// The first line of its --version.
    version: String,
    /// Whether cc, which builds the C++ code, finds it by itself.
    by_default: bool,
}

impl Compiler {
    /// cc takes $CXX, else c++.
    fn find(
        chosen: Option<OsString>,
        version_of: impl Fn(&OsString) -> Option<String>,
    ) -> Option<Self> {
        let candidates: Vec<OsString> = match chosen {
            Some(program) => vec![program],
            None => ["c++", "g++", "clang++"].map(OsString::from).to_vec(),
        };
        candidates.into_iter().enumerate().find_map(|(index, program)| {
            let version = version_of(&program)?;
            Some(Self { program, version, by_default: index == 0 })
        })
    }
}

fn compiler_check(compiler: Option<&Compiler>) -> Check {
    let name = "C++ compiler";
    let Some(Compiler { program, version, by_default }) = compiler else {
        let found = match std::env::var_os("CXX") {
            Some(chosen) => format!("CXX={} cannot be run", chosen.display()),
            None => "neither c++, g++ nor clang++ found".to_owned(),
        };
        return Check::missing(name, found, "install one, for instance: apt install g++");
    };
    let found = format!("{version} ({})", program.display());
    if version.contains("clang") {
        // The shim's parallel loops have to run on libtorch's own threads.
        Check::missing(
            name,
            format!("{found}, whose OpenMP is another than libtorch's"),
            "install GCC and export CXX=g++, for instance: apt install g++",
        )
    } else if *by_default {
        Check::ok(name, found)
    } else {
        Check::missing(
            name,
            format!("{found}, but it is not called c++"),
            format!("export CXX={}", template::path(program)),
        )
    }
}

/// torch-sys links -lgomp, which comes with GCC and not with clang.
fn openmp(compiler: &Compiler) -> Check {
    match first_line(&compiler.program, ["-print-file-name=libgomp.so"]) {
        // The compiler prints the bare name back if it knows no such file.
        Ok(path) if Path::new(&path).is_absolute() => Check::ok("OpenMP", path),
        _ => Check::missing(
            "OpenMP",
            "the compiler finds no libgomp.so, which torch-sys links",
            "install GCC's, for instance: apt install g++",
        ),
    }
}

pub(super) fn first_line_of_version(program: &OsString) -> Option<String> {
    first_line(program, ["--version"]).ok()
}

/// They are not needed once there is a libtorch.
pub fn python(libtorch_is_there: bool) -> Vec<Check> {
    match Python::find() {
        Ok(python) => vec![Check::ok("python3", python.version), Check::ok("pip", python.pip)],
        Err(error) => {
            let name = if error.what().starts_with("python3 (") { "pip" } else { "python3" };
            let mark = if libtorch_is_there { Mark::Warning } else { Mark::Missing };
            vec![Check::of_error(mark, name, &error, "")]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_that_cc_would_take_is_the_one_that_counts() {
        let only = |installed: &'static [&'static str]| {
            move |program: &OsString| {
                let known = installed.iter().find(|known| program == *known)?;
                Some(if *known == "clang++" { "clang version 19" } else { "13.2" }.to_owned())
            }
        };
        for (chosen, installed, mark) in [
            (None, &["c++", "g++"][..], Mark::Ok),
            (None, &["g++"][..], Mark::Missing),
            (None, &[][..], Mark::Missing),
            (Some("clang++"), &["c++", "clang++"][..], Mark::Missing),
            (Some("g++"), &["c++", "g++"][..], Mark::Ok),
            (Some("clang++"), &["c++"][..], Mark::Missing),
        ] {
            let compiler = Compiler::find(chosen.map(OsString::from), only(installed));
            assert_eq!(compiler_check(compiler.as_ref()).mark, mark, "{chosen:?} {installed:?}");
        }
    }
}
