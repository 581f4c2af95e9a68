//! The command line, as far as the harness has to know it.
//!
//! Criterion parses and validates its own flags; this reads the same arguments a second time,
//! because criterion keeps its filter and mode private, and a case has to be known as selected
//! before anything is built for it.

use std::rc::Rc;

use criterion::BenchmarkFilter as Filter;
use plan::flag::{self, BenchFlags};
use plan::lockstep::{CHECKED, PORT};
use plan::results::variable;
use plan::{Case, FoundShard, Partition, RunShard, Shard};
use regex::Regex;

use super::judge::Client;

/// Criterion's way with a selected case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    List,
    /// Runs each step once, without sampling.
    Test,
    /// Runs each step for a while, for an external profiler; saves nothing.
    Profile,
    Measure,
}

#[derive(Debug)]
pub struct Args {
    pub action: Action,
    /// The baseline under which criterion saves, beside `new`; absent when it compares only.
    pub saved_as: Option<String>,
    pub saves: bool,
    /// The baselines that have to be on disk for a case to be run.
    pub needs: Needs,
    /// `--profile`: the measured cases whose ids match are profiled afterwards.
    pub profiles: Option<Regex>,
    /// `--shard`: the part of the plan that is run.
    pub part: Option<ShardSelection>,
    /// Whether another program has criterion's samples, and decides when each case begins: times are all it wants.
    pub is_connected: bool,
    /// Whether an earlier process that was connected has checked and recorded these cases.
    pub is_checked: bool,
    /// The process that judges user kernels.
    pub judge: Option<Rc<Client>>,
    /// The command line as it was read.
    pub flags: BenchFlags,
    filter: Filter,
}

/// Saved results without which criterion panics.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// `--baseline NAME`: every selected case is compared with it.
    pub baseline: Option<String>,
    /// `--load-baseline NAME`: the samples come from it, and nothing is run.
    pub samples: Option<String>,
    /// Compared with where it is there, and not replaced.
    pub beside: Option<String>,
}

impl Args {
    /// Reads `arguments`, the program's name first.
    pub fn read(arguments: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let flags = BenchFlags::read(arguments)?;
        let (baseline, samples) = (flags.baseline.clone(), flags.load_baseline.clone());
        let compares = baseline.is_some() || flags.baseline_lenient.is_some();
        let saves = !flags.discard_baseline && samples.is_none();
        let own = || flags.save_baseline.clone().unwrap_or_else(|| "base".to_owned());
        let saved_as = (saves && !compares).then(own);
        let is_beside = baseline.is_none() && saved_as.is_none();
        let beside = is_beside.then(|| flags.baseline_lenient.clone().unwrap_or_else(own));
        let needs = Needs { baseline, samples, beside };
        let is_connected = action(&flags) == Action::Measure && variable(PORT).is_some();
        let args = Self {
            action: action(&flags),
            saved_as,
            saves,
            needs,
            profiles: profiles(&flags)?,
            part: part(&flags)?,
            is_connected,
            is_checked: is_connected && variable(CHECKED).is_some(),
            filter: filter(&flags)?,
            judge: None,
            flags,
        };
        args.can_resume().map(|()| args)
    }

    /// Only what is kept under a name can be found again.
    fn can_resume(&self) -> Result<(), String> {
        match self.flags.resume && self.action == Action::Measure && self.saved_as.is_none() {
            true => Err("--resume continues what is kept under a name; omit --baseline, --load-baseline and \
                         --discard-baseline, or omit --resume"
                .to_owned()),
            false => Ok(()),
        }
    }

    /// Whether somebody will run this again if it ends with [`plan::exit::RETRY`].
    pub fn is_repeated(&self) -> bool {
        self.part.is_some() || self.flags.resume
    }

    pub fn filter(&self) -> Option<&str> {
        match &self.filter {
            Filter::AcceptAll | Filter::RejectAll => None,
            Filter::Exact(id) => Some(id),
            Filter::Regex(regex) => Some(regex.as_str()),
        }
    }

    pub fn is_exact(&self) -> bool {
        matches!(self.filter, Filter::Exact(_))
    }

    /// Whether the config alone decides how long a case takes.
    pub fn leaves_times(&self) -> bool {
        let flags = &self.flags;
        !flags.quick
            && flags.budget.is_none()
            && flags.sample_size.is_none()
            && flags.warm_up_time.is_none()
            && flags.measurement_time.is_none()
    }

    /// The case with these options applied: sampling options win over its config.
    pub fn applied_to(&self, case: &Case) -> Case {
        let mut case = case.clone();
        let (flags, sampling) = (&self.flags, &mut case.settings.sampling);
        sampling.samples = flags.sample_size.or(sampling.samples);
        sampling.warm_up_s = flags.warm_up_time.or(sampling.warm_up_s);
        sampling.measurement_s = flags.measurement_time.or(sampling.measurement_s);
        if flags.quick {
            // Two samples, no pilot, and the fewest blocks of a pair.
            (sampling.warm_up_s, sampling.measurement_s) = (Some(0.0), Some(0.0));
        }
        case
    }

