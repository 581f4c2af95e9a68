//! Checks the numbers in a file. JSON has neither NaN nor infinity; the rest to refuse are numbers
//! that are no measurement and that would spoil every ratio, sum and axis they come to.

use plan::{Accuracy, CaseId, Pair, Range, Record};

/// No time, count of iterations or energy is larger: 10¹⁸ ns are 31 years.
pub const LARGEST: f64 = 1e18;
/// No amount of memory is larger, so that sums of them have room: an exbibyte.
const MOST_BYTES: u64 = 1 << 60;
/// The last second of the year 9999.
pub const LAST_MOMENT: u64 = 253_402_300_799;

/// And no time or ratio is smaller, so that one over it is none that is too large.
const SMALLEST: f64 = 1e-18;

/// A time or a ratio.
pub fn positive(value: f64) -> bool {
    (SMALLEST..=LARGEST).contains(&value)
}

/// One that may be nothing.
pub fn not_negative(value: f64) -> bool {
    value == 0.0 || positive(value)
}

/// The level of an interval.
pub fn level(value: f64) -> bool {
    value > 0.0 && value < 1.0
}

/// A part of a whole, but for rounding.
fn share(value: f64) -> bool {
    value == 0.0 || (SMALLEST..=1.0 + 1e-9).contains(&value)
}

/// One that may be below zero: a temperature, or energy less that of the idle machine.
fn signed(value: f64) -> bool {
    value.abs() <= LARGEST
}

/// One that may be beyond every number, or none, as errors are.
fn not_below_zero(value: f64) -> bool {
    value.is_nan() || value >= 0.0
}

