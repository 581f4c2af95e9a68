//! The files of a kernel: a baseline and others that compute the same.

use std::path::Path;

use super::digest;
use super::discovery::Found;
use super::field::Field;
use super::source::Source;
use crate::diagnostic::{Diagnostic, Diagnostics};

/// A kernel whose files fit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Kernel {
    /// Its name.
    pub(crate) name: String,
    /// Its files, the baseline first.
    pub(crate) files: Vec<KernelFile>,
    /// Hash of everything that it is made of.
    pub(crate) hash: String,
}

/// A way to compute a kernel.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KernelFile {
    /// Its name, as in `KernelWork.implementation`.
    pub(crate) implementation: String,
    /// Its path, as in `KernelWork.file`.
    pub(crate) file: String,
    /// What it offers.
    pub(crate) source: Source,
}

impl Kernel {
    /// Reads the files that were `found`; they belong to `package`.
    ///
    /// # Errors
    /// Every reason why one does not fit.
    pub(crate) fn read(found: &Found, package: &Path) -> Result<Self, Diagnostics> {
        let mut files = Vec::new();
        let mut errors = Vec::new();
        for (implementation, path) in &found.files {
            match Source::read(path) {
                Ok(source) => {
                    let (implementation, file) = (implementation.clone(), shown(path, package));
                    files.push(KernelFile { implementation, file, source });
                }
                Err(found) => errors.extend(found.0),
            }
        }
        if errors.is_empty() {
            errors.extend(files.iter().filter_map(|file| other_fields(&files[0], file)));
        }
        match errors.is_empty() {
            true => Ok(Self { name: found.name.clone(), files, hash: digest::of_files(found)? }),
            false => Err(Diagnostics(errors)),
        }
    }

    /// The file that the others are compared with.
    pub(crate) fn baseline(&self) -> &KernelFile {
        &self.files[0]
    }

    /// Whether its problem size is that of `other`.
    pub(crate) fn has_fields_of(&self, other: &Self) -> bool {
        sorted(self.fields()) == sorted(other.fields())
    }

    /// The fields of the problem size.
    pub(crate) fn fields(&self) -> &[Field] {
        &self.baseline().source.fields
    }
}

/// The fields, whatever their order.
fn sorted(fields: &[Field]) -> Vec<String> {
    let mut fields: Vec<String> =
        fields.iter().map(|field| format!("{}: {}", field.name, field.kind)).collect();
    fields.sort();
    fields
}

/// The path inside the package, with `/`; of a file outside of it, the whole path.
fn shown(path: &Path, package: &Path) -> String {
    let Ok(inside) = path.strip_prefix(package) else { return path.display().to_string() };
    let parts: Vec<_> = inside.components().map(|it| it.as_os_str().to_string_lossy()).collect();
    parts.join("/")
}

/// What keeps `file` from solving the problem of `baseline`.
fn other_fields(baseline: &KernelFile, file: &KernelFile) -> Option<Diagnostic> {
    let list = |fields: &[Field]| {
        let fields = sorted(fields);
        if fields.is_empty() { "empty".to_owned() } else { format!("`{}`", fields.join(", ")) }
    };
    let (own, wanted) = (list(&file.source.fields), list(&baseline.source.fields));
    let (line, column) = file.source.problem_size_at;
    let message = format!("`ProblemSize` is {own}, that of {} {wanted}", baseline.file);
    let remedy = "the files of one folder solve one problem: give them the same fields";
    let error = Diagnostic::whole_file(&file.source.path, message, remedy);
    (own != wanted).then_some(Diagnostic { line, column, ..error })
}
