//! Everything a writer needs, computed once.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use plan::{CaseId, Check, ModelWork, Variant, Work};

use crate::model::{Circumstances, Comparison, Entry, Machines, Row};
use crate::order::{Order as _, Sorted as _};
use crate::parallel;
use crate::read::joined::Joined;
use crate::read::{Inputs, Location, Selection};
use crate::read::{Missing, Runs, profile_files};

/// A row against its group's baseline, its unquantized counterpart and its eager twin; two of them
/// may be one.
type Compared = [Option<Arc<Comparison>>; 3];

#[derive(Debug)]
pub struct Report {
    /// Name under which criterion saved the results.
    pub baseline: String,
    /// The folder that the records were read from, if they lie on this disk.
    pub records: Option<PathBuf>,
    /// The runs that the rows are of, where they were saved under that name with a number each.
    pub run_names: Vec<String>,
    rows: Vec<Row>,
    comparisons: Vec<Compared>,
    /// Indices of the rows that are to be shown.
    shown: Vec<usize>,
    /// Number of rows of the selected modes, shown or not.
    pub rows_read: usize,
    /// Cases that a run selected and that have no record.
    pub missing: Vec<Missing>,
    /// Cases that the selection leaves out, with a record or without.
    pub left_out: HashSet<String>,
    /// The cases whose last record is of an older version.
    pub older: HashSet<String>,
    /// The runs whose record of a case, the last one, cannot be used, by its `full_id`.
    pub cut_off: HashMap<String, String>,
    /// Number of shown rows that the latest run of their bench target did not select.
    pub earlier: usize,
    /// Results in criterion's folder without a record: other benchmarks, which are not ours to
    /// show.
    pub foreign: Vec<String>,
    /// Skipped input that can be measured again.
    pub warnings: Vec<String>,
    /// Files and lines that should be results and cannot be used, each with its place.
    pub unreadable: Vec<String>,
    /// Warnings about the machine from the runs of the shown rows, each kind once.
    pub run_warnings: Vec<String>,
    /// The checks of the machine before these runs, each once.
    pub checks: Vec<Check>,
    pub circumstances: Vec<Circumstances>,
    /// The machines of the shown rows.
    pub machines: Machines,
    /// The calibrations of the machines of merged results, besides those among the rows.
    calibrations: Vec<Row>,
    /// The runs that saved under this baseline and selected a case at all.
    pub runs: Runs,
}

impl Report {
    /// Reads and joins everything that runs left at `location` under `baseline`.
    pub fn read(location: &Location, baseline: &str, selection: Selection<'_>) -> Result<Self> {
        let inputs = Inputs::read(location, baseline, &selection)?;
        let mut report = Self::new(inputs, baseline, selection);
        let profiles = report.shown_mut().filter_map(|row| row.record.profile.as_mut()).collect();
        parallel::map_into(profiles, |it| profile_files::check(&location.records, it));
        Ok(Self { records: Some(location.records.clone()), ..report })
    }

    pub fn new(mut inputs: Inputs, baseline: &str, selection: Selection<'_>) -> Self {
        let run_names = inputs.of_runs.iter().map(|(name, _)| name.clone()).collect();
        let Joined { rows, runs, mut missing, calibrations } = Joined::new(&mut inputs, baseline);
        let mut rows = arranged(rows);
        let Inputs { older, cut_off, mut left_out, foreign, warnings, unreadable, .. } = inputs;
        let earlier = |id: &str| runs.is_earlier(id);
        let passes = |id: &str| {
            selection.names(id) && !left_out.contains(id) && !(selection.latest && earlier(id))
        };
        let shown: Vec<usize> = (0..rows.len()).filter(|&i| passes(rows[i].full_id())).collect();
        let machines = Machines::number(&mut chosen(&mut rows, &shown));
        let ids = rows.iter().map(Row::full_id).chain(missing.iter().map(|case| &*case.full_id));
        let failing: Vec<String> = ids.filter(|id| !passes(id)).map(str::to_owned).collect();
        missing.retain(|case| passes(&case.full_id));
        left_out.extend(failing);
        let measured: HashSet<&str> =
            shown.iter().flat_map(|&i| rows[i].in_runs()).map(|row| &*row.record.run_id).collect();
        Self {
            baseline: baseline.to_owned(),
            records: None,
            run_names,
            comparisons: compare(&rows),
            earlier: shown.iter().filter(|&&i| runs.is_earlier(rows[i].full_id())).count(),
            run_warnings: runs.warnings(&measured),
            checks: runs.checks(&measured),
            circumstances: Circumstances::from_rows(shown.iter().map(|&i| &rows[i])),
            machines,
            calibrations,
            rows_read: rows
                .iter()
                .filter(|row| selection.has_mode(row.record.case.mode.as_str()))
                .count(),
            rows,
            shown,
            missing,
            left_out,
            older,
            cut_off,
            foreign,
            warnings,
            unreadable,
            runs,
        }
    }

