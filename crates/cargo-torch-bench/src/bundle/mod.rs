//! `bundle`: benchmarks in one file, for hosts without Rust, Python and a network; and the runner inside it.

mod built;
mod compiled;
mod elf;
mod launcher;
mod libraries;
mod loader;
pub mod manifest;
mod pack;
pub mod run;
mod target_cpu;
mod version;

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use crate::cargo;
use crate::configuration;
use crate::error::{Error, Result};
use crate::files;
use crate::git;
use crate::human;
use crate::setup;
use crate::workspace::Workspace;
use ::libtorch::{Libtorch, VERSION};
use built::{Built, Wish};
use libraries::{Found, Needs};
use manifest::{Manifest, Part};
use pack::{Entry, Form, Source};

/// The options of `bundle`.
#[derive(Debug, PartialEq, Eq, clap::Args)]
pub struct Options {
    /// The bundle: NAME.tar.zst, or NAME.tar for hosts without zstd
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// A bench target; may be given several times
    #[arg(long = "bench", value_name = "NAME")]
    benches: Vec<String>,
    /// A config, in the place of the default suites; may be given several times
    #[arg(long = "config", value_name = "FILE")]
    configs: Vec<PathBuf>,
    /// The package of the bench targets; may be given several times
    #[arg(long = "package", short, value_name = "NAME")]
    packages: Vec<String>,
    /// Build with this profile of cargo's
    #[arg(long, value_name = "NAME", default_value = PROFILE)]
    profile: String,
    /// Build for this processor, as `rustc --print target-cpus` names it
    ///
    /// x86-64-v3 has AVX2, x86-64-v4 has AVX-512. libtorch chooses its own instructions on the host.
    #[arg(long, value_name = "CPU")]
    target_cpu: Option<String>,
    /// Leave libtorch out: each host has a torch 2.11.0 of its own
    #[arg(long)]
    without_libtorch: bool,
    /// Add the compiled packages of this machine's cache
    ///
    /// A host finds them if its processor is the same.
    #[arg(long)]
    compiled: bool,
    /// The cases to plan for, a regular expression on ids; all are built
    #[arg(last = true, value_name = "FILTER")]
    filters: Vec<String>,
}

/// Cargo's profile of benchmarks.
const PROFILE: &str = "bench";

pub fn command(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    if !cfg!(target_os = "linux") {
        return Err(Error::usage("bundle: bundles are made on Linux, for hosts with Linux"));
    }
    let (folder, form) = form(&options.output)?;
    let flags = options.flags(workspace)?;
    let configs = options.bench_config()?;
    let filter = options.filter()?;
    let libtorch = setup::before(workspace)?;
    let root = workspace.root();
    let wish = Wish {
        root,
        profile: &options.profile,
        packages: &options.packages,
        benches: &options.benches,
        configs,
        flags,
    };
    let built = wish.build()?;
    options.check(&built)?;
    let report = built::report(root)?;
    let started = Instant::now();
    let criterion = cargo::results(workspace)?.criterion;
    let plan = built::plan(&report, &built.benches, filter, &criterion)?;
    let (manifest, entries) = contents(root, options, &libtorch, built, report, plan)?;
    let bytes = pack::write(&options.output, &folder, &entries, form)?;
    tell(options, &folder, &manifest, bytes, started);
    Ok(ExitCode::SUCCESS)
}

/// Zstandard's level: libtorch packs in seconds, and a higher one takes off little.
const LEVEL: i32 = 3;

/// The folder in the archive, and the form of the archive, both by its name.
fn form(output: &Path) -> Result<(String, Form)> {
    let name = output.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let forms = [(".tar.zst", Form::Zstd(LEVEL)), (".tar", Form::Plain)];
    let found = forms.into_iter().find_map(|(end, form)| Some((name.strip_suffix(end)?, form)));
    match found.filter(|(folder, _)| !folder.is_empty()) {
        Some((folder, form)) => Ok((folder.to_owned(), form)),
        None => Err(Error::usage(format!(
            "--output {}: the name of a bundle ends in .tar.zst or .tar",
            output.display()
        ))
        .remedy("--output sweep.tar.zst")),
    }
}

