//! The results that one folder holds under a name.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use indexmap::IndexMap;
use plan::{Mode, Outcome, Record, RunManifest, Work};

use crate::model::{NoTime, fingerprint, own_result};
use crate::parallel;
use crate::read;
use crate::read::line::{self, Line};
use crate::read::profile_files::is_inside;
use crate::read::{Location, ResultFolder, ResultFolders, Run, read_runs, read_unlinked, saved};
use crate::render::units;

/// A folder's results under one name.
#[derive(Debug)]
pub struct Results {
    /// The folder, as it was given.
    pub folder: PathBuf,
    pub location: Location,
    /// Whether it is the calibration of one machine in merged results.
    pub is_machine: bool,
    /// The last record of each case by its id, in the order of files and lines.
    pub records: IndexMap<String, SourceRecord>,
    /// The cases whose last record an earlier version wrote.
    pub older: HashSet<String>,
    /// The runs whose record of a case, the last one, cannot be used, by the case's id.
    pub cut_off: HashMap<String, String>,
    /// The runs that saved under the name, the oldest first.
    pub runs: Vec<Run>,
    pub unreadable: Vec<String>,
    pub warnings: Vec<String>,
}

/// A record as it stands in its file, with what is needed of it here.
#[derive(Debug, PartialEq)]
pub struct SourceRecord {
    pub full_id: String,
    pub run_id: String,
    pub timestamp: u64,
    pub status: &'static str,
    pub is_measured: bool,
    /// Criterion's folder of this measurement, from criterion's root, or why it cannot be used; none unless measured.
    pub time: Option<Result<PathBuf, String>>,
    /// Facts that all results of one run have in common, each with its value.
    pub origin: [(String, String); 3],
    pub is_calibration: bool,
    pub host: Host,
    /// Name of its file, without the ending: the bench target.
    pub target: String,
    /// Files of its profile, from the folder of records.
    pub profile: Vec<String>,
    /// The line itself.
    pub line: Vec<u8>,
}

/// A machine by its own name: two machines of one kind are calibrated apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Host {
    /// The machine; only times of one machine are compared.
    pub machine: String,
    pub hostname: String,
}

impl SourceRecord {
    fn from_record(record: &Record, target: &str, line: &[u8], times: &Times) -> Self {
        let files = record.profile.iter().flat_map(|profile| &profile.files);
        Self {
            full_id: record.full_id.clone(),
            run_id: record.run_id.clone(),
            timestamp: record.timestamp,
            status: record.outcome.status(),
            is_measured: record.outcome == Outcome::Measured,
            time: (record.outcome == Outcome::Measured).then(|| times.folder_for(record)),
            origin: origin(record),
            is_calibration: record.case.mode == Mode::Calibration,
            host: Host {
                machine: fingerprint(record),
                hostname: record.environment.host.hostname.clone(),
            },
            target: target.to_owned(),
            profile: files.map(|file| file.path.clone()).collect(),
            line: line.trim_ascii_end().to_owned(),
        }
    }
}

impl Results {
    /// Reads all folders; a remark for each in which there is nothing, as a shard leaves it that never began.
    pub fn read_all(folders: &[PathBuf], baseline: &str) -> Result<(Vec<Self>, Vec<String>)> {
        let (mut all, mut remarks) = (Vec::new(), Vec::new());
        for read in parallel::map(folders, |folder| Self::read(folder, baseline)) {
            match read? {
                Ok(results) => all.extend(results),
                Err(Empty(why)) => remarks.push(why),
            }
        }
        if all.is_empty() {
            let folders = units::count(folders.len(), "folder");
            bail!("nothing to merge in {folders}:\n  {}", remarks.join("\n  "));
        }
        Ok((all, remarks))
    }

    /// Reads a folder; of merged results also the calibration of each machine.
    fn read(folder: &Path, baseline: &str) -> Result<Result<Vec<Self>, Empty>> {
        let location = Location::at(folder.join("criterion"));
        let shown = folder.display();
        if !location.records.is_dir() {
            let remedy = "give the folder that holds `criterion` and `criterion-torch`";
            return Ok(Err(Empty(format!("{shown}: no `{}` in it; {remedy}", Location::RECORDS))));
        }
        let several = saved::Saved::under(&location.records, baseline)?.names;
        if !several.is_empty() && several.iter().all(|name| name != baseline) {
            bail!(
                "{shown}: `{baseline}` was measured in several runs, {}; merge one of them at a time, \
                 with --baseline {}",
                saved::range(&several),
                several[0]
            );
        }
        let machines = location.machines(baseline)?;
        let own = Self::read_at(folder.to_owned(), location, baseline)?;
        if own.is_empty() {
            let names: Vec<String> = saved::known(&own.location.records)?.into_iter().collect();
            let others = match &names[..] {
                [] => String::new(),
                some => format!(", only under {}", some.join(", ")),
            };
            let why = format!("{shown}: nothing was saved under `{baseline}`{others} (--baseline)");
            return Ok(Err(Empty(why)));
        }
        let mut all = vec![own];
        for machine in machines {
            let folder = machine.criterion.parent().unwrap_or(folder).to_owned();
            all.push(Self { is_machine: true, ..Self::read_at(folder, machine, baseline)? });
        }
        Ok(Ok(all))
    }

