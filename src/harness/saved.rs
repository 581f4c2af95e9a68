//! Criterion's results of earlier runs. Criterion panics where one that its flags ask for is missing, and prints an error in
//! the middle of its output where one is damaged; here a name that nobody saved is one error before anything runs, a case
//! without it is passed over, and what is damaged is no result.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Once;

use plan::{Case, LastSample};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::args::Needs;

#[derive(Deserialize)]
struct Samples {
    iters: Vec<f64>,
    times: Vec<f64>,
}

#[derive(Deserialize)]
struct Estimates {
    median: Estimate,
}

#[derive(Deserialize)]
struct Estimate {
    point_estimate: f64,
}

#[derive(Deserialize)]
struct Benchmark {
    full_id: String,
}

/// The last sample of the result that `case` has under a name; none unless each of criterion's files can be read, and they
/// belong to the case and to one another.
pub fn last_sample(criterion: &Path, case: &Case, name: &str) -> Option<LastSample> {
    let folder = criterion.join(case.id.directory()).join(name);
    let Samples { iters, times } = read(&folder.join("sample.json"))?;
    let Estimates { median } = read(&folder.join("estimates.json"))?;
    let Benchmark { full_id } = read(&folder.join("benchmark.json"))?;
    let steps: Vec<f64> = times.iter().zip(&iters).map(|(ns, iters)| ns / iters).collect();
    let are_times = steps.len() > 1 && steps.iter().all(|ns| ns.is_finite() && *ns > 0.0);
    if full_id != case.full_id() || iters.len() != times.len() || !are_times {
        return None;
    }
    // Criterion writes one file after the other, and a run may be killed between them.
    let is_of_its_samples =
        (median.point_estimate / statistics::median(&steps) - 1.0).abs() <= 1e-9;
    let whole = |values: &[f64]| values.last().map_or(0, |value| value.round() as u64);
    is_of_its_samples.then(|| LastSample { iters: whole(&iters), ns: whole(&times) })
}

/// A regular file: from a pipe no byte may ever come.
fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let text = path.is_file().then(|| fs::read(path).ok())??;
    serde_json::from_slice(&text).ok()
}

/// Refuses a name that none of the selected cases has, and one whose results criterion would stumble over.
pub fn check<'c>(
    needs: &Needs,
    criterion: &Path,
    selected: impl Iterator<Item = &'c Case> + Clone,
) -> Result<(), String> {
    for name in names(needs) {
        let mut cases = selected.clone();
        let any = selected.clone().next().is_some();
        if any && !cases.any(|case| last_sample(criterion, case, name).is_some()) {
            let known = known(criterion, selected.clone());
            let known = known.into_iter().collect::<Vec<_>>().join(", ");
            return Err(format!(
                "no selected case has a baseline `{name}`; saved are: {}; save it with \
                 `--save-baseline {name}`",
                if known.is_empty() { "none" } else { known.as_str() }
            ));
        }
    }
    let Some(name) = &needs.beside else { return Ok(()) };
    match selected.clone().find(|case| is_damaged(criterion, case, name)) {
        Some(case) => Err(format!(
            "{}: a file of this baseline is missing or damaged, so nothing can be compared with it; delete the folder, or \
             save it again with `--save-baseline {name}`",
            criterion.join(case.id.directory()).join(name).display()
        )),
        None => Ok(()),
    }
}

/// The first name that `case` lacks.
pub fn missing<'n>(needs: &'n Needs, criterion: &Path, case: &Case) -> Option<&'n str> {
    names(needs).find(|name| last_sample(criterion, case, name).is_none())
}

/// Whether there is something of that name, and no result.
fn is_damaged(criterion: &Path, case: &Case, name: &str) -> bool {
    let folder = criterion.join(case.id.directory()).join(name);
    fs::symlink_metadata(folder).is_ok() && last_sample(criterion, case, name).is_none()
}

/// Removes what is damaged of a result that this run saves anew: criterion would compare with it, and wait for a pipe.
pub fn make_way(criterion: &Path, case: &Case, name: &str) -> Result<(), io::Error> {
    if !is_damaged(criterion, case, name) {
        return Ok(());
    }
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        eprintln!(
            "note: the earlier result `{name}` of {} is incomplete or damaged: it is replaced, and nothing is compared with \
             it; others like it are, too",
            case.id
        );
    });
    let folder = criterion.join(case.id.directory()).join(name);
    let removed = match folder.is_dir() {
        true => fs::remove_dir_all(&folder),
        false => fs::remove_file(&folder),
    };
    removed.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", folder.display())))
}

fn names(needs: &Needs) -> impl Iterator<Item = &str> {
    needs.baseline.iter().chain(&needs.samples).map(String::as_str)
}

/// The names that any selected case has been saved under.
fn known<'c>(criterion: &Path, selected: impl Iterator<Item = &'c Case>) -> BTreeSet<String> {
    let mut known = BTreeSet::new();
    for case in selected {
        let Ok(entries) = fs::read_dir(criterion.join(case.id.directory())) else { continue };
        let names = entries.flatten().map(|it| it.file_name().to_string_lossy().into_owned());
        known.extend(names.filter(|name| last_sample(criterion, case, name).is_some()));
    }
    known
}
