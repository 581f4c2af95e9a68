//! `bundle`: benchmarks in one file, for hosts without Rust, Python and a network; and the runner inside it.

mod built;
mod compiled;
mod elf;
mod launcher;
mod libraries;
mod loader;
pub mod manifest;
mod options;
mod pack;
pub mod planned;
pub mod run;
mod target_cpu;
mod version;

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use crate::cargo;
use crate::error::{Error, Result};
use crate::files;
use crate::gpu_check::SELF_TEST;
use crate::human;
use crate::setup;
use crate::template;
use crate::workspace::Workspace;
use ::libtorch::{Libtorch, VERSION};
use built::Built;
use libraries::{LibraryFile, Needs};
use manifest::{Manifest, PartSize};
pub use options::Options;
use pack::{Compression, Entry, Source};
use plan::git;

pub fn command(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    if !cfg!(target_os = "linux") {
        return Err(Error::usage("bundle: bundles are made on Linux, for hosts with Linux"));
    }
    let (folder, form) = form(&options.output)?;
    let output = pack::begin(&options.output, |name| self::form(Path::new(name)).is_ok())?;
    let flags = options.flags(workspace)?;
    let root = workspace.root();
    if options.gpu_check {
        cargo::require_clone(root, "bundle --gpu-check")?;
    }
    let configs = options.bench_config(root)?;
    let filter = options.filter()?;
    let libtorch = setup::ensure(workspace)?;
    if options.gpu_check && !libtorch.has_cuda {
        eprintln!(
            "note: libtorch is without CUDA, so no step on a GPU can run from this bundle; make it after \
             `cargo torch-bench setup --cuda`"
        );
    }
    let mut built = Built::build(root, options, configs, flags)?;
    built.check()?;
    for bench in built.benches.iter_mut().filter(|bench| bench.name == SELF_TEST) {
        // It reads a plan and measures none of its cases.
        (bench.cases, bench.modes) = (0, BTreeSet::new());
    }
    let report = built::report(root)?;
    let started = Instant::now();
    let criterion = cargo::results(workspace)?.criterion;
    let plan = built::plan(&report, &built.benches, filter, &criterion)?;
    let (manifest, entries) = contents(root, options, &libtorch, built, report, plan)?;
    let bytes = pack::write(output, &folder, &entries, form)?;
    tell(options, &folder, &manifest, bytes, started);
    Ok(ExitCode::SUCCESS)
}

/// Zstandard's level: libtorch packs in seconds, and a higher one takes off little.
const LEVEL: i32 = 3;

/// The folder in the archive, and the form of the archive, both by its name.
fn form(output: &Path) -> Result<(String, Compression)> {
    let name = output.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let forms = [(".tar.zst", Compression::Zstd(LEVEL)), (".tar", Compression::Plain)];
    let found = forms.into_iter().find_map(|(end, form)| Some((name.strip_suffix(end)?, form)));
    // The folders `.` and `..` would be unpacked over what is there.
    match found.filter(|(folder, _)| !["", ".", ".."].contains(folder)) {
        Some((folder, form)) => Ok((template::one_line(folder.as_ref())?, form)),
        None => Err(Error::usage(format!(
            "--output {}: the name of a bundle ends in .tar.zst or .tar",
            output.display()
        ))
        .remedy("--output sweep.tar.zst")),
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
    let whole = Needs::new(&programs, Some(libtorch))?;
    let needs = if options.without_libtorch { Needs::new(&programs, None)? } else { whole.clone() };

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
            LibraryFile::File(path) => Source::File(path.clone()),
            LibraryFile::Link(to) => Source::Link(to.clone()),
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
        revision: git::revision(root)
            .inspect_err(|error| eprintln!("note: the bundle has no revision: {error}"))
            .ok(),
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

/// The folders in which the loader finds the compiler's libraries here.
fn system(
    programs: &[PathBuf],
    libtorch: &Libtorch,
    needs: &Needs,
) -> Result<Vec<(&'static str, PathBuf)>> {
    let lib = libtorch.lib();
    let mut found = Vec::new();
    for name in COMPILERS.into_iter().filter(|name| needs.host.contains(*name)) {
        for program in programs {
            let trace = loader::Trace::new(program, lib.as_os_str())?;
            if let Some(path) = trace.found.get(name) {
                found.push((name, path.clone()));
                break;
            }
        }
    }
    Ok(found)
}

/// The parts in the order of the entries.
fn parts(entries: &[Entry]) -> Result<Vec<PartSize>> {
    let mut parts: Vec<PartSize> = Vec::new();
    for entry in entries {
        let bytes = entry.bytes()?;
        match parts.iter_mut().find(|part| part.name == entry.part) {
            Some(part) => {
                part.files += 1;
                part.bytes += bytes;
            }
            None => parts.push(PartSize { name: entry.part.to_owned(), files: 1, bytes }),
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
    for PartSize { name, files, bytes } in &manifest.parts {
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
    let [name, launcher] =
        [files::name(&options.output), format!("{folder}/{}", manifest::LAUNCHER)]
            .map(template::path);
    let next = if options.gpu_check { manifest::GPU_CHECK } else { "--shard 1/16" };
    println!("next      tar -xf {name} && {launcher} {next}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundles_name_says_its_form_and_folder() {
        for (name, expected) in [
            ("a/sweep.tar.zst", Some(("sweep", Compression::Zstd(LEVEL)))),
            ("my.sweep.tar", Some(("my.sweep", Compression::Plain))),
            ("sweep.zip", None),
            (".tar", None),
            ("..tar", None),
            ("...tar.zst", None),
            ("a\nb.tar", None),
            ("sweep", None),
        ] {
            let found = form(Path::new(name)).map_err(|error| error.exit_code());
            let expected = expected.map(|(folder, form)| (folder.to_owned(), form)).ok_or(2);
            assert_eq!(found, expected, "{name}");
        }
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
        let part = |name: &str, files, bytes| PartSize { name: name.to_owned(), files, bytes };
        assert_eq!(parts(&entries), Ok(vec![part("a", 2, 7), part("b", 1, 0)]));
        let paths: Vec<String> =
            sizes(&entries).expect("in memory").into_iter().map(|file| file.path).collect();
        assert_eq!(paths, ["x", "z"]);
    }
}
