//! The benchmark programs of a revision, as cargo builds them.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::linker;
use super::process::Program;
use crate::cargo::{self, Target, not_run};
use crate::error::{Error, Result};
use crate::files;
use plan::git;
use plan::lockstep::PORT;

/// A revision that is built.
#[derive(Debug)]
pub struct Checkout {
    /// The name of the side.
    pub name: String,
    /// The folder that it is built in.
    pub folder: PathBuf,
    /// The folder of the same revision that it runs in.
    pub run_in: PathBuf,
    /// The folder for its programs.
    pub programs: PathBuf,
    /// Variables of cargo and of the benchmarks.
    pub environment: Vec<(&'static str, PathBuf)>,
}

/// A text that every program with our plug-in has: the name of a variable.
const MARK: &str = plan::flag::HIDDEN;

/// Which bench targets are built, and how.
#[derive(Debug, Default, PartialEq, Eq, clap::Args)]
pub struct Selection {
    /// Only bench targets of this package; may be repeated
    #[arg(long, short, value_name = "PACKAGE")]
    package: Vec<String>,
    /// Only this bench target; may be repeated
    #[arg(long, value_name = "TARGET")]
    bench: Vec<String>,
    /// Features to build with, separated by commas
    #[arg(long, short = 'F', value_name = "FEATURES")]
    features: Vec<String>,
    /// Build with all features
    #[arg(long)]
    all_features: bool,
    /// Build without the default features
    #[arg(long)]
    no_default_features: bool,
}

impl Selection {
    fn names(&self, package: &str, target: &Target) -> bool {
        let is_in =
            |names: &[String], name: &str| names.is_empty() || names.iter().any(|it| it == name);
        is_in(&self.package, package) && is_in(&self.bench, &target.name)
    }

    /// Whether cargo can build the target with these features; it leaves others out, too.
    fn has_features(&self, target: &Target) -> bool {
        let given = || self.features.iter().flat_map(|it| it.split([',', ' ']));
        self.all_features || target.required_features.iter().all(|it| given().any(|has| has == it))
    }

    fn features(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        for features in &self.features {
            words.extend(["--features".into(), features.into()]);
        }
        words.extend(self.all_features.then(|| "--all-features".into()));
        words.extend(self.no_default_features.then(|| "--no-default-features".into()));
        words
    }
}

impl Checkout {
    /// Builds the selected bench targets; those without criterion are left out, and named.
    pub fn build(&self, selection: &Selection) -> Result<Vec<Program>> {
        let targets = cargo::bench_targets(&self.folder)?;
        let selected =
            targets.iter().filter(|(package, _, target)| selection.names(package, target));
        let mut programs = Vec::new();
        for (package, manifest, target) in selected {
            if !selection.has_features(target) {
                let needs = target.required_features.join(",");
                eprintln!("{}: {} needs --features {needs}, left out", self.name, target.name);
                continue;
            }
            let folder = manifest.parent().expect("a file lies in a folder");
            // Links on the way to the folder are resolved in only one of the two.
            let inside = folder.strip_prefix(&self.folder).or_else(|_| {
                let root = self.folder.canonicalize().unwrap_or_default();
                folder.strip_prefix(root)
            });
            let run_in = self.run_in.join(inside.unwrap_or(Path::new("")));
            let built = self.target(selection, manifest, target)?;
            let has_criterion = linker::has(&built, PORT.as_bytes());
            if !has_criterion.map_err(|error| Error::io("read", &built, &error))? {
                eprintln!("{}: {} has no criterion, left out", self.name, target.name);
                continue;
            }
            let layouts = [vec![built.clone()], linker::layouts(&built)].concat();
            let layouts = layouts.iter().map(|it| self.keep(package, it)).collect::<Result<_>>()?;
            let has_plugin = linker::has(&built, MARK.as_bytes());
            programs.push(Program {
                target: target.name.clone(),
                has_plugin: has_plugin.map_err(|error| Error::io("read", &built, &error))?,
                criterion_home: self.programs.join("criterion"),
                layouts,
                folder: run_in,
                environment: self.environment.clone(),
            });
        }
        Ok(programs)
    }

    /// Copies a program, which the next build replaces.
    fn keep(&self, package: &str, program: &Path) -> Result<PathBuf> {
        let kept = self.programs.join(package).join(files::name(program));
        files::make_folder(kept.parent().expect("it lies in a folder"))?;
        fs::copy(program, &kept).map_err(|error| Error::io("copy", program, &error))?;
        Ok(kept)
    }

    /// The program of one target.
    fn target(&self, selection: &Selection, manifest: &Path, target: &Target) -> Result<PathBuf> {
        let mut cargo = cargo::in_folder(&self.folder);
        // The records name the commit of the folder that they are measured in.
        git::unset_variables(&mut cargo);
        cargo.envs(self.environment.iter().map(|(name, value)| (name, value)));
        // Not by the package's name, which a dependency may have, too.
        cargo
            .args(["rustc", "--profile", "bench", cargo::MESSAGES, "--manifest-path"])
            .arg(manifest);
        cargo.args(["--bench", &target.name]).args(selection.features()).arg("--");
        if cfg!(target_os = "linux") {
            linker::rustc(&mut cargo)
                .map_err(|error| Error::new(format!("this program: {error}")))?;
        }
        cargo.stdin(Stdio::null()).stderr(Stdio::inherit());
        let output = cargo.output().map_err(|error| not_run(&cargo, &error))?;
        if !output.status.success() {
            let what = format!(
                "{}: the bench target {} could not be built ({}) in {}",
                self.name,
                target.name,
                output.status,
                self.folder.display()
            );
            return Err(Error::failed(what, cargo::code(output.status)));
        }
        let mut programs = cargo::programs(&output.stdout, "bench").into_iter();
        let program = programs.find_map(|(name, program)| (name == target.name).then_some(program));
        program.ok_or_else(|| Error::new(format!("cargo does not say where {} is", target.name)))
    }
}

/// Whether a workspace has our plug-in, which measures more than times.
pub fn has_plugin(root: &Path) -> bool {
    fs::read_to_string(root.join("Cargo.lock"))
        .is_ok_and(|lock| lock.contains("name = \"criterion-torch\"\n"))
}
