//! Pairs that are looked at again, in rounds: each pair once a round.
//!
//! A shared machine is slower for one side than for the other for seconds at a time. Looks in a row
//! share that, and their interval would not know of it. So a pair keeps both its sides after its first
//! look, and is looked at again after other cases have run: its looks are seconds apart, for no more
//! time in all.

use std::cell::RefCell;
use std::rc::Rc;

use plan::Record;

use super::clock::Stopwatch;
use super::fault::Fault;
use super::pairing::{Pairing, Places};

/// Bytes that pairs may keep in memory between their looks.
const KEPT_BYTES: u64 = 512 << 20;
/// Seconds of looks that may be owed: enough for rounds of several seconds, and a run that ends early
/// loses no more.
const OWED_S: f64 = 60.0;

/// The pairs that are kept, and the records whose pairs have had their last look.
pub struct Rounds {
    open: Vec<(Record, Pairing)>,
    done: Vec<Record>,
    places: Rc<RefCell<Places>>,
    fault: Rc<Fault>,
}

impl Rounds {
    /// No pairs yet; `fault` is the one of the run.
    pub fn new(fault: Rc<Fault>) -> Self {
        Self { open: Vec::new(), done: Vec::new(), places: Rc::default(), fault }
    }

    /// The memory that earlier builds of pairs lay in.
    pub fn places(&self) -> Rc<RefCell<Places>> {
        Rc::clone(&self.places)
    }

    /// Keeps a pair for more looks; `record` is that of its case, with what the first look found.
    pub fn keep(&mut self, record: Record, pairing: Pairing) {
        self.open.push((record, pairing));
    }

    /// Pairs that wait for more looks, and the seconds that those may take.
    pub fn owed(&self) -> (usize, f64) {
        (self.open.len(), self.open.iter().map(|(_, pairing)| pairing.left_s()).sum())
    }

    /// Whether the rounds should be run before there are more pairs.
    pub fn is_full(&self) -> bool {
        let bytes: u64 = self.open.iter().map(|(_, pairing)| pairing.bytes()).sum();
        bytes > KEPT_BYTES || self.owed().1 > OWED_S
    }

    /// Runs rounds until no pair wants another look, and gives all memory back. On a device that fails,
    /// a pair keeps what its record has: what its first look found.
    pub fn run(&mut self) {
        while !self.open.is_empty() {
            for (mut record, mut pairing) in std::mem::take(&mut self.open) {
                if let Some(reason) = self.fault.reason(record.case.device) {
                    record.notes.push(format!("its pair has the first look alone: {reason}"));
                    self.done.push(record);
                    continue;
                }
                let watch = Stopwatch::start();
                let looked = pairing.look();
                if looked.is_ok() && pairing.wants_more() {
                    took(&mut record, watch);
                    self.open.push((record, pairing));
                    continue;
                }
                record.pairs.clear();
                match looked.and_then(|()| pairing.found()) {
                    Ok(pair) => record.pairs.push(pair),
                    Err(reason) => {
                        self.fault.look(record.case.device, &record.full_id, &reason);
                        record.no_pair = Some(reason);
                    }
                }
                if let Some(note) =
                    pairing.note().filter(|it| !record.notes.iter().any(|has| has == it))
                {
                    record.notes.push(note.to_owned());
                }
                took(&mut record, watch);
                self.done.push(record);
            }
        }
        self.places.borrow_mut().clear();
    }

    /// The records with what all looks found, once.
    pub fn done(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.done)
    }
}

/// Counts a look at the record's pair among what its case took.
fn took(record: &mut Record, look: Stopwatch) {
    if let Some(wall) = &mut record.wall {
        wall.pairs_s += look.seconds();
    }
}
