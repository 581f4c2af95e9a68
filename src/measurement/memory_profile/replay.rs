//! Which bytes are live at each moment of a step, and which operation allocated them.

use std::collections::HashMap;

use crate::native::memory::MemoryEvent;

/// Operations that only allocate, usually on behalf of another operation.
const ALLOCATE: &[&str] = &[
    "aten::empty",
    "aten::empty_like",
    "aten::empty_strided",
    "aten::new_empty",
    "aten::new_empty_strided",
    "aten::resize_",
];

/// The name for blocks that no operation allocated.
const NO_OPERATION: &str = "outside of operations";

/// The operation to which a block is attributed: the innermost one that does more than allocate.
pub fn operation(event: &MemoryEvent) -> &str {
    let does_more = |name: &&String| !ALLOCATE.contains(&name.as_str());
    let named = event.operations.iter().rev().find(does_more).or(event.operations.first());
    named.map_or(NO_OPERATION, String::as_str)
}

/// The state after an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Nanoseconds since the step began.
    pub ns: u64,
    /// Live bytes of all blocks of the step.
    pub total: u64,
    /// The operation to which the changed block is attributed, as an index into [`Replay::operations`].
    pub operation: usize,
    /// Live bytes of that operation's blocks.
    pub of_operation: u64,
}

/// A step's events replayed in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Replay {
    pub moments: Vec<Moment>,
    /// Operations in the order of their first allocations, each with the most bytes that its blocks had at once.
    pub operations: Vec<(String, u64)>,
    pub peak_bytes: u64,
    /// The time of the first moment with the peak.
    pub peak_ns: u64,
    /// The operations whose blocks were live at the peak, the most bytes first.
    pub at_peak: Vec<(String, u64)>,
}

impl Replay {
    pub fn from_events(events: &[MemoryEvent]) -> Self {
        let mut replay = Self::default();
        let mut places = HashMap::new();
        // Live bytes by operation, and the operation of each live block by its address.
        let (mut live, mut owners) = (vec![], HashMap::new());
        let mut total = 0;
        for event in events {
            let bytes = event.bytes.unsigned_abs();
            let operation = if event.bytes > 0 {
                let place = *places.entry(operation(event)).or_insert_with_key(|name| {
                    replay.operations.push(((*name).to_owned(), 0));
                    live.push(0);
                    live.len() - 1
                });
                owners.insert(event.address, place);
                total += bytes;
                live[place] += bytes;
                place
            } else if let Some(place) = owners.remove(&event.address) {
                total -= bytes;
                live[place] -= bytes;
                place
            } else {
                // Not a block of this step.
                continue;
            };
            let of_operation = live[operation];
            let most = &mut replay.operations[operation].1;
            *most = of_operation.max(*most);
            replay.moments.push(Moment { ns: event.time_ns, total, operation, of_operation });
            if total > replay.peak_bytes {
                (replay.peak_bytes, replay.peak_ns) = (total, event.time_ns);
                replay.at_peak = replay.named(&live);
            }
        }
        replay
    }

    fn named(&self, live: &[u64]) -> Vec<(String, u64)> {
        let names = self.operations.iter().map(|(name, _)| name.clone());
        let mut named: Vec<_> =
            names.zip(live.iter().copied()).filter(|(_, bytes)| *bytes > 0).collect();
        named.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        named
    }
}
