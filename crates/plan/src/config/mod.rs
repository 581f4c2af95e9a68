//! Reading a config: torchao's keys as torchao documents them, and our own.
//!
//! Nothing is guessed. A word or key that is not known is an error with a remedy; all errors of
//! all files are collected and returned together.

mod backends;
mod bench_params;
mod calibration_params;
mod compile_key;
mod document;
mod emulation;
mod entry;
mod fusion_params;
mod json;
mod kernel_params;
mod kernel_tolerances;
mod model;
mod model_params;
mod node;
mod operator_params;
mod own_keys;
mod positions;
mod problem_size;
mod shape_set;
mod skip_conditions;
mod training_params;
pub mod yaml;

use std::path::{Path, PathBuf};

pub use calibration_params::CalibrationParams;
use entry::Listed as _;
pub(crate) use entry::{DeviceDtype, EntryOf, Subject};
pub use fusion_params::FusionParams;
pub use kernel_params::{KernelSuite, usual_kernel_roots};
pub use model::{ModelParams, ModelStep};
pub use operator_params::OperatorParams;
pub use shape_set::folders as shape_folders;

use crate::catalogue::operator::Operator;
use crate::catalogue::pattern::Pattern;
use crate::catalogue::probe::Probe;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::hash;
use crate::kernel::OVERRIDE_VARIABLE;
use crate::library::Package;
use crate::user::UserFiles;
use crate::words::{Mode, is_plain};
use node::{Fields, Node};
use own_keys::OWN_KEYS;

/// A validated config.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The file as the user named it.
    pub file: PathBuf,
    /// Its stem, part of every id.
    pub stem: String,
    /// Hash of its text, and of the package's recipes and models that it names, 16 hexadecimal digits.
    /// Shape lists in files of their own are no part of it.
    pub hash: String,
    /// The kind of step.
    pub mode: Mode,
    /// The work that is to be measured.
    pub suite: Suite,
    /// The recipes and models of its package; empty in a config that can name none.
    pub user_files: UserFiles,
}

/// The entries of a config, by what they are about.
#[derive(Debug, Clone, PartialEq)]
pub enum Suite {
    /// `model_params`
    Models(Vec<ModelParams>),
    /// `fusion_params`
    Fusion(Vec<FusionParams>),
    /// `operator_params`
    Operators(Vec<OperatorParams>),
    /// `calibration_params`
    Calibration(Vec<CalibrationParams>),
    /// `kernel_paths`
    Kernels(KernelSuite),
}

/// Largest dimension: far beyond what can be run, and small enough for every byte count.
const LARGEST: u64 = 1 << 24;

/// Keys of every mode at the top of a config, besides our own.
const COMMON_KEYS: &[&str] = &["benchmark_mode"];

impl Config {
    /// Reads one file.
    ///
    /// # Errors
    /// Every error of the file.
    pub fn read(file: &Path) -> Result<Self, Diagnostics> {
        Self::read_in(file, Package::here())
    }

    /// [`Self::read`]; a config that lies in no package is one of `package`.
    pub(crate) fn read_in(file: &Path, package: Package<'_>) -> Result<Self, Diagnostics> {
        let text = yaml::text(file).map_err(|error| {
            let remedy = yaml::remedy(&error, "name a YAML file that exists and can be read");
            Diagnostic::whole_file(file, format!("cannot be read: {error}"), remedy)
        })?;
        Self::parse_in(file, &text, package, overriding().as_deref())
    }

    /// Reads `text`; `file` gives the stem, the folder of shape lists, and the errors their name.
    ///
    /// # Errors
    /// Every error of the text.
    pub fn parse(file: &Path, text: &str) -> Result<Self, Diagnostics> {
        Self::parse_for(file, text, Package::here())
    }

    /// [`Self::parse`] to build `package`.
    ///
    /// # Errors
    /// Every error of the text.
    pub fn parse_for(file: &Path, text: &str, package: Package<'_>) -> Result<Self, Diagnostics> {
        Self::parse_in(file, text, package, overriding().as_deref())
    }

    /// `by_variable` holds in a config of kernels, and counts as a part of its text.
    fn parse_in(
        file: &Path,
        text: &str,
        package: Package<'_>,
        by_variable: Option<&str>,
    ) -> Result<Self, Diagnostics> {
        let by_variable = by_variable.filter(|json| !json.is_empty());
        let stem = stem(file)?;
        let hash = hash::hex(text);
        let mut config = Node::read_document(file, text, |node| {
            read_top(node, file, package, by_variable, stem, hash)
        })?;
        if let (Suite::Kernels(_), Some(json)) = (&config.suite, by_variable) {
            config.hash = hash::hex(format!("{text}{json}"));
        }
        Ok(config)
    }
}

