//! Configs of `benchmark_mode: operators`: which operators, how large, and who computes them.

use std::collections::HashSet;

use super::node::{Fields, Node};
use super::own_keys::{self, OWN_KEYS, Own};
use super::{at_the_top, compile_key, top};
use crate::catalogue::operator::{Implementation, Operator, OperatorShape};
use crate::settings::Settings;
use crate::words::{CompileMode, Device, Dtype, UnknownWord};

/// One entry of `operator_params`.
#[derive(Debug, Clone, PartialEq)]
pub struct OperatorParams {
    /// `name`, if given.
    pub name: Option<String>,
    /// Operators, without repetition.
    pub operators: Vec<Operator>,
    /// Sizes: every batch size with every sequence length and every dimension.
    pub sizes: Vec<OperatorShape>,
    /// The implementations to measure; if absent, the ones made for the device.
    pub implementations: Option<Vec<Implementation>>,
    /// Modes of `torch.compile`: those that run ATen's operations eagerly get a sibling compiled in
    /// each.
    pub compile: Vec<CompileMode>,
    /// Dtypes.
    pub dtypes: Vec<Dtype>,
    /// Devices.
    pub devices: Vec<Device>,
    /// The most elements that x may have.
    pub max_elements: u64,
    /// How each is measured.
    pub settings: Settings,
}

/// The key of the entries.
pub(super) const KEY: &str = "operator_params";

