//! The libtorch that torch-sys will link. Its build script goes by the variable `LIBTORCH` and says late, after minutes,
//! that it cannot; so ours ask first, by the same rule.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{Libtorch, VERSION, cache_dir, command};

/// The variable that names the folder.
pub const LIBTORCH: &str = "LIBTORCH";

/// With these set, torch-sys links something else than what `LIBTORCH` names, or links it otherwise.
pub const OVERRIDES: [&str; 4] =
    ["LIBTORCH_USE_PYTORCH", "LIBTORCH_LIB", "LIBTORCH_INCLUDE", "LIBTORCH_STATIC"];

/// The C++ ABI that torch-sys compiles for; by default the new one.
const ABI: &str = "LIBTORCH_CXX11_ABI";

/// The folder that `LIBTORCH` names, if torch-sys can link it.
///
/// # Errors
/// Why it cannot, with the command that makes one and where another one is.
pub fn find(variable: impl Fn(&str) -> Option<OsString>) -> Result<Libtorch, String> {
    let is_set = |name: &&str| variable(name).is_some();
    let overrides: Vec<&str> = OVERRIDES.into_iter().filter(is_set).collect();
    if !overrides.is_empty() {
        let names = overrides.join(", ");
        return Err(format!(
            "{names} set: torch-sys may link another libtorch than the one that {LIBTORCH} names; unset {}, and set \
             {LIBTORCH} to the folder of a libtorch {VERSION}",
            overrides.join(" ")
        ));
    }
    let setup = command::with_arguments("setup");
    let Some(root) = variable(LIBTORCH).filter(|value| !value.is_empty()).map(PathBuf::from) else {
        let other = elsewhere(&variable)
            .map(|root| format!("; {LIBTORCH}={} would use the one there", root.display()));
        return Err(format!(
            "{LIBTORCH} is not set, and torch-sys finds libtorch by it: run `{setup}`{}",
            other.unwrap_or_default()
        ));
    };
    if root.is_relative() {
        return Err(format!(
            "{LIBTORCH} is `{}`, which build scripts would look for in folders of their own: set it to the whole path, \
             or in .cargo/config.toml with `relative = true`",
            root.display()
        ));
    }
    let libtorch = Libtorch::inspect(&root).map_err(|error| {
        let other = elsewhere(&variable).filter(|other| *other != root);
        let other = other
            .map(|root| format!("; {LIBTORCH}={} would use the one there", root.display()))
            .unwrap_or_default();
        format!("{error}: {LIBTORCH} names it; run `{setup}`{other}")
    })?;
    if let Some(abi) = variable(ABI).filter(|abi| abi != "1") {
        return Err(format!(
            "{ABI} is `{}`, but {} has the new C++ ABI, as every libtorch {VERSION} has: unset {ABI}",
            abi.display(),
            root.display()
        ));
    }
    Ok(libtorch)
}

/// A libtorch that could be used, where this project's command puts them: in the workspace whose target folder a build
/// script writes into, or in the user's cache.
fn elsewhere(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let out = variable("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let workspace = out.ancestors().find(|folder| folder.join("Cargo.lock").is_file());
    let linked = workspace.map(|folder| folder.join(".libtorch"));
    let is_usable = |root: &PathBuf| Libtorch::inspect(root).is_ok();
    linked.into_iter().chain(cached(variable)).find(is_usable)
}

/// The folders of libtorch in the user's cache.
fn cached(variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let Some(cache) = cache_dir(variable) else { return Vec::new() };
    let prefix = format!("torch-{VERSION}-");
    let is_one = |path: &Path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix))
    };
    let entries = fs::read_dir(cache).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut folders: Vec<PathBuf> =
        entries.filter(|path| is_one(path)).map(|path| path.join("torch")).collect();
    folders.sort();
    folders
}

impl Libtorch {
    /// The flags that no dependency can give to a program: where libtorch is found at run time, and CUDA, which no
    /// symbol asks for, as it registers itself when it is loaded, and which the linker would drop.
    pub fn link_arguments(&self) -> Vec<String> {
        let lib = self.lib();
        let mut arguments = vec![format!("-Wl,-rpath,{}", lib.display())];
        if self.has_cuda {
            arguments.push(format!("-L{}", lib.display()));
            arguments.push("-Wl,--no-as-needed,-ltorch_cuda,-ltorch,--as-needed".to_owned());
        }
        arguments
    }

    /// Refuses that torch-sys links another one, in whose folder `linked` its libraries are: the shim and torch-sys
    /// share tensors.
    ///
    /// # Errors
    /// When it is another folder, by whichever path.
    pub fn refuse_another(&self, linked: &Path) -> Result<(), String> {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if real(linked) == real(&self.lib()) {
            return Ok(());
        }
        Err(format!(
            "torch-sys links the libtorch in {}, and {LIBTORCH} is {}: unset {}, set {LIBTORCH} also where /usr/lib has a \
             libtorch, and `cargo clean -p torch-sys`",
            linked.display(),
            self.root.display(),
            OVERRIDES[0]
        ))
    }

    /// The folder of its libraries.
    pub fn lib(&self) -> PathBuf {
        self.root.join("lib")
    }

    /// The path that a build script has cargo look at, to run again when another libtorch takes the place of this one,
    /// or CUDA is added to it or removed. Cargo compares times of modification. The files of another libtorch can be
    /// older than the last build, but the time of a link that leads to it is not, and cargo looks at that only for the
    /// very path that it is given.
    pub fn watched(&self) -> PathBuf {
        if self.root.is_symlink() { self.root.clone() } else { self.lib() }
    }
}

/// [`find`] for a build script, which runs again when the answer may be another one; `None` with `DOCS_RS` set, when
/// nothing is linked.
///
/// # Errors
/// As those of [`find`].
pub fn of_build() -> Result<Option<Libtorch>, String> {
    ["DOCS_RS", LIBTORCH, ABI]
        .iter()
        .chain(&OVERRIDES)
        .for_each(|name| println!("cargo::rerun-if-env-changed={name}"));
    if std::env::var_os("DOCS_RS").is_some() {
        return Ok(None);
    }
    let libtorch = find(|name| std::env::var_os(name))?;
    println!("cargo::rerun-if-changed={}", libtorch.watched().display());
    Ok(Some(libtorch))
}

/// For the build script of a package all of whose tests and programs link libtorch: their flags.
pub fn link_all() {
    match of_build() {
        Ok(found) => {
            let arguments = found.iter().flat_map(Libtorch::link_arguments);
            arguments.for_each(|argument| println!("cargo::rustc-link-arg={argument}"));
        }
        Err(error) => println!("cargo::error={error}"),
    }
}

#[cfg(test)]
#[path = "find_tests.rs"]
mod tests;
