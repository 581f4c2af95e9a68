//! The places of a profile's files in torchao's folders.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use plan::{Pass, ProfileFileKind, Variant};

use crate::model::Row;

/// The files that torchao's profilers write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Trace,
    Snapshot,
    /// A page with the picture of the memory over time.
    Page,
}

impl Kind {
    pub const fn from_profile_file(kind: ProfileFileKind) -> Self {
        match kind {
            ProfileFileKind::Trace => Self::Trace,
            ProfileFileKind::MemorySnapshot => Self::Snapshot,
            ProfileFileKind::MemoryTimeline => Self::Page,
        }
    }

    pub const fn noun(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Snapshot => "memory snapshot",
            Self::Page => "memory page",
        }
    }

    /// In `<output_dir>/<mode>`.
    const fn folder(self) -> &'static str {
        match self {
            Self::Trace => "profiler",
            Self::Snapshot => "memory_profiler/pickle",
            Self::Page => "memory_profiler/html",
        }
    }

    /// The end of its name, after the stem.
    const fn ending(self) -> &'static str {
        match self {
            Self::Trace => "_profile.json",
            Self::Snapshot => "_memory_profile.pickle",
            Self::Page => "_memory_profile.html",
        }
    }

    /// The end of its name in the folder of the records.
    const fn recorded(self) -> &'static str {
        match self {
            Self::Trace | Self::Snapshot => self.ending(),
            Self::Page => "_memory_profile.svg",
        }
    }
}

/// The places of the cases of one folder.
pub struct CasePaths {
    /// How many cases have each name.
    names: HashMap<String, usize>,
}

/// The place of a case.
pub struct CasePath {
    /// The properties of the case that upstream's names lack.
    suffix: String,
    /// The folder of its id, where other cases have its name.
    folder: Option<PathBuf>,
}

impl CasePaths {
    pub fn from_rows<'a>(rows: impl Iterator<Item = &'a Row>) -> Self {
        let mut names = HashMap::new();
        for name in rows.filter_map(name) {
            *names.entry(name).or_insert(0) += 1;
        }
        Self { names }
    }

    pub fn of_case(&self, row: &Row) -> CasePath {
        let is_shared = name(row).is_some_and(|name| self.names[&name] > 1);
        CasePath { suffix: suffix(row), folder: is_shared.then(|| row.record.case.id.directory()) }
    }

    /// The names that several cases have, in order.
    pub fn shared(&self) -> impl Iterator<Item = &String> {
        let mut shared: Vec<&String> =
            self.names.iter().filter(|(_, count)| **count > 1).map(|(name, _)| name).collect();
        shared.sort();
        shared.into_iter()
    }
}

impl CasePath {
    /// The place of a file that lies at `source` in the folder of the records.
    pub fn file(&self, kind: Kind, source: &Path) -> PathBuf {
        let folder = Path::new(kind.folder()).join(self.folder.as_deref().unwrap_or(Path::new("")));
        let stem = stem(&source.to_string_lossy(), kind);
        folder.join(format!("{stem}{}{}", self.suffix, kind.ending()))
    }
}

/// The name of a recorded file without the ending of its kind; it is upstream's name.
fn stem(path: &str, kind: Kind) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(kind.recorded()).unwrap_or(name).to_owned()
}

/// The name of a case's files, if it has any.
fn name(row: &Row) -> Option<String> {
    let file = row.record.profile.as_ref()?.files.first()?;
    Some(format!("{}{}", stem(&file.path, Kind::from_profile_file(file.kind)), suffix(row)))
}

/// The part of a name that upstream's names lack: `_int8wo+packed` if the recipe does not determine how it is run,
/// `_backward` for a part of a training step.
fn suffix(row: &Row) -> String {
    let mut suffix = String::new();
    if let Some(variant) = row.variant() {
        let plain = Variant { sparsity: variant.sparsity, ..Variant::eager(variant.recipe) };
        if variant != plain {
            suffix.push_str(&format!("_{variant}"));
        }
    }
    if let Some(pass) = row.pass().filter(|pass| *pass != Pass::ForwardBackward) {
        suffix.push_str(&format!("_{pass}"));
    }
    suffix
}
