//! The order of blocks: the programs take turns, and time goes to the cases that are not decided.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use plan::flag::escaped;
use plan::lockstep::{LockstepBlock, LockstepCase};
use statistics::MIN_BLOCKS;
use statistics::lockstep::{Block, Lockstep, State};

use super::pair::{SIDES, measure};
use super::process::Program;
use crate::error::Error;
use crate::folder_lock::FolderLock;
use crate::human;
use crate::progress_line::Line;

/// The cases to measure, and the time for it.
#[derive(Debug)]
pub struct Order<'o> {
    /// A regular expression on ids; none selects all.
    pub filter: Option<String>,
    pub budget: Duration,
    /// Relative differences up to this do not matter.
    pub threshold: f64,
    /// The lock on the results; all processes hold it.
    pub claim: &'o FolderLock,
}

/// The results of a comparison.
#[derive(Debug, Default)]
pub struct Outcome {
    pub cases: Vec<LockstepCase>,
    /// Programs that died, or were not begun, with the reason.
    pub failures: Vec<Error>,
    pub took: Duration,
}

/// The programs of one target on both sides, with their cases.
struct Pair {
    programs: [Program; 2],
    cases: BTreeMap<String, Case>,
    blocks: usize,
    /// The time of the last block, and the benchmarks in it.
    last: Duration,
    measured: usize,
    has_failed: bool,
}

struct Case {
    has: [bool; 2],
    lockstep: Lockstep,
}

/// Criterion's part of a turn: so short that a machine's moods are equal for both sides.
const TURN: [&str; 5] = ["--bench", "--warm-up-time", "0.03", "--measurement-time", "0.06"];
/// Enough samples that some of them are undisturbed.
const SAMPLES: &str = "50";
/// The fewest that criterion takes.
const FEW_SAMPLES: &str = "10";
/// Bytes of a filter. Systems limit an argument to 32 kB, as Windows, or 128 kB.
const LONGEST: usize = 30_000;
/// Turns that take longer on average have few samples: each of them is long enough.
const LONG_TURN: Duration = Duration::from_millis(400);

/// Measures programs, those of A beside those of B, until all is decided or the budget is spent.
pub fn measure_all(programs: Vec<[Program; 2]>, order: &Order<'_>) -> Outcome {
    let began = Instant::now();
    let pair = |programs| Pair {
        programs,
        cases: BTreeMap::new(),
        blocks: 0,
        last: Duration::ZERO,
        measured: 0,
        has_failed: false,
    };
    let mut pairs: Vec<Pair> = programs.into_iter().map(pair).collect();
    let (line, mut failures) = (Line::new(), Vec::new());
    loop {
        let mut is_idle = true;
        for index in 0..pairs.len() {
            let left = order.budget.saturating_sub(began.elapsed());
            let selection = select(&pairs, left, order.budget);
            let takes = pairs[index].takes(selection);
            if takes.is_none_or(|it| it > left) || left.is_zero() {
                continue;
            }
            is_idle = false;
            line.show(&progress(&pairs, index, left));
            let confirm = |case: &&Case| case.lockstep.is_candidate();
            let cases = pairs.iter().flat_map(|it| it.cases.values());
            let candidates = cases.filter(confirm).count();
            let pair = &mut pairs[index];
            if let Err(error) = pair.block(order, began + order.budget, selection, candidates) {
                line.clear();
                eprint!("{error}");
                pair.has_failed = true;
                failures.push(error);
            }
            let is_first_round = index + 1 == pairs.len() && pairs[index].blocks == 1;
            if let Some(note) = is_first_round.then(|| too_short(&pairs, order)).flatten() {
                line.clear();
                eprintln!("{note}");
            }
        }
        if is_idle {
            break;
        }
    }
    line.clear();
    for pair in pairs.iter().filter(|it| it.blocks == 0 && !it.has_failed) {
        let [Program { package, target, .. }, _] = &pair.programs;
        let what =
            format!("{package}, {target}: the budget was spent before all of it was measured once");
        let error = Error::new(what)
            .remedy("give more time: --budget 10min; or measure less: --bench TARGET");
        eprint!("{error}");
        failures.push(error);
    }
    Outcome { cases: named(pairs), failures, took: began.elapsed() }
}

