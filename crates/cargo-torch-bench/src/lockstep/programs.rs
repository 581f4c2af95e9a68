//! The benchmark programs of a revision, as cargo builds them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use memchr::memmem;
use toml_edit::{DocumentMut, Item};

use super::linker::{self, Inputs};
use super::process::Program;
use crate::cargo::{self, Member, Target, not_run};
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
    /// The linker of bench targets, by one path for all: another would have them built again. None where it is the system's.
    pub linker: Option<PathBuf>,
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
    /// The packages of which it takes bench targets.
    fn packages(&self, folder: &Path) -> Result<Vec<Member>> {
        let members = cargo::members(folder)?.into_iter();
        let is_taken = |(member, is_default): &(Member, bool)| match &self.package[..] {
            [] => *is_default,
            named => named.contains(&member.name),
        };
        let taken: Vec<Member> = members.filter(is_taken).map(|(member, _)| member).collect();
        for word in self.words() {
            if !taken.iter().any(|it| feature(word, it).is_some()) {
                let what = format!("--features {word}: no package in {} has it", folder.display());
                return Err(
                    Error::usage(what).remedy("both revisions are built with the same features")
                );
            }
        }
        Ok(taken)
    }

    /// The features that were given.
    fn words(&self) -> impl Iterator<Item = &str> {
        self.features.iter().flat_map(|it| it.split([',', ' '])).filter(|it| !it.is_empty())
    }

    /// The given features that a package has: cargo refuses others.
    fn of<'s>(&'s self, package: &Member) -> Vec<&'s str> {
        self.words().filter_map(|word| feature(word, package)).collect()
    }

    /// Whether cargo can build the target with these features; it leaves others out, too.
    fn has_features(&self, package: &Member, target: &Target) -> bool {
        let mut enabled: Vec<&str> = self.of(package);
        enabled.extend((!self.no_default_features).then_some("default"));
        let mut place = 0;
        while let Some(&name) = enabled.get(place) {
            // A feature of an optional dependency enables that dependency, too.
            let dependency = name.split_once('/').map(|(name, _)| name);
            let enables = package.features.get(name).into_iter().flatten().map(String::as_str);
            for further in enables.chain(dependency) {
                if !enabled.contains(&further) {
                    enabled.push(further);
                }
            }
            place += 1;
        }
        self.all_features || target.required_features.iter().all(|it| enabled.contains(&&**it))
    }

    /// Cargo's options for a package.
    fn options(&self, package: &Member) -> Vec<String> {
        let mut words = Vec::new();
        let features = self.of(package);
        if !features.is_empty() {
            words.extend(["--features".to_owned(), features.join(",")]);
        }
        words.extend(self.all_features.then(|| "--all-features".to_owned()));
        words.extend(self.no_default_features.then(|| "--no-default-features".to_owned()));
        words
    }
}

/// A feature that was given, as a package knows it: `x`, or `p/x` of the package or of its dependency `p`.
fn feature<'w>(word: &'w str, package: &Member) -> Option<&'w str> {
    match word.split_once('/') {
        Some((name, _)) if name != package.name => {
            package.depends_on(name.trim_end_matches('?')).then_some(word)
        }
        own => {
            let name = own.map_or(word, |(_, name)| name);
            package.features.contains_key(name).then_some(name)
        }
    }
}

impl Checkout {
    /// Builds the selected bench targets; those without criterion are left out, and named.
    pub fn build(&self, selection: &Selection) -> Result<Vec<Program>> {
        let mut programs = Vec::new();
        for package in selection.packages(&self.folder)? {
            let left_out = left_out(&package.manifest_path)?;
            let is_named = |it: &Target| match &selection.bench[..] {
                [] => !left_out.contains(&it.name),
                named => named.contains(&it.name),
            };
            for target in package.targets.iter().filter(|it| it.is("bench") && is_named(it)) {
                programs.extend(self.program(selection, &package, target)?);
            }
        }
        Ok(programs)
    }