    /// Whether the samples come from disk: nothing is run.
    pub fn loads(&self) -> bool {
        self.needs.samples.is_some()
    }

    /// Remarks on the filter, and of that of `--profile`, if it selects none of the ids of the plan.
    pub fn unmatched(&self, ids: &[String]) -> Vec<String> {
        let profiles = self.profiles.as_ref();
        let is_profiled = |id: &String| profiles.is_none_or(|pattern| pattern.is_match(id));
        let filters = [
            ("the filter", self.filter(), ids.iter().any(|id| self.selects(id))),
            ("--profile", profiles.map(Regex::as_str), ids.iter().any(is_profiled)),
        ];
        let say = |(what, filter, is_matched): (&str, Option<&str>, bool)| {
            let filter = filter.filter(|_| !is_matched && !ids.is_empty())?;
            let escaped = flag::escaped_filter(filter, ids).filter(|_| !self.is_exact());
            let remedy = match escaped {
                Some(escaped) => format!("as a regular expression, that text is '{escaped}'"),
                None => "`--list` shows them".to_owned(),
            };
            Some(format!("{what} {filter} selects none of {} cases; {remedy}", ids.len()))
        };
        filters.into_iter().filter_map(say).collect()
    }

    /// Begins the line of a case in bencher's format where criterion does not: it names a case when it begins to sample it.
    pub fn begin_line(&self, case: &Case) {
        if self.is_bencher() && (self.flags.quick || self.loads()) {
            print!("test {} ... ", case.full_id());
        }
    }

    /// Ends the line of a case that failed; criterion has begun it if it `samples`.
    pub fn end_line(&self, samples: bool) {
        if self.is_bencher() && (self.flags.quick || samples) {
            println!("FAILED");
        }
    }

    /// `--output-format bencher`: a line `test ID ... bench: …` for each measured case.
    fn is_bencher(&self) -> bool {
        let format = self.flags.output_format.as_deref();
        format == Some("bencher") && self.action == Action::Measure
    }

    /// Whether criterion will select the benchmark with this id.
    pub fn selects(&self, full_id: &str) -> bool {
        match &self.filter {
            Filter::AcceptAll => true,
            Filter::RejectAll => false,
            Filter::Exact(id) => id == full_id,
            Filter::Regex(regex) => regex.is_match(full_id),
        }
    }
}

/// The part that this run has, and how it is known.
#[derive(Debug)]
pub struct ShardSelection {
    pub shard: RunShard,
    /// Variables of other schedulers, which were not used.
    pub unused: Vec<&'static str>,
}

fn part(flags: &BenchFlags) -> Result<Option<ShardSelection>, String> {
    let Some(asked) = flags.shard else {
        return match flags.partition {
            None => Ok(None),
            Some(_) => Err("--partition says how shards are chosen; give --shard, too, such as --shard 1/4, or \
                            omit it"
                .to_owned()),
        };
    };
    let partition = flags.partition.unwrap_or(Partition::Balanced);
    let found =
        asked.find(|name| std::env::var_os(name)).map_err(|why| format!("--shard: {why}"))?;
    let FoundShard { shard: Shard { index, count }, from, unused } = found;
    Ok(Some(ShardSelection {
        shard: RunShard { index, count, partition, from: from.to_owned() },
        unused,
    }))
}

/// Without `--bench` (under `cargo test --benches`, or a test runner) criterion only tests.
fn action(flags: &BenchFlags) -> Action {
    if flags.list {
        Action::List
    } else if flags.test || !flags.bench {
        Action::Test
    } else if flags.profile_time.is_some() {
        Action::Profile
    } else {
        Action::Measure
    }
}

/// The expression of `--profile`. It is refused as clap refuses other values.
fn profiles(flags: &BenchFlags) -> Result<Option<Regex>, String> {
    let regex = |text: &String| {
        Regex::new(text).map_err(|error| {
            format!(
                "invalid value '{text}' for '--profile[=<FILTER>]': not a regular expression: {error}\n\
                 escape special characters with `\\`\n\nFor more information, try '--help'."
            )
        })
    };
    flags.profile.as_ref().map(regex).transpose()
}

fn filter(flags: &BenchFlags) -> Result<Filter, String> {
    match &flags.filter {
        _ if flags.ignored => Ok(Filter::RejectAll),
        None => Ok(Filter::AcceptAll),
        Some(id) if flags.exact => Ok(Filter::Exact(id.to_owned())),
        Some(pattern) => Regex::new(pattern).map(Filter::Regex).map_err(|error| {
            format!(
                "the filter `{pattern}` is not a regular expression: {error}\n\
                 Escape special characters with `\\`, or give a whole id with `--exact`."
            )
        }),
    }
}

#[cfg(test)]
#[path = "args_tests.rs"]
mod tests;