    pub fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        self.shown.iter().map(|&place| self.entry(place))
    }

    /// Calls `use_it` with a report that shows only the cases that `keep` accepts, and no missing cases.
    pub(crate) fn showing<T>(
        &mut self,
        keep: impl Fn(&Row) -> bool,
        use_it: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let rows = &self.rows;
        let some = self.shown.iter().copied().filter(|&place| keep(&rows[place])).collect();
        let shown = std::mem::replace(&mut self.shown, some);
        let missing = std::mem::take(&mut self.missing);
        let result = use_it(self);
        (self.shown, self.missing) = (shown, missing);
        result
    }

    /// The shown rows, mutable.
    pub(crate) fn shown_mut(&mut self) -> impl Iterator<Item = &mut Row> {
        chosen(&mut self.rows, &self.shown).into_iter()
    }

    /// The row at a place, which may be one that is not shown.
    pub fn entry(&self, place: usize) -> Entry<'_> {
        let row = &self.rows[place];
        let [comparison, quantization, compilation] =
            self.comparisons[place].each_ref().map(Option::as_deref);
        let unquantized = match quantization {
            Some(quantization) => quantization.baseline.map(|place| &self.rows[place]),
            None => Some(row),
        };
        let baseline = comparison.and_then(|it| it.baseline).map(|place| &self.rows[place]);
        Entry { row, comparison, baseline, quantization, unquantized, compilation }
    }

    /// The shown cases, and those that they are compared with.
    pub fn concerned(&self) -> impl Iterator<Item = Entry<'_>> {
        let partners = self.shown.iter().flat_map(|&place| &self.comparisons[place]);
        let partners = partners.flatten().filter_map(|comparison| comparison.baseline);
        let places: BTreeSet<usize> = self.shown.iter().copied().chain(partners).sorted_set();
        places.into_iter().map(|place| self.entry(place))
    }

    /// All rows that were read, shown or not, those beside the selected modes too.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The rows that calibrations are among, those of every machine: limits follow from them.
    pub fn with_calibrations(&self) -> impl Iterator<Item = &Row> {
        self.calibrations.iter().chain(&self.rows)
    }

    /// Shown cases by status, in the order of the statuses' names.
    pub fn outcomes(&self) -> Vec<(&'static str, usize)> {
        let mut outcomes = BTreeMap::new();
        for entry in self.entries() {
            *outcomes.entry(entry.row.record.outcome.status()).or_insert(0) += 1;
        }
        outcomes.into_iter().collect()
    }

    /// Shown and missing cases without a time of the run that selected them last, each with the
    /// reason: what `--strict` refuses.
    pub fn unmeasured(&self) -> Vec<(String, String)> {
        let rows = self.entries().filter_map(|Entry { row, .. }| {
            let reason = match (&row.outdated, &row.time) {
                (Some(outdated), _) => outdated.clone(),
                (None, Ok(_)) => row.failures_in_runs().next()?.to_string(),
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

/// The rows at these places, in the rows' order, to be changed.
fn chosen<'r>(rows: &'r mut [Row], places: &[usize]) -> Vec<&'r mut Row> {
    let places: HashSet<usize> = places.iter().copied().collect();
    let rows = rows.iter_mut().enumerate();
    rows.filter(|(place, _)| places.contains(place)).map(|(_, row)| row).collect()
}

/// Puts rows of one group, and in it those of one parameter, together where the first of them
/// stands; the baseline comes before its candidates, which keep their order but for those that run
/// a plain sibling in another way: each stands behind it, packed, with a preallocated output, in a
/// CUDA graph, compiled.
fn arranged(rows: Vec<Row>) -> Vec<Row> {
    let places = places(&rows);
    let mut placed: Vec<_> = places.into_iter().zip(rows).collect();
    placed.order_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, row)| row).collect()
}

