//! Files that results are exchanged in, read back: our own document, whole or in lines, and
//! critcmp's export.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use anyhow::{Result, bail};
use plan::Record;
use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer};

use crate::model::{Benchmark, CriterionResult, Estimates, NoTime, Row};
use crate::read::file::{self, Unusable};
use crate::read::valid;
use crate::read::{Inputs, Run};
use crate::render::units;

#[derive(Debug)]
pub enum Exported {
    /// Everything that was read of a folder.
    Report { inputs: Box<Inputs>, baseline: String },
    /// Times of criterion alone.
    Critcmp(CritcmpBaseline),
}

#[derive(Deserialize)]
struct Tool {
    name: String,
    version: String,
}

#[derive(Deserialize)]
struct Stamp {
    schema: Option<String>,
    version: Option<u64>,
    tool: Option<Tool>,
    benchmarks: Option<IgnoredAny>,
}

impl Exported {
    /// The schema name of our document.
    pub const SCHEMA: &str = "criterion-torch/report";
    /// Its schema name where each case is a line.
    pub const LINES: &str = "criterion-torch/report-lines";
    /// The version of both that this code writes and reads. It moves with that of [`Record`], which
    /// they contain.
    pub const VERSION: u32 = 1;

    /// Reads a file that `criterion-report export json`, `export jsonl` or `critcmp --export` wrote;
    /// which of them it is, its content says.
    pub fn read(path: &Path) -> Result<Self> {
        let text = file::read_all(path).map_err(|cause| file::unusable(path, cause))?;
        let malformed = |cause| file::unusable(path, format!("{cause}; export it again"));
        let foreign = |why: String| {
            let why = format!(
                "not an export of results: {why}; write one with `criterion-report export json`, \
                 `criterion-report export jsonl` or `critcmp --export`"
            );
            file::unusable(path, why)
        };
        let stamp = match serde_json::Deserializer::from_slice(&text).into_iter::<Stamp>().next() {
            Some(Ok(stamp)) => stamp,
            Some(Err(error)) if error.is_eof() => return Err(malformed(error)),
            Some(Err(error)) => return Err(foreign(error.to_string())),
            None => return Err(foreign("it is empty".to_owned())),
        };
        let schema = match stamp.schema {
            Some(schema) if [Self::SCHEMA, Self::LINES].contains(&schema.as_str()) => schema,
            Some(schema) => return Err(foreign(format!("its schema is `{schema}`"))),
            None if stamp.benchmarks.is_some() => {
                let baseline: CritcmpBaseline = serde_json::from_slice(&text).map_err(malformed)?;
                return Ok(Self::Critcmp(baseline.checked(path)));
            }
            None => return Err(foreign("it has neither `schema` nor `benchmarks`".to_owned())),
        };
        if stamp.version != Some(u64::from(Self::VERSION)) {
            let found = stamp.version.unwrap_or(0);
            let tool = stamp.tool.map(|Tool { name, version }| format!(" ({name} {version})"));
            bail!(
                "{}: version {found} of `{schema}`, but this criterion-report ({}) reads version {}: \
                 read it with the criterion-report that wrote it{}",
                path.display(),
                env!("CARGO_PKG_VERSION"),
                Self::VERSION,
                tool.unwrap_or_default()
            );
        }
        let (head, cases) = if schema == Self::SCHEMA {
            whole(&text).map_err(malformed)?
        } else {
            lines(&text, path).map_err(malformed)?
        };
        Ok(Self::report(head, cases, path))
    }

    fn report(head: Head, cases: Vec<Case>, path: &Path) -> Self {
        let baseline = head.baseline.clone();
        if head.run_names.is_empty() {
            let inputs = Box::new(inputs_of(head, cases, path));
            return Self::Report { inputs, baseline };
        }
        let mut runs: Vec<(String, Vec<Case>)> =
            head.run_names.iter().map(|name| (name.clone(), Vec::new())).collect();
        for CaseInRun { run_name, record, criterion, no_time } in
            cases.into_iter().flat_map(|case| case.in_runs)
        {
            let run = runs.iter_mut().find(|(name, _)| *name == run_name);
            if let (Some((_, cases)), Some(record)) = (run, record) {
                cases.push(Case { record, criterion, no_time, in_runs: Vec::new() });
            }
        }
        let of_runs =
            runs.into_iter().map(|(name, cases)| (name, inputs_of(head.clone(), cases, path)));
        Self::Report { inputs: Box::new(Inputs::of_runs(of_runs.collect())), baseline }
    }
}

