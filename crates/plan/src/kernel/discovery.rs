//! Finds the files of kernels: every `.rs` under the roots that is not marked as a helper.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::diagnostic::Diagnostic;
use crate::kernel::KernelWork;
use crate::library::Library;
use crate::words::is_plain;

/// Files and folders whose names begin so hold no kernel.
const HELPERS: &[&str] = &["_", "test_", "."];

/// The file that gives its folder's name to a kernel.
const KERNEL_STEM: &str = KernelWork::BASELINE;

/// The file that says how the kernels of its folder are measured.
pub(crate) const BENCH_FILE: &str = "bench.yaml";

/// A kernel: its files and what says how they are measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiscoveredKernel {
    /// Its folder's name, or its file's stem.
    pub(crate) name: String,
    /// The baseline, or the only one, and behind it the others by their names; each with the word of
    /// its implementation.
    pub(crate) files: Vec<(String, PathBuf)>,
    /// Sources beside them that are no kernels, of which they may be made.
    pub(crate) helpers: Vec<PathBuf>,
    /// The `bench.yaml` beside it, if there is one.
    pub(crate) bench: Option<PathBuf>,
}

/// The type that every kernel names: `kernel.rs` declares it, and the other files import it.
const MARK: &str = "ProblemSize";

/// A folder that is searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Root {
    pub(crate) folder: PathBuf,
    /// Whether it may hold other Rust code, which is ignored. This is so for the usual folders, which no config named.
    pub(crate) holds_others: bool,
}

/// The result of a search.
#[derive(Debug, Default)]
pub(crate) struct Search {
    pub(crate) kernels: Vec<DiscoveredKernel>,
    /// Files of Rust that are not kernels.
    pub(crate) passed_over: Vec<PathBuf>,
    pub(crate) errors: Vec<Diagnostic>,
}

/// The kernels under `roots`, in an order that is the same on every file system.
pub(crate) fn find(roots: &[Root], libraries: &[Library]) -> Search {
    let mut searcher = Searcher { libraries, ..Searcher::default() };
    for root in roots {
        searcher.holds_others = root.holds_others;
        searcher.folder(&root.folder);
    }
    searcher.refuse_clashes();
    searcher.result
}

#[derive(Default)]
struct Searcher<'l> {
    /// Their files are modules of a crate.
    libraries: &'l [Library],
    /// Folders that have been read, without symbolic links: one that leads back to a folder above it
    /// would go on for ever, and one root may lie in another.
    seen: BTreeSet<PathBuf>,
    /// `holds_others` of the searched root.
    holds_others: bool,
    result: Search,
}