const ENTRY_KEYS: &[&str] = &[
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

/// All operators.
const ALL: &str = "all";

/// Largest dimension, as of a model's shape.
const LARGEST: u64 = 1 << 24;

/// The lists and the cap of the comprehensive operator benchmark.
const BATCH_SIZES: &[u64] = &[16, 32, 64, 128];
const SEQUENCE_LENGTHS: &[u64] = &[256, 512, 1024, 2048];
const TENSOR_DIMENSIONS: &[u64] = &[8, 16, 32, 64, 128, 256, 512];
const MAX_ELEMENTS: u64 = 50_000_000;

/// Reads the whole document.
pub(super) fn read(node: &Node<'_>) -> Option<Vec<OperatorParams>> {
    let fields = top(node, &[KEY], KEY, &[ENTRY_KEYS, compile_key::KEYS].concat())?;
    let mut own = Own::default();
    own_keys::apply(&fields, &mut own);
    fields.entries(KEY, "operator", |entry| read_entry(entry, &own))
}

fn read_entry(node: &Node<'_>, outer: &Own) -> Option<OperatorParams> {
    let keys = [ENTRY_KEYS, compile_key::KEYS, OWN_KEYS].concat();
    let fields = node.mapping_beside(&keys, &at_the_top(&[]))?;
    let mut own = outer.clone();
    own_keys::apply(&fields, &mut own);
    // All are read before any error ends this, so that each error is reported.
    let operators = read_operators(&fields);
    let implementations = fields.words("implementations");
    let compile = compile_key::read(&fields);
    let dtypes = fields.dtypes("dtypes");
    let devices = fields.words("devices");
    let batch_sizes = read_dimensions(&fields, "batch_sizes", BATCH_SIZES);
    let sequence_lengths = read_dimensions(&fields, "sequence_lengths", SEQUENCE_LENGTHS);
    let dimensions = read_dimensions(&fields, "tensor_dimensions", TENSOR_DIMENSIONS);
    let max_elements = match fields.get("max_elements") {
        Some(node) => node.integer(1..=i64::MAX as u64),
        None => Some(MAX_ELEMENTS),
    };
    let name = fields.read("name", Node::string);
    if let Some(operators) = &operators {
        existing(&fields, operators, implementations.as_ref().and_then(|it| it.as_deref()));
    }
    Some(OperatorParams {
        name,
        operators: operators?,
        sizes: sizes(node, &batch_sizes?, &sequence_lengths?, &dimensions?)?,
        implementations: implementations?,
        compile: compile?,
        dtypes: dtypes?.unwrap_or_else(|| vec![Dtype::Float32]),
        devices: devices?.unwrap_or_else(|| vec![Device::Cpu]),
        max_elements: max_elements?,
        settings: own.settings,
    })
}

/// Names of operators, and `all`.
fn read_operators(fields: &Fields<'_>) -> Option<Vec<Operator>> {
    let Some(listed) = fields.items("operators", operator_or_all)? else {
        return fields.error(
            "no `operators`".to_owned(),
            format!("list some, e.g. `[layer_norm, gelu]`, or write `[{ALL}]`"),
        );
    };
    let mut operators = Vec::new();
    for operator in listed.into_iter().flatten() {
        if !operators.contains(&operator) {
            operators.push(operator);
        }
    }
    Some(operators)
}

fn operator_or_all(node: &Node<'_>) -> Option<Vec<Operator>> {
    let text = node.string()?;
    if text == ALL {
        return Some(Operator::ALL.to_vec());
    }
    match text.parse::<Operator>() {
        Ok(operator) => Some(vec![operator]),
        Err(_) => {
            let words = Operator::ALL.iter().map(|operator| operator.as_str()).chain([ALL]);
            let unknown = UnknownWord::new("operator", &text, words);
            let remedy = match upstream_name(&text) {
                Some(operators) => format!("write `{operators}`"),
                None => unknown.remedy.clone(),
            };
            node.error(unknown.to_string(), remedy)
        }
    }
}

/// Our name for upstream's name of an operator. Its Loss is the squared error alone here; its
/// document has the cross entropy, too.
fn upstream_name(text: &str) -> Option<String> {
    let text = text.to_lowercase();
    if text == "loss" {
        return Some(
            [Operator::MseLoss, Operator::CrossEntropy].map(Operator::as_str).join("`, `"),
        );
    }
    let named = |operator: &&Operator| operator.upstream().to_lowercase() == text;
    Operator::ALL.iter().find(named).map(|operator| operator.to_string())
}

/// One of the three lists, without repetition.
fn read_dimensions(fields: &Fields<'_>, key: &str, default: &[u64]) -> Option<Vec<u64>> {
    let read = fields.items(key, |node| node.integer(1..=LARGEST))?;
    let mut dimensions = read.unwrap_or_else(|| default.to_vec());
    let mut seen = HashSet::new();
    dimensions.retain(|dimension| seen.insert(*dimension));
    Some(dimensions)
}

/// Every combination, the last dimension changing fastest; `None` where they are too many.
fn sizes(
    node: &Node<'_>,
    batches: &[u64],
    lengths: &[u64],
    dimensions: &[u64],
) -> Option<Vec<OperatorShape>> {
    let count = batches.len().saturating_mul(lengths.len()).saturating_mul(dimensions.len());
    if !node.has_room(count) {
        return None;
    }
    let mut sizes = Vec::with_capacity(count);
    for &batch_size in batches {
        for &sequence_length in lengths {
            for &tensor_dimension in dimensions {
                sizes.push(OperatorShape { batch_size, sequence_length, tensor_dimension });
            }
        }
    }
    Some(sizes)
}

/// An implementation that none of the operators has is a mistake.
fn existing(fields: &Fields<'_>, operators: &[Operator], listed: Option<&[Implementation]>) {
    for implementation in listed.into_iter().flatten() {
        if operators.iter().any(|operator| operator.implementations().contains(implementation)) {
            continue;
        }
        let has: Vec<&str> = Implementation::ALL
            .iter()
            .filter(|it| operators.iter().any(|operator| operator.implementations().contains(it)))
            .map(|it| it.as_str())
            .collect();
        if let Some(node) = fields.get("implementations") {
            let message =
                format!("none of the entry's operators has the implementation `{implementation}`");
            node.report(message, format!("they have: {}", has.join(", ")));
        }
    }
}
