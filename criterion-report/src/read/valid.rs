//! Checks the numbers of a record that was read: those of the catalogue by their units, and the pairs.

use std::fmt::Display;

use plan::{CaseId, Judged, Pair, Profile, Range, Record};

use crate::model::possible::{
    LARGEST, MOST_BYTES, level, not_below_zero, not_negative, positive, signed,
};
use crate::model::{Field, Figure, Value, field};
use crate::render::units::LAST_MOMENT;

/// Says what of a record cannot be: the field and its value.
pub fn check(record: &Record) -> Result<(), String> {
    if record.timestamp > LAST_MOMENT {
        let moment = record.timestamp;
        return Err(format!("field `timestamp` has the value {moment}, after the year 9999"));
    }
    let CaseId { group, variant, parameter } = &record.case.id;
    // Folders and files are named after the parts.
    if let Some(part) = [group, variant, parameter].into_iter().find(|it| is_no_name(it)) {
        return Err(format!("field `case.id` has the part `{part}`"));
    }
    record.pairs.iter().try_for_each(pair)?;
    record.profile.iter().try_for_each(profile)?;
    record.judged.iter().try_for_each(judged)?;
    Field::all().try_for_each(|field| number(field, record))?;
    let gates = record.accuracy.iter().flat_map(|accuracy| &accuracy.gates);
    if let Some(gate) = gates.into_iter().find(|gate| !not_below_zero(gate.worst.0)) {
        return Err(format!("field `accuracy.gates.worst` has the value {}", gate.worst.0));
    }
    let Some(latency) = record.measures.latency else { return Ok(()) };
    in_order(
        "measures.latency",
        &[
            ("p50_ns", Some(latency.p50_ns)),
            ("p90_ns", latency.p90_ns),
            ("p99_ns", latency.p99_ns),
            ("max_ns", Some(latency.max_ns)),
        ],
    )
}

fn is_no_name(part: &str) -> bool {
    ["", ".", ".."].contains(&part)
}

fn pair(pair: &Pair) -> Result<(), String> {
    let Pair { speedup, low, high, .. } = *pair;
    let wrong = |name: &str, value: f64| {
        Err(format!("field `pairs.{name}` over {} has the value {value}", pair.against))
    };
    for (name, value) in [("speedup", speedup), ("low", low), ("high", high)] {
        if !positive(value) {
            return wrong(name, value);
        }
    }
    if low > high {
        return Err(format!(
            "field `pairs.low` over {} has the value {low}, above `high`, {high}",
            pair.against
        ));
    }
    if !level(pair.confidence_level) {
        return wrong("confidence_level", pair.confidence_level);
    }
    let steps = pair.steps_ns;
    for (name, value) in [
        ("target", Some(pair.target)),
        ("seconds", Some(pair.seconds)),
        ("within", pair.within),
        ("between", pair.between),
        ("steps_ns", steps.map(|(other, _)| other)),
        ("steps_ns", steps.map(|(_, own)| own)),
    ] {
        if let Some(value) = value.filter(|value| !(0.0..=LARGEST).contains(value)) {
            return wrong(name, value);
        }
    }
    match pair.log_ratios.iter().find(|ratio| ratio.abs() > LARGEST.ln()) {
        Some(ratio) => wrong("log_ratios", *ratio),
        None => Ok(()),
    }
}

fn profile(of: &Profile) -> Result<(), String> {
    let wrong = |name: &str, operation: &str, value: &dyn Display| {
        Err(format!("field `profile.{name}` of `{operation}` has the value {value}"))
    };
    if !not_negative(of.step_ns) {
        return Err(format!("field `profile.step_ns` has the value {}", of.step_ns));
    }
    if !signed(of.outside_ns) {
        return Err(format!("field `profile.outside_ns` has the value {}", of.outside_ns));
    }
    for it in &of.operations {
        let times = [("self_ns", it.self_ns), ("total_ns", it.total_ns), ("calls", it.calls)];
        let device = it.device_ns.map(|ns| ("device_ns", ns));
        if let Some((name, value)) =
            times.into_iter().chain(device).find(|(_, value)| !not_negative(*value))
        {
            return wrong(&format!("operations.{name}"), &it.name, &value);
        }
        let bytes = [it.input_bytes, Some(it.allocated_bytes)].into_iter().flatten();
        if let Some(bytes) = bytes.into_iter().find(|bytes| *bytes > MOST_BYTES) {
            return wrong("operations", &it.name, &bytes);
        }
    }
    let blocks = of.memory.iter().flat_map(|memory| &memory.at_peak);
    match blocks.into_iter().find(|(_, bytes)| *bytes > MOST_BYTES) {
        Some((name, bytes)) => wrong("memory.at_peak", name, bytes),
        None => Ok(()),
    }
}

fn judged(of: &Judged) -> Result<(), String> {
    if let Some(ns) = of.ns.filter(|ns| !not_negative(*ns)) {
        return Err(format!("field `judged.ns` has the value {ns}"));
    }
    let calls = [of.compared, of.calls].map(|calls| Some(calls as f64));
    in_order("judged", &[("compared", calls[0]), ("calls", calls[1])])
}

fn number(field: &Field, record: &Record) -> Result<(), String> {
    let Some((path, value)) = field.in_record(record) else { return Ok(()) };
    let is_possible = field.unit.is_possible;
    let wrong = |part: &str, value: &dyn Display| {
        Err(format!("field `{}{part}` has the value {value}", field::path(path)))
    };
    match value {
        Value::Figure(Figure { value, .. }) if !is_possible(value) => wrong("", &value),
        Value::Count(count) if !is_possible(count as f64) => wrong("", &count),
        Value::Range(Range { min, .. }) if !is_possible(min) => wrong(".min", &min),
        Value::Range(Range { max, .. }) if !is_possible(max) => wrong(".max", &max),
        Value::Range(Range { min, median, max }) => {
            let readings = [("min", Some(min)), ("median", Some(median)), ("max", Some(max))];
            in_order(&field::path(path), &readings)
        }
        _ => Ok(()),
    }
}

/// Checks that a value that is lower by its name is not higher.
fn in_order(of: &str, values: &[(&str, Option<f64>)]) -> Result<(), String> {
    let there: Vec<(&str, f64)> =
        values.iter().filter_map(|(name, value)| Some((*name, (*value)?))).collect();
    match there.windows(2).find(|pair| pair[0].1 > pair[1].1) {
        Some(&[(lower, low), (higher, high)]) => {
            Err(format!("field `{of}.{lower}` has the value {low}, above `{higher}`, {high}"))
        }
        _ => Ok(()),
    }
}
