//! `--resume`: cases that an earlier run measured under the same name are not measured again.
//!
//! A case is kept if it was measured from the same text of its config, for as long, by the same libtorch, and if criterion's
//! samples of it are there and whole. It is profiled if that is asked for and was not done. A group whose other cases still have to be measured is kept only if it was measured on this kind
//! of machine, because a baseline and its siblings are compared.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;

use plan::{Case, Device, Environment, Outcome, Plan, Record};

use super::args::Args;
use super::profiling::Wanted;
use super::target_dir::Folders;
use super::{saved, store};
use crate::measurement;

/// The selected cases that need not be measured.
#[derive(Default)]
pub struct Kept {
    pub ids: HashSet<String>,
    /// The records of those that lack a profile which is asked for.
    pub unprofiled: Vec<(Record, Wanted)>,
}

/// The cases of `plan` that an earlier run measured.
pub fn measured(target: &str, plan: &Plan, args: &Args, folders: &Folders) -> Result<Kept, String> {
    let Some(name) = args.saved_as.as_deref().filter(|_| args.flags.resume) else {
        return Ok(Kept::default());
    };
    let read = |name| {
        let path = store::file(&folders.records, name, target);
        read(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let earlier = Earlier { name, args, folders, named: read(name)?, latest: read("new")? };
    let mut here: HashMap<Device, Environment> = HashMap::new();
    let (mut kept, mut all) = (Kept::default(), 0);
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
        let (good, open): (Vec<_>, Vec<_>) = selected
            .iter()
            .map(|case| (*case, earlier.good(case, here)))
            .partition(|it| it.1.is_some());
        let is_whole = open.iter().all(|(case, _)| earlier.is_settled(case));
        for (case, record) in good {
            let record = record.expect("it is good");
            if is_whole || machine(&record.environment) == machine(here) {
                let lacking = earlier.lacking(record, case);
                kept.unprofiled.extend(lacking.map(|wanted| (record.clone(), wanted)));
                kept.ids.insert(case.full_id());
            }
        }
    }
    // A part of a plan may have no case of a bench target.
    if all > 0 {
        eprintln!(
            "{target}: {} of {all} cases were measured as `{name}` and are kept (--resume)",
            kept.ids.len()
        );
    }
    Ok(kept)
}

/// The records that there are under the name, and of the latest runs, which criterion's other folder is of.
struct Earlier<'a> {
    name: &'a str,
    args: &'a Args,
    folders: &'a Folders,
    named: HashMap<String, Record>,
    latest: HashMap<String, Record>,
}

impl Earlier<'_> {
    /// The record of a case, if its numbers are such as this run would find and all that belongs to it is there. A run that
    /// was killed may have written over criterion's half of a result, in one of its folders or in both.
    fn good(&self, case: &Case, here: &Environment) -> Option<&Record> {
        let record = self.named.get(&case.full_id())?;
        let is_latest = self.is_latest(record);
        let has_samples = |name| {
            let found = saved::last_sample(&self.folders.criterion, case, name);
            found.is_some() && found == record.last_sample
        };
        let is_good = record.version == Record::VERSION
            && record.outcome == Outcome::Measured
            && record.case.config_hash == case.config_hash
            && record.wall.is_none_or(|wall| wall.as_configured == self.args.leaves_times())
            && record.environment.torch.libtorch == here.torch.libtorch
            && has_samples(self.name)
            && (!is_latest || has_samples("new"))
            // A profile is added to both records, so they have to be the same one.
            && (is_latest || self.lacking(record, case).is_none());
        is_good.then_some(record)
    }

    /// Whether the latest record of its case is of the same run.
    fn is_latest(&self, record: &Record) -> bool {
        self.latest.get(&record.full_id).is_some_and(|latest| latest.run_id == record.run_id)
    }

    /// The profile that is asked for, unless it is there.
    fn lacking(&self, record: &Record, case: &Case) -> Option<Wanted> {
        let wanted = Wanted::for_case(case, self.args.profiles.as_ref())?;
        (!wanted.is_in(record.profile.as_ref(), &self.folders.records)).then_some(wanted)
    }

    /// Whether the case will be refused again, on every machine.
    fn is_settled(&self, case: &Case) -> bool {
        self.named.get(&case.full_id()).is_some_and(|record| {
            matches!(record.outcome, Outcome::Unsupported { .. })
                && record.case.config_hash == case.config_hash
        })
    }
}

/// The values by which reports tell machines apart.
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
