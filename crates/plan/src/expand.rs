//! From configs to a plan, the siblings of a group together. Each subject of an entry at each size, in each
//! dtype, on each device, in each of its ways is a case; the first way is the baseline.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_yaml::Value;

use crate::case::{Case, Group, MOST_CASES, Plan, Role};
use crate::config::{Config, DeviceDtype, EntryOf, Subject, Suite};
use crate::diagnostic::{Diagnostic, Diagnostics, ErrorList};
use crate::id;
use crate::library::Package;
use crate::settings::Settings;
use crate::words::{CompileMode, Device};

/// Reads and expands `files`; those that lie in no package are of the current folder.
///
/// # Errors
/// Every error of every file.
pub fn load(files: &[PathBuf]) -> Result<Plan, Diagnostics> {
    expand(&read(files, Package::here())?)
}

/// Reads `files` to build `package`; those that lie in no package are of it.
///
/// # Errors
/// Every error of every file.
pub fn read(files: &[PathBuf], package: Package<'_>) -> Result<Vec<Config>, Diagnostics> {
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
        let message = format!("`{}` and `{}` name the same directory", first.id, second.id);
        let remedy = "rename one of the two configs";
        expansion.errors.add(Diagnostic::whole_file(file, message, remedy));
    }
    match expansion.errors.into_diagnostics(Path::new("")) {
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
        Suite::Models(entries) => entries.iter().for_each(|entry| visit(entry)),
        Suite::Fusion(entries) => entries.iter().for_each(|entry| visit(entry)),
        Suite::Operators(entries) => entries.iter().for_each(|entry| visit(entry)),
        Suite::Calibration(entries) => entries.iter().for_each(|entry| visit(entry)),
        Suite::Kernels(suite) => suite.kernels.iter().for_each(|params| visit(&params.entry())),
    }
}

/// An entry of any config.
trait Expand {
    /// The cases, equal ones included, without making any.
    fn count(&self) -> usize;

    fn expand(&self, expansion: &mut Expansion, config: &Config);
}

impl<S: Subject> Expand for EntryOf<S> {
    fn count(&self) -> usize {
        let cases = self.kernels.iter().map(|&subject| {
            let ways = self.devices.iter().map(|&device| ways(self, subject, device).len());
            let ways: usize = ways.sum();
            let sizes = self.sizes.iter().filter(|(_, size)| subject.takes(size)).count();
            sizes.saturating_mul(self.dtypes.len()).saturating_mul(ways)
        });
        cases.fold(0, usize::saturating_add)
    }

    fn expand(&self, expansion: &mut Expansion, config: &Config) {
        for &subject in &self.kernels {
            for &device in &self.devices {
                let group = id::group(config.mode, &config.stem, subject, device);
                if let Some(error) = subject.refusal(&group, &config.file) {
                    expansion.complain(error);
                    continue;
                }
                let ways = ways(self, subject, device);
                for &dtype in &self.dtypes {
                    let place = DeviceDtype { device, dtype };
                    for named in self.sizes.iter().filter(|(_, size)| subject.takes(size)) {
                        for case in siblings(self, config, &group, subject, &ways, named, place) {
                            expansion.add(config, case);
                        }
                    }
                }
            }
        }
    }
}

/// The cases that differ in their way alone.
fn siblings<S: Subject>(
    entry: &EntryOf<S>,
    config: &Config,
    group: &str,
    subject: S,
    ways: &[Way<S>],
    (size_name, size): &(String, S::Size),
    place: DeviceDtype,
) -> Vec<Case> {
    let parameter = id::parameter(place.dtype, subject.size_text(group, size));
    let case = |(index, &(way, compile)): (usize, &Way<S>)| {
        let work = subject.work(size, way, compile, place);
        Case {
            id: id::case_id(group, &work.variant(), &parameter),
            config: config.stem.clone(),
            config_hash: subject.config_hash(&config.hash),
            names: entry.name.iter().cloned().collect(),
            role: if index == 0 { Role::Baseline } else { Role::Candidate },
            mode: config.mode,
            dtype: work.model().and_then(|it| it.variant.dtype).unwrap_or(place.dtype),
            work,
            device: place.device,
            shape_names: vec![size_name.clone()],
            profiling: entry.profiling,
            settings: S::settings(way, &entry.settings),
        }
    };
    ways.iter().enumerate().map(case).collect()
}

/// A way, and how it is compiled.
type Way<S> = (<S as Subject>::Way, Option<CompileMode>);

/// Behind a way that can be compiled follow a compiler's versions of it.
fn ways<S: Subject>(entry: &EntryOf<S>, subject: S, device: Device) -> Vec<Way<S>> {
    let with_compiled = |way| {
        let modes = if S::is_compiled(way) { entry.compile.as_slice() } else { &[] };
        let modes = std::iter::once(None).chain(modes.iter().copied().map(Some));
        modes.map(move |mode| (way, mode))
    };
    subject.ways(entry.ways.as_deref(), device).into_iter().flat_map(with_compiled).collect()
}

#[derive(Default)]
struct Expansion {
    groups: Vec<Group>,
    /// Place in `groups` of the group with this id and parameter.
    index: HashMap<(String, String), usize>,
    /// The file that each criterion group came from.
    files: HashMap<String, PathBuf>,
    errors: ErrorList,
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
                    let remedy = "write one entry, and list first what the others are compared \
                                  with";
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
        let differences = differences(&twin.settings, &case.settings);
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

/// The keys in which two settings differ. Prose is none: it does not change a measurement.
fn differences(ours: &Settings, theirs: &Settings) -> Vec<String> {
    // In YAML, fields keep their order.
    let fields = |settings: &Settings| match serde_yaml::to_value(settings) {
        Ok(Value::Mapping(fields)) => fields,
        other => unreachable!("settings are a mapping: {other:?}"),
    };
    let (ours, theirs) = (fields(ours), fields(theirs));
    let only_theirs = theirs.keys().filter(|key| !ours.contains_key(*key));
    let keys = ours.keys().chain(only_theirs).filter_map(Value::as_str);
    let differ = |key: &&str| *key != "analysis" && ours.get(key) != theirs.get(key);
    keys.filter(differ).map(str::to_owned).collect()
}

fn append(names: &mut Vec<String>, more: Vec<String>) {
    for name in more {
        if !names.contains(&name) {
            names.push(name);
        }
    }
}