impl Options {
    fn flags(&self, workspace: &Workspace) -> Result<target_cpu::Flags> {
        let Some(cpu) = &self.target_cpu else { return Ok(target_cpu::Flags::default()) };
        target_cpu::check(cpu)?;
        let configuration = configuration::documents(workspace.root())?;
        target_cpu::Flags::of(cpu, &target_cpu::host()?, &configuration)
    }

    /// The value of BENCH_CONFIG. Build scripts run in folders of their own, so it has whole paths.
    fn bench_config(&self) -> Result<Option<OsString>> {
        if self.configs.is_empty() {
            return Ok(None);
        }
        let whole = self.configs.iter().map(|config| {
            let path = config.canonicalize();
            path.map_err(|error| {
                Error::io("read", config, &error).remedy("--config FILE is a config")
            })
        });
        let whole = whole.collect::<Result<Vec<_>>>()?;
        let joined = env::join_paths(whole);
        joined.map(Some).map_err(|error| Error::usage(format!("--config: {error}")))
    }

    /// The words of this command line but the output's name, for a copy of the workspace.
    fn words(&self, root: &Path) -> Result<Vec<String>> {
        let mut words = Vec::new();
        let mut add = |name: &str, value: &str| words.extend([name.to_owned(), value.to_owned()]);
        self.benches.iter().for_each(|bench| add("--bench", bench));
        self.packages.iter().for_each(|package| add("--package", package));
        for config in &self.configs {
            let whole = config.canonicalize().map_err(|error| Error::io("read", config, &error))?;
            let inside = whole.strip_prefix(root).unwrap_or(&whole);
            add("--config", &inside.to_string_lossy());
        }
        if self.profile != PROFILE {
            add("--profile", &self.profile);
        }
        self.target_cpu.iter().for_each(|cpu| add("--target-cpu", cpu));
        let flags = [("--without-libtorch", self.without_libtorch), ("--compiled", self.compiled)];
        words
            .extend(flags.into_iter().filter(|(_, given)| *given).map(|(name, _)| name.to_owned()));
        if let Some(filter) = self.filter()? {
            words.extend(["--".to_owned(), filter.to_owned()]);
        }
        Ok(words)
    }

    /// The one filter: clap, whose options override each other here, would take the last of many.
    fn filter(&self) -> Result<Option<&str>> {
        match self.filters.as_slice() {
            [] => Ok(None),
            [filter] => Ok(Some(filter)),
            [_, second, ..] => Err(Error::usage(format!("unexpected argument '{second}'"))
                .remedy("give one regular expression: -- 'first|second'")),
        }
    }

    /// Refuses a build that has nothing to run, and notes what is left out.
    fn check(&self, built: &Built) -> Result<()> {
        for other in &built.others {
            eprintln!(
                "note: the bench target {other} is left out: it has no plan of criterion-torch"
            );
        }
        if built.features.is_none() {
            eprintln!(
                "note: no build script told the processor's features, so hosts are not checked for them; criterion-torch \
                 {} and newer tell them",
                env!("CARGO_PKG_VERSION")
            );
        }
        if built.benches.is_empty() {
            return Err(Error::new("no bench target of criterion-torch was built")
                .remedy("add one to your package: cargo xtask new")
                .remedy("name the package that has them: --package NAME"));
        }
        Ok(())
    }
}

