//! The files of a kernel: a baseline and others that compute the same.

use std::path::{Path, PathBuf};

use super::discovery::DiscoveredKernel;
use super::field::Field;
use super::source::{EntryPoint, ProblemSize, Source};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::hash;
use crate::library::Library;

/// A kernel whose files fit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Kernel {
    pub(crate) name: String,
    /// Its files, the baseline first.
    pub(crate) files: Vec<KernelFile>,
    /// The baseline declares it, and all files solve it.
    pub(crate) size: ProblemSize,
    /// Whether outputs can be compared with a result of another way.
    pub(crate) has_reference: bool,
    pub(crate) hash: String,
}

/// A way to compute a kernel.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KernelFile {
    /// Its name, as in `KernelWork.implementation`.
    pub(crate) implementation: String,
    /// Its path inside its package, as in `KernelWork.file`.
    pub(crate) file: String,
    pub(crate) path: PathBuf,
    /// The Rust path of its module, where it is one of another crate.
    pub(crate) module: Option<String>,
    pub(crate) form: EntryPoint,
    /// Whether what is timed calls torch's operations.
    pub(crate) uses_torch: bool,
}

impl Kernel {
    /// Reads the files that were `found`; they belong to one of `libraries`, or else to `package`.
    /// `function` is the name that the `bench.yaml` gives.
    pub(crate) fn read(
        found: &DiscoveredKernel,
        function: Option<&str>,
        package: &Path,
        libraries: &[Library],
    ) -> Result<Self, Diagnostics> {
        let (mut files, mut size, mut errors) = (Vec::new(), None, Vec::new());
        let mut has_reference = false;
        for (index, (implementation, path)) in found.files.iter().enumerate() {
            let source = match Source::read(path) {
                Ok(source) => source,
                Err(error) => {
                    errors.push(error);
                    continue;
                }
            };
            if index > 0 {
                errors.extend(source.second_size());
            } else {
                match source.problem_size() {
                    Ok(declared) => size = Some(declared),
                    Err(found) => errors.extend(found.0),
                }
            }
            let library = Library::containing(path, libraries);
            let module = library.map(|library| library.module_of(path)).transpose();
            match module.and_then(|module| Ok((module, source.form(function)?))) {
                Ok((module, form)) => {
                    errors.extend(source.second_task(&form, index == 0));
                    has_reference |= index == 0 && source.has_reference(&form);
                    files.push(KernelFile {
                        implementation: implementation.clone(),
                        file: library.map_or_else(|| shown(path, package), |it| it.shown(path)),
                        path: path.clone(),
                        module,
                        uses_torch: source.uses_torch(&form),
                        form,
                    });
                }
                Err(error) => errors.push(error),
            }
        }
        match size {
            Some(size) if errors.is_empty() => {
                let (name, hash) = (found.name.clone(), digest(found)?);
                Ok(Self { name, files, size, has_reference, hash })
            }
            _ => Err(Diagnostics(errors)),
        }
    }

    /// The file that the others are compared with.
    pub(crate) fn baseline(&self) -> &KernelFile {
        &self.files[0]
    }

    /// Whether its problem size has the fields of `other`'s, in whatever order.
    pub(crate) fn has_fields_of(&self, other: &Self) -> bool {
        let sorted = |kernel: &Self| {
            let text = |field: &Field| format!("{}: {}", field.name, field.kind);
            let mut fields: Vec<String> = kernel.fields().iter().map(text).collect();
            fields.sort();
            fields
        };
        sorted(self) == sorted(other)
    }

    pub(crate) fn fields(&self) -> &[Field] {
        &self.size.fields
    }

    pub(crate) fn size_error(&self, message: String, remedy: &str) -> Diagnostic {
        let (line, column) = self.size.at;
        let error = Diagnostic::whole_file(&self.baseline().path, message, remedy);
        Diagnostic { line, column, ..error }
    }
}

/// The path inside the package, with `/`; the whole path of a file outside of it.
fn shown(path: &Path, package: &Path) -> String {
    let Ok(inside) = path.strip_prefix(package) else { return path.display().to_string() };
    let parts: Vec<_> = inside.components().map(|it| it.as_os_str().to_string_lossy()).collect();
    parts.join("/")
}

/// A hash of everything that a kernel is made of, so that a record says which edit it is of: the names and
/// texts of its files, its helpers and its `bench.yaml`.
fn digest(found: &DiscoveredKernel) -> Result<String, Diagnostics> {
    let sources = found.files.iter().map(|(_, file)| file);
    let mut bytes = Vec::new();
    for file in sources.chain(&found.helpers).chain(&found.bench) {
        let text = read(file)?;
        // The hash covers the ends of the texts, too.
        bytes.extend(file.file_name().unwrap_or_default().as_encoded_bytes());
        bytes.push(0);
        bytes.extend((text.len() as u64).to_le_bytes());
        bytes.extend(text);
    }
    Ok(hash::hex(bytes))
}

fn read(file: &Path) -> Result<Vec<u8>, Diagnostics> {
    std::fs::read(file).map_err(|error| {
        let remedy = "make it a file that can be read";
        Diagnostic::whole_file(file, format!("cannot be read: {error}"), remedy).into()
    })
}
