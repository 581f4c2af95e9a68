//! How cases ended on both sides, whatever their measures say, and whether one without a result was
//! taken away or merely not selected.

use std::collections::{HashMap, HashSet};

use plan::{RunManifest, RunShard};
use regex::Regex;

use super::finding::{Finding, Measure, Verdict};
use super::pairing::{Pairing, times};
use super::point::{Point, two_hosts};
use super::side::Side;

/// How cases ended on both sides, and what B's runs were asked for.
pub(super) struct Outcomes<'a> {
    a: &'a Side,
    b: &'a Side,
    hosts: Hosts,
    words: SideLabels,
    /// By mode, what each of B's runs was asked for.
    asked: HashMap<&'a str, Vec<Asked<'a>>>,
}

/// The treatment of a case that was measured on two machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hosts {
    /// Nothing is compared at all.
    Refused,
    /// It is not compared, and the others are.
    Apart,
    /// It is compared, with a caution.
    Across,
}

/// The names of the sides in reasons.
#[derive(Debug, Clone, Copy)]
pub struct SideLabels {
    a: &'static str,
    absent: &'static str,
    gone: &'static str,
}

impl SideLabels {
    pub const SIDES: Self = Self {
        a: "A",
        absent: "B has no record of it",
        gone: "B's latest run no longer has it; there is a record of an earlier run",
    };
    /// B is what there is now, and A an earlier time.
    pub const NOW: Self = Self {
        a: "the baseline",
        absent: "there is no record of it now",
        gone: "the latest run no longer has it; there is a record of an earlier run",
    };
}

impl<'a> Outcomes<'a> {
    pub fn new(a: &'a Side, b: &'a Side, hosts: Hosts, words: SideLabels) -> Self {
        let mut asked: HashMap<&str, Vec<Asked<'_>>> = HashMap::new();
        for (mode, run) in b.runs.iter().flat_map(|run| &run.manifests) {
            asked.entry(mode).or_default().push(Asked::new(run));
        }
        Self { a, b, hosts, words, asked }
    }

    /// The finding from a case's outcomes; `None` if every try measured it.
    pub fn finding(&self, pairing: &Pairing<'_>) -> Option<Finding> {
        let finding = self.judged(pairing)?;
        let ended = [self.a, self.b].map(|side| side.ended(pairing.full_id));
        Some(Finding { ended: Some(ended), ..finding })
    }

    fn judged(&self, pairing: &Pairing<'_>) -> Option<Finding> {
        let id = pairing.full_id;
        if let Some(reason) = self.apart(id) {
            return Some(Finding::new(Measure::Outcome, Verdict::NotCompared, reason));
        }
        let SideLabels { a: name, absent, gone } = self.words;
        let a: Vec<&Point> = self.a.points_of(id).collect();
        let b: Vec<&Point> = self.b.points_of(id).collect();
        let broken = |points: &[&'a Point]| -> Vec<&'a Point> {
            points.iter().copied().filter(|point| point.is_broken()).collect()
        };
        let found = |verdict, reason: String| Some(Finding::new(Measure::Outcome, verdict, reason));
        let (broken_a, broken_b) = (broken(&a), broken(&b));
        match (pairing.a.is_empty(), pairing.b.is_empty()) {
            (false, false) => match broken_b.first() {
                Some(first) if broken_a.is_empty() => {
                    let runs = format!("in {} of {} runs", broken_b.len(), b.len());
                    found(Verdict::Regressed, format!("now {runs} {}", first.ended()))
                }
                _ => found(Verdict::Missing, lost_time(pairing)?),
            },
            (false, true) if self.is_gone(id) => self.absent(id, &pairing.a, gone),
            (false, true) => match (broken_b.first(), b.first()) {
                (Some(first), _) => found(Verdict::Regressed, format!("now {}", first.ended())),
                (None, Some(first)) => found(Verdict::Missing, first.ended()),
                (None, None) => self.absent(id, &pairing.a, absent),
            },
            (true, false) => match (broken_a.first(), a.first()) {
                (Some(first), _) => found(
                    Verdict::Improved,
                    format!("measured now; {name} has it {}", first.ended()),
                ),
                (None, Some(first)) => {
                    found(Verdict::New, format!("{name} has it {}", first.ended()))
                }
                (None, None) => found(Verdict::New, format!("{name} has no record of it")),
            },
            (true, true) if self.is_gone(id) => found(Verdict::NotCompared, gone.to_owned()),
            (true, true) => {
                let reason = match (a.first(), b.first()) {
                    (Some(_), Some(last)) => last.ended(),
                    (None, Some(last)) => format!("{}; {name} has no record of it", last.ended()),
                    (Some(last), None) => format!("{absent}; {name} has it {}", last.ended()),
                    (None, None) => return None,
                };
                found(Verdict::NotCompared, reason)
            }
        }
    }

    /// A case that A measured and B does not have: it may not have been asked for.
    fn absent(&self, id: &str, a: &[&Point], reason: &str) -> Option<Finding> {
        let of_a = || format!("{}'s latest run did not select it", self.words.a);
        let excuse = self.passed_over(id).or_else(|| a.iter().all(|it| it.earlier).then(of_a));
        Some(match excuse {
            Some(excuse) => Finding::new(Measure::Outcome, Verdict::NotCompared, excuse),
            None => Finding::new(Measure::Outcome, Verdict::Missing, reason),
        })
    }

    /// Why one of B's runs did not select the case, where it may well be there.
    fn passed_over(&self, id: &str) -> Option<String> {
        self.asked.get(plan::mode_of(id))?.iter().find_map(|asked| asked.passed_over(id))
    }

    /// Whether what B has of a case is not to be judged by its numbers.
    pub fn is_out(&self, id: &str) -> bool {
        self.is_gone(id) || self.apart(id).is_some()
    }

    /// Why a case of two machines is not compared, where the others are.
    fn apart(&self, id: &str) -> Option<String> {
        if self.hosts != Hosts::Apart || self.is_gone(id) {
            return None;
        }
        let (then, now) = two_hosts(self.a.points_of(id).chain(self.b.points_of(id)))?;
        Some(format!("{} is of another machine: {then}; this is {now}", self.words.a))
    }

    /// Whether what B has of a case is of earlier runs than the latest, which would have selected it if
    /// it were still there.
    fn is_gone(&self, id: &str) -> bool {
        let mut points = self.b.points_of(id).peekable();
        points.peek().is_some()
            && points.all(|point| point.earlier)
            && self.passed_over(id).is_none()
    }
}

/// Why no run of B has a time, where one of A has.
fn lost_time(pairing: &Pairing<'_>) -> Option<String> {
    if times(&pairing.a).is_empty() || !times(&pairing.b).is_empty() {
        return None;
    }
    let reason = pairing.b.iter().find_map(|point| point.reason.as_deref());
    Some(format!("it has no time any more: {}", reason.unwrap_or("the record does not say why")))
}

/// The selection of the latest run, as far as its manifest shows it.
struct Asked<'a> {
    selected: HashSet<&'a str>,
    configs: HashSet<&'a str>,
    filter: Option<Filter<'a>>,
    shard: Option<&'a RunShard>,
}

