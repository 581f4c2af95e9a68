//! torch.compile: who would compile, with what, and how much is kept. Without, compiled variants are
//! skipped and all else runs.

use std::ffi::OsString;
use std::path::Path;

use super::toolchain::first_line_of_version;
use super::{Check, Mark};
use crate::ask::ask;
use crate::cache::Cache;
use crate::cache_report::packages;
use crate::error::Result;
use crate::human;
use ::libtorch::{
    COMPILER_PYTHON, PythonSource, TRITON, VERSION, compiler_python, inductor_compiler, release,
};

pub fn check(cache: &Result<Cache>) -> Vec<Check> {
    let (python, by) = compiler_python(|name| std::env::var_os(name));
    let mut checks = vec![
        judge(&format!("{} (by {by})", python.display()), by, versions(&python)),
        compiler(std::env::var_os("CXX"), first_line_of_version),
    ];
    // Another check tells that there is no cache.
    checks.extend(cache.as_ref().ok().map(|cache| kept(packages(cache))));
    checks
}

/// Finds the compiler on a host without Rust, whose Python is its own.
pub fn check_host(cache: &Result<Cache>) -> Vec<Check> {
    let mut checks = check(cache);
    for check in checks.iter_mut().filter(|it| it.name == NAME) {
        let remedy =
            format!("set {COMPILER_PYTHON} to a Python with torch {VERSION} and triton {TRITON}");
        check.remedy = check.remedy.take().map(|_| remedy);
    }
    checks
}

const NAME: &str = "torch.compile";
const SETUP: &str = "cargo xtask setup --python";

/// Versions of the packages that a Python has installed.
#[derive(Debug, Default, PartialEq)]
struct Versions {
    torch: Option<String>,
    triton: Option<String>,
}

/// Reads the packages' metadata, as importing torch takes seconds.
fn versions(python: &Path) -> std::result::Result<Versions, String> {
    const CODE: &str = "import importlib.metadata as packages
for name in 'torch', 'triton':
    try:
        print(name, packages.version(name))
    except packages.PackageNotFoundError:
        pass";
    let output = ask(python, ["-c", CODE]).map_err(|why| why.to_string())?;
    if !output.status.success() {
        return Err(format!("does not say which packages it has ({})", output.status));
    }
    Ok(parse(&String::from_utf8_lossy(&output.stdout)))
}

fn parse(text: &str) -> Versions {
    let of = |name: &str| {
        text.lines().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(' ')?.to_owned()))
    };
    Versions { torch: of("torch"), triton: of("triton") }
}

fn judge(python: &str, by: PythonSource, versions: std::result::Result<Versions, String>) -> Check {
    let remedy = match by {
        PythonSource::Variable => format!("unset {COMPILER_PYTHON}, then {SETUP}"),
        PythonSource::Provisioned | PythonSource::Path => SETUP.to_owned(),
    };
    let Versions { torch, triton } = match versions {
        Ok(versions) => versions,
        Err(why) => {
            let found = format!("{python} {why}: compiled variants and Triton kernels are skipped");
            return Check::warning(NAME, found, remedy);
        }
    };
    let is = |found: &Option<String>, wanted: &str| found.as_deref().map(release) == Some(wanted);
    // There are no wheels of Triton but for Linux.
    let wants_triton = cfg!(target_os = "linux");
    let skipped = match (is(&torch, VERSION), is(&triton, TRITON) || !wants_triton) {
        (true, true) => None,
        (false, true) => Some("compiled variants are skipped"),
        (true, false) => Some("Triton kernels, and compiled variants on CUDA, are skipped"),
        (false, false) => Some("compiled variants and Triton kernels are skipped"),
    };
    let named = |name: &str, version: Option<String>| match version {
        Some(version) => format!("{name} {version}"),
        None => format!("no {name}"),
    };
    let found = format!("{python}: {}, {}", named("torch", torch), named("triton", triton));
    match skipped {
        None => Check::ok(NAME, found),
        Some(what) => {
            let wanted = format!("{found}; wanted torch {VERSION}, triton {TRITON}: {what}");
            Check::warning(NAME, wanted, remedy)
        }
    }
}

