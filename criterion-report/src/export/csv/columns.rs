//! The columns of torchao's microbenchmarks, and how CSV has values: booleans are Python's, times
//! milliseconds, items are joined by `;`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::model::{Column, Entry, Field, Value, ValuePart};
use crate::render::json_text::{self, Style};

/// The columns that name a case, in all of torchao's layouts.
pub const IDENTITY: &[Column] = &[
    Column::new("name", "name"),
    Column::new("quantization", "quantization"),
    Column::new("sparsity", "sparsity"),
    Column::new("m", "m"),
    Column::new("k", "k"),
    Column::new("n", "n"),
    Column::new("high_precision_dtype", "dtype"),
];

/// Whether the line's case is compiled, where lines differ in that.
pub const COMPILED: Column = Column::new("use_torch_compile", "compiled");

/// How it is run, in all of torchao's layouts.
pub const SETTINGS: &[Column] = &[
    Column::new("torch_compile_mode", "torch-compile-mode"),
    Column::new("device", "device"),
    Column::new("model_type", "model-type"),
    Column::new("output_dir", "output-dir"),
    Column::new("enable_profiler", "profiler"),
    Column::new("enable_memory_profiler", "memory-profiler"),
];

/// Times and speed-up of torchao's layout of one line per case. The baseline there is the
/// unquantized model run the same way, compiled or not; its own two times are one median, and
/// nothing is its speed-up.
pub const TIMES: &[Column] = &[
    Column::new("baseline_inference_time_in_ms", "baseline-latency"),
    Column::new("model_inference_time_in_ms", "latency"),
    Column::new("speedup", "speedup-of-quantization"),
];

/// The last columns of torchao's layouts, empty without a profile.
pub const PROFILE: &[Column] = &[
    Column::new("profiler_json_path", "trace"),
    Column::new("memory_profile_path", "memory-snapshot"),
    Column::new("memory_visualization_path", "memory-timeline"),
    Column::new("memory_stats", "memory-stats"),
];

/// The peaks in torchao's `memory_stats`, in its order.
const PEAKS: [&str; 3] =
    ["allocated_bytes.all.peak", "active_bytes.all.peak", "reserved_bytes.all.peak"];

/// The columns of our own whose names do not follow from their fields'.
const NAMED: &[Column] = &[
    Column::new("baseline_time_low_in_ms", "baseline-latency").part(ValuePart::Low),
    Column::new("baseline_time_high_in_ms", "baseline-latency").part(ValuePart::High),
    Column::new("model_time_low_in_ms", "latency").part(ValuePart::Low),
    Column::new("model_time_high_in_ms", "latency").part(ValuePart::High),
    Column::new("model_time_mean_in_ms", "latency-mean"),
    Column::new("model_time_std_dev_in_ms", "latency-std-dev"),
    Column::new("speedup_low", "speedup-of-quantization").part(ValuePart::Low),
    Column::new("speedup_high", "speedup-of-quantization").part(ValuePart::High),
    Column::new("speedup_over_group_baseline", "speedup"),
    Column::new("speedup_over_group_baseline_low", "speedup").part(ValuePart::Low),
    Column::new("speedup_over_group_baseline_high", "speedup").part(ValuePart::High),
    Column::new("weights_bytes", "weights-memory"),
    Column::new("step_peak_bytes", "step-memory"),
    Column::new("sqnr_db", "sqnr"),
    Column::new("latency_mean_in_ms", "call-mean"),
    Column::new("throughput_steps_per_s", "throughput"),
    Column::new("gflop_per_s", "gflops"),
    Column::new("minor_faults_per_step", "page-faults"),
    Column::new("energy_j", "energy"),
    Column::new("sm_utilization_min", "sm-utilization").part(ValuePart::Low),
    Column::new("sm_utilization_median", "sm-utilization"),
    Column::new("sm_utilization_max", "sm-utilization").part(ValuePart::High),
    Column::new("memory_utilization_min", "memory-utilization").part(ValuePart::Low),
    Column::new("memory_utilization_median", "memory-utilization"),
    Column::new("memory_utilization_max", "memory-utilization").part(ValuePart::High),
    Column::new("clock_mhz_min", "clock").part(ValuePart::Low),
    Column::new("clock_mhz_median", "clock"),
    Column::new("clock_mhz_max", "clock").part(ValuePart::High),
    Column::new("temperature_c_max", "temperature").part(ValuePart::High),
    Column::new("gb_per_s", "bandwidth"),
    Column::new("speedup_over_eager", "speedup-over-eager"),
    Column::new("speedup_over_eager_low", "speedup-over-eager").part(ValuePart::Low),
    Column::new("speedup_over_eager_high", "speedup-over-eager").part(ValuePart::High),
    Column::new("compile_in_s", "compile-time"),
    Column::new("package_bytes", "package-size"),
    Column::new("eager_sqnr_db", "eager-sqnr"),
    Column::new("output_sqnr_db", "output-sqnr"),
    Column::new("grad_input_sqnr_db", "grad-input-sqnr"),
    Column::new("grad_weight_sqnr_db", "grad-weight-sqnr"),
    Column::new("eager_min_sqnr_db", "eager-min-sqnr"),
    Column::new("speedup_as_called", "speedup-as-called"),
    Column::new("speedup_as_called_low", "speedup-as-called").part(ValuePart::Low),
    Column::new("speedup_as_called_high", "speedup-as-called").part(ValuePart::High),
];

