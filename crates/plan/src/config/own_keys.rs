//! The keys of our own: all optional, allowed at the top of a config and in each model, where
//! they win.

use super::node::{Fields, Node};
use crate::settings::{Sampling, Settings, Tolerance};

/// Their names.
pub(super) const OWN_KEYS: &[&str] =
    &["sampling", "threads", "allocator", "cache", "seed", "tolerance", "analysis"];

/// `settings` with what `fields` says on top.
pub(super) fn apply(fields: &Fields<'_>, settings: &mut Settings) {
    if let Some(sampling) = fields.read("sampling", |node| read_sampling(node, settings.sampling)) {
        settings.sampling = sampling;
    }
    if let Some(threads) = fields.read("threads", |node| node.integer(1..=4096)) {
        settings.threads = u32::try_from(threads).expect("the range above fits");
    }
    settings.allocator = fields.word_or("allocator", settings.allocator);
    settings.cache = fields.word_or("cache", settings.cache);
    if let Some(seed) = fields.read("seed", |node| node.integer(0..=i64::MAX as u64)) {
        settings.seed = i64::try_from(seed).expect("the range above fits");
    }
    if let Some(tolerance) = fields.read("tolerance", read_tolerance) {
        settings.tolerance = tolerance;
    }
    if let Some(analysis) = fields.read("analysis", Node::string) {
        settings.analysis = Some(analysis);
    }
}

fn read_sampling(node: &Node<'_>, outer: Sampling) -> Option<Sampling> {
    let fields = node.mapping(&["samples", "warm_up_s", "measurement_s"])?;
    Some(Sampling {
        // Criterion wants at least 10.
        samples: fields.read("samples", |node| node.integer(10..=1_000_000)).or(outer.samples),
        warm_up_s: fields.read("warm_up_s", Node::positive).or(outer.warm_up_s),
        measurement_s: fields.read("measurement_s", Node::positive).or(outer.measurement_s),
        target: outer.target,
    })
}

fn read_tolerance(node: &Node<'_>) -> Option<Tolerance> {
    let fields = node.mapping(&["min_sqnr_db"])?;
    Some(Tolerance { min_sqnr_db: fields.read("min_sqnr_db", Node::positive) })
}
