//! Pairs that are looked at again, in rounds: each pair once a round.
//!
//! A shared machine is slower for one side than for the other for seconds at a time. Looks in a row
//! share that, and their interval would not know of it. So a pair keeps both its sides after its first
//! look, and is looked at again after other cases have run: its looks are seconds apart, for no more
//! time in all.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use plan::{Pair, Record, Stop};
use statistics::{Interval, Ratio, quotient};

use super::budget::Budget;
use super::clock::Stopwatch;
use super::fault::Fault;
use super::pairing::{Pairing, Places};
use super::pairs::GRANTED_S;

/// Bytes that pairs may keep in memory between their looks.
const KEPT_BYTES: u64 = 512 << 20;
/// Seconds of looks that may be owed: enough for rounds of several seconds, and a run that ends early
/// loses no more.
const OWED_S: f64 = 60.0;

/// A pair whose tensors had to be rebuilt takes this many looks in a row.
const LOOKS_IN_A_ROW: usize = 2;

/// The pairs that are kept, and the records whose pairs have had their last look.
pub struct Rounds {
    open: Vec<(Record, Pairing)>,
    done: Vec<Record>,
    /// Ids and speed-ups of pairs for which the total budget was too small.
    undecided: Vec<Undecided>,
    budget: Option<Budget>,
    /// Seconds that the cases take at least that have not begun.
    reserved_s: f64,
    /// The race in each group, where a budget looks for the fastest.
    races: Option<Races>,
    places: Rc<RefCell<Places>>,
    fault: Rc<Fault>,
}

/// The speed-ups of a group's cases so far, by id; the groups by their baselines.
#[derive(Debug, Default)]
struct Races(HashMap<String, HashMap<String, Ratio>>);

impl Races {
    fn tell(&mut self, record: &Record) {
        let Some(Pair { against, speedup, low, high, .. }) = record.pairs.first() else { return };
        let ratio = Interval { low: *low, high: *high }.to_ratio(*speedup);
        self.0.entry(against.clone()).or_default().insert(record.full_id.clone(), ratio);
    }

    /// Whether its baseline or a sibling is faster, by an interval that excludes 1.
    fn has_lost(&self, record: &Record) -> bool {
        let group = record.pairs.first().and_then(|pair| self.0.get(&pair.against));
        let Some((group, own)) = group.and_then(|it| Some((it, it.get(&record.full_id)?))) else {
            return false;
        };
        group.values().chain([&Ratio::ONE]).any(|other| quotient(other, own).low > 1.0)
    }
}

/// A speed-up whose interval is wider than wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct Undecided {
    pub full_id: String,
    /// Bounds of its interval; `None` without a speed-up.
    pub interval: Option<(f64, f64)>,
}

impl Undecided {
    fn from_record(record: &Record) -> Self {
        let interval = record.pairs.first().map(|pair| (pair.low, pair.high));
        Self { full_id: record.full_id.clone(), interval }
    }
}

/// Whether the pair has used up its looks and its interval is still wider than wanted.
fn is_wide(record: &Record) -> bool {
    record.pairs.first().is_some_and(|pair| pair.stopped != Stop::Target)
}

impl Rounds {
    /// No pairs yet; `fault` is the one of the run, `budget` the time that all pairs share. `fastest` says that it looks for
    /// the fastest of each group.
    pub fn new(fault: Rc<Fault>, budget: Option<Budget>, fastest: bool) -> Self {
        let (open, done, undecided) = (Vec::new(), Vec::new(), Vec::new());
        let races = fastest.then(Races::default);
        Self { open, done, undecided, budget, reserved_s: 0.0, races, places: Rc::default(), fault }
    }

    /// The time that all pairs share.
    pub fn budget(&self) -> Option<Budget> {
        self.budget
    }

    /// Keeps time for the cases that have not begun, which take so many seconds at least.
    pub fn reserve(&mut self, seconds: f64) {
        self.reserved_s = seconds;
    }

    /// Seconds that the budget has for the pair of a case; 0 where others need what is left, so that it has to wait.
    pub fn share_s(&self) -> Option<f64> {
        let budget = self.budget?;
        let left_s = budget.left_s() - self.reserved_s;
        Some(if left_s > GRANTED_S { budget.share_s() } else { 0.0 })
    }

    /// The memory that earlier builds of pairs lay in.
    pub fn places(&self) -> Rc<RefCell<Places>> {
        Rc::clone(&self.places)
    }

    /// Keeps a pair for more looks, if it wants some; `record` is that of its case, with what the first look found.
    pub fn keep(&mut self, record: Record, pairing: Option<Pairing>) {
        self.races.iter_mut().for_each(|it| it.tell(&record));
        self.open.extend(pairing.map(|pairing| (record, pairing)));
        self.drop_losers();
    }

    /// Drops the pairs that get no more time, because others are faster.
    fn drop_losers(&mut self) {
        if let Some(races) = &self.races {
            self.open.retain(|(record, _)| !races.has_lost(record));
        }
    }

    /// Pairs that wait for more looks, and the seconds that those may take.
    pub fn owed(&self) -> (usize, f64) {
        (self.open.len(), self.open.iter().map(|(_, pairing)| pairing.left_s()).sum())
    }