/// Everything in the bundle, the manifest first.
fn contents(
    root: &Path,
    options: &Options,
    libtorch: &Libtorch,
    built: Built,
    report: PathBuf,
    plan: Vec<u8>,
) -> Result<(Manifest, Vec<Entry>)> {
    let runner = env::current_exe()
        .map_err(|error| Error::new(format!("this program has no path: {error}")))?;
    let benches = built.benches.iter().map(|bench| bench.program.clone());
    let programs: Vec<PathBuf> = benches.chain([report.clone(), runner.clone()]).collect();
    let whole = Needs::of(&programs, Some(libtorch))?;
    let needs = if options.without_libtorch { Needs::of(&programs, None)? } else { whole.clone() };

    let mut entries = Vec::new();
    let mut add = |part, place: String, source, is_program| {
        entries.push(Entry { part, place, source, is_program });
    };
    let machine = env::consts::ARCH;
    let script = launcher::launcher(machine, needs.glibc().as_ref());
    let bytes = |text: String| Source::Bytes(text.into_bytes());
    add("runner", manifest::LAUNCHER.to_owned(), bytes(script), true);
    add("runner", manifest::RUNNER.to_owned(), Source::File(runner), true);
    add("plan", manifest::PLAN.to_owned(), Source::Bytes(plan), false);
    add("criterion-report", format!("bin/{}", cargo::REPORT), Source::File(report), true);
    for bench in &built.benches {
        let yielding = elf::yielding_to_library_path(&bench.program)?;
        let source = yielding.map_or_else(|| Source::File(bench.program.clone()), Source::Bytes);
        add("benchmarks", place_of(&bench.name), source, true);
    }
    for (place, found) in &needs.libtorch {
        let source = match found {
            Found::File(path) => Source::File(path.clone()),
            Found::Link(to) => Source::Link(to.clone()),
        };
        add("libtorch", place.clone(), source, false);
    }
    for (name, path) in system(&programs, libtorch, &whole)? {
        let place = format!("{}/{name}", manifest::SYSTEM);
        add("system libraries", place, Source::File(path), false);
    }
    let (compiled, packages) = match options.compiled {
        true => compiled::entries().map(|(compiled, packages)| (Some(compiled), packages))?,
        false => (None, Vec::new()),
    };
    entries.extend(packages);

    let torch = manifest::Torch {
        release: VERSION.to_owned(),
        cuda: libtorch.has_cuda.then(|| {
            manifest::cuda(&libtorch.version).unwrap_or_else(|| "of unknown version".to_owned())
        }),
        folder: (!options.without_libtorch).then(|| libraries::root(libtorch)).transpose()?,
        version: libtorch.version.clone(),
    };
    let manifest = Manifest {
        format: Manifest::FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        revision: revision(root),
        target: target_cpu::host()?,
        glibc: needs.glibc(),
        cpu: manifest::Cpu { target_cpu: options.target_cpu.clone(), features: built.features },
        torch,
        compiled,
        made_by: options.words(root)?,
        filter: options.filter()?.map(str::to_owned),
        benches: built.benches.iter().map(listed).collect(),
        host_libraries: whole.host.into_iter().collect(),
        parts: parts(&entries)?,
        files: sizes(&entries)?,
    };
    let (part, place) = ("manifest", manifest::FILE.to_owned());
    let source = bytes(manifest.text());
    entries.insert(0, Entry { part, place, source, is_program: false });
    Ok((manifest, entries))
}

fn place_of(bench: &str) -> String {
    format!("benches/{bench}")
}

fn listed(bench: &built::Bench) -> manifest::Bench {
    manifest::Bench {
        name: bench.name.clone(),
        file: place_of(&bench.name),
        modes: bench.modes.iter().cloned().collect(),
        cases: bench.cases,
    }
}

/// Libraries of the compiler. They work with any glibc of the same age or newer, and minimal systems lack them.
const COMPILERS: [&str; 2] = ["libgcc_s.so.1", "libstdc++.so.6"];

/// Where the loader finds the compiler's libraries here.
fn system(
    programs: &[PathBuf],
    libtorch: &Libtorch,
    needs: &Needs,
) -> Result<Vec<(&'static str, PathBuf)>> {
    let lib = libtorch.lib();
    let mut found = Vec::new();
    for name in COMPILERS.into_iter().filter(|name| needs.host.contains(*name)) {
        for program in programs {
            let trace = loader::Trace::of(program, lib.as_os_str())?;
            if let Some(path) = trace.found.get(name) {
                found.push((name, path.clone()));
                break;
            }
        }
    }
    Ok(found)
}

/// The parts in the order of the entries.
fn parts(entries: &[Entry]) -> Result<Vec<Part>> {
    let mut parts: Vec<Part> = Vec::new();
    for entry in entries {
        let bytes = entry.bytes()?;
        match parts.iter_mut().find(|part| part.name == entry.part) {
            Some(part) => {
                part.files += 1;
                part.bytes += bytes;
            }
            None => parts.push(Part { name: entry.part.to_owned(), files: 1, bytes }),
        }
    }
    Ok(parts)
}

/// The sizes of all files but links.
fn sizes(entries: &[Entry]) -> Result<Vec<manifest::File>> {
    let files = entries.iter().filter(|entry| !matches!(entry.source, Source::Link(_)));
    files
        .map(|entry| Ok(manifest::File { path: entry.place.clone(), bytes: entry.bytes()? }))
        .collect()
}

