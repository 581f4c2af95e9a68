//! The selection of the latest run: whether a case without a result was taken away, or merely not
//! selected.

use std::collections::HashSet;

use plan::RunManifest;
use regex::Regex;

/// The selection of the latest run, as far as its manifest shows it.
#[derive(Debug, Default)]
pub struct Asked<'a> {
    selected: HashSet<&'a str>,
    configs: HashSet<&'a str>,
    filter: Option<Filter<'a>>,
}

#[derive(Debug)]
struct Filter<'a> {
    text: &'a str,
    /// Absent of `--exact`.
    regex: Option<Regex>,
}

impl<'a> Asked<'a> {
    /// The cases that a run was asked for. Without a run nothing is known, so that nothing excuses an
    /// absence.
    pub fn of(run: Option<&'a RunManifest>) -> Self {
        let Some(run) = run else { return Self::default() };
        Self {
            selected: run.selected.iter().map(String::as_str).collect(),
            configs: run.selected.iter().filter_map(|id| config(id)).collect(),
            filter: run.selection().and_then(Filter::of),
        }
    }

    /// Why the run did not select a case that may well be there: its filter, or that it was of other
    /// configs. None where the run selected the case, or would have if there were one.
    pub fn passed_over(&self, id: &str) -> Option<String> {
        const NOT_SELECTED: &str = "the latest run did not select it";
        if self.selected.is_empty() || self.selected.contains(id) {
            return None;
        }
        if let Some(filter) = self.filter.as_ref().filter(|filter| !filter.matches(id)) {
            return Some(format!("{NOT_SELECTED}: its filter was `{}`", filter.text));
        }
        let other = config(id).filter(|config| !self.configs.contains(config));
        other.map(|config| format!("{NOT_SELECTED}: it ran without the config `{config}`"))
    }
}

impl<'a> Filter<'a> {
    /// None where it is no regular expression: that ended the run before its manifest.
    fn of((text, exact): (&'a str, bool)) -> Option<Self> {
        let regex = if exact { None } else { Some(Regex::new(text).ok()?) };
        Some(Self { text, regex })
    }

    fn matches(&self, id: &str) -> bool {
        self.regex.as_ref().map_or(id == self.text, |regex| regex.is_match(id))
    }
}

/// `default` of `kernels/default/gemv/cpu/kernel/f32-4096`.
fn config(id: &str) -> Option<&str> {
    id.split('/').nth(1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn run(args: &[&str], selected: &[&str]) -> RunManifest {
        let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        RunManifest {
            version: RunManifest::VERSION,
            run_id: "1".to_owned(),
            target: "kernels".to_owned(),
            baseline: None,
            started: 0,
            finished: None,
            args: owned(args),
            filter: None,
            exact: false,
            checks: Vec::new(),
            warnings: Vec::new(),
            selected: owned(selected),
            outcomes: BTreeMap::new(),
        }
    }

    #[test]
    fn only_what_the_run_was_kept_from_is_excused() {
        let gone = "kernels/default/gemv/cpu/kernel/f32-4096";
        let other = "kernels/default/sort/cpu/kernel/f32-4096";
        let filter = Some("the latest run did not select it: its filter was `sort`".to_owned());
        for (args, expected) in [
            (&["--bench"][..], None),
            (&["--bench", "--save-baseline", "sort"], None),
            (&["--bench", "-s", "sort"], None),
            (&["--save-baseline=main", "--bench"], None),
            (&["sort", "--bench"], filter.clone()),
            (&["--bench", "--sample-size", "10", "sort"], filter.clone()),
            (&["--exact", "sort"], filter),
            // It would have been selected, were it there.
            (&["gemv|sort", "--bench"], None),
        ] {
            let run = run(args, &[other]);
            // The manifest's filter counts more than its arguments.
            let said = RunManifest { filter: Some("sort|gemv".to_owned()), ..run.clone() };
            assert_eq!(Asked::of(Some(&said)).passed_over(gone), None, "{args:?}");
            let exact = RunManifest { filter: Some("sort".to_owned()), exact: true, ..run.clone() };
            assert!(Asked::of(Some(&exact)).passed_over(gone).is_some(), "{args:?}");
            assert_eq!(Asked::of(Some(&run)).passed_over(gone), expected, "{args:?}");
            assert_eq!(Asked::of(Some(&run)).passed_over(other), None, "{args:?}");
        }
    }

    #[test]
    fn a_run_of_one_config_says_nothing_of_another() {
        let run = run(&["--bench"], &["kernels/default/sort/cpu/kernel/f32-4096"]);
        let asked = Asked::of(Some(&run));
        let why = "the latest run did not select it: it ran without the config `large`";
        assert_eq!(
            asked.passed_over("kernels/large/sort/cpu/kernel/f32-4096"),
            Some(why.to_owned())
        );
        assert_eq!(Asked::of(None).passed_over("kernels/large/sort/cpu/kernel/f32-4096"), None);
    }
}
