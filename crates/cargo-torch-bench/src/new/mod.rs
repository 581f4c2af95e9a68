//! `new`: benchmarks in a package of the user's. Everything is looked at before anything is written, and what exists
//! is left as it is.

mod manifest;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::cargo::{self, Package};
use crate::configuration::{Naming, lines_for};
use crate::error::{Error, Result};
use crate::files;
use crate::source::Link;
use crate::workspace::{self, Workspace};
use manifest::{Manifest, Original};
use plan::git;

/// The options of `new`.
#[derive(Debug, PartialEq, Eq, clap::Args)]
pub struct Options {
    /// Take the crates from a checkout of criterion-torch
    #[arg(long, value_name = "DIR", conflicts_with = "registry")]
    path: Option<PathBuf>,
    /// Take the crates from this registry of cargo's configuration
    #[arg(long, value_name = "NAME")]
    registry: Option<String>,
}

/// A file of the template: its place in the package, and its text.
type File = (&'static str, &'static str);

macro_rules! file {
    ($place:literal) => {
        ($place, include_str!(concat!("../../template/", $place)))
    };
}

const BUILD: File = file!("build.rs");
const BENCH: File = file!("benches/torch.rs");
/// Examples, each with the folder whose existence says that the user has something better.
const EXAMPLES: [(&str, &[File]); 2] = [
    ("configs", &[file!("configs/inference/linear.yml")]),
    (
        "benches/kernels",
        &[
            file!("benches/kernels/saxpy/bench.yaml"),
            file!("benches/kernels/saxpy/kernel.rs"),
            file!("benches/kernels/saxpy/torch.rs"),
        ],
    ),
];

/// The two crates, the table that each goes into by `cargo add`, and its folder in a checkout.
const CRATES: [(&str, &str, &str); 2] =
    [("criterion-torch", "--dev", ""), ("criterion-torch-build", "--build", "crates/build")];

pub fn command(options: &Options) -> Result<ExitCode> {
    let package = Package::find_from(&workspace::current_folder()?)?;
    let addition = Addition::for_package(&package, options)?;
    for add in &addition.cargo_adds {
        add.run(&package, &["--dry-run"])?;
    }
    addition.make(&package)
}

/// Everything that is done to a package.
#[derive(Debug)]
struct Addition {
    cargo_adds: Vec<CargoAdd>,
    files: Vec<File>,
    /// Parts that exist already.
    kept: Vec<String>,
    /// Lines for the user to add, without which nothing works.
    missing: Vec<String>,
    naming: Naming,
    workspace: Workspace,
}

impl Addition {
    fn for_package(package: &Package, options: &Options) -> Result<Self> {
        let folder = package.folder();
        let mut addition = Self {
            cargo_adds: Vec::new(),
            files: Vec::new(),
            kept: Vec::new(),
            missing: Vec::new(),
            naming: Naming::new(&package.workspace)?,
            workspace: package.workspace.clone(),
        };
        for (name, table, below) in CRATES {
            match package.depends_on(name) {
                true => addition.kept.push(format!("the dependency {name}")),
                false => addition.cargo_adds.push(CargoAdd::new(name, table, below, options)?),
            }
        }
        // The manifest may name another file.
        let script = package.build_script.as_deref().unwrap_or(Path::new(BUILD.0));
        addition.include(folder, script, BUILD, "criterion_torch_build::main", "its `main`")?;
        let manifest = Manifest::read(&package.manifest)?;
        manifest.check(&package.manifest)?;
        let bench = manifest.bench_file().unwrap_or(Path::new(BENCH.0));
        addition.include(folder, bench, BENCH, "criterion_torch::main!", "it")?;
        for (owner, examples) in EXAMPLES {
            match folder.join(owner).exists() {
                true => addition.kept.push(format!("{owner}, without the example")),
                false => addition.files.extend(examples),
            }
        }
        addition.files.iter().try_for_each(|(place, _)| check_free(folder, place))?;
        addition.missing.extend(manifest.bench_faults());
        if let Naming::Lacking(file) = &addition.naming {
            addition.missing.push(format!("{}: {}", file.display(), lines_for(file)?));
        }
        Ok(addition)
    }

    /// A file that has to be there and has to have `call` in it.
    fn include(
        &mut self,
        folder: &Path,
        place: &Path,
        file: File,
        call: &str,
        into: &str,
    ) -> Result<()> {
        let path = folder.join(place);
        if !path.exists() {
            self.files.push(file);
            return Ok(());
        }
        let place = path.strip_prefix(folder).unwrap_or(&path).display();
        self.kept.push(place.to_string());
        if !files::read(&path)?.contains(call) {
            let line = file.1.lines().find(|line| line.contains(call)).expect("it is the template");
            self.missing.push(format!("{place}: add `{}` to {into}", line.trim()));
        }
        Ok(())
    }

