//! Everything a writer needs, computed once.

use std::collections::{BTreeMap, HashMap, HashSet};

use plan::RunManifest;
use regex::Regex;

use super::circumstances::Circumstances;
use super::criterion_files::CriterionFiles;
use super::location::Location;
use super::records::{Records, RecordsError, read_manifests};
use super::row::Row;
use super::speedup::Comparison;

/// A case without a record: a run selected it and ended before it had one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Criterion's id.
    pub full_id: String,
    /// What is known about it.
    pub reason: String,
}

/// One case as writers see it.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// The case itself.
    pub row: &'a Row,
    /// Against the baseline of its group; absent for that baseline.
    pub comparison: Option<&'a Comparison>,
    /// Against the unquantized model run the same way: a compiled candidate against the compiled
    /// model. Upstream's formats mean this one. Absent for an unquantized model.
    pub quantization: Option<&'a Comparison>,
    /// The other side of `quantization`; the row itself for an unquantized model.
    pub unquantized: Option<&'a Row>,
}

/// The rows of one baseline, compared, with what qualifies them.
#[derive(Debug)]
pub struct Report {
    /// Name under which criterion saved the results.
    pub baseline: String,
    rows: Vec<Row>,
    /// Each row against its group's baseline, and against its unquantized counterpart.
    comparisons: Vec<[Option<Comparison>; 2]>,
    /// Indices of the rows that the filter lets through, in the records' order.
    shown: Vec<usize>,
    /// Cases that the latest run of their target selected and that have no record.
    pub missing: Vec<Missing>,
    /// Results in criterion's folder without a record: other benchmarks, which are not ours to
    /// show.
    pub foreign: Vec<String>,
    /// Files and lines that could not be used.
    pub warnings: Vec<String>,
    /// Circumstances of the shown rows.
    pub circumstances: Vec<Circumstances>,
}

impl Report {
    /// Reads and joins everything that runs left at `location` under `baseline`.
    pub fn read(
        location: &Location,
        baseline: &str,
        filter: Option<&Regex>,
    ) -> Result<Self, RecordsError> {
        let Records { records, mut warnings } = Records::read(&location.records, baseline)?;
        let (manifests, manifest_warnings) = read_manifests(&location.records)?;
        warnings.extend(manifest_warnings);

        let wanted: HashSet<&str> = records.iter().map(|record| record.full_id.as_str()).collect();
        let files = CriterionFiles::read(&location.criterion, baseline, &wanted);
        warnings.extend(files.warnings);

        let mut rows: Vec<Row> = records
            .into_iter()
            .map(|record| {
                let results = files.results.get(&record.full_id).map_or(&[][..], Vec::as_slice);
                Row::join(record, results)
            })
            .collect();
        let mut missing = unreached(&manifests, baseline, &mut rows);
        let passes = |id: &str| filter.is_none_or(|filter| filter.is_match(id));
        let shown: Vec<usize> = (0..rows.len()).filter(|&i| passes(rows[i].full_id())).collect();
        missing.retain(|case| passes(&case.full_id));
        Ok(Self {
            baseline: baseline.to_owned(),
            comparisons: compare(&rows),
            circumstances: Circumstances::of(shown.iter().map(|&i| &rows[i].record)),
            rows,
            shown,
            missing,
            foreign: files.foreign,
            warnings,
        })
    }

