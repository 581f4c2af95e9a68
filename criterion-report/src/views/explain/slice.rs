//! The time of one operation, split by cause.

use plan::OperationProfile;

use super::limit::Bound;
use super::machine::Ceiling;
use super::operation::{is_attention, is_product, moves_nothing};
use super::part::PartKind;

/// An operation with one list of shapes, or the time outside of all operations, split by cause.
#[derive(Debug, Clone, Default)]
pub struct Slice {
    /// `None` outside of recorded operations, and without a profile.
    pub name: Option<String>,
    pub shapes: Vec<Vec<i64>>,
    pub calls: f64,
    /// Its whole time; the parts below add up to it.
    pub ns: f64,
    pub faults_ns: f64,
    pub conversion_ns: f64,
    pub overhead_ns: f64,
    pub memory_ns: f64,
    pub compute_ns: f64,
    pub idle_ns: f64,
    /// The time that is not explained yet.
    pub rest_ns: f64,
    pub allocated: f64,
    pub bytes: Option<u64>,
    pub flops: Option<u64>,
    /// Its own limit.
    pub limit: Option<(Bound, f64)>,
    /// Its own time together with that of its callees.
    pub total_ns: f64,
    /// Whether it does the work itself; otherwise its callees do, which have their limits.
    pub works: bool,
    /// Whether the operation's own work is unknown. Such slices share what remains of the step's limit after all known
    /// limits.
    pub is_open: bool,
}

pub(super) fn own_ns(operation: &OperationProfile, is_host: bool) -> f64 {
    if is_host { operation.self_ns } else { operation.device_ns.unwrap_or(0.0) }.max(0.0)
}

impl Slice {
    pub fn of(
        operation: &OperationProfile,
        is_host: bool,
        scale: f64,
        ceiling: Option<&Ceiling>,
    ) -> Self {
        let OperationProfile { name, shapes, calls, flops, input_bytes, allocated_bytes, .. } =
            operation;
        let ns = own_ns(operation, is_host) * scale;
        let total = if is_host { operation.total_ns } else { own_ns(operation, false) };
        let works = !moves_nothing(name)
            && (operation.is_leaf || 2.0 * operation.self_ns >= operation.total_ns);
        let bytes = input_bytes.map(|it| it.saturating_add(*allocated_bytes)).filter(|_| works);
        let flops = flops.filter(|_| works);
        Self {
            name: Some(name.clone()),
            shapes: shapes.clone(),
            calls: *calls,
            ns,
            rest_ns: ns,
            allocated: *allocated_bytes as f64,
            bytes,
            flops,
            limit: ceiling.and_then(|it| it.limit(bytes, flops)),
            total_ns: total * scale,
            works,
            is_open: works
                && flops.is_none()
                && (bytes.is_none() || is_product(name) || is_attention(name)),
            ..Self::default()
        }
    }

    /// Takes up to `ns` of the remaining time; returns how much it took.
    pub fn take(&mut self, ns: f64) -> f64 {
        let taken = ns.clamp(0.0, self.rest_ns.max(0.0));
        self.rest_ns -= taken;
        taken
    }

    pub fn give(&mut self, bound: Bound, ns: f64) {
        let taken = self.take(ns);
        match bound {
            Bound::Memory => self.memory_ns += taken,
            Bound::Compute => self.compute_ns += taken,
        }
    }

    pub fn parts(&self, has_profile: bool) -> [(PartKind, f64); 7] {
        let is_outside = has_profile && self.name.is_none();
        let rest = if is_outside { PartKind::OutsideOperations } else { PartKind::Unexplained };
        [
            (PartKind::PageFaults, self.faults_ns),
            (PartKind::WeightConversion, self.conversion_ns),
            (PartKind::MemoryLimit, self.memory_ns),
            (PartKind::ComputeLimit, self.compute_ns),
            (PartKind::CallOverhead, self.overhead_ns),
            (PartKind::IdleThreads, self.idle_ns),
            (rest, self.rest_ns),
        ]
    }
}
