//! The crates that bring kernels, recipes or models to the package that depends on them. Each says in its `Cargo.toml`
//! in which folders they are:
//!
//! ```toml
//! [package.metadata.criterion-torch]
//! kernels = "src/kernels"
//! ```

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::words::closed::closed_set;
use crate::words::closest;

closed_set! {
    /// A kind of files that a crate can bring, by its key in `[package.metadata.criterion-torch]`.
    Brings, "kind of files" {
        /// As in `benches/kernels`.
        Kernels = "kernels",
        /// As in `benches/recipes`.
        Recipes = "recipes",
        /// As in `benches/models`.
        Models = "models",
    }
}

/// A folder of a crate, whose files are public modules of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    /// The crate's own name.
    pub package: String,
    /// Its `Cargo.toml`.
    pub manifest: PathBuf,
    /// The kind of the files.
    pub brings: Brings,
    /// The folder.
    pub folder: PathBuf,
    /// The Rust path of its modules in the package that depends on the crate: `::my_lib::kernels`.
    pub module: String,
}

impl Library {
    /// The path of a file of the crate, with the crate's name in place of its folder.
    pub(crate) fn shown(&self, file: &Path) -> String {
        let root = self.manifest.parent().unwrap_or(Path::new(""));
        let inside = file.strip_prefix(root).unwrap_or(file);
        let parts = inside.components().map(|part| part.as_os_str().to_string_lossy());
        parts.fold(self.package.clone(), |path, part| format!("{path}/{part}"))
    }

    /// The one whose folder holds a file.
    pub(crate) fn containing<'l>(file: &Path, libraries: &'l [Self]) -> Option<&'l Self> {
        libraries.iter().find(|library| file.starts_with(&library.folder))
    }

    /// The Rust path of the module that is a file of the folder. A part that can be no module's name is an error.
    pub(crate) fn module_of(&self, file: &Path) -> Result<String, Diagnostic> {
        let inside = file.strip_prefix(&self.folder).unwrap_or(file).with_extension("");
        let mut path = self.module.clone();
        for part in inside.components().map(|part| part.as_os_str().to_string_lossy()) {
            if syn::parse_str::<syn::Ident>(&part).is_err() {
                let message = format!("`{part}` cannot be the name of a module of Rust");
                let remedy = "rename it with letters, digits and `_`";
                return Err(Diagnostic::whole_file(file, message, remedy));
            }
            path = format!("{path}::{part}");
        }
        Ok(path)
    }
}

/// The package that is built.
#[derive(Debug, Clone, Copy)]
pub struct Package<'p> {
    /// Its folder.
    pub folder: &'p Path,
    /// The folders of the crates that it depends on.
    pub libraries: &'p [Library],
}

impl Package<'static> {
    /// The package of a program which is started in it, whose dependencies are not known.
    pub(crate) fn here() -> Self {
        Self { folder: Path::new("."), libraries: &[] }
    }
}

/// A package as cargo knows it.
#[derive(Debug)]
pub struct CargoPackage {
    manifest: PathBuf,
    package: Described,
}

impl CargoPackage {
    /// Asks cargo about the package in `folder`.
    ///
    /// # Errors
    /// When cargo cannot say.
    pub fn ask(folder: &Path) -> Result<Self, String> {
        let manifest = folder.join("Cargo.toml");
        let metadata: Metadata = metadata(&manifest, &["--no-deps"])?;
        // Cargo may name it by another path.
        let real = |path: &Path| path.canonicalize().ok();
        let is_it = |it: &Described| real(&it.manifest_path) == real(&manifest);
        let package = metadata.packages.into_iter().find(is_it);
        let package = package.ok_or_else(|| format!("{} is no package", manifest.display()))?;
        Ok(Self { manifest: package.manifest_path.clone(), package })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.package.name
    }

