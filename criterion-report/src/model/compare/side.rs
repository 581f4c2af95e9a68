//! One side of a comparison: all runs of a name, a folder or a file.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, bail};
use rayon::prelude::*;

use super::point::Point;
use super::run::{Remarks, SideRun};
use crate::model::kernels::{Past, SUMMARY};
use crate::model::saved::{Saved, known};
use crate::model::{Exported, Inputs, Location, Selection};

#[derive(Debug, Clone, Default)]
pub struct Side {
    pub name: String,
    /// In the order in which they were measured.
    pub runs: Vec<SideRun>,
}

fn remedy(name: &str, names: &BTreeSet<String>) -> String {
    if names.is_empty() {
        return "; there is no baseline at all: save one with `cargo bench -- --save-baseline NAME`"
            .to_owned();
    }
    let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    format!("\n  {}", plan::UnknownWord::new("baseline", name, names).remedy)
}

impl Side {
    pub(super) fn points_of(&self, full_id: &str) -> impl Iterator<Item = &Point> {
        self.runs.iter().filter_map(move |run| run.get(full_id))
    }

    /// Reads what `name` is: a baseline with records, with its runs `NAME@1`, `NAME@2` and so
    /// on; else a file that results were exported to, or a folder, of which `of_folder` is the
    /// baseline.
    pub fn read(
        name: &str,
        location: &Location,
        of_folder: &str,
        selection: Selection<'_>,
    ) -> Result<(Self, Remarks)> {
        let folder = Path::new(name);
        let is_name =
            !name.is_empty() && !name.contains(['/', '\\']) && ![".", ".."].contains(&name);
        if is_name && !Saved::under(&location.records, name)?.names.is_empty() {
            return Self::of_baseline(name, name, location, selection);
        }
        if folder.is_file() {
            return Self::of_file(name, folder, selection);
        }
        let summary = folder.join(SUMMARY);
        if summary.is_file() {
            return Self::of_summary(name, &summary, selection);
        }
        // A folder of records may lie beside any folder; one inside it is surely its own.
        for criterion in [folder.join("criterion"), folder.to_owned()] {
            let other = Location::at(criterion);
            if folder.is_dir() && other.records.is_dir() && other.criterion.is_dir() {
                return Self::of_baseline(name, of_folder, &other, selection);
            }
        }
        bail!(
            "`{name}` cannot be compared: it is neither a baseline in {}, nor criterion's folder \
             with a `{}` beside it, nor a folder with a {SUMMARY}, nor an exported file{}",
            location.records.display(),
            Location::RECORDS,
            remedy(name, &known(&location.records)?)
        )
    }

    fn of_baseline(
        name: &str,
        baseline: &str,
        location: &Location,
        selection: Selection<'_>,
    ) -> Result<(Self, Remarks)> {
        let inputs = Inputs::read(location, baseline, &selection)?;
        Ok(Self::of_inputs(name, inputs, baseline, selection))
    }

    /// A side of what was read of a baseline, with a run for each run.
    fn of_inputs(
        name: &str,
        mut inputs: Inputs,
        baseline: &str,
        selection: Selection<'_>,
    ) -> (Self, Remarks) {
        let runs = std::mem::take(&mut inputs.of_runs);
        let (mut remarks, runs) = if runs.is_empty() {
            let (run, remarks) = SideRun::of_inputs(inputs, baseline, selection);
            (remarks, vec![(run, Remarks::default())])
        } else {
            let remarks = Remarks { unreadable: inputs.unreadable, warnings: inputs.warnings };
            let runs = runs
                .into_par_iter()
                .map(|(name, inputs)| SideRun::of_inputs(inputs, &name, selection));
            (remarks, runs.collect())
        };
        let mut side = Self { name: name.to_owned(), runs: Vec::new() };
        for (run, said) in runs {
            remarks.extend(said);
            side.runs.push(run);
        }
        remarks.warnings.extend(side.of_several_revisions());
        (side, remarks)
    }

    fn of_several_revisions(&self) -> Option<String> {
        let revisions: Vec<&str> = self.revisions().into_iter().collect();
        let differ = self.runs.len() > 1 && revisions.len() > 1;
        differ.then(|| {
            format!(
                "the runs of `{}` are of {} revisions ({}): their code may differ",
                self.name,
                revisions.len(),
                revisions.join(", ")
            )
        })
    }

    /// An export of ours, or of critcmp.
    fn of_file(name: &str, file: &Path, selection: Selection<'_>) -> Result<(Self, Remarks)> {
        let (run, remarks) = match Exported::read(file)? {
            Exported::Report { mut inputs, baseline } => {
                inputs.retain(&selection);
                return Ok(Self::of_inputs(name, *inputs, &baseline, selection));
            }
            Exported::Critcmp(baseline) => {
                let unreadable = baseline.unreadable.clone();
                let remarks = Remarks { unreadable, ..Remarks::default() };
                (SideRun::of_critcmp(baseline, selection), remarks)
            }
        };
        Ok((Self { name: name.to_owned(), runs: vec![run] }, remarks))
    }

    fn of_summary(name: &str, summary: &Path, selection: Selection<'_>) -> Result<(Self, Remarks)> {
        let mut points = Past::read(summary)?.points;
        points.retain(|point| selection.names(&point.full_id));
        let runs = vec![SideRun::new(SUMMARY, points)];
        Ok((Self { name: name.to_owned(), runs }, Remarks::default()))
    }

    /// Revisions of its measured cases, each once.
    pub fn revisions(&self) -> BTreeSet<&str> {
        let points = self.runs.iter().flat_map(|run| &run.points);
        points
            .filter(|point| point.is_measured())
            .filter_map(|point| point.revision.as_deref())
            .collect()
    }

    /// Machines that its measured cases are of, each once.
    pub fn hosts(&self) -> BTreeSet<&str> {
        let points = self.runs.iter().flat_map(|run| &run.points);
        points
            .filter(|point| point.is_measured())
            .filter_map(|point| point.host.as_deref())
            .collect()
    }
}
