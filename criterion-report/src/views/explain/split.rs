//! A case's time, split among its operations and within each of them.

use std::collections::HashMap;

use indexmap::IndexMap;
use plan::{Device, OperationProfile, Profile};

use super::facts::CaseFacts;
use super::limit::Bound;
use super::operation::{OperationTime, Weights, is_product};
use super::part::{Part, PartKind};
use super::slice::{Slice, own_ns};
use crate::model::Row;
use crate::order::Order as _;

/// A case's time in slices.
#[derive(Debug, Clone)]
pub struct Split {
    pub time_ns: f64,
    pub slices: Vec<Slice>,
    pub has_profile: bool,
    /// A profiled step over the time; absent without a profile.
    pub stretch: Option<f64>,
    /// Share of the time in which the device is busy; absent on a CPU, and without a profile.
    pub device_busy: Option<f64>,
}

impl Split {
    pub fn new(facts: &CaseFacts<'_>) -> Self {
        let mut split = Self::sliced(facts);
        split.faults(facts.page_fault_share().unwrap_or(0.0));
        split.conversions(facts);
        split.overhead(facts.ceiling().and_then(|it| it.call_ns));
        split.limits(facts.limit());
        // Idle threads exist only beside a working one: a single thread just waits.
        split.idle(facts.utilization.filter(|_| facts.threads() > 1));
        split
    }

    /// Makes the slices; nothing is attributed to causes yet.
    fn sliced(facts: &CaseFacts<'_>) -> Self {
        let time_ns = facts.time_ns;
        let is_host = facts.row.record.case.device == Device::Cpu;
        let profile = facts.profile.filter(|it| duration(it, is_host) > 0.0);
        let Some(profile) = profile else {
            let whole = Slice { ns: time_ns, rest_ns: time_ns, is_open: true, ..Slice::default() };
            let slices = vec![whole];
            return Self { time_ns, slices, has_profile: false, stretch: None, device_busy: None };
        };
        let duration = duration(profile, is_host);
        // The profiler slows the host's work down, so that is scaled to the case's time; kernels on a device keep their
        // times.
        let scale = if is_host { time_ns / duration } else { (time_ns / duration).min(1.0) };
        let slice = |it: &OperationProfile| Slice::of(it, is_host, scale, facts.ceiling());
        let mut slices: Vec<Slice> = profile.operations.iter().map(slice).collect();
        let outside =
            if is_host { profile.outside_ns.max(0.0) * scale } else { time_ns - duration * scale };
        let waits = !is_host && waits_for_host(facts.row);
        slices.push(Slice {
            ns: outside,
            overhead_ns: if waits { outside } else { 0.0 },
            rest_ns: if waits { 0.0 } else { outside },
            is_open: !waits,
            ..Slice::default()
        });
        let device_busy = (!is_host).then_some(duration * scale / time_ns);
        let stretch = Some(profile.step_ns / time_ns);
        Self { time_ns, slices, has_profile: true, stretch, device_busy }
    }

    /// Distributes page faults in proportion to the bytes that operations allocate, but to none more than its time. The
    /// rest is distributed in proportion to time.
    fn faults(&mut self, share: f64) {
        let total = self.time_ns * share;
        let allocated: f64 = self.slices.iter().map(|it| it.allocated).sum();
        for slice in self.slices.iter_mut().filter(|_| allocated > 0.0) {
            slice.faults_ns = slice.take(total * slice.allocated / allocated);
        }
        let given: f64 = self.slices.iter().map(|it| it.faults_ns).sum();
        for (slice, share) in self.by_room(|_| true) {
            slice.faults_ns += slice.take((total - given) * share);
        }
    }

    fn conversions(&mut self, facts: &CaseFacts<'_>) {
        let (Some(weights), Some(profile)) = (Weights::from_row(facts.row), facts.profile) else {
            return;
        };
        for (slice, operation) in
            self.slices.iter_mut().zip(&profile.operations).filter(|_| self.has_profile)
        {
            if weights.are_converted_by(operation) {
                slice.conversion_ns = slice.take(f64::INFINITY);
            }
        }
    }

    /// Attributes to each recorded call the calibrated cost of a call, but at most its own time.
    fn overhead(&mut self, call_ns: Option<f64>) {
        if self.device_busy.is_some() {
            return;
        }
        for slice in self.slices.iter_mut().filter(|it| it.name.is_some()) {
            slice.overhead_ns = slice.take(slice.calls * call_ns.unwrap_or(0.0));
        }
    }

    /// Attributes to each operation its own limit. The rest of the step's limit goes to the operations whose work is
    /// unknown.
    fn limits(&mut self, step: Option<(Bound, f64)>) {
        for slice in &mut self.slices {
            if let Some((bound, ns)) = slice.limit {
                slice.give(bound, ns);
            }
        }
        let Some((bound, ns)) = step else { return };
        let taken: f64 = self.slices.iter().map(|it| it.memory_ns + it.compute_ns).sum();
        let left = (ns - taken).max(0.0);
        for (slice, share) in self.by_room(|it| it.is_open) {
            slice.give(bound, left * share);
        }
    }