    /// Whether it has a target of one of these kinds: `bench`, `test`, `example`, `bin`, `cdylib`.
    pub fn has_target(&self, kinds: &[&str]) -> bool {
        let mut of_targets = self.package.targets.iter().flat_map(|target| &target.kind);
        of_targets.any(|kind| kinds.contains(&kind.as_str()))
    }

    /// Whether its library and programs depend on this package, and not only its tests and benchmarks.
    pub fn depends_on(&self, name: &str) -> bool {
        self.package.dependencies.iter().any(|it| it.kind.is_none() && it.name == name)
    }

    /// Whether it has benchmarks, and dependencies that may bring something to them.
    fn has_others(&self) -> bool {
        let dependencies = || self.package.dependencies.iter().filter(|it| !it.is_of_build());
        let is_ours = |it: &Dependency| it.name == "criterion-torch";
        dependencies().any(is_ours) && !dependencies().all(is_ours)
    }

    /// The files to have cargo look at, since an edit of one can change the answer: its own manifest, and those of the
    /// crates beside it.
    pub fn manifests(&self) -> Vec<PathBuf> {
        let beside = self.package.dependencies.iter().filter(|it| !it.is_of_build());
        let beside = beside.filter_map(|it| Some(it.path.as_ref()?.join("Cargo.toml")));
        std::iter::once(self.manifest.clone()).chain(beside).collect()
    }

    /// The folders of the crates that it depends on, directly and not only in its build script.
    ///
    /// # Errors
    /// When cargo cannot say which crates those are; inside, all mistakes in what they say.
    pub fn libraries(&self) -> Result<Result<Vec<Library>, Diagnostics>, String> {
        if !self.has_others() {
            return Ok(Ok(Vec::new()));
        }
        let arguments = ["--filter-platform", &platform()];
        let metadata: Metadata = metadata(&self.manifest, &arguments)?;
        let (mut libraries, mut errors) = (Vec::new(), Vec::new());
        for (extern_name, package) in metadata.dependencies_of(&self.manifest) {
            match package.libraries(extern_name) {
                Ok(found) => libraries.extend(found),
                Err(Diagnostics(found)) => errors.extend(found),
            }
        }
        Ok(if errors.is_empty() { Ok(libraries) } else { Err(Diagnostics(errors)) })
    }
}

/// The platform that is built for, as a build script knows it; elsewhere this one. Crates of other platforms need not be
/// there.
fn platform() -> String {
    std::env::var("TARGET").unwrap_or_else(|_| {
        let system = match std::env::consts::OS {
            "macos" => "apple-darwin",
            "windows" => "pc-windows-msvc",
            _ => "unknown-linux-gnu",
        };
        format!("{}-{system}", std::env::consts::ARCH)
    })
}

/// The answer of `cargo metadata`. It writes no lock file and asks no network.
fn metadata<T: DeserializeOwned>(manifest: &Path, arguments: &[&str]) -> Result<T, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command
        .args(["metadata", "--format-version", "1", "--frozen", "--manifest-path"])
        .arg(manifest)
        .args(arguments);
    let output = command.output().map_err(|error| format!("cargo cannot be started: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        return Err(format!("`cargo metadata --frozen`: {}", said.join("; ")));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("`cargo metadata`: {error}"))
}

#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Described>,
    resolve: Option<Resolve>,
}

impl Metadata {
    /// The direct dependencies of a package, each with the name by which its code calls it.
    fn dependencies_of(&self, manifest: &Path) -> impl Iterator<Item = (&str, &Described)> {
        let own = self.packages.iter().find(|it| it.manifest_path == manifest);
        let nodes = self.resolve.iter().flat_map(|it| &it.nodes);
        let nodes = nodes.filter(move |node| own.is_some_and(|own| own.id == node.id));
        let called = nodes.flat_map(|node| &node.deps);
        let called =
            called.filter(|it| it.dep_kinds.iter().any(|it| it.kind.as_deref() != Some("build")));
        called.filter_map(|it| {
            Some((&*it.name, self.packages.iter().find(|package| package.id == it.pkg)?))
        })
    }
}