/// Cases that a block is taken of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Selection {
    /// All that are not decided.
    Open,
    /// Cases that looked different, and are not decided.
    Confirming,
}

/// Candidates go first once half of the budget is spent: whether one of them has changed is what was asked.
fn select(pairs: &[Pair], left: Duration, budget: Duration) -> Selection {
    let is_begun = pairs.iter().all(|it| it.blocks > 0 || it.has_failed);
    let mut confirming = pairs.iter().filter(|it| it.takes(Selection::Confirming).is_some());
    match is_begun && left < budget / 2 && confirming.next().is_some() {
        true => Selection::Confirming,
        false => Selection::Open,
    }
}

/// All cases; an id that two programs have stands behind the names of its package and target.
fn named(pairs: Vec<Pair>) -> Vec<LockstepCase> {
    let mut programs: BTreeMap<String, usize> = BTreeMap::new();
    for id in pairs.iter().flat_map(|it| it.cases.keys()) {
        *programs.entry(id.clone()).or_default() += 1;
    }
    let of_pair = |pair: Pair| {
        let place = format!("{}/{}", pair.programs[0].package, pair.programs[0].target);
        pair.into_cases().map(move |case| (place.clone(), case))
    };
    let cases = pairs.into_iter().flat_map(of_pair);
    cases
        .map(|(place, case)| match programs[&case.full_id] {
            1 => case,
            _ => LockstepCase { full_id: format!("{place}/{}", case.full_id), ..case },
        })
        .collect()
}

impl Pair {
    /// The time of a block of these cases, by that of the last block; none where there are no such cases.
    fn takes(&self, selection: Selection) -> Option<Duration> {
        if self.has_failed {
            return None;
        }
        if self.blocks == 0 {
            return (selection == Selection::Open).then_some(self.last);
        }
        let count = self.selected(selection).count();
        let share = count as f64 / self.measured.max(1) as f64;
        (count > 0).then(|| self.last.mul_f64(share))
    }

    fn selected(&self, selection: Selection) -> impl Iterator<Item = (&String, &Case)> {
        self.cases.iter().filter(move |(_, it)| match selection {
            Selection::Open => it.is_open(),
            Selection::Confirming => it.is_open() && it.lockstep.is_candidate(),
        })
    }

    /// Two pairs of processes over these cases.
    fn block(
        &mut self,
        order: &Order<'_>,
        until: Instant,
        selection: Selection,
        candidates: usize,
    ) -> Result<(), Error> {
        let began = Instant::now();
        let [program, _] = &self.programs;
        let samples = (!program.has_plugin).then(|| ["--sample-size", self.samples()]);
        let mut arguments: Vec<String> =
            TURN.into_iter().chain(samples.into_iter().flatten()).map(str::to_owned).collect();
        arguments.extend(if self.blocks == 0 {
            order.filter.clone()
        } else {
            Some(self.filter(selection))
        });
        let layout = self.shuffle();
        let mut measured = Vec::new();
        for first in SIDES {
            let programs = self.programs.each_ref();
            let (times, is_whole) = measure(programs, &arguments, first, order.claim, until)?;
            if !is_whole {
                // The time is over. Half a block says nothing.
                return Ok(());
            }
            measured.push(times);
            self.programs.iter_mut().for_each(|it| it.is_checked = true);
        }
        let [forth, back] = &measured[..] else { unreachable!("two pairs") };
        let ids: BTreeSet<&String> = SIDES.iter().flat_map(|&it| forth[it].keys()).collect();
        self.measured = ids.len();
        for id in ids {
            let has = SIDES.map(|side| forth[side].contains_key(id));
            let case = self
                .cases
                .entry(id.clone())
                .or_insert_with(|| Case { has, lockstep: Lockstep::new(order.threshold) });
            let times =
                |pair: &[BTreeMap<String, f64>; 2]| Some([*pair[0].get(id)?, *pair[1].get(id)?]);
            if let (Some(forth), Some(back)) = (times(forth), times(back)) {
                let times = [forth, back];
                case.lockstep.add(Block { layout, times }, candidates);
            }
        }
        self.blocks += 1;
        self.last = began.elapsed();
        Ok(())
    }