fn compiler(chosen: Option<OsString>, version_of: impl Fn(&OsString) -> Option<String>) -> Check {
    let name = "inductor C++";
    let is_chosen = chosen.as_ref().is_some_and(|program| !program.is_empty());
    let program = inductor_compiler(chosen);
    let shown = program.display();
    match version_of(&program) {
        Some(version) => Check::ok(name, format!("{version} ({shown})")),
        None => Check::warning(
            name,
            format!("{shown} cannot be run: compiled variants are skipped"),
            if is_chosen {
                "set CXX to the path of a C++ compiler, without arguments"
            } else {
                "install it, for instance: apt install g++"
            },
        ),
    }
}

fn kept(packages: Result<(usize, u64, u64)>) -> Check {
    let name = "compiled";
    match packages {
        Ok((count, bytes, bound)) => {
            let (bytes, bound) = (human::bytes(bytes), human::bytes(bound));
            Check::ok(name, format!("{count} packages, {bytes} of {bound} at most"))
        }
        Err(error) => Check::of_error(Mark::Warning, name, &error, "cargo xtask cache"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_python_prints_is_read() {
        let both = Versions { torch: Some("2.11.0+cu130".into()), triton: Some("3.6.0".into()) };
        assert_eq!(parse("torch 2.11.0+cu130\ntriton 3.6.0\n"), both);
        assert_eq!(parse("torchao 0.17.0\n"), Versions::default());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn both_releases_have_to_be_right() {
        for (torch, triton, said) in [
            (Some("2.11.0"), Some("3.6.0"), None),
            (Some("2.11.0+cpu"), Some("3.6.0"), None),
            (Some("2.11.0"), None, Some("no triton; wanted torch 2.11.0, triton 3.6.0: Triton")),
            (Some("2.11.0"), Some("3.5.1"), Some("triton 3.5.1; wanted")),
            (Some("2.12.0"), Some("3.6.0"), Some("torch 2.12.0, triton 3.6.0; wanted")),
            (None, None, Some("no torch, no triton; wanted")),
        ] {
            let versions =
                Versions { torch: torch.map(Into::into), triton: triton.map(Into::into) };
            let check = judge("python3 (by the PATH)", PythonSource::Path, Ok(versions));
            let mark = if said.is_some() { Mark::Warning } else { Mark::Ok };
            assert_eq!(check.mark, mark, "{check}");
            assert!(check.to_string().contains(said.unwrap_or_default()), "{check}");
            assert_eq!(check.to_string().contains(SETUP), said.is_some(), "{check}");
        }
    }

    #[test]
    fn the_remedy_fits_who_chose_the_python() {
        let check =
            judge("/own", PythonSource::Variable, Err("cannot be run: no such file".into()));
        let remedy = format!("unset {COMPILER_PYTHON}, then {SETUP}");
        assert!(check.to_string().contains(&remedy), "{check}");
    }

    #[test]
    fn a_compiler_that_is_named_is_the_one_that_counts() {
        let only_gcc = |program: &OsString| {
            (program == "g++" || program == "clang++").then(|| "13.2".to_owned())
        };
        for (chosen, mark, remedy) in [
            (None, Mark::Ok, ""),
            (Some("g++"), Mark::Ok, ""),
            (Some(""), Mark::Ok, ""),
            (Some("ccache g++"), Mark::Warning, "set CXX"),
        ] {
            let check = compiler(chosen.map(OsString::from), only_gcc);
            assert_eq!(check.mark, mark, "{chosen:?}");
            assert!(check.to_string().contains(remedy), "{check}");
        }
        assert!(compiler(None, |_| None).to_string().contains("apt install g++"));
    }
}
