//! Configs of `benchmark_mode: operators`: which operators, how large, and who computes them.

use super::LARGEST;
use super::entry::{self, DeviceDtype, Entry, Listed, Reading, Subject};
use super::node::Fields;
use crate::catalogue::operator::{Implementation, Operator, OperatorShape, OperatorWork};
use crate::words::{CompileMode, Device, without_repetition};
use crate::work::Work;

/// One entry of `operator_params`. A size is that of x, with the most elements that x may have.
pub type OperatorParams = Entry<Operator, (OperatorShape, u64), Implementation>;

const ALL: &str = "all";

/// The lists and the cap of the comprehensive operator benchmark.
const BATCH_SIZES: &[u64] = &[16, 32, 64, 128];
const SEQUENCE_LENGTHS: &[u64] = &[256, 512, 1024, 2048];
const TENSOR_DIMENSIONS: &[u64] = &[8, 16, 32, 64, 128, 256, 512];
const MAX_ELEMENTS: u64 = 50_000_000;

/// The name of sizes that a config gives by their dimensions.
const SIZE_NAME: &str = "custom";

impl Subject for Operator {
    type Size = (OperatorShape, u64);
    type Way = Implementation;

    fn size_text(self, _group: &str, (size, _): &Self::Size) -> String {
        size.to_string()
    }

    /// An implementation that is listed and that the operator lacks is a case, too, to be refused by
    /// name.
    fn ways(self, listed: Option<&[Implementation]>, device: Device) -> Vec<Implementation> {
        let wanted = |it: &Implementation| match listed {
            Some(listed) => listed.contains(it) || *it == Implementation::Aten,
            None => it.is_usual(device) && self.implementations().contains(it),
        };
        Implementation::ALL.iter().copied().filter(wanted).collect()
    }

    fn is_compiled(way: Implementation) -> bool {
        way.is_compiled()
    }

    fn work(
        self,
        (size, max_elements): &Self::Size,
        implementation: Implementation,
        compile: Option<CompileMode>,
        _place: DeviceDtype,
    ) -> Work {
        let (size, max_elements) = (*size, *max_elements);
        Work::Operator(OperatorWork { operator: self, implementation, compile, size, max_elements })
    }
}

impl Listed for Operator {
    const KEY: &'static str = "operator_params";
    const WORDS_KEY: &'static str = "operators";
    const WHAT: &'static str = "operator";
    const KEYS: &'static [&'static str] = &[
        "name",
        "operators",
        "batch_sizes",
        "sequence_lengths",
        "tensor_dimensions",
        "implementations",
        "dtypes",
        "devices",
        "max_elements",
    ];
    const IS_COMPILED: bool = true;
    const LISTS_THREADS: bool = false;

    fn missing() -> String {
        format!("list some, e.g. `[layer_norm, gelu]`, or write `[{ALL}]`")
    }

    fn groups() -> Vec<(&'static str, Vec<Self>)> {
        vec![(ALL, Self::ALL.to_vec())]
    }

    /// Our name for upstream's name of an operator. Its Loss is the squared error alone here; its
    /// document has the cross entropy, too.
    fn remedy(unknown: &str) -> Option<String> {
        let text = unknown.to_lowercase();
        if text == "loss" {
            return Some(format!("write `{}`, `{}`", Self::MseLoss, Self::CrossEntropy));
        }
        let named = Self::ALL.iter().find(|operator| operator.upstream().to_lowercase() == text);
        named.map(|operator| format!("write `{operator}`"))
    }

    /// Every batch size with every sequence length and every dimension, which changes fastest.
    fn sizes(entry: &Reading<'_, Self>) -> Option<Vec<(String, Self::Size)>> {
        let fields = entry.fields;
        let batch_sizes = read_dimensions(fields, "batch_sizes", BATCH_SIZES);
        let sequence_lengths = read_dimensions(fields, "sequence_lengths", SEQUENCE_LENGTHS);
        let dimensions = read_dimensions(fields, "tensor_dimensions", TENSOR_DIMENSIONS);
        let max_elements = match fields.get("max_elements") {
            Some(node) => node.integer(1..=i64::MAX as u64),
            None => Some(MAX_ELEMENTS),
        };
        let (batch_sizes, sequence_lengths) = (batch_sizes?, sequence_lengths?);
        let (dimensions, max_elements) = (dimensions?, max_elements?);
        let lengths = [batch_sizes.len(), sequence_lengths.len(), dimensions.len()];
        if !fields.has_room(lengths.into_iter().fold(1, usize::saturating_mul)) {
            return None;
        }
        let mut sizes = Vec::new();
        for &batch_size in &batch_sizes {
            for &sequence_length in &sequence_lengths {
                for &tensor_dimension in &dimensions {
                    let size = OperatorShape { batch_size, sequence_length, tensor_dimension };
                    sizes.push((SIZE_NAME.to_owned(), (size, max_elements)));
                }
            }
        }
        Some(sizes)
    }

    fn listed_ways(entry: &Reading<'_, Self>) -> Option<Option<Vec<Implementation>>> {
        entry::read_ways(entry, ("implementations", "implementation"), Self::implementations)
    }
}

/// One of the three lists, without repetition.
fn read_dimensions(fields: &Fields<'_>, key: &str, default: &[u64]) -> Option<Vec<u64>> {
    let read = fields.items(key, |node| node.integer(1..=LARGEST))?;
    Some(read.map_or_else(|| default.to_vec(), without_repetition))
}