    fn read_at(folder: PathBuf, location: Location, baseline: &str) -> Result<Self> {
        let mut results = Self {
            folder,
            is_machine: false,
            records: IndexMap::new(),
            older: HashSet::new(),
            cut_off: HashMap::new(),
            runs: Vec::new(),
            unreadable: Vec::new(),
            warnings: Vec::new(),
            location,
        };
        let (times, unusable) = Times::find(&results, baseline);
        let mut recorded = HashSet::new();
        for path in read::files(&results.location.records.join(baseline), "jsonl")? {
            results.read_records(&path, &times, &mut recorded);
        }
        results.read_runs(baseline, &recorded);
        results.unreadable.extend(unusable);
        Ok(results)
    }

    fn is_empty(&self) -> bool {
        let Self { records, older, runs, unreadable, .. } = self;
        records.is_empty() && older.is_empty() && runs.is_empty() && unreadable.is_empty()
    }

    /// Reads a file of records; the last line of a case counts, as it does for every report.
    fn read_records(&mut self, path: &Path, times: &Times, recorded: &mut HashSet<String>) {
        let target = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let before = self.records.len();
        let (remarks, begun) = line::read(
            path,
            |line, text| match line {
                Line::Record(record) => {
                    Ok(SourceRecord::from_record(&record, &target, text, times))
                }
                Line::Older(stamp) => Err(stamp),
            },
            |line| match line {
                Ok(found) => {
                    recorded.insert(found.run_id.clone());
                    self.add(found, before);
                }
                Err(stamp) => {
                    recorded.insert(stamp.run_id);
                    self.older.insert(stamp.full_id);
                }
            },
        );
        self.unreadable.extend(remarks);
        self.cut_off.extend(begun);
    }

    /// The first `before` cases are of other files: a case that moved to another bench target has the newer of
    /// both records.
    fn add(&mut self, found: SourceRecord, before: usize) {
        let known = self.records.get_full(&found.full_id);
        if known.is_some_and(|(at, _, other)| at < before && other.timestamp > found.timestamp) {
            return;
        }
        self.cut_off.remove(&found.full_id);
        self.older.remove(&found.full_id);
        self.records.insert(found.full_id.clone(), found);
    }

    fn read_runs(&mut self, baseline: &str, recorded: &HashSet<String>) {
        let (runs, unusable) = read_runs(&self.location.records);
        self.unreadable.extend(unusable);
        let saved = |it: &RunManifest| match &it.baseline {
            // `new` is whatever ran last, under whichever name criterion saved it besides.
            Some(name) => baseline == "new" || name == baseline,
            None => recorded.contains(&it.run_id) || it.selected.is_empty(),
        };
        let is_run = |run: &Run| !run.manifest.merged && saved(&run.manifest);
        self.runs = runs.into_iter().filter(is_run).collect();
        for run in self.runs.iter().filter(|run| run.in_progress) {
            let RunManifest { run_id, target, .. } = &run.manifest;
            self.warnings.push(format!(
                "{}: run {run_id} of `{target}` is in progress; what it has recorded so far is merged: \
                 merge again when it has ended",
                self.folder.display()
            ));
        }
    }

    /// The files of the runs' manifests.
    pub fn manifests(&self) -> Result<Vec<PathBuf>> {
        read::files(&self.location.records.join("runs"), "json")
    }

    /// Whether a path of a profile's file leads into the folder of records.
    pub fn profile_file(&self, path: &str) -> Option<PathBuf> {
        let file = self.location.records.join(path);
        let is_file = fs::symlink_metadata(&file).is_ok_and(|about| about.is_file());
        (is_inside(path) && is_file).then_some(file)
    }
}

/// Criterion's folders of each id.
struct Times {
    location: Location,
    by_id: HashMap<String, Vec<ResultFolder>>,
}

impl Times {
    /// Finds them, and what of them cannot be used.
    fn find(results: &Results, baseline: &str) -> (Self, Vec<String>) {
        let location = results.location.clone();
        let (by_id, unusable) = if location.criterion.is_dir() {
            ResultFolders::under(&location.criterion, baseline).by_id()
        } else {
            (HashMap::new(), Vec::new())
        };
        (Self { location, by_id }, unusable)
    }

    /// The folder of the very measurement that was recorded, from criterion's root, or why none can be used.
    fn folder_for(&self, record: &Record) -> Result<PathBuf, String> {
        let root = &self.location.criterion;
        let mut why = format!("{}: {}", root.display(), NoTime::NoEstimate);
        for (folder, benchmark) in
            self.by_id.get(&record.full_id).into_iter().flatten().map(|it| &**it)
        {
            let own = read_unlinked(folder, benchmark).and_then(|result| {
                own_result(record, [result]).map_err(|why| format!("{}: {why}", folder.display()))
            });
            match own {
                Ok(_) => return Ok(folder.strip_prefix(root).unwrap_or(folder).to_owned()),
                Err(of_folder) => why = of_folder,
            }
        }
        Err(why)
    }
}

/// Facts common to all results of one build and one config. The hash of a kernel's case covers its sources, too.
fn origin(record: &Record) -> [(String, String); 3] {
    let Record { case, environment, .. } = record;
    let config = match case.work {
        Work::Kernel(_) => format!("config `{}` of {}", case.config, case.id.group),
        _ => format!("config `{}`", case.config),
    };
    let revision = environment.git_revision.clone().unwrap_or_else(|| "none".to_owned());
    [
        (config, case.config_hash.clone()),
        ("git revision".to_owned(), revision),
        ("libtorch".to_owned(), environment.torch.libtorch.clone()),
    ]
}

/// Why a folder has nothing to merge.
struct Empty(String);