/// The place of each row: behind the first of its group, of its parameter, and of its plain sibling.
fn places(rows: &[Row]) -> Vec<impl Ord + Copy + use<>> {
    let variants: Vec<String> =
        parallel::map(rows, |row| plain(row.record.case.work.clone()).variant());
    let mut groups: HashMap<&str, usize> = HashMap::new();
    let mut parameters: HashMap<(&str, &str), usize> = HashMap::new();
    let mut plain_siblings: HashMap<(&str, &str, &str), usize> = HashMap::new();
    let mut first_places = |place: usize| {
        let id = &rows[place].record.case.id;
        let sibling = (&*id.group, &*id.parameter, &*variants[place]);
        let group = *groups.entry(&id.group).or_insert(place);
        let parameter = *parameters.entry((&id.group, &id.parameter)).or_insert(place);
        (group, parameter, *plain_siblings.entry(sibling).or_insert(place))
    };
    let place = |(place, row): (usize, &Row)| {
        let (group, parameter, sibling) = first_places(place);
        let variant = row.variant();
        let way = (
            row.record.case.work.compile(),
            variant.is_some_and(|variant| variant.graph),
            variant.is_some_and(|variant| variant.preallocated),
            variant.is_some_and(|variant| variant.packed),
            variant.is_some_and(|variant| variant.autograd),
        );
        (group, parameter, !row.is_baseline(), sibling, way)
    };
    rows.iter().enumerate().map(place).collect()
}

/// The work without anything special about how it is run.
fn plain(work: Work) -> Work {
    match work.eager() {
        Work::Model(work) => {
            let Variant { recipe, sparsity, emulated, .. } = work.variant;
            let variant = Variant { sparsity, emulated, ..Variant::eager(recipe) };
            Work::Model(ModelWork { variant, ..work })
        }
        other => other,
    }
}

/// Compares every row with the baseline of its group (same group id, same parameter), with the
/// unquantized model run the same way, and a compiled one with its eager twin.
fn compare(rows: &[Row]) -> Vec<Compared> {
    let mut groups: HashMap<(&str, &str), Vec<(usize, &Row)>> = HashMap::new();
    for (place, row) in rows.iter().enumerate() {
        groups.entry(siblings_key(row)).or_default().push((place, row));
    }
    parallel::map(rows, |row| compare_one(row, &groups[&siblings_key(row)]))
}

fn compare_one(row: &Row, siblings: &[(usize, &Row)]) -> Compared {
    if row.is_baseline() {
        return [None, None, None];
    }
    let work = &row.record.case.work;
    let baseline = siblings.iter().copied().find(|(_, sibling)| sibling.is_baseline());
    let baseline_id = id(baseline, work.baseline(), row);
    let comparison = Arc::new(Comparison::new(baseline_id.as_ref(), baseline, row));
    let is_run_otherwise = work.compile().is_some()
        || work.model().is_some_and(|it| it.variant.autograd || it.variant.graph);
    let (true, Some(baseline_id)) = (is_run_otherwise, baseline_id) else {
        // A case that is run as the baseline is quantized against that itself.
        return [Some(Arc::clone(&comparison)), Some(comparison), None];
    };
    let against = |variant: String| {
        let sibling =
            siblings.iter().copied().find(|(_, sibling)| sibling.record.case.variant() == variant);
        let other = id(sibling, Some(&variant), row);
        other.map(|other| Arc::new(Comparison::of_siblings(&other, sibling, &baseline_id, row)))
    };
    let quantization = match work {
        Work::Model(_) if row.is_unquantized() => None,
        Work::Model(ModelWork { variant, .. }) => {
            let Variant { compile, autograd, graph, .. } = *variant;
            against(Variant { compile, autograd, graph, ..Variant::BASELINE }.to_string())
        }
        _ => Some(Arc::clone(&comparison)),
    };
    let compilation = work.compile().and_then(|_| against(work.clone().eager().variant()));
    [Some(comparison), quantization, compilation]
}

fn siblings_key(row: &Row) -> (&str, &str) {
    let id = &row.record.case.id;
    (&id.group, &id.parameter)
}

/// The id of the case that `row` is compared with. One that was not selected has no row; its id
/// follows from its variant, where that is known.
fn id(other: Option<(usize, &Row)>, variant: Option<&str>, row: &Row) -> Option<CaseId> {
    let id = &row.record.case.id;
    match other {
        Some((_, other)) => Some(other.record.case.id.clone()),
        None => variant.map(|variant| plan::case_id(&id.group, variant, &id.parameter)),
    }
}