    /// Links both programs with their functions in a new order, and returns its number. Where one cannot be, both keep the
    /// order that they have, with the number 0.
    fn shuffle(&mut self) -> usize {
        let [a, b] = &self.programs;
        let (Some(of_a), Some(of_b)) = (&a.inputs, &b.inputs) else { return 0 };
        let order = self.blocks + 1;
        let linked = thread::scope(|scope| {
            let a = scope.spawn(|| of_a.link(order, &a.path));
            let b = of_b.link(order, &b.path);
            a.join().expect("it does not panic").and(b)
        });
        if let Err(error) = linked {
            eprint!("note: {}: functions keep their order: {error}", a.target);
            self.programs.iter_mut().for_each(|it| it.inputs = None);
            return 0;
        }
        self.blocks
    }

    /// How many samples of a benchmark criterion takes in a turn.
    fn samples(&self) -> &'static str {
        if self.turn() > LONG_TURN { FEW_SAMPLES } else { SAMPLES }
    }

    /// The mean time of a turn in the last block.
    fn turn(&self) -> Duration {
        self.last / (4 * u32::try_from(self.measured).unwrap_or(u32::MAX).max(1))
    }

    /// A regular expression for these cases; where they are too many for one, for those with the fewest blocks.
    fn filter(&self, selection: Selection) -> String {
        let mut open: Vec<_> = self.selected(selection).collect();
        open.sort_by_key(|(_, it)| it.lockstep.blocks().len());
        let (mut length, mut ids) = (0, Vec::new());
        for (id, _) in open {
            let id = escaped(id);
            length += id.len() + 1;
            if length > LONGEST && !ids.is_empty() {
                break;
            }
            ids.push(id);
        }
        format!("^(?:{})$", ids.join("|"))
    }

    fn into_cases(self) -> impl Iterator<Item = LockstepCase> {
        let [program, _] = self.programs;
        self.cases.into_iter().map(move |(full_id, Case { has, lockstep })| LockstepCase {
            full_id,
            target: program.target.clone(),
            has,
            blocks: lockstep
                .blocks()
                .iter()
                .map(|it| LockstepBlock { layout: it.layout, times: it.times })
                .collect(),
            confirmed_from: lockstep.confirmed_from(),
            is_decided: lockstep.state() == State::Decided,
        })
    }
}

impl Case {
    /// Whether further blocks are of use.
    fn is_open(&self) -> bool {
        self.has == [true, true] && self.lockstep.state() != State::Decided
    }
}

/// Says so if the budget is not enough for the blocks that any case needs.
fn too_short(pairs: &[Pair], order: &Order<'_>) -> Option<String> {
    let each: Duration = pairs.iter().map(|it| it.last).sum();
    let needed = each * u32::try_from(MIN_BLOCKS).unwrap_or(u32::MAX);
    let cases: usize = pairs.iter().map(|it| it.cases.len()).sum();
    let has_own = |it: &&Pair| !it.programs[0].has_plugin && it.turn() > LONG_TURN;
    let own = pairs.iter().filter(has_own).max_by_key(|it| it.turn()).map(|it| {
        format!(
            "; a turn of {} takes {} where 0.1 s was asked for: its code sets measurement_time, warm_up_time or sample_size",
            it.programs[0].target,
            human::duration(it.turn())
        )
    });
    (needed > order.budget).then(|| {
        format!(
            "note: {cases} cases take {} for the least that decides anything, and --budget is {}: \
             give it more, or a filter{}",
            human::duration(needed),
            human::duration(order.budget),
            own.unwrap_or_default()
        )
    })
}