/// The inputs of one run, or of all that saved under a name without a number.
fn inputs_of(head: Head, cases: Vec<Case>, path: &Path) -> Inputs {
    let mut inputs = Inputs {
        older: head.older,
        cut_off: head.cut_off,
        left_out: head.left_out,
        foreign: head.foreign,
        warnings: head.warnings,
        unreadable: head.unreadable,
        ..Inputs::default()
    };
    // Without a name, a run concerns a baseline because it left records there.
    inputs.recorded = head.runs.iter().map(|run| run.manifest.run_id.clone()).collect();
    inputs.runs = head.runs;
    for Case { record, criterion, no_time, in_runs: _ } in cases {
        let times = || criterion.as_ref().map_or(Ok(()), |it| it.check());
        let usable = valid::check(&record).and_then(|()| times().map_err(|(_, why)| why));
        if let Err(why) = usable {
            inputs.unreadable.push(format!("{}: {}: {why}", path.display(), record.full_id));
            continue;
        }
        let mut row = Row::new(record);
        if let Some(result) = criterion {
            row.join(result);
        }
        // It may follow from results that the file leaves out.
        row.time = row.time.map_err(|found| no_time.unwrap_or(found));
        inputs.cases.insert(row.record.full_id.clone(), row);
    }
    inputs
}

/// Records are read as those of today; whoever changes their version changes this one.
const _: () = assert!(Record::VERSION == 2 && Exported::VERSION == 1);

/// The head of our document, as far as it is read back; derived values are ignored.
#[derive(Clone, Deserialize)]
struct Head {
    baseline: String,
    #[serde(default)]
    run_names: Vec<String>,
    runs: Vec<Run>,
    older: HashSet<String>,
    #[serde(default)]
    cut_off: HashMap<String, String>,
    left_out: HashSet<String>,
    foreign: Vec<String>,
    warnings: Vec<String>,
    unreadable: Vec<String>,
}

#[derive(Deserialize)]
struct Case {
    record: Box<Record>,
    criterion: Option<Box<CriterionResult>>,
    no_time: Option<NoTime>,
    /// The case as several runs left it; then the rest follows from them.
    #[serde(default)]
    in_runs: Vec<CaseInRun>,
}

/// A case as one of several runs left it; without a record, why follows from the runs.
#[derive(Deserialize)]
struct CaseInRun {
    run_name: String,
    record: Option<Box<Record>>,
    criterion: Option<Box<CriterionResult>>,
    no_time: Option<NoTime>,
}

#[derive(Deserialize)]
struct Document {
    #[serde(flatten)]
    head: Head,
    cases: Vec<Case>,
}

/// How many lines follow the first.
#[derive(Deserialize)]
struct Count {
    cases: usize,
}

fn whole(text: &[u8]) -> serde_json::Result<(Head, Vec<Case>)> {
    let Document { head, cases } = serde_json::from_slice(text)?;
    Ok((head, cases))
}

/// A document whose first line is the head and each further one a case. A line that cannot be used
/// costs itself alone.
fn lines(text: &[u8], path: &Path) -> serde_json::Result<(Head, Vec<Case>)> {
    let mut lines = text.split(|byte| *byte == b'\n').enumerate();
    let (_, first) = lines.next().ok_or_else(|| serde_json::Error::custom("it is empty"))?;
    let mut head: Head = serde_json::from_slice(first)?;
    let Count { cases: expected } = serde_json::from_slice(first)?;
    let mut cases = Vec::with_capacity(expected.min(text.len()));
    let (mut found, mut unusable) = (0, Unusable::default());
    for (index, line) in lines.filter(|(_, line)| !line.is_empty()) {
        found += 1;
        match serde_json::from_slice(line) {
            Ok(case) => cases.push(case),
            Err(why) => {
                unusable.add(|| format!(":{}: not a case: {why}; export it again", index + 1));
            }
        }
    }
    head.unreadable.extend(unusable.of_file(path));
    if found != expected {
        head.unreadable.push(format!(
            "{}: {} of {expected}: cut off, or two files in one; export it again",
            path.display(),
            units::count(found, "case"),
        ));
    }
    Ok((head, cases))
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CritcmpBaseline {
    pub name: String,
    /// Its benchmarks, by `full_id`.
    #[serde(deserialize_with = "in_order")]
    pub benchmarks: Vec<CritcmpBenchmark>,
    /// Benchmarks that are left out because their numbers cannot be times, a line each.
    #[serde(skip)]
    pub unreadable: Vec<String>,
}

impl CritcmpBaseline {
    /// Without what cannot be used.
    fn checked(mut self, path: &Path) -> Self {
        let mut unusable = Unusable::default();
        self.benchmarks.retain(|it| match it.estimates.check() {
            Ok(()) => true,
            Err(why) => {
                unusable.add(|| format!(": {}: {why}", it.benchmark.full_id));
                false
            }
        });
        self.unreadable = unusable.of_file(path).collect();
        self
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CritcmpBenchmark {
    #[serde(rename = "criterion_benchmark_v1")]
    pub benchmark: Benchmark,
    #[serde(rename = "criterion_estimates_v1")]
    pub estimates: Estimates,
}

fn in_order<'de, D: Deserializer<'de>>(
    from: D,
) -> std::result::Result<Vec<CritcmpBenchmark>, D::Error> {
    let benchmarks: BTreeMap<String, CritcmpBenchmark> = BTreeMap::deserialize(from)?;
    Ok(benchmarks.into_values().collect())
}
