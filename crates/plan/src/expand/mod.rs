//! From configs to a plan, the siblings of a group together.

mod kernels;
mod listing;
mod models;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::case::{Case, Group, MOST_CASES, Plan, Role};
use crate::config::{Config, Suite};
use crate::diagnostic::{Diagnostic, Diagnostics, Found};
use crate::id;
use listing::Expand;
use models::Models;

/// Reads and expands `files`; those that lie in no package are of the current folder.
///
/// # Errors
/// Every error of every file.
pub fn load(files: &[PathBuf]) -> Result<Plan, Diagnostics> {
    expand(&read(files, Path::new("."))?)
}

/// Reads `files`; those that lie in no package are of `package`.
///
/// # Errors
/// Every error of every file.
pub(crate) fn read(files: &[PathBuf], package: &Path) -> Result<Vec<Config>, Diagnostics> {
    let mut configs = Vec::new();
    let mut errors = Vec::new();
    for file in files {
        match Config::read_in(file, package) {
            Ok(config) => configs.push(config),
            Err(found) => errors.extend(found.0),
        }
    }
    if errors.is_empty() { Ok(configs) } else { Err(Diagnostics(errors)) }
}

/// Expands `configs` in their order.
///
/// # Errors
/// Cases that share an id but not their settings, or that criterion would write into one place, or
/// that are too many.
pub fn expand(configs: &[Config]) -> Result<Plan, Diagnostics> {
    refuse_too_many(configs)?;
    let mut expansion = Expansion::default();
    for config in configs {
        each_entry(config, |entry| entry.expand(&mut expansion, config));
    }
    expansion.refuse_long_ids();
    let plan = Plan { groups: std::mem::take(&mut expansion.groups) };
    if let Some((first, second)) = id::collision(plan.cases()) {
        let file = expansion.files.get(&second.id.group).map_or(Path::new(""), PathBuf::as_path);
        let message = format!("`{}` and `{}` are one directory", first.id, second.id);
        let remedy = "rename one of the two configs";
        expansion.errors.add(Diagnostic::whole_file(file, message, remedy));
    }
    match expansion.errors.told(Path::new("")) {
        None => Ok(plan),
        Some(errors) => Err(errors),
    }
}

/// Counts before anything is expanded, as what too many cases take in memory may be more than there is.
fn refuse_too_many(configs: &[Config]) -> Result<(), Diagnostics> {
    let mut all = 0_usize;
    for config in configs {
        let mut count = 0_usize;
        each_entry(config, |entry| count = count.saturating_add(entry.count()));
        let before = all;
        all = all.saturating_add(count);
        if all > MOST_CASES {
            let beside = match before {
                0 => String::new(),
                _ => format!(" and the configs before it to {before}, together"),
            };
            let message = format!("it expands to {count} cases,{beside} more than {MOST_CASES}");
            let remedy = "list fewer sizes, variants, dtypes or devices, which multiply";
            return Err(Diagnostic::whole_file(&config.file, message, remedy).into());
        }
    }
    Ok(())
}

/// Has `visit` see each entry of a config.
fn each_entry(config: &Config, mut visit: impl FnMut(&dyn Expand)) {
    match &config.suite {
        Suite::Models(suite) => {
            suite.models.iter().for_each(|it| visit(&Models::new(config.mode, suite, it)));
        }
        Suite::Fusion(entries) => entries.iter().for_each(|entry| visit(entry)),
        Suite::Operators(entries) => entries.iter().for_each(|entry| visit(entry)),
        Suite::Calibration(entries) => entries.iter().for_each(|entry| visit(entry)),
        Suite::Kernels(suite) => suite.kernels.iter().for_each(|entry| visit(entry)),
    }
}

#[derive(Default)]
struct Expansion {
    groups: Vec<Group>,
    /// Place in `groups` of the group with this id and parameter.
    index: HashMap<(String, String), usize>,
    /// The file that each criterion group came from.
    files: HashMap<String, PathBuf>,
    errors: Found,
}

impl Expansion {
    /// Adds the case to its group. An id that another file has taken is an error.
    fn add(&mut self, config: &Config, case: Case) {
        if let Some(other) = self.clash(&case.id.group, &config.file) {
            let message = format!("its cases have the same ids as those of {}", other.display());
            let remedy = "rename one of the two files: the stem is part of every id";
            self.complain(Diagnostic::whole_file(&config.file, message, remedy));
            return;
        }
        let slot = self.slot(&case.id.group, &case.id.parameter);
        self.place(slot, case, &config.file);
    }

    /// The other file that already has this criterion group, if there is one.
    fn clash(&mut self, group: &str, file: &Path) -> Option<PathBuf> {
        let owner = self.files.entry(group.to_owned()).or_insert_with(|| file.to_owned());
        (owner != file).then(|| owner.clone())
    }

    fn slot(&mut self, group: &str, parameter: &str) -> usize {
        let key = (group.to_owned(), parameter.to_owned());
        *self.index.entry(key).or_insert_with(|| {
            self.groups.push(Group { cases: Vec::new() });
            self.groups.len() - 1
        })
    }

    /// An id that criterion would cut.
    fn refuse_long_ids(&mut self) {
        let cases = self.groups.iter().flat_map(|group| &group.cases);
        let long = |case: &&Case| case.full_id().len() > id::MAX_ID;
        if let Some(case) = cases.filter(long).max_by_key(|case| case.full_id().len()) {
            let message =
                format!("`{}` is longer than an id can be, {} bytes", case.id, id::MAX_ID);
            let file = self.files.get(&case.id.group).map_or(Path::new(""), PathBuf::as_path);
            let remedy = "give the file a shorter name, or measure at smaller sizes";
            self.errors.add(Diagnostic::whole_file(file, message, remedy));
        }
    }

    fn complain(&mut self, error: Diagnostic) {
        self.errors.add(error);
    }

    /// Adds the case, or lets the identical case that is there already stand for it too.
    fn place(&mut self, slot: usize, case: Case, file: &Path) {
        let cases = &mut self.groups[slot].cases;
        let Some(twin) = cases.iter_mut().find(|twin| twin.id == case.id) else {
            match cases.first() {
                Some(first) if case.role == Role::Baseline => {
                    let (first, second) = (&first.id.variant, &case.id.variant);
                    let message = format!(
                        "`{}` is to be compared with `{first}` and with `{second}`",
                        case.id.parameter
                    );
                    let remedy = "write one entry, what the others are compared with first";
                    self.complain(Diagnostic::whole_file(file, message, remedy));
                }
                _ => cases.push(case),
            }
            return;
        };
        if twin.work != case.work {
            let message = format!("two variants are shortened to one id, `{}`", case.id);
            let remedy = "put one of them into a config with a shorter name";
            self.complain(Diagnostic::whole_file(file, message, remedy));
            return;
        }
        let differences = twin.settings.differences(&case.settings);
        if !differences.is_empty() {
            let keys = differences.join("`, `");
            let message = format!("`{}` is asked for twice, with a different `{keys}`", case.id);
            let remedy = "put the second entry into a config of its own";
            self.complain(Diagnostic::whole_file(file, message, remedy));
            return;
        }
        twin.profiling.profiler |= case.profiling.profiler;
        twin.profiling.memory |= case.profiling.memory;
        append(&mut twin.names, case.names);
        append(&mut twin.shape_names, case.shape_names);
    }
}

fn append(names: &mut Vec<String>, more: Vec<String>) {
    for name in more {
        if !names.contains(&name) {
            names.push(name);
        }
    }
}