    /// Cargo first, which may still fail; then the rest.
    fn make(self, package: &Package) -> Result<ExitCode> {
        let original = Original::read(&package.manifest)?;
        for add in &self.cargo_adds {
            add.run(package, &[]).or_else(|error| original.write(None).and(Err(error)))?;
        }
        let manifest = Manifest::read(&package.manifest)?.with_targets(package);
        let names = self.cargo_adds.iter().map(|add| add.name.to_owned());
        let changes: Vec<String> = names.chain(manifest.changes.iter().cloned()).collect();
        if !changes.is_empty() {
            original.write(Some(&manifest.text()))?;
            println!("changed  Cargo.toml: {}", changes.join(", "));
        }
        for (place, text) in &self.files {
            let path = package.folder().join(place);
            files::make_folder(path.parent().expect("it lies in the package"))?;
            create(&path, text)?;
            println!("wrote    {place}");
        }
        for kept in &self.kept {
            println!("kept     {kept}");
        }
        if ignores_link(&self.workspace)? == Some(false) {
            println!("to do    add /.libtorch to {}/.gitignore", self.workspace.root().display());
        }
        if !self.missing.is_empty() {
            let error =
                Error::new("the benchmarks do not work before you have added what is named here");
            return Err(self.missing.into_iter().fold(error, Error::remedy));
        }
        let is_linked = matches!(Link::read(&self.workspace), Ok(Link::To(_)));
        let setup = if is_linked { "" } else { "cargo xtask setup, then " };
        if is_linked {
            // Else setup does. Named before it is there, libtorch would be missed by C++ alone, in many lines.
            self.naming.settle()?;
        }
        println!("next     {}cargo bench", crate::name::as_typed(setup));
        Ok(ExitCode::SUCCESS)
    }
}

/// Refuses a place that cannot be made: what is there may be a link that leads nowhere, which does not count as existing.
fn check_free(folder: &Path, place: &str) -> Result<()> {
    let path = folder.join(place);
    let above = path.ancestors().skip(1).take_while(|it| *it != folder);
    let mut taken = above.filter(|it| it.symlink_metadata().is_ok() && !it.is_dir());
    let same_target = path.with_extension("").join("main.rs");
    let what = if let Some(above) = taken.next() {
        format!("{} is no folder, and {place} is to be in it", above.display())
    } else if path.symlink_metadata().is_ok() {
        format!("{} is a link that leads nowhere", path.display())
    } else if place == BENCH.0 && same_target.exists() {
        format!("{} is a bench target called torch already", same_target.display())
    } else {
        return Ok(());
    };
    Err(Error::new(what).remedy("move or rename it"))
}

/// Writes a file that is not there; another that came meanwhile stays.
fn create(path: &Path, text: &str) -> Result<()> {
    let written = fs::File::create_new(path)
        .and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
    written.map_err(|error| Error::io("create", path, &error))
}

/// Whether git ignores the link; none without git or outside of a repository.
fn ignores_link(workspace: &Workspace) -> Result<Option<bool>> {
    let root = workspace.root();
    let is_inside = git::ask(root, &["rev-parse", "--is-inside-work-tree"]).unwrap_or(None);
    match is_inside {
        None => Ok(None),
        Some(_) => Ok(Some(git::ask(root, &["check-ignore", ".libtorch"])?.is_some())),
    }
}

/// One `cargo add`.
#[derive(Debug)]
struct CargoAdd {
    name: &'static str,
    words: Vec<String>,
}

impl CargoAdd {
    fn new(name: &'static str, table: &str, below: &str, options: &Options) -> Result<Self> {
        let mut words = vec![table.to_owned()];
        match (&options.path, &options.registry) {
            (Some(checkout), _) => {
                let folder = workspace::current_folder()?.join(checkout).join(below);
                if !folder.join("Cargo.toml").is_file() {
                    let what = format!("--path: no package in {}", folder.display());
                    let remedy = "name the folder of a checkout of criterion-torch";
                    return Err(Error::usage(what).remedy(remedy));
                }
                words.extend([name.to_owned(), "--path".into(), folder.display().to_string()]);
            }
            (None, registry) => {
                words.push(format!("{name}@{}", env!("CARGO_PKG_VERSION")));
                let registry = registry.iter().flat_map(|it| ["--registry".to_owned(), it.clone()]);
                words.extend(registry);
            }
        }
        Ok(Self { name, words })
    }

    fn run(&self, package: &Package, more: &[&str]) -> Result<()> {
        let mut add = cargo::in_folder(package.folder());
        add.args(["add", "--quiet", "--manifest-path"]).arg(&package.manifest);
        add.args(&self.words).args(more);
        let output = add.output().map_err(|error| cargo::not_run(&add, &error))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let what = format!("cargo add {} failed: {}", self.words.join(" "), said.trim());
        Err(Error::new(what)
            .remedy("name a checkout with --path DIR, or a registry with --registry NAME"))
    }
}
