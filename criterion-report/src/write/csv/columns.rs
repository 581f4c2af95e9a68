//! The columns of torchao's microbenchmarks, and how CSV has values: booleans are Python's, times
//! milliseconds, items are joined by `;`.

use std::borrow::Cow;

use crate::model::{Column, Entry, Field, Part, Value};

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

/// What torchao's layouts end with. Traces are not part of a record: no case has any.
pub const TRACES: [&str; 4] =
    ["profiler_json_path", "memory_profile_path", "memory_visualization_path", "memory_stats"];

/// A value of a case as a cell; none is an empty cell.
pub fn cell(field: &Field, part: Part, entry: &Entry<'_>) -> String {
    let value = field.value(entry).and_then(|value| value.part(part));
    value.map(|value| text(value.per(field.unit.scale))).unwrap_or_default()
}

fn text(value: Value<'_>) -> String {
    match value {
        Value::Figure(figure) => figure.value.to_string(),
        Value::Range(range) => range.median.to_string(),
        Value::Count(count) => count.to_string(),
        Value::Flag(flag) => if flag { "True" } else { "False" }.to_owned(),
        Value::Text(Cow::Borrowed(text)) => text.to_owned(),
        Value::Text(Cow::Owned(text)) => text,
        // An item's own `;` becomes a comma.
        Value::List(items) => {
            items.iter().map(|item| item.replace(';', ",")).collect::<Vec<_>>().join(";")
        }
    }
}