/// The commit, as records have it: with `-dirty` if tracked files other than documents differ from it.
fn revision(root: &Path) -> Option<String> {
    let told = |error: Error| {
        eprintln!("note: the bundle has no revision: {}", error.what());
        None
    };
    let commit = git::ask(root, &["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(told)?;
    let status = ["status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs", ":!*.md"];
    let changed = git::ask(root, &status).unwrap_or_else(told)?;
    Some(if changed.is_empty() { commit } else { format!("{commit}-dirty") })
}

/// The sizes of the parts, and what to do next.
fn tell(options: &Options, folder: &str, manifest: &Manifest, bytes: u64, started: Instant) {
    let output = options.output.display();
    let cases: usize = manifest.benches.iter().map(|bench| bench.cases).sum();
    let all: u64 = manifest.parts.iter().map(|part| part.bytes).sum();
    println!(
        "{output}  {} with {cases} cases, packed from {} in {}",
        human::bytes(bytes),
        human::bytes(all),
        human::duration(started.elapsed())
    );
    for Part { name, files, bytes } in &manifest.parts {
        let files = if *files == 1 { "1 file".to_owned() } else { format!("{files} files") };
        println!("  {name:<18} {files:>9} {:>8}", human::bytes(*bytes));
    }
    let glibc = manifest.glibc.as_ref().map(|it| format!("glibc {it}"));
    let torch = manifest.torch.folder.is_none();
    let torch = torch
        .then(|| format!("a torch {}, by --libtorch DIR or in Python", manifest.torch.release));
    let cpu = options.target_cpu.as_ref().map(|cpu| format!("a processor of {cpu}"));
    let needs: Vec<String> = glibc.into_iter().chain(cpu).chain(torch).collect();
    if !needs.is_empty() {
        println!("needs     {}", needs.join(", "));
    }
    let name = files::name(&options.output);
    println!("next      tar -xf {name} && {folder}/{} --shard 1/16", manifest::LAUNCHER);
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(clap::Parser)]
    #[command(args_override_self = true)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    #[test]
    fn a_bundles_name_says_its_form_and_folder() {
        for (name, expected) in [
            ("a/sweep.tar.zst", Some(("sweep", Form::Zstd(LEVEL)))),
            ("my.sweep.tar", Some(("my.sweep", Form::Plain))),
            ("sweep.zip", None),
            (".tar", None),
            ("sweep", None),
        ] {
            let found = form(Path::new(name)).map_err(|error| error.exit_code());
            let expected = expected.map(|(folder, form)| (folder.to_owned(), form)).ok_or(2);
            assert_eq!(found, expected, "{name}");
        }
    }

    #[test]
    fn there_is_one_filter() {
        let filter = |words: &[&str]| {
            let line =
                ["bundle", "--output", "a.tar", "--"].into_iter().chain(words.iter().copied());
            let options = Parser::try_parse_from(line).map(|Line { options }| options);
            let options = options.expect("options of bundle");
            options.filter().map(|filter| filter.map(str::to_owned)).map_err(|it| it.exit_code())
        };
        assert_eq!(filter(&[]), Ok(None));
        assert_eq!(filter(&["int8wo"]), Ok(Some("int8wo".to_owned())));
        assert_eq!(filter(&["int8wo", "-x"]), Err(2));
    }

    #[test]
    fn parts_are_summed_and_links_weigh_nothing() {
        let entry = |part, place: &str, source| Entry {
            part,
            place: place.to_owned(),
            source,
            is_program: false,
        };
        let entries = [
            entry("a", "x", Source::Bytes(vec![0; 3])),
            entry("b", "y", Source::Link("x".to_owned())),
            entry("a", "z", Source::Bytes(vec![0; 4])),
        ];
        let part = |name: &str, files, bytes| Part { name: name.to_owned(), files, bytes };
        assert_eq!(parts(&entries), Ok(vec![part("a", 2, 7), part("b", 1, 0)]));
        let paths: Vec<String> =
            sizes(&entries).expect("in memory").into_iter().map(|file| file.path).collect();
        assert_eq!(paths, ["x", "z"]);
    }
}
