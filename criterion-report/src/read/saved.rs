//! The names under which runs saved: those of several runs of `main` are `main@1`, `main@2` and so on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;

use crate::read::file;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Saved {
    /// Folders of records, in the order of their numbers; the name itself where there are no numbers.
    pub names: Vec<String>,
    /// A note if the name itself has records besides, which do not count.
    pub left_out: Option<String>,
}

impl Saved {
    /// The runs of `name` that have a folder in `records`; none where there is nothing of that name.
    pub fn under(records: &Path, name: &str) -> Result<Self> {
        let mut found = BTreeMap::new();
        for folder in folders(records)? {
            let number = match folder.strip_prefix(name) {
                Some("") => Some(0),
                Some(rest) => rest.strip_prefix('@').and_then(number),
                None => None,
            };
            found.extend(number.map(|number| (number, folder)));
        }
        let alone = if found.len() > 1 { found.remove(&0) } else { None };
        let names: Vec<String> = found.into_values().collect();
        let left_out = alone.map(|name| {
            format!("`{name}` is skipped: its runs {} are used instead", range(&names))
        });
        Ok(Self { names, left_out })
    }
}

/// From 1 on, written as the benchmarks write it, so that no two names have the same.
fn number(text: &str) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    (number > 0 && number.to_string() == text).then_some(number)
}

/// `main` of `main@3`; nothing of a name that is not that of one of several runs.
pub fn all_runs(name: &str) -> Option<&str> {
    let (name, text) = name.rsplit_once('@')?;
    number(text).filter(|_| !name.is_empty()).map(|_| name)
}

/// `main@1` to `main@8`.
pub fn range(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => format!("`{only}`"),
        [first, .., last] => format!("`{first}` to `{last}`"),
    }
}

/// Names under which there are records; several runs go by the name that they have in common.
pub fn known(records: &Path) -> Result<BTreeSet<String>> {
    let folders = folders(records)?;
    Ok(folders.iter().map(|name| all_runs(name).unwrap_or(name).to_owned()).collect())
}

/// Folders in which there are records, sorted.
pub fn folders(records: &Path) -> Result<Vec<String>> {
    let failed = |why| file::unusable(records, why);
    let mut names = Vec::new();
    for entry in file::entries(records).map_err(failed)? {
        // The manifests of runs lie beside the baselines.
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() && name != "runs" {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_have_numbers_from_1_on_each_written_in_one_way() {
        for (text, expected) in
            [("1", Some(1)), ("12", Some(12)), ("0", None), ("01", None), ("+1", None), ("", None)]
        {
            assert_eq!(number(text), expected, "{text}");
        }
    }

    #[test]
    fn one_of_several_runs_is_of_a_name() {
        for (run, name) in [
            ("main@3", Some("main")),
            ("a@1@2", Some("a@1")),
            ("main", None),
            ("main@", None),
            ("main@0", None),
            ("@1", None),
        ] {
            assert_eq!(all_runs(run), name, "{run}");
        }
    }

    #[test]
    fn runs_are_in_the_order_of_their_numbers() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["main", "main@10", "main@2", "main@x", "mainly", "other", "runs"] {
            std::fs::create_dir(folder.path().join(name)).expect("created");
        }
        let under = |name| Saved::under(folder.path(), name).expect("readable");
        assert_eq!(under("main").names, ["main@2", "main@10"]);
        let note = "`main` is skipped: its runs `main@2` to `main@10` are used instead";
        assert_eq!(under("main").left_out.as_deref(), Some(note));
        assert_eq!(under("main@2"), Saved { names: vec!["main@2".to_owned()], left_out: None });
        assert_eq!(under("other").names, ["other"]);
        assert_eq!(under("nothing"), Saved::default());
    }
}