impl Searcher<'_> {
    fn folder(&mut self, folder: &Path) {
        let read = folder.canonicalize().and_then(|real| Ok((real, entries(folder)?)));
        let (real, entries) = match read {
            Ok(read) => read,
            Err(error) => {
                let message = format!("cannot be read: {error}");
                return self.error(folder, message, "name a folder that exists and can be read");
            }
        };
        if !self.seen.insert(real.clone()) {
            return;
        }
        let (folders, mut files): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|it| it.is_dir());
        if Library::containing(folder, self.libraries).is_some() {
            files.retain(|file| !is_declaration(file, &folders));
        }
        self.files(&real, folder, files);
        for inner in folders.iter().filter(|inner| !is_helper(inner)) {
            self.folder(inner);
        }
    }

    /// The kernels directly inside `folder`, whose name `real` knows even where it is `..`.
    fn files(&mut self, real: &Path, folder: &Path, files: Vec<PathBuf>) {
        let mut bench = None;
        let (mut sources, mut helpers) = (Vec::new(), Vec::new());
        let files = self.without_others(files);
        for file in files {
            match file.file_name().and_then(|name| name.to_str()) {
                Some(BENCH_FILE) => bench = Some(file),
                Some("bench.yml") => {
                    let message = "is not read".to_owned();
                    self.error(&file, message, &format!("rename it to `{BENCH_FILE}`"));
                }
                _ if file.extension().is_some_and(|it| it == "rs") && !is_helper(&file) => {
                    sources.extend(self.word(&file, file.file_stem()).map(|stem| (stem, file)));
                }
                _ if is_source(&file) => helpers.push(file),
                _ => {}
            }
        }
        if sources.is_empty() {
            if let (Some(bench), false) = (bench, self.holds_others) {
                let message = "there is no kernel in its folder".to_owned();
                self.error(&bench, message, "put it beside a `kernel.rs`, or delete it");
            }
            return;
        }
        let Some(baseline) = sources.iter().position(|(stem, _)| stem == KERNEL_STEM) else {
            for (name, file) in sources {
                let files = vec![(KernelWork::BASELINE.to_owned(), file)];
                let (helpers, bench) = (helpers.clone(), bench.clone());
                self.result.kernels.push(DiscoveredKernel { name, files, helpers, bench });
            }
            return;
        };
        let baseline = sources.remove(baseline);
        // A link counts by its own name, not by its target's.
        if let Some(name) = self.word(folder, folder.file_name().or(real.file_name())) {
            let files = std::iter::once(baseline).chain(sources).collect();
            self.result.kernels.push(DiscoveredKernel { name, files, helpers, bench });
        }
    }

    /// Removes Rust files that are not kernels, if the folder may hold other code.
    fn without_others(&mut self, files: Vec<PathBuf>) -> Vec<PathBuf> {
        if !self.holds_others {
            return files;
        }
        let is_other = |file: &PathBuf| {
            let is_rust = file.extension().is_some_and(|it| it == "rs") && !is_helper(file);
            // A file that cannot be read stays in the list; the error is reported when it is read as a kernel.
            is_rust && std::fs::read_to_string(file).is_ok_and(|text| !text.contains(MARK))
        };
        let (others, files): (Vec<_>, Vec<_>) = files.into_iter().partition(is_other);
        self.result.passed_over.extend(others);
        files
    }

    /// A name that can be a part of ids, directories and filters.
    fn word(&mut self, path: &Path, name: Option<&std::ffi::OsStr>) -> Option<String> {
        let name = name.unwrap_or_default().to_string_lossy().into_owned();
        if !name.is_empty() && name.chars().all(is_plain) && path.to_str().is_some() {
            return Some(name);
        }
        let message = format!("the name `{name}` cannot be part of a benchmark's id");
        let remedy = "rename it, and the folders above it, with letters, digits, `_`, `-` and `.`";
        self.error(path, message, remedy);
        None
    }

    /// Ids differ in the kernel's name, and a file system may ignore case.
    fn refuse_clashes(&mut self) {
        let mut first: BTreeMap<String, &Path> = BTreeMap::new();
        let mut errors = Vec::new();
        for found in &self.result.kernels {
            let file = found.files[0].1.as_path();
            if let Some(other) = first.insert(found.name.to_lowercase(), file) {
                let of = |file| Library::containing(file, self.libraries);
                let crates = |library: &Library| format!(" of crate `{}`", library.package);
                let message = format!(
                    "the kernel `{}`{} is in {}{} already",
                    found.name,
                    of(file).map(crates).unwrap_or_default(),
                    other.display(),
                    of(other).map(crates).unwrap_or_default()
                );
                let remedy = if of(file).or(of(other)).is_some() {
                    "rename one of the two, or name in `kernel_paths` of a config the folders to search"
                } else {
                    "rename one of the two; or, if they are two ways of computing the same, put \
                     both into one folder, one of them as `kernel.rs`"
                };
                errors.push(Diagnostic::whole_file(file, message, remedy));
            }
        }
        self.result.errors.extend(errors);
    }

    fn error(&mut self, path: &Path, message: String, remedy: &str) {
        self.result.errors.push(Diagnostic::whole_file(path, message, remedy));
    }
}

/// The contents of `folder`, by name.
pub(crate) fn entries(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut entries = std::fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<Vec<_>>>()?;
    entries.sort();
    Ok(entries)
}

/// Whether a file of a crate only says which modules a folder has: `mod.rs`, or `name.rs` beside the folder `name`.
fn is_declaration(file: &Path, folders: &[PathBuf]) -> bool {
    let is_rust = file.extension().is_some_and(|it| it == "rs");
    is_rust
        && (file.file_stem().is_some_and(|it| it == "mod")
            || folders.contains(&file.with_extension("")))
}

/// Whether it is of a language that a kernel may be written in.
fn is_source(path: &Path) -> bool {
    let extension = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
    ["rs", "cu", "cuh", "c", "cc", "cpp", "h", "hpp"].contains(&extension)
}

pub(crate) fn is_helper(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    HELPERS.iter().any(|prefix| name.starts_with(prefix))
}