    /// Attributes time to idle threads, at most what is not explained yet.
    fn idle(&mut self, utilization: Option<f64>) {
        let idle = self.time_ns * (1.0 - utilization.unwrap_or(1.0)).max(0.0);
        for (slice, share) in self.by_room(|_| true) {
            slice.idle_ns = slice.take(idle * share);
        }
    }

    /// The selected slices, each with its share of their remaining time.
    fn by_room(
        &mut self,
        is_meant: impl Fn(&Slice) -> bool,
    ) -> impl Iterator<Item = (&mut Slice, f64)> {
        let room: f64 = self.slices.iter().filter(|it| is_meant(it)).map(|it| it.rest_ns).sum();
        let meant = self.slices.iter_mut().filter(move |it| is_meant(it) && room > 0.0);
        meant.map(move |slice| {
            let share = slice.rest_ns / room;
            (slice, share)
        })
    }

    /// The parts of the time, the longest first; one part per kind and operation.
    pub fn parts(&self) -> Vec<Part> {
        let mut parts: HashMap<(PartKind, Option<&str>), f64> = HashMap::new();
        for slice in &self.slices {
            for (kind, ns) in slice.parts(self.has_profile) {
                // Idle threads belong to the whole step, not to an operation.
                let name = slice.name.as_deref().filter(|_| kind != PartKind::IdleThreads);
                *parts.entry((kind, name)).or_default() += ns;
            }
        }
        let part = |((kind, name), ns): ((PartKind, Option<&str>), f64)| Part {
            kind,
            operation: name.map(str::to_owned),
            ns,
            share: ns / self.time_ns,
        };
        let mut parts: Vec<Part> =
            parts.into_iter().filter(|(_, ns)| *ns > 0.0).map(part).collect();
        parts.order_by(|a, b| {
            b.ns.total_cmp(&a.ns).then_with(|| (a.kind, &a.operation).cmp(&(b.kind, &b.operation)))
        });
        parts
    }

    /// The operations, all shapes of each together, the longest first; empty without a profile.
    pub fn operations(&self) -> Vec<OperationTime> {
        let mut operations: IndexMap<Option<&str>, OperationTime> = IndexMap::new();
        for slice in
            self.slices.iter().filter(|it| self.has_profile && (it.ns > 0.0 || it.name.is_some()))
        {
            let own = OperationTime {
                name: slice.name.clone(),
                calls: slice.calls,
                ns: slice.ns,
                share: slice.ns / self.time_ns,
                bytes: slice.bytes,
                flops: slice.flops,
                limit_ns: slice.limit.map(|(_, ns)| ns),
            };
            match operations.get_mut(&slice.name.as_deref()) {
                Some(known) => known.add(&own),
                None => drop(operations.insert(slice.name.as_deref(), own)),
            }
        }
        let mut operations: Vec<OperationTime> = operations.into_values().collect();
        operations.order_by(|a, b| b.ns.total_cmp(&a.ns).then_with(|| a.name.cmp(&b.name)));
        operations
    }

    /// The product that takes longest.
    pub fn product(&self) -> Option<&str> {
        let products = self.slices.iter().filter(|it| it.name.as_deref().is_some_and(is_product));
        products.max_by(|a, b| a.ns.total_cmp(&b.ns))?.name.as_deref()
    }

    /// The own time of all operations for which `is_meant` holds.
    pub fn own_ns(&self, is_meant: impl Fn(&str) -> bool) -> f64 {
        let meant = self.slices.iter().filter(|it| it.name.as_deref().is_some_and(&is_meant));
        meant.map(|it| it.ns).sum()
    }

    /// The operations that do work themselves, instead of leaving it to their callees.
    pub fn working(&self) -> impl Iterator<Item = &str> {
        self.slices.iter().filter(|it| it.works).filter_map(|it| it.name.as_deref())
    }

    /// The longest operation, including its callees, for which `is_meant` holds.
    pub fn total(&self, is_meant: impl Fn(&str) -> bool) -> Option<(&str, f64)> {
        let named = self.slices.iter().filter_map(|it| Some((it.name.as_deref()?, it.total_ns)));
        named.filter(|(name, _)| is_meant(name)).max_by(|(_, a), (_, b)| a.total_cmp(b))
    }
}

/// Whether the device waits for the host: by the two clocks, and assumed if they were not read.
fn waits_for_host(row: &Row) -> bool {
    row.record.measures.clocks.is_none_or(|clocks| clocks.host_bound)
}

/// The duration of a profiled step on the host, or of its kernels on another device.
fn duration(profile: &Profile, is_host: bool) -> f64 {
    let own = profile.operations.iter().map(|it| own_ns(it, is_host)).sum::<f64>();
    if is_host { own + profile.outside_ns.max(0.0) } else { own }
}