/// A field of a record, its value, and what it can be.
type Number = (&'static str, Option<f64>, fn(f64) -> bool);

/// Says what of a record cannot be: the field and its value.
///
/// # Errors
/// When a field has a value that no measurement has.
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
    bytes(record)?;
    let numbers = [times(record), counts(record), machine(record), accuracy(record)].concat();
    for (name, value, is_possible) in numbers {
        if let Some(value) = value.filter(|value| !is_possible(*value)) {
            return Err(format!("field `{name}` has the value {value}"));
        }
    }
    in_order(record)
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

fn bytes(record: &Record) -> Result<(), String> {
    let memory = record.measures.memory;
    let weights = record.weights;
    let bytes = [
        ("measures.memory.weights_bytes", memory.map(|it| it.weights_bytes)),
        ("measures.memory.inputs_bytes", memory.map(|it| it.inputs_bytes)),
        ("measures.memory.outputs_bytes", memory.map(|it| it.outputs_bytes)),
        ("measures.memory.step.peak_bytes", memory.map(|it| it.step.peak_bytes)),
        ("measures.memory.step.total_bytes", memory.map(|it| it.step.total_bytes)),
        ("weights.packed_bytes", weights.map(|it| it.packed_bytes)),
        ("weights.baseline_bytes", weights.map(|it| it.baseline_bytes)),
        ("compilation.package_bytes", record.compilation.as_ref().map(|it| it.package_bytes)),
        ("environment.host.memory_bytes", Some(record.environment.host.memory_bytes)),
    ];
    let wrong = bytes.into_iter().find_map(|(name, value)| {
        value.filter(|value| *value > MOST_BYTES).map(|value| (name, value))
    });
    match wrong {
        Some((name, value)) => Err(format!("field `{name}` has the value {value}")),
        None => Ok(()),
    }
}

fn times(record: &Record) -> Vec<Number> {
    let measures = &record.measures;
    let (latency, counters, clocks) = (measures.latency, measures.counters, measures.clocks);
    let energy = measures.energy.as_ref();
    let host = &record.environment.host;
    vec![
        ("planned.step_ns", record.planned.map(|it| it.step_ns), not_negative),
        ("measures.latency.mean_ns", latency.map(|it| it.mean_ns), not_negative),
        ("measures.latency.std_ns", latency.and_then(|it| it.std_ns), not_negative),
        ("measures.latency.p50_ns", latency.map(|it| it.p50_ns), not_negative),
        ("measures.latency.p90_ns", latency.and_then(|it| it.p90_ns), not_negative),
        ("measures.latency.p99_ns", latency.and_then(|it| it.p99_ns), not_negative),
        ("measures.latency.max_ns", latency.map(|it| it.max_ns), not_negative),
        ("measures.counters.wall_ns", counters.map(|it| it.wall_ns), not_negative),
        ("measures.counters.user_ns", counters.map(|it| it.user_ns), not_negative),
        ("measures.counters.system_ns", counters.map(|it| it.system_ns), not_negative),
        ("measures.clocks.device_ns", clocks.map(|it| it.device_ns), not_negative),
        ("measures.clocks.host_ns", clocks.map(|it| it.host_ns), not_negative),
        ("measures.clocks.queue_ns", clocks.map(|it| it.queue_ns), not_negative),
        ("measures.energy.joules", energy.map(|it| it.joules), signed),
        ("measures.energy.watts", energy.map(|it| it.watts), not_negative),
        ("measures.energy.idle_watts", energy.and_then(|it| it.idle_watts), not_negative),
        ("measures.energy.window_s", energy.map(|it| it.window_s), not_negative),
        ("compilation.seconds", record.compilation.as_ref().map(|it| it.seconds), not_negative),
        ("environment.host.page_fault_ns", host.page_fault_ns, not_negative),
    ]
}

fn counts(record: &Record) -> Vec<Number> {
    let (weights, planned) = (record.weights, record.planned);
    let counters = record.measures.counters;
    vec![
        ("weights.bits_per_weight", weights.map(|it| it.bits_per_weight), not_negative),
        ("weights.density", weights.and_then(|it| it.density), share),
        ("planned.noise", planned.and_then(|it| it.noise), not_negative),
        ("planned.target", planned.map(|it| it.target), not_negative),
        ("measures.counters.minor_faults", counters.map(|it| it.minor_faults), not_negative),
        ("measures.counters.major_faults", counters.map(|it| it.major_faults), not_negative),
        (
            "measures.counters.voluntary_switches",
            counters.map(|it| it.voluntary_switches),
            not_negative,
        ),
        (
            "measures.counters.involuntary_switches",
            counters.map(|it| it.involuntary_switches),
            not_negative,
        ),
        ("measures.counters.fault_share", counters.and_then(|it| it.fault_share), share),
    ]
}

fn machine(record: &Record) -> Vec<Number> {
    let quiet = record.environment.quiet.as_ref();
    let conditions = record.measures.conditions.as_ref();
    let busy = record.measures.utilization.as_ref();
    let clock = conditions.and_then(|it| it.clock_mhz);
    let temperature = conditions.and_then(|it| it.temperature_c);
    vec![
        ("environment.quiet.score", quiet.map(|it| it.score), share),
        ("environment.quiet.load_1m", quiet.and_then(|it| it.load_1m), not_negative),
        ("environment.quiet.steal", quiet.and_then(|it| it.steal), share),
        ("measures.conditions.steal", conditions.and_then(|it| it.steal), share),
        ("measures.conditions.clock_mhz.min", clock.map(|it| it.min), not_negative),
        ("measures.conditions.clock_mhz.max", clock.map(|it| it.max), not_negative),
        ("measures.conditions.temperature_c.min", temperature.map(|it| it.min), signed),
        ("measures.conditions.temperature_c.max", temperature.map(|it| it.max), signed),
        ("measures.utilization.window_s", busy.map(|it| it.window_s), not_negative),
        ("measures.utilization.sm.min", busy.map(|it| it.sm.min), share),
        ("measures.utilization.sm.max", busy.map(|it| it.sm.max), share),
        ("measures.utilization.memory.min", busy.map(|it| it.memory.min), share),
        ("measures.utilization.memory.max", busy.map(|it| it.memory.max), share),
    ]
}

fn accuracy(record: &Record) -> Vec<Number> {
    let Some(accuracy) = &record.accuracy else { return Vec::new() };
    let Accuracy { max_abs_error, relative_error, rmse, gates, eager, .. } = accuracy;
    let mut numbers: Vec<Number> = vec![
        ("accuracy.max_abs_error", Some(max_abs_error.0), not_below_zero),
        ("accuracy.relative_error", Some(relative_error.0), not_below_zero),
        ("accuracy.rmse", rmse.map(|it| it.0), not_below_zero),
        ("accuracy.eager.max_abs_error", eager.map(|it| it.max_abs_error.0), not_below_zero),
    ];
    let worst = |gate: &plan::Gate| -> Number {
        ("accuracy.gates.worst", Some(gate.worst.0), not_below_zero)
    };
    numbers.extend(gates.iter().map(worst));
    numbers
}

/// Checks that a value that is lower by its name is not higher.
fn in_order(record: &Record) -> Result<(), String> {
    let measures = &record.measures;
    let ordered = |of: &str, values: &[(&str, Option<f64>)]| {
        let there: Vec<(&str, f64)> =
            values.iter().filter_map(|(name, value)| Some((*name, (*value)?))).collect();
        match there.windows(2).find(|pair| pair[0].1 > pair[1].1) {
            Some(&[(lower, low), (higher, high)]) => {
                Err(format!("field `{of}.{lower}` has the value {low}, above `{higher}`, {high}"))
            }
            _ => Ok(()),
        }
    };
    if let Some(latency) = measures.latency {
        let (p50, max) = (Some(latency.p50_ns), Some(latency.max_ns));
        let between = [("p90_ns", latency.p90_ns), ("p99_ns", latency.p99_ns)];
        let [p90, p99] = between;
        ordered("measures.latency", &[("p50_ns", p50), p90, p99, ("max_ns", max)])?;
    }
    let conditions = measures.conditions.as_ref();
    let busy = measures.utilization.as_ref();
    let ranges: [(&str, Option<Range>); 4] = [
        ("measures.conditions.clock_mhz", conditions.and_then(|it| it.clock_mhz)),
        ("measures.conditions.temperature_c", conditions.and_then(|it| it.temperature_c)),
        ("measures.utilization.sm", busy.map(|it| it.sm)),
        ("measures.utilization.memory", busy.map(|it| it.memory)),
    ];
    for (name, range) in ranges {
        if let Some(Range { min, median, max }) = range {
            let values = [("min", Some(min)), ("median", Some(median)), ("max", Some(max))];
            ordered(name, &values)?;
        }
    }
    Ok(())
}