/// `7 cases: 3 decided, 1 being confirmed; 2 min 10 s left: search`
fn progress(pairs: &[Pair], index: usize, left: Duration) -> String {
    let states = || pairs.iter().flat_map(|it| it.cases.values()).map(|it| it.lockstep.state());
    let count = |state| states().filter(|it| *it == state).count();
    format!(
        "{} cases: {} decided, {} being confirmed; at most {} left: {}",
        states().count(),
        count(State::Decided),
        count(State::Confirming),
        human::duration(left),
        pairs[index].programs[0].target
    )
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// A pair of programs with these cases.
    fn pair(target: &str, cases: BTreeMap<String, Case>) -> Pair {
        let program = Program {
            package: "p".to_owned(),
            target: target.to_owned(),
            path: PathBuf::new(),
            inputs: None,
            folder: PathBuf::new(),
            has_plugin: false,
            is_checked: false,
            criterion_home: PathBuf::new(),
            environment: Vec::new(),
        };
        let (programs, measured) = ([program.clone(), program], cases.len());
        Pair { programs, cases, blocks: 1, last: Duration::ZERO, measured, has_failed: false }
    }

    fn case() -> Case {
        Case { has: [true, true], lockstep: Lockstep::new(0.01) }
    }

    #[test]
    fn an_id_of_two_targets_has_their_names() {
        let cases = |ids: [&str; 2]| ids.map(|it| (it.to_owned(), case())).into();
        let named = named(vec![pair("a", cases(["x", "y"])), pair("b", cases(["x", "z"]))]);
        let ids: Vec<_> = named.into_iter().map(|it| it.full_id).collect();
        assert_eq!(ids, ["p/a/x", "y", "p/b/x", "z"]);
    }

    #[test]
    fn cases_that_are_too_many_for_a_filter_take_turns() {
        let one_sided = Case { has: [true, false], lockstep: Lockstep::new(0.01) };
        let mut cases: BTreeMap<String, Case> =
            (0..1000).map(|it| (format!("{it:050}"), case())).collect();
        cases.insert("other".to_owned(), one_sided);
        let mut pair = pair("t", cases);
        let mut blocks = 0;
        for _ in 0..4 {
            let filter = pair.filter(Selection::Open);
            assert!(filter.len() < 31_000 && !filter.contains("other"), "{}", filter.len());
            for (id, case) in &mut pair.cases {
                if filter.contains(id) {
                    case.lockstep.add(Block { layout: 0, times: [[1.0, 2.0]; 2] }, 0);
                    blocks += 1;
                }
            }
        }
        assert!(blocks > 2000);
        let of = |case: &Case| case.lockstep.blocks().len();
        let counts: BTreeSet<usize> =
            pair.cases.values().filter(|it| it.is_open()).map(of).collect();
        assert_eq!(counts, [2, 3].into(), "none waits for long");
    }

    #[test]
    fn what_looks_different_goes_first_in_the_second_half() {
        let changed = (0..8).fold(case(), |mut case, layout| {
            case.lockstep.add(Block { layout, times: [[1.0, 1.1]; 2] }, 1);
            case
        });
        let cases =
            |last| BTreeMap::from([("same".to_owned(), case()), ("other".to_owned(), last)]);
        let pairs = [pair("a", cases(changed)), pair("b", cases(case()))];
        let [early, late] = [40, 20].map(|left| {
            let [left, budget] = [left, 60].map(Duration::from_secs);
            select(&pairs, left, budget)
        });
        assert_eq!((early, late), (Selection::Open, Selection::Confirming));
        assert_eq!(pairs[0].filter(late), "^(?:other)$");
        assert_eq!(pairs.map(|it| it.takes(late).is_some()), [true, false]);
    }

    #[test]
    fn an_id_matches_itself_alone() {
        assert_eq!(escaped("a.b/c (1×2) [x]-y_z"), "a\\.b/c \\(1×2\\) \\[x\\]-y_z");
    }
}