/// The value of [`OVERRIDE_VARIABLE`].
fn overriding() -> Option<String> {
    std::env::var_os(OVERRIDE_VARIABLE).map(|it| it.display().to_string())
}

/// The stem becomes a part of ids, directories and filters, so it has to be plain.
fn stem(file: &Path) -> Result<String, Diagnostics> {
    let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    if stem.is_empty() || stem.starts_with('.') || !stem.chars().all(is_plain) {
        let message = format!("the file name `{stem}` cannot be part of a benchmark's id");
        let remedy = "rename the file with letters, digits, `_`, `-` and `.` only";
        return Err(Diagnostic::whole_file(file, message, remedy).into());
    }
    Ok(stem.to_owned())
}

fn read_top(
    node: &Node<'_>,
    file: &Path,
    package: Package<'_>,
    by_variable: Option<&str>,
    stem: String,
    hash: String,
) -> Option<Config> {
    let mode = node.get("benchmark_mode").map_or(Some(Mode::Inference), |node| node.word());
    let folder = file.parent().unwrap_or(Path::new(""));
    // The keys depend on the mode; those of a mode that is misspelled are judged all the same.
    let mut user_files = UserFiles::default();
    let suite = match mode.unwrap_or_else(|| apparent_mode(node)) {
        mode @ (Mode::Inference | Mode::Training) => {
            let of_config = package_of(node, file, package.folder)?;
            let (found, errors) = UserFiles::find(&of_config, package.libraries);
            node.report_of_others(errors);
            user_files = found;
            model_params::read(node, mode, folder, &user_files).map(Suite::Models)
        }
        Mode::Fusion => entry::read(node).map(Suite::Fusion),
        Mode::Operators => entry::read(node).map(Suite::Operators),
        Mode::Calibration => entry::read(node).map(Suite::Calibration),
        Mode::Kernels => kernel_params::read(node, file, package, by_variable).map(Suite::Kernels),
    };
    let (suite, file) = (suite?, file.to_owned());
    let hash = match &suite {
        Suite::Models(entries) => user_files.hash(hash, &model_params::user_words(entries)),
        _ => hash,
    };
    Some(Config { file, stem, hash, mode: mode?, suite, user_files })
}

/// The nearest folder above `file` with a `Cargo.toml`; `otherwise`, if there is none.
fn package_of(node: &Node<'_>, file: &Path, otherwise: &Path) -> Option<PathBuf> {
    let whole =
        std::path::absolute(file).and_then(|file| Ok((file, std::path::absolute(otherwise)?)));
    let (file, otherwise) = match whole {
        Ok(whole) => whole,
        Err(error) => {
            let message = format!("its folder is not known: {error}");
            return node.error(message, "name the config by its whole path");
        }
    };
    let mut folders = file.ancestors().skip(1);
    let package = folders.find(|folder| folder.join("Cargo.toml").is_file());
    Some(package.map_or(otherwise, Path::to_owned))
}

const ENTRIES: &[(&str, Mode)] = &[
    (Pattern::KEY, Mode::Fusion),
    (Operator::KEY, Mode::Operators),
    (Probe::KEY, Mode::Calibration),
    (kernel_params::KEY, Mode::Kernels),
    (model_params::KEY, Mode::Inference),
];

/// The mode whose entries the document has.
fn apparent_mode(node: &Node<'_>) -> Mode {
    let found = ENTRIES.iter().find(|(key, _)| node.get(key).is_some());
    found.map_or(Mode::Inference, |(_, mode)| *mode)
}

/// Keys that belong at the top and stand in an entry by mistake.
fn at_the_top(keys: &[&'static str]) -> Vec<(&'static str, String)> {
    let remedy = |key: &&'static str| (*key, "it belongs at the top of the file".to_owned());
    COMMON_KEYS.iter().chain(keys).map(remedy).collect()
}

/// The mapping at the top, its keys checked: those of `mode`, and with a better remedy those that
/// belong into an entry or into a config of another mode.
fn top<'d>(
    node: &Node<'d>,
    keys: &[&str],
    entries: &'static str,
    entry_keys: &[&str],
) -> Option<Fields<'d>> {
    let keys = [COMMON_KEYS, OWN_KEYS, keys].concat();
    let in_entry = format!("it belongs in an entry of `{entries}`");
    let of_mode = |(key, mode): &(&'static str, Mode)| {
        (*key, format!("write `benchmark_mode: {mode}`, or put it into another file"))
    };
    let others =
        entry_keys.iter().map(|key| (*key, in_entry.clone())).chain(ENTRIES.iter().map(of_mode));
    node.mapping_beside(&keys, &others.collect::<Vec<_>>())
}
