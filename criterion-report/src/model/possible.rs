//! What a number in a file can be. JSON has neither NaN nor infinity; what is left to refuse are
//! numbers that are no measurement and that would spoil every ratio, sum and axis they come to.

use plan::{CaseId, Memory, Pair, Record};

/// No time, count of iterations or energy is larger: 10¹⁸ ns are 31 years.
pub const LARGEST: f64 = 1e18;
/// No amount of memory is larger, so that sums of them have room: an exbibyte.
const MOST_BYTES: u64 = 1 << 60;
/// The last second of the year 9999.
pub const LAST_MOMENT: u64 = 253_402_300_799;

/// A time or a ratio.
pub fn positive(value: f64) -> bool {
    value > 0.0 && value <= LARGEST
}

/// One that may be nothing.
pub fn not_negative(value: f64) -> bool {
    value == 0.0 || positive(value)
}

/// The level of an interval.
pub fn level(value: f64) -> bool {
    value > 0.0 && value < 1.0
}

/// Says what of a record cannot be: the field and its value.
pub fn check(record: &Record) -> Result<(), String> {
    if record.timestamp > LAST_MOMENT {
        return Err(format!("`timestamp` is {}, after the year 9999", record.timestamp));
    }
    let CaseId { group, variant, parameter } = &record.case.id;
    // Folders and files are named after the parts.
    if let Some(part) = [group, variant, parameter].into_iter().find(|it| is_no_name(it)) {
        return Err(format!("`case.id` has the part `{part}`"));
    }
    record.pairs.iter().try_for_each(pair)?;
    record.measures.memory.iter().try_for_each(memory)?;
    times(record)
}

fn is_no_name(part: &str) -> bool {
    ["", ".", ".."].contains(&part)
}

fn pair(pair: &Pair) -> Result<(), String> {
    let Pair { speedup, low, high, .. } = *pair;
    if !(positive(speedup) && positive(low) && positive(high) && low <= high) {
        return Err(format!(
            "`pairs` has a speed-up of {speedup} in [{low}, {high}] over {}",
            pair.against
        ));
    }
    if !level(pair.confidence_level) {
        return Err(format!("`pairs` has a confidence level of {}", pair.confidence_level));
    }
    match pair.log_ratios.iter().find(|ratio| ratio.abs() > LARGEST.ln()) {
        Some(ratio) => Err(format!("`pairs` has a logarithm of a ratio of {ratio}")),
        None => Ok(()),
    }
}

fn memory(memory: &Memory) -> Result<(), String> {
    let bytes = [
        ("weights_bytes", memory.weights_bytes),
        ("inputs_bytes", memory.inputs_bytes),
        ("outputs_bytes", memory.outputs_bytes),
        ("peak_bytes", memory.step.peak_bytes),
        ("total_bytes", memory.step.total_bytes),
    ];
    match bytes.into_iter().find(|(_, bytes)| *bytes > MOST_BYTES) {
        Some((name, bytes)) => Err(format!("`measures.memory.{name}` is {bytes}")),
        None => Ok(()),
    }
}

fn times(record: &Record) -> Result<(), String> {
    let measures = &record.measures;
    let latency = measures.latency;
    let counters = measures.counters;
    let numbers = [
        ("planned.step_ns", record.planned.map(|it| it.step_ns)),
        ("measures.latency.mean_ns", latency.map(|it| it.mean_ns)),
        ("measures.latency.std_ns", latency.and_then(|it| it.std_ns)),
        ("measures.latency.p50_ns", latency.map(|it| it.p50_ns)),
        ("measures.latency.p90_ns", latency.and_then(|it| it.p90_ns)),
        ("measures.latency.p99_ns", latency.and_then(|it| it.p99_ns)),
        ("measures.latency.max_ns", latency.map(|it| it.max_ns)),
        ("measures.counters.wall_ns", counters.map(|it| it.wall_ns)),
        ("measures.counters.user_ns", counters.map(|it| it.user_ns)),
        ("measures.counters.system_ns", counters.map(|it| it.system_ns)),
        ("measures.energy.watts", measures.energy.as_ref().map(|it| it.watts)),
        ("measures.energy.window_s", measures.energy.as_ref().map(|it| it.window_s)),
        ("compilation.seconds", record.compilation.as_ref().map(|it| it.seconds)),
    ];
    for (name, value) in numbers {
        if let Some(value) = value.filter(|value| !not_negative(*value)) {
            return Err(format!("`{name}` is {value}"));
        }
    }
    // Of which the idle machine's may have been subtracted.
    match measures.energy.as_ref().filter(|energy| energy.joules.abs() > LARGEST) {
        Some(energy) => Err(format!("`measures.energy.joules` is {}", energy.joules)),
        None => Ok(()),
    }
}