#[derive(Debug, Deserialize)]
struct Described {
    id: String,
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
    targets: Vec<Target>,
    #[serde(default)]
    metadata: Value,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    name: String,
    kind: Option<String>,
    path: Option<PathBuf>,
}

impl Dependency {
    fn is_of_build(&self) -> bool {
        self.kind.as_deref() == Some("build")
    }
}

#[derive(Debug, Deserialize)]
struct Target {
    kind: Vec<String>,
    src_path: PathBuf,
}

#[derive(Debug, Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct Node {
    id: String,
    deps: Vec<Called>,
}

#[derive(Debug, Deserialize)]
struct Called {
    name: String,
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Debug, Deserialize)]
struct DependencyKind {
    kind: Option<String>,
}

/// The table of a `Cargo.toml` in which a crate says what it brings.
const TABLE: &str = "package.metadata.criterion-torch";

impl Described {
    fn libraries(&self, extern_name: &str) -> Result<Vec<Library>, Diagnostics> {
        let Some(said) = self.metadata.get("criterion-torch") else { return Ok(Vec::new()) };
        let example = format!("write `[{TABLE}]` and below it `kernels = \"src/kernels\"`");
        let Some(table) = said.as_object() else {
            return Err(self.error(TABLE, "is no table".to_owned(), &example).into());
        };
        let (mut libraries, mut errors) = (Vec::new(), Vec::new());
        for (key, value) in table {
            match self.library(extern_name, key, value) {
                Ok(library) => libraries.push(library),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() { Ok(libraries) } else { Err(Diagnostics(errors)) }
    }

    fn library(&self, extern_name: &str, key: &str, value: &Value) -> Result<Library, Diagnostic> {
        let keys = || Brings::ALL.iter().map(|it| it.as_str());
        let Ok(brings) = key.parse() else {
            let remedy = closest(key, keys()).map_or_else(
                || format!("the keys are {}", keys().collect::<Vec<_>>().join(", ")),
                |near| format!("did you mean `{near}`?"),
            );
            return Err(self.error(&format!("{TABLE}.{key}"), "unknown key".to_owned(), &remedy));
        };
        let error = |message, remedy: &str| self.error(&format!("{TABLE}.{key}"), message, remedy);
        let inside = "name a folder inside the one of the library's sources, such as `src/kernels`";
        let Some(text) = value.as_str() else {
            return Err(error(format!("`{value}` is no text"), inside));
        };
        let Some(library) = self.targets.iter().find(|it| it.is_library()) else {
            return Err(error("the crate has no library".to_owned(), "add src/lib.rs"));
        };
        let is_plain = Path::new(text).components().all(|it| matches!(it, Component::Normal(_)));
        let folder = self.manifest_path.parent().unwrap_or(Path::new("")).join(text);
        let sources = library.src_path.parent().unwrap_or(Path::new(""));
        let modules = folder.strip_prefix(sources).ok().filter(|_| is_plain);
        let Some(modules) = modules.filter(|modules| modules.components().next().is_some()) else {
            return Err(error(format!("`{text}` is not inside {}", sources.display()), inside));
        };
        if !folder.is_dir() {
            return Err(error(
                format!("there is no folder {}", folder.display()),
                "make it, or correct the path",
            ));
        }
        let parts = modules.components().map(|it| it.as_os_str().to_string_lossy());
        let module = parts.fold(format!("::{extern_name}"), |path, part| format!("{path}::{part}"));
        let (package, manifest) = (self.name.clone(), self.manifest_path.clone());
        Ok(Library { package, manifest, brings, folder, module })
    }

    fn error(&self, key: &str, message: String, remedy: &str) -> Diagnostic {
        let error = Diagnostic::whole_file(&self.manifest_path, message, remedy);
        Diagnostic { key: key.to_owned(), ..error }
    }
}

impl Target {
    fn is_library(&self) -> bool {
        self.kind.iter().any(|kind| ["lib", "rlib", "dylib"].contains(&kind.as_str()))
    }
}
