//! Packages of compiled variants that this machine's cache holds.

use super::launcher;
use super::manifest::{CACHE, COMPILER, Compiled};
use super::pack::{Entry, Source};
use crate::ask::first_line;
use crate::error::{Error, Result};
use crate::files;
use ::libtorch::inductor_compiler;
use ::libtorch::packages::{FACTS, Key, PACKAGE, PackageLease, Store};

/// The files of all whole packages, with a stand-in for the compiler by whose version they are found.
pub fn entries() -> Result<(Compiled, Vec<Entry>)> {
    let store = Store::of_environment().map_err(Error::usage)?.ok_or_else(|| {
        Error::new("--compiled: no variable says where the cache is")
            .remedy("export CRITERION_TORCH_CACHE=/path/to/it")
    })?;
    let version = compiler()?;
    let mut entries = Vec::new();
    let mut add = |place: String, source: Source, is_program: bool| {
        entries.push(Entry { part: "compiled packages", place, source, is_program });
    };
    add(COMPILER.to_owned(), Source::Bytes(launcher::compiler(&version).into_bytes()), true);
    let mut packages = 0;
    for folder in files::inside(store.folder())? {
        let name = files::name(&folder);
        // A package that is not whole is made or removed at the moment.
        if Key::parse(&name).is_none() || PackageLease::open(&folder).is_none() {
            continue;
        }
        packages += 1;
        for file in [PACKAGE, FACTS] {
            let place = format!("{CACHE}/compiled/{name}/{file}");
            add(place, Source::File(folder.join(file)), false);
        }
    }
    if packages == 0 {
        let what = format!("--compiled: no package is in {}", store.folder().display());
        return Err(Error::new(what)
            .remedy("measure the compiled variants here once, which compiles them: cargo bench"));
    }
    Ok((Compiled { packages, compiler: version }, entries))
}

/// The first line that the compiler says of itself, as a package's key has it.
fn compiler() -> Result<String> {
    let program = inductor_compiler(std::env::var_os("CXX"));
    first_line(&program, ["--version"]).map_err(|why| {
        Error::new(format!("--compiled: the C++ compiler {}: {why}", program.display()))
            .remedy("install g++, or set CXX to the compiler that made the packages")
    })
}
