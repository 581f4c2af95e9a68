//! The roofs of a machine, and what of them an operation reaches.

use std::collections::BTreeSet;

use plan::{Device, Dtype};

use super::level::Level;
use super::memory::Memory;
use super::operation::{Operation, OperationKey};
use super::preset::Precision;
use super::request::{OperationKind, Request};
use super::roofline::{Best, Limit, PeakSource, Roofline};
use super::select::newest;
use crate::units;

pub struct Roofs {
    /// Per dtype and number of threads.
    pub all: Vec<Roofline>,
    pub memory: Memory,
    /// The most threads that STREAM's operations ran on.
    pub memory_threads: u32,
    /// The roofline of float32 on the most threads that its products ran on.
    pub headline: Option<Roofline>,
    /// The most threads that any operation ran on: figures of a whole machine are of these.
    most: u32,
    /// A bandwidth of memory that takes the place of the measured one.
    instead_of_memory: Option<(f64, PeakSource)>,
}

impl Roofs {
    /// The roofs that the operations show; figures from elsewhere take their place where named.
    pub fn of(
        operations: &[Operation<'_>],
        device: Device,
        request: &Request<'_>,
        notes: &mut Vec<String>,
    ) -> Self {
        let streams = operations.iter().filter(|operation| operation.key.probe.is_stream());
        let memory_threads = streams.map(|operation| operation.key.threads).max().unwrap_or(0);
        let mut memory = Memory::of(operations);
        notes.append(&mut memory.notes);
        let instead_of_memory = request.bandwidth();
        let threads = |operation: &Operation<'_>| operation.key.threads;
        let most = operations.iter().map(threads).max().unwrap_or(0);
        let all = Vec::new();
        let mut roofs =
            Self { all, memory, memory_threads, headline: None, most, instead_of_memory };
        let products = || operations.iter().filter(|it| it.key.probe.is_product());
        let of: BTreeSet<(Dtype, u32)> =
            products().map(|operation| (operation.key.dtype, operation.key.threads)).collect();
        for &(dtype, threads) in &of {
            let own: Vec<&Operation<'_>> = products()
                .filter(|it| (it.key.dtype, it.key.threads) == (dtype, threads))
                .collect();
            roofs.add((dtype, threads), &own, device, request);
        }
        roofs.headline = roofs.all.iter().rfind(|roof| roof.dtype == Dtype::Float32).cloned();
        notes.extend(Self::partial(operations, device, request));
        notes.extend(roofs.unused(request));
        roofs
    }

    /// Adds the roof over products of one dtype on so many threads, the best by whichever library.
    /// Figures from elsewhere are of the whole machine, so they replace what was measured on the
    /// most threads only.
    fn add(
        &mut self,
        (dtype, threads): (Dtype, u32),
        products: &[&Operation<'_>],
        device: Device,
        request: &Request<'_>,
    ) {
        let tf32 = device == Device::Cuda && products.iter().any(|it| allows_tf32(it));
        let given = Precision::of(dtype, tf32).and_then(|precision| request.peak(precision));
        let instead = given.filter(|_| threads == self.most);
        let best = Best::of(products.iter().copied(), Operation::gflops);
        let bandwidth = self.bandwidth(threads);
        let Some(limit) = Limit::new(best, instead) else { return };
        self.all.push(Roofline::new((device, dtype, threads), limit, bandwidth));
    }

    pub fn bandwidth(&self, threads: u32) -> Option<Limit> {
        let whole = threads == self.most;
        self.memory.limit(threads, self.instead_of_memory.clone().filter(|_| whole))
    }

    /// Says that a figure of the whole machine stands for nothing in the summary, because its
    /// operation ran on fewer threads than another.
    fn unused(&self, request: &Request<'_>) -> Vec<String> {
        let note = |what: &str, threads: u32| {
            format!(
                "the given peak of {what} is for the whole machine, but it was measured on at \
                 most {}, and other operations on {}: the measured peak is kept",
                units::count(threads as usize, "thread"),
                self.most,
            )
        };
        let fewer = |threads: u32| (1..self.most).contains(&threads).then_some(threads);
        let product = self.headline.as_ref().filter(|_| request.peak(Precision::Float32).is_some());
        let product = product.and_then(|roof| fewer(roof.threads));
        let memory = self.instead_of_memory.as_ref().and_then(|_| fewer(self.memory_threads));
        let notes = [
            product.map(|threads| note("float32 products", threads)),
            memory.map(|threads| note("memory", threads)),
        ];
        notes.into_iter().flatten().collect()
    }

    /// Says that figures of a whole machine stand beside measurements on a part of it.
    fn partial(
        operations: &[Operation<'_>],
        device: Device,
        request: &Request<'_>,
    ) -> Option<String> {
        let cpus = newest(operations)?.row.record.environment.host.cpus;
        let threads = operations.iter().map(|operation| operation.key.threads).max()?;
        let elsewhere = request.peak_gflops.is_some()
            || request.peak_bandwidth.is_some()
            || request.preset.is_some();
        let part = device == Device::Cpu && elsewhere && threads < cpus;
        part.then(|| {
            format!(
                "the given peaks are for the whole machine; it was measured on at most {} of \
                 {cpus} CPUs",
                units::count(threads as usize, "thread"),
            )
        })
    }

    pub fn roof(&self, key: &OperationKey) -> Option<&Roofline> {
        self.over(key.dtype, key.threads)
    }

    /// The one over products of a dtype on so many threads.
    pub fn over(&self, dtype: Dtype, threads: u32) -> Option<&Roofline> {
        self.all.iter().find(|roof| (roof.dtype, roof.threads) == (dtype, threads))
    }

    /// Whether the operation is of those that upstream's summary fields are about.
    pub fn is_headline(&self, key: &OperationKey) -> bool {
        let most = self.headline.as_ref().is_some_and(|roof| roof.threads == key.threads);
        key.probe.is_product() && key.dtype == Dtype::Float32 && most
    }

    /// Share of the limit that applies: of products the peak, of STREAM's operations the bandwidth
    /// of the level in which their arrays lie.
    pub fn efficiency(&self, operation: &Operation<'_>) -> Option<f64> {
        let key = &operation.key;
        let gbps = operation.gbps().value;
        match (OperationKind::of(key.probe), self.memory.level(key)) {
            (OperationKind::Matmul, _) => {
                Some(operation.gflops().value / self.roof(key)?.peak_gflops.value)
            }
            (OperationKind::Memory, Some(Level::Memory)) => {
                Some(gbps / self.bandwidth(key.threads)?.value)
            }
            (OperationKind::Memory, Some(level)) => {
                Some(gbps / self.memory.best(level, key.threads)?.value)
            }
            (OperationKind::Memory, None) | (OperationKind::Launch | OperationKind::Call, _) => {
                None
            }
        }
    }
}

/// Whether float32 products may be made of operands rounded to TF32.
fn allows_tf32(operation: &Operation<'_>) -> bool {
    operation.row.record.environment.torch.tf32 == Some(true)
}
