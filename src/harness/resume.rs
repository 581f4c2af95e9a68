//! What an earlier run has measured under the same name, so that it need not be measured again: `--resume`.
//!
//! A case is kept if it was measured from the same text of its config, for as long, by the same libtorch, and if criterion's
//! samples of it are there. A group whose other cases still have to be measured is kept only if it was measured on this kind
//! of machine, because a baseline and its siblings are compared.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;

use plan::{Case, Device, Environment, Outcome, Plan, Record};

use super::args::Args;
use super::store;
use super::target_dir::Folders;
use crate::measurement;

/// The ids of the cases that are kept, of those of `plan` that are selected.
pub fn measured(
    target: &str,
    plan: &Plan,
    args: &Args,
    folders: &Folders,
) -> Result<HashSet<String>, String> {
    let Some(name) = args.saved_as.as_deref().filter(|_| args.resumes) else {
        return Ok(HashSet::new());
    };
    let path = store::file(&folders.records, name, target);
    let earlier = read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut here: HashMap<Device, Environment> = HashMap::new();
    let (mut kept, mut all) = (HashSet::new(), 0);
    for group in &plan.groups {
        let selected = group.cases.iter().filter(|case| args.selects(&case.full_id()));
        let selected: Vec<&Case> = selected.collect();
        let Some(first) = selected.first() else { continue };
        all += selected.len();
        let here = match here.entry(first.device) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let environment = measurement::environment(first, "", None);
                unknown.insert(environment.map_err(|error| error.to_string())?)
            }
        };
        let here = &*here;
        let (good, open): (Vec<&Case>, Vec<&Case>) = selected.iter().copied().partition(|case| {
            earlier.get(&case.full_id()).is_some_and(|record| {
                is_good(record, case, args, here) && has_samples(case, &folders.criterion, name)
            })
        });
        let will_run =
            |case: &&Case| earlier.get(&case.full_id()).is_none_or(|it| !is_settled(it, case));
        let is_whole = !open.iter().any(will_run);
        let is_here =
            |case: &&Case| machine(&earlier[&case.full_id()].environment) == machine(here);
        kept.extend(good.into_iter().filter(|case| is_whole || is_here(case)).map(Case::full_id));
    }
    // A part of a plan may have no case of a bench target.
    if all > 0 {
        eprintln!(
            "{target}: {} of {all} cases were measured as `{name}` and are kept (--resume)",
            kept.len()
        );
    }
    Ok(kept)
}

/// Whether its numbers are such as this run would find.
fn is_good(record: &Record, case: &Case, args: &Args, here: &Environment) -> bool {
    record.version == Record::VERSION
        && record.outcome == Outcome::Measured
        && record.case.config_hash == case.config_hash
        && record.wall.is_none_or(|wall| wall.as_configured == args.leaves_times())
        && record.environment.torch.libtorch == here.torch.libtorch
}

/// Criterion's half of the result may be in a folder that did not survive.
fn has_samples(case: &Case, criterion: &Path, name: &str) -> bool {
    criterion.join(case.id.directory()).join(name).join("sample.json").is_file()
}

/// Whether the case will be refused again, on every machine.
fn is_settled(record: &Record, case: &Case) -> bool {
    matches!(record.outcome, Outcome::Unsupported { .. })
        && record.case.config_hash == case.config_hash
}

/// What reports tell machines apart by.
fn machine(environment: &Environment) -> (&str, u32, u64, Option<&str>) {
    let host = &environment.host;
    let gib = (host.memory_bytes + (1 << 29)) >> 30;
    (&host.cpu_model, host.cpus, gib, environment.torch.cuda_device.as_deref())
}

/// The last record of each case; none where nothing was measured yet. A run that was killed may have left a line that is cut
/// off: its case is measured again.
fn read(path: &Path) -> io::Result<HashMap<String, Record>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(HashMap::new()),
        file => file?,
    };
    let mut records = HashMap::new();
    let (mut unread, mut why) = (0, String::new());
    for line in BufReader::new(file).split(b'\n') {
        let line = line?;
        if line.is_empty() {
            continue;
        }
        match Record::from_json(&line) {
            Ok(record) => {
                records.insert(record.full_id.clone(), record);
            }
            Err(error) => (unread, why) = (unread + 1, error.to_string()),
        }
    }
    if unread > 0 {
        let lines = if unread == 1 { "1 line".to_owned() } else { format!("{unread} lines") };
        eprintln!("note: --resume cannot read {lines} of {}: {why}", path.display());
    }
    Ok(records)
}