    /// The shown cases, in the order of their records.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        self.shown.iter().map(|&place| {
            let row = &self.rows[place];
            let [comparison, quantization] = self.comparisons[place].each_ref().map(Option::as_ref);
            let unquantized = match quantization {
                Some(quantization) => quantization.baseline.map(|place| &self.rows[place]),
                None => Some(row),
            };
            Entry { row, comparison, quantization, unquantized }
        })
    }

    /// Number of rows before the filter.
    pub fn rows_read(&self) -> usize {
        self.rows.len()
    }

    /// Shown cases by status, in the order of the statuses' names.
    pub fn outcomes(&self) -> Vec<(&'static str, usize)> {
        let mut outcomes = BTreeMap::new();
        for entry in self.entries() {
            *outcomes.entry(entry.row.record.outcome.status()).or_insert(0) += 1;
        }
        outcomes.into_iter().collect()
    }

    /// Selected cases without a time of the run that selected them last, each with the reason:
    /// what `--strict` refuses.
    pub fn unmeasured(&self) -> Vec<(String, String)> {
        let rows = self.entries().filter_map(|Entry { row, .. }| {
            let reason = match (&row.outdated, &row.time) {
                (Some(outdated), _) => outdated.clone(),
                (None, Ok(_)) => return None,
                (None, Err(_)) => {
                    let reason = row.reason().map(|reason| format!(": {reason}"));
                    format!("{}{}", row.record.outcome.status(), reason.unwrap_or_default())
                }
            };
            Some((row.full_id().to_owned(), reason))
        });
        let missing = self.missing.iter().map(|case| (case.full_id.clone(), case.reason.clone()));
        rows.chain(missing).collect()
    }
}

/// Compares every row with the baseline of its group (same group id, same parameter), and with
/// the unquantized model run the same way.
fn compare(rows: &[Row]) -> Vec<[Option<Comparison>; 2]> {
    let mut groups: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
    let key = |place: usize| {
        let id = &rows[place].record.case.id;
        (id.group.as_str(), id.parameter.as_str())
    };
    for place in 0..rows.len() {
        groups.entry(key(place)).or_default().push(place);
    }
    let against = |other: Option<usize>, row: &Row| {
        Some(Comparison::of(other.map(|place| (place, &rows[place])), row))
    };
    rows.iter()
        .enumerate()
        .map(|(place, row)| {
            if row.is_baseline() {
                return [None, None];
            }
            let siblings = &groups[&key(place)];
            let find = |alike: &dyn Fn(&Row) -> bool| {
                siblings.iter().copied().find(|&sibling| alike(&rows[sibling]))
            };
            let comparison = against(find(&Row::is_baseline), row);
            let compile = row.record.case.compile;
            let quantization = if compile.is_none() {
                comparison.clone()
            } else if row.is_unquantized() {
                None
            } else {
                let alike =
                    |other: &Row| other.is_unquantized() && other.record.case.compile == compile;
                against(find(&alike), row)
            };
            [comparison, quantization]
        })
        .collect()
}

/// Finds what the latest run of each target selected and left without a record of its own: cases
/// without any record are returned, rows of an earlier run are marked as outdated.
fn unreached(manifests: &[RunManifest], baseline: &str, rows: &mut [Row]) -> Vec<Missing> {
    let runs: HashSet<&str> = rows.iter().map(|row| row.record.run_id.as_str()).collect();
    let mut latest: BTreeMap<&str, &RunManifest> = BTreeMap::new();
    for manifest in manifests {
        let saved = match &manifest.baseline {
            // `new` is whatever ran last, under whichever name criterion saved it besides.
            Some(name) => baseline == "new" || name == baseline,
            // A mere test saves nothing; a run against `--baseline` saves as `new` only.
            None => runs.contains(manifest.run_id.as_str()),
        };
        if saved {
            latest.insert(&manifest.target, manifest);
        }
    }
    let places: HashMap<String, usize> =
        rows.iter().enumerate().map(|(place, row)| (row.record.full_id.clone(), place)).collect();
    let mut missing = Vec::new();
    for manifest in latest.values() {
        for id in &manifest.selected {
            let ended = match manifest.running.as_ref() {
                Some(running) if running == id => "ended while this case was running",
                _ => "ended before it reached this case",
            };
            let reason = format!("run {} {ended}", manifest.run_id);
            match places.get(id).map(|&place| &mut rows[place]) {
                None => missing.push(Missing { full_id: id.clone(), reason }),
                Some(row) if row.record.run_id != manifest.run_id => {
                    let run = &row.record.run_id;
                    row.outdated = Some(format!("{reason}; this is from run {run}"));
                }
                Some(_) => {}
            }
        }
    }
    missing
}