    /// Whether memory should be freed, or the rounds be run, before more pairs are added.
    pub fn is_full(&self) -> bool {
        let bytes: u64 = self.open.iter().map(|(_, pairing)| pairing.bytes()).sum();
        bytes > KEPT_BYTES || self.owed().1 > OWED_S
    }

    /// Frees memory. Pairs with their own time limit first take their remaining looks; pairs that share a budget are
    /// rebuilt later.
    pub fn make_room(&mut self) {
        if self.budget.is_none() {
            return self.run();
        }
        self.open.iter_mut().for_each(|(_, pairing)| pairing.drop_sides());
        self.places.borrow_mut().clear();
    }

    /// Runs rounds until no pair wants another look or the budget is spent, then frees all memory. Under a budget,
    /// pairs that are not clear of 1 come first, then those whose interval is still too wide; where it looks for the fastest,
    /// those that have not lost, and no others.
    pub fn run(&mut self) {
        loop {
            self.drop_losers();
            let first =
                self.races.is_none() && self.open.iter().any(|(_, pairing)| !pairing.is_clear());
            let mut looked = false;
            for (record, pairing) in std::mem::take(&mut self.open) {
                if self.has_turn(&pairing, first) {
                    looked = true;
                    self.look(record, pairing);
                } else {
                    self.open.push((record, pairing));
                }
            }
            if !looked {
                break;
            }
        }
        for (record, _) in std::mem::take(&mut self.open) {
            self.undecided.push(Undecided::from_record(&record));
        }
        self.places.borrow_mut().clear();
    }

    /// Whether a pair gets a look in this round. `first` says that some pairs are not clear of 1 yet.
    fn has_turn(&self, pairing: &Pairing, first: bool) -> bool {
        self.budget.is_none_or(|budget| {
            (!first || !pairing.is_clear()) && pairing.look_s() <= budget.left_s()
        })
    }

    /// Takes a pair's look in a round. If the device fails, the record keeps the results of earlier
    /// looks.
    fn look(&mut self, mut record: Record, mut pairing: Pairing) {
        if let Some(reason) = self.fault.reason(record.case.device) {
            record.notes.push(format!("its pair has only the first look: {reason}"));
            self.done.push(record);
            return;
        }
        let watch = Stopwatch::start();
        let looks = if pairing.has_sides() { 1 } else { LOOKS_IN_A_ROW };
        let mut looked = pairing.look();
        for _ in 1..looks {
            if looked.is_ok() && pairing.wants_more() {
                looked = pairing.look();
            }
        }
        let goes_on = looked.is_ok() && pairing.wants_more();
        // Without a budget every pair gets all its looks, and the last one writes the final result.
        if goes_on && self.budget.is_none() {
            took(&mut record, watch);
            self.open.push((record, pairing));
            return;
        }
        (record.pairs, record.no_pair) = (Vec::new(), None);
        match looked.and_then(|()| pairing.found()) {
            Ok(pair) => record.pairs.push(pair),
            Err(reason) => {
                self.fault.look(record.case.device, &record.full_id, &reason);
                record.no_pair = Some(reason);
            }
        }
        pairing.note(&mut record.notes);
        took(&mut record, watch);
        self.races.iter_mut().for_each(|it| it.tell(&record));
        if goes_on && record.no_pair.is_none() {
            self.done.push(record.clone());
            self.open.push((record, pairing));
            if self.is_full() {
                self.make_room();
            }
        } else {
            if self.budget.is_some() && is_wide(&record) {
                self.undecided.push(Undecided::from_record(&record));
            }
            self.done.push(record);
        }
    }

    /// Prints which speed-ups a total budget left undecided.
    pub fn say_undecided(&mut self) {
        if self.budget().is_none() {
            return;
        }
        let undecided = self.undecided();
        match undecided.len() {
            0 if self.races.is_some() => {
                eprintln!("every speed-up that may be the fastest of its group is decided")
            }
            0 => eprintln!("every speed-up is decided"),
            count => {
                let has =
                    if count == 1 { "1 speed-up is" } else { &format!("{count} speed-ups are") };
                eprintln!("{has} undecided (`--budget`):");
            }
        }
        for Undecided { full_id, interval } in undecided {
            let (place, ends) = match interval {
                Some((low, high)) if low <= 1.0 && high >= 1.0 => {
                    ("faster or slower", format!(" [{low:.3}, {high:.3}]"))
                }
                Some((low, high)) => ("by how much", format!(" [{low:.3}, {high:.3}]")),
                None => ("no speed-up", String::new()),
            };
            eprintln!("  {full_id}: {place}{ends}");
        }
    }

    /// The speed-ups that the budget left undecided; a second call returns none.
    pub fn undecided(&mut self) -> Vec<Undecided> {
        std::mem::take(&mut self.undecided)
    }

    /// The records with what all looks found, once.
    pub fn done(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.done)
    }
}

/// Adds the duration of a look to the time that its case took.
fn took(record: &mut Record, look: Stopwatch) {
    if let Some(wall) = &mut record.wall {
        wall.pairs_s += look.seconds();
    }
}
