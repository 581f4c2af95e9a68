//! The fields of a profile: its files, its times, the processor's own counters.

use plan::{Profile, ProfileFileKind};

use super::*;
use crate::units;

const PER_CYCLE: Unit = Unit {
    text: |_, count, _| format!("{} per cycle", units::significant(count, 3)),
    ..unit("1/cycle")
};

fields! {
    /// The values of the last columns of torchao's layouts.
    FILES:
    "trace", NONE, "path of the Chrome trace, from `target/criterion-torch`",
        (|e| file(e, ProfileFileKind::Trace))
        why (|e| absent(e, "operations"));
    "memory-snapshot", NONE, "path of the memory snapshot, from `target/criterion-torch`",
        (|e| file(e, ProfileFileKind::MemorySnapshot))
        why (|e| absent(e, "memory"));
    "memory-timeline", NONE, "path of the drawn memory timeline, from `target/criterion-torch`",
        (|e| file(e, ProfileFileKind::MemoryTimeline))
        why (|e| absent(e, "memory"));
    "memory-stats", BYTES, "torch's peaks of memory in a step, by their names; in CSV bytes / 10⁶",
        (|e| Value::named(&profile(e)?.memory.as_ref()?.stats))
        why (|e| absent(e, "memory"));
}

fields! {
    /// In the order of the columns of CSV, behind all others: what is new comes last.
    FIELDS:
    "profiled-step", NS, "time of a step under the profiler, whose own cost it contains",
        (|e| Some(step_ns(e)?.into())) why (|e| absent(e, "operations"));
    "outside-share", SHARE, "share of the profiled step outside recorded operations",
        (|e| {
            let share = profile(e)?.outside_ns / step_ns(e)?;
            Some(share.into())
        })
        why (|e| absent(e, "operations"));
    smaller "cycles", counted("cycles"), "clock cycles of a step, over all threads in user mode",
        (profile?.hardware?.cycles) why (no_counters);
    smaller "instructions", counted("instructions"), "instructions of a step, likewise",
        (profile?.hardware?.instructions) why (no_counters);
    // A thread that waits in a loop raises it, so that no direction is better.
    "instructions-per-cycle", PER_CYCLE, "instructions over cycles",
        (|e| {
            let counters = profile(e)?.hardware?;
            let per_cycle = counters.instructions / counters.cycles;
            per_cycle.is_finite().then(|| per_cycle.into())
        })
        why (no_counters);
    "cache-references", counted("references"), "references of a step to the last-level cache",
        (profile?.hardware?.cache_references) why (no_counters);
    smaller "cache-misses", counted("misses"), "references that missed the last-level cache",
        (profile?.hardware?.cache_misses) why (no_counters);
    smaller "tlb-misses", counted("misses"), "loads that missed the first-level data TLB",
        (profile?.hardware?.tlb_misses) why (no_counters);
}

fn profile<'a>(entry: &Entry<'a>) -> Option<&'a Profile> {
    entry.row.record.profile.as_ref()
}

/// The time of a profiled step; none of a profile without operations.
fn step_ns(entry: &Entry<'_>) -> Option<f64> {
    Some(profile(entry)?.step_ns).filter(|ns| *ns > 0.0)
}

fn file<'a>(entry: &Entry<'a>, kind: ProfileFileKind) -> Option<Value<'a>> {
    Some((&profile(entry)?.file(kind)?.path).into())
}

fn no_counters(entry: &Entry<'_>) -> Option<String> {
    absent(entry, "hardware")
}

/// Why a part of a profile is absent.
fn absent(entry: &Entry<'_>, part: &str) -> Option<String> {
    let Some(profile) = profile(entry) else {
        return Some("no profile was taken: `cargo bench -- --profile` takes one".to_owned());
    };
    profile.absent.get(part).map(|why| format!("{part}: {why}"))
}