/// The columns of our own, in the order of the catalogue: what is new comes last.
pub fn own_columns() -> impl Iterator<Item = (Cow<'static, str>, &'static Field, ValuePart)> {
    Field::columns().flat_map(|field| {
        let named = NAMED.iter().filter(|column| column.field.name == field.name);
        let mut columns: Vec<(Cow<'_, str>, _, _)> =
            named.map(|column| (column.name.into(), field, column.part)).collect();
        if columns.is_empty() {
            let name = format!("{}{}", field.name.replace('-', "_"), field.unit.suffix);
            columns.push((name.into(), field, ValuePart::Value));
        }
        columns
    })
}

/// A value of a case as a cell; none is an empty cell.
pub fn cell(field: &Field, part: ValuePart, entry: &Entry<'_>) -> String {
    let value = field.value(entry).and_then(|value| value.part(part));
    value.map(|value| text(value.per(field.unit.scale))).unwrap_or_default()
}

/// As Python has it.
pub const fn flag(flag: bool) -> &'static str {
    if flag { "True" } else { "False" }
}

fn text(value: Value<'_>) -> String {
    match value {
        Value::Figure(figure) => figure.value.to_string(),
        Value::Range(range) => range.median.to_string(),
        Value::Count(count) => count.to_string(),
        Value::Flag(flag) => self::flag(flag).to_owned(),
        Value::Text(Cow::Borrowed(text)) => text.to_owned(),
        Value::Text(Cow::Owned(text)) => text,
        // An item's own `;` becomes a comma.
        Value::List(items) => {
            items.iter().map(|item| item.replace(';', ",")).collect::<Vec<_>>().join(";")
        }
        Value::Named(values) => peaks(values),
    }
}

/// A dictionary as Python prints it. The values are decimal megabytes, as upstream writes them although the names say
/// bytes.
fn peaks(bytes: &BTreeMap<String, u64>) -> String {
    let known = PEAKS.iter().filter_map(|name| Some((name, *bytes.get(*name)?)));
    let items = known.map(|(name, bytes)| {
        let megabytes =
            json_text::to_string(&(bytes as f64 / 1e6), Style::Python).expect("a number");
        format!("'{name}': {megabytes}")
    });
    format!("{{{}}}", items.collect::<Vec<_>>().join(", "))
}
