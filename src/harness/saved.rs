//! Saved results that criterion's flags ask for. Criterion panics where they are missing; here a
//! name that nobody saved is one error before anything runs, and a case without it is passed over.

use std::collections::BTreeSet;
use std::path::Path;

use plan::Case;

use super::args::Needs;

/// Refuses a name that none of the selected cases has.
pub fn check<'c>(
    needs: &Needs,
    criterion: &Path,
    selected: impl Iterator<Item = &'c Case> + Clone,
) -> Result<(), String> {
    for name in names(needs) {
        let mut folders = selected.clone().map(|case| criterion.join(case.id.directory()));
        let any = selected.clone().next().is_some();
        if any && !folders.any(|folder| folder.join(name).join("sample.json").is_file()) {
            let known = known(criterion, selected.clone());
            let known = known.into_iter().collect::<Vec<_>>().join(", ");
            return Err(format!(
                "no selected case has a baseline `{name}`; saved are: {}; save it with \
                 `--save-baseline {name}`",
                if known.is_empty() { "none" } else { known.as_str() }
            ));
        }
    }
    Ok(())
}

/// The first name that `case` lacks.
pub fn missing<'n>(needs: &'n Needs, criterion: &Path, case: &Case) -> Option<&'n str> {
    let folder = criterion.join(case.id.directory());
    names(needs).find(|name| !folder.join(name).join("sample.json").is_file())
}

fn names(needs: &Needs) -> impl Iterator<Item = &str> {
    needs.baseline.iter().chain(&needs.samples).map(String::as_str)
}

/// The names that any selected case has been saved under.
fn known<'c>(criterion: &Path, selected: impl Iterator<Item = &'c Case>) -> BTreeSet<String> {
    selected
        .filter_map(|case| std::fs::read_dir(criterion.join(case.id.directory())).ok())
        .flatten()
        .filter_map(|entry| entry.ok())
        .filter(|entry| entry.path().join("sample.json").is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}