    /// Builds one target, if it can be measured.
    fn program(
        &self,
        selection: &Selection,
        package: &Member,
        target: &Target,
    ) -> Result<Option<Program>> {
        if !selection.has_features(package, target) {
            let needs = target.required_features.join(",");
            eprintln!("{}: {} needs --features {needs}, left out", self.name, target.name);
            return Ok(None);
        }
        let folder = package.manifest_path.parent().expect("a file lies in a folder");
        // Links on the way to the folder are resolved in only one of the two.
        let inside = folder.strip_prefix(&self.folder).or_else(|_| {
            let root = self.folder.canonicalize().unwrap_or_default();
            folder.strip_prefix(root)
        });
        let run_in = self.run_in.join(inside.unwrap_or(Path::new("")));
        let built = self.target(selection, package, target)?;
        let bytes = fs::read(&built).map_err(|error| Error::io("read", &built, &error))?;
        let has = |text: &str| memmem::find(&bytes, text.as_bytes()).is_some();
        if !has(PORT) {
            eprintln!("{}: {} has no criterion, left out", self.name, target.name);
            return Ok(None);
        }
        let path = self.keep(&package.name, &built)?;
        Ok(Some(Program {
            inputs: Inputs::copy(&built, &path)?,
            path,
            package: package.name.clone(),
            target: target.name.clone(),
            has_plugin: has(MARK),
            is_checked: false,
            criterion_home: self.programs.join("criterion"),
            folder: run_in,
            environment: self.environment.clone(),
        }))
    }

    /// Copies a program, which the next build replaces.
    fn keep(&self, package: &str, program: &Path) -> Result<PathBuf> {
        let kept = self.programs.join(package).join(files::name(program));
        files::make_folder(kept.parent().expect("it lies in a folder"))?;
        fs::copy(program, &kept).map_err(|error| Error::io("copy", program, &error))?;
        Ok(kept)
    }

    /// The program of one target.
    fn target(&self, selection: &Selection, package: &Member, target: &Target) -> Result<PathBuf> {
        let mut cargo = cargo::in_folder(&self.folder);
        // The records name the commit of the folder that they are measured in.
        git::unset_variables(&mut cargo);
        cargo.envs(self.environment.iter().map(|(name, value)| (name, value)));
        // Not by the package's name, which a dependency may have, too.
        cargo.args(["rustc", "--profile", "bench", cargo::MESSAGES, "--manifest-path"]);
        cargo.arg(&package.manifest_path).args(["--bench", &target.name]);
        cargo.args(selection.options(package)).arg("--");
        if let Some(copy) = &self.linker {
            linker::rustc(&mut cargo, copy);
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

/// The bench targets that `cargo bench` takes only by their names. Cargo's metadata does not tell.
fn left_out(manifest: &Path) -> Result<Vec<String>> {
    let text = files::read(manifest)?.parse::<DocumentMut>();
    let text = text.map_err(|error| Error::new(format!("{}: {error}", manifest.display())))?;
    let benches = text.get("bench").and_then(Item::as_array_of_tables).into_iter().flatten();
    let left_out = benches.filter(|it| it.get("bench").and_then(Item::as_bool) == Some(false));
    Ok(left_out.filter_map(|it| Some(it.get("name")?.as_str()?.to_owned())).collect())
}

/// Whether a workspace has our plug-in, which measures more than times.
pub fn has_plugin(root: &Path) -> bool {
    fs::read_to_string(root.join("Cargo.lock"))
        .is_ok_and(|lock| lock.contains("name = \"criterion-torch\"\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cargo_bench_leaves_out_is_known() {
        let folder = tempfile::tempdir().expect("a folder");
        let manifest = folder.path().join("Cargo.toml");
        let text = "[[bench]]\nname = \"a\"\n[[bench]]\nname = \"b\"\nbench = false\n";
        fs::write(&manifest, text).expect("written");
        assert_eq!(left_out(&manifest).expect("readable"), ["b"]);
        fs::write(&manifest, "[package]\nname = \"c\"\n").expect("written");
        assert_eq!(left_out(&manifest).expect("readable"), [""; 0]);
    }
}