struct Filter<'a> {
    text: &'a str,
    /// Absent of `--exact`.
    regex: Option<Regex>,
}

impl<'a> Asked<'a> {
    fn new(run: &'a RunManifest) -> Self {
        Self {
            selected: run.selected.iter().map(String::as_str).collect(),
            configs: run.selected.iter().filter_map(|id| config(id)).collect(),
            filter: run.selection().and_then(Filter::new),
            shard: run.shard.as_ref(),
        }
    }

    /// Why the run did not select a case that may well be there: its filter, or that it was of other
    /// configs or of another part. None where the run selected the case, or would have if there were one.
    fn passed_over(&self, id: &str) -> Option<String> {
        const NOT_SELECTED: &str = "the latest run did not select it";
        if self.selected.is_empty() || self.selected.contains(id) {
            return None;
        }
        if let Some(filter) = self.filter.as_ref().filter(|filter| !filter.matches(id)) {
            return Some(format!("{NOT_SELECTED}: its filter was `{}`", filter.text));
        }
        let other = config(id).filter(|config| !self.configs.contains(config));
        let shard = || {
            let RunShard { index, count, .. } = self.shard?;
            Some(format!("{NOT_SELECTED}: it ran shard {index}/{count}"))
        };
        other
            .map(|config| format!("{NOT_SELECTED}: it ran without the config `{config}`"))
            .or_else(shard)
    }
}

impl<'a> Filter<'a> {
    /// None where it is no regular expression: that ended the run before its manifest.
    fn new((text, exact): (&'a str, bool)) -> Option<Self> {
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
            shard: None,
            merged: false,
            checks: Vec::new(),
            warnings: Vec::new(),
            selected: owned(selected),
            resumed: Vec::new(),
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
            assert_eq!(Asked::new(&said).passed_over(gone), None, "{args:?}");
            let exact = RunManifest { filter: Some("sort".to_owned()), exact: true, ..run.clone() };
            assert!(Asked::new(&exact).passed_over(gone).is_some(), "{args:?}");
            assert_eq!(Asked::new(&run).passed_over(gone), expected, "{args:?}");
            assert_eq!(Asked::new(&run).passed_over(other), None, "{args:?}");
        }
    }

    #[test]
    fn a_run_of_one_part_says_nothing_of_the_others() {
        let [here, there] =
            ["sort", "gemv"].map(|kernel| format!("kernels/default/{kernel}/cpu/kernel/f32-4096"));
        let shard = RunShard {
            index: 3,
            count: 16,
            partition: plan::Partition::Balanced,
            from: "flag".to_owned(),
        };
        let run = RunManifest { shard: Some(shard), ..run(&["--bench"], &[&here]) };
        let why = "the latest run did not select it: it ran shard 3/16".to_owned();
        assert_eq!(Asked::new(&run).passed_over(&there), Some(why));
        assert_eq!(Asked::new(&run).passed_over(&here), None);
    }

    #[test]
    fn a_run_of_one_config_says_nothing_of_another() {
        let run = run(&["--bench"], &["kernels/default/sort/cpu/kernel/f32-4096"]);
        let asked = Asked::new(&run);
        let why = "the latest run did not select it: it ran without the config `large`";
        assert_eq!(
            asked.passed_over("kernels/large/sort/cpu/kernel/f32-4096"),
            Some(why.to_owned())
        );
    }
}
