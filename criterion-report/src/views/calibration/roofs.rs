//! The limits of a machine, by the roofline model of Williams, Waterman and Patterson (2009), and the
//! share of them that an operation reaches.

use std::collections::BTreeSet;

use plan::{Device, Dtype, PatternFamily, Work};
use serde::Deserialize;

use super::limit::{Best, Limit, PeakSource};
use super::memory::{Level, Memory};
use super::operation::{Operation, OperationKey};
use super::preset::Precision;
use super::request::{OperationKind, Request};
use super::select::newest;
use crate::model::Row;
use crate::order::Sorted as _;
use crate::render::object::document;
use crate::render::units;

document! {
    /// The roof over products of one dtype on so many threads.
    #[derive(Debug, Clone, PartialEq, Deserialize)]
    pub struct Roofline = new(
        products: (Device, Dtype, u32),
        peak_gflops: Limit,
        bandwidth_gbps: Option<Limit>
    ) [
        (device, dtype, threads) = products;
        ridge = bandwidth_gbps.as_ref().map(|limit| peak_gflops.value / limit.value);
    ] {
        /// Device on which the products ran.
        pub device: Device = device,
        /// Their dtype.
        pub dtype: Dtype = dtype,
        /// Intra-op threads in force.
        pub threads: u32 = threads,
        /// 10⁹ operations per second of the best product, or of the case that was faster.
        pub peak_gflops: Limit = peak_gflops,
        /// 10⁹ bytes per second of memory; null where it was not measured on so many threads.
        pub bandwidth_gbps: Option<Limit> = bandwidth_gbps,
        /// Floating-point operations per byte from which on arithmetic is the limit.
        pub ridge_flop_per_byte: Option<f64> = ridge,
    }
}

impl Roofline {
    /// Says that a case was faster than every product that was made to find the peak, by more than measurements vary:
    /// nothing is at that limit, then.
    pub fn refuted(&self) -> Option<String> {
        let Limit { value, source, measured } = &self.peak_gflops;
        let (PeakSource::Reached(id), Some(best)) = (source, measured) else { return None };
        (*value > ABOVE * best.value).then(|| {
            let [reached, peak] = [*value, best.value].map(|it| units::significant(it, 3));
            format!(
                "{id} reached {reached} GFLOP/s of {} on {}, and the best of the products that find the peak only {peak} \
                 ({}): this limit is not known; measure it again with `cargo bench --bench calibration`",
                self.dtype.plain(),
                units::count(self.threads as usize, "thread"),
                best.operation,
            )
        })
    }

    /// The most that an operation of that intensity (flop per byte) can reach, in GFLOP/s.
    pub fn attainable_gflops(&self, intensity: f64) -> Option<f64> {
        let bandwidth = self.bandwidth_gbps.as_ref()?.value;
        Some(self.peak_gflops.value.min(intensity * bandwidth))
    }

    /// Whether memory is the limit of an operation of that intensity.
    pub fn is_memory_bound(&self, intensity: f64) -> Option<bool> {
        self.ridge_flop_per_byte.map(|ridge| intensity < ridge)
    }
}

/// A limit is refuted by whatever is faster than it by more than this factor.
pub const ABOVE: f64 = 1.05;

/// The cases whose rates are those of products in their dtype: unquantized models, and patterns without a convolution, which
/// may take fewer operations than its formula counts (Winograd's). A recipe's product may be in another dtype.
pub fn telling<'a>(rows: impl IntoIterator<Item = &'a Row>) -> impl Iterator<Item = &'a Row> {
    let is = |row: &&Row| match &row.record.case.work {
        Work::Fusion(work) => work.pattern.family() != PatternFamily::Conv,
        _ => row.is_unquantized(),
    };
    rows.into_iter().filter(is)
}

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
    /// The roofs that the operations show, and the device's cases; figures from elsewhere take their place where named.
    pub fn of(
        operations: &[Operation<'_>],
        cases: &[&Row],
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
            products().map(|operation| (operation.key.dtype, operation.key.threads)).sorted_set();
        for &(dtype, threads) in &of {
            let own: Vec<&Operation<'_>> = products()
                .filter(|it| (it.key.dtype, it.key.threads) == (dtype, threads))
                .collect();
            roofs.add((dtype, threads), &own, cases, device, request);
        }
        notes.extend(roofs.all.iter().filter_map(Roofline::refuted));
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
        cases: &[&Row],
        device: Device,
        request: &Request<'_>,
    ) {
        let tf32 = device == Device::Cuda && products.iter().any(|it| allows_tf32(it));
        let given = Precision::for_dtype(dtype, tf32).and_then(|precision| request.peak(precision));
        let instead = given.filter(|_| threads == self.most);
        let best = Best::of(products.iter().copied(), Operation::gflops);
        let own = cases.iter().filter(|row| {
            let record = &row.record;
            (record.case.dtype, record.environment.torch.threads) == (dtype, threads)
        });
        let rates = own.filter_map(|row| Some((row.gflop_per_s()?, row.full_id())));
        let fastest = rates.max_by(|(a, _), (b, _)| a.total_cmp(b));
        let above =
            fastest.filter(|(rate, _)| best.as_ref().is_some_and(|best| *rate > best.value));
        let reached = above.map(|(rate, id)| (rate, PeakSource::Reached(id.to_owned())));
        let instead = instead.or(reached);
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
        self.over((key.dtype, key.threads))
    }

    /// The one over products of a dtype on so many threads.
    pub fn over(&self, of: (Dtype, u32)) -> Option<&Roofline> {
        self.all.iter().find(|roof| (roof.dtype, roof.threads) == of)
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
        match (OperationKind::for_probe(key.probe), self.memory.level(key)) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(value: f64) -> Limit {
        let best = Best { value, low: None, high: None, operation: String::new() };
        Limit::new(Some(best), None).expect("it was measured")
    }

    fn roof(gflops: f64, gbps: f64) -> Roofline {
        let of = (Device::Cpu, Dtype::Float32, 2);
        Roofline::new(of, limit(gflops), Some(limit(gbps)))
    }

    /// Upstream calls everything from 10 flop/byte on compute-bound, on any machine.
    #[test]
    fn upstream_defect_7_the_ridge_decides_what_is_the_limit() {
        let roof = roof(800.0, 20.0);
        assert_eq!(roof.ridge_flop_per_byte, Some(40.0));
        for (intensity, memory, attainable) in
            [(5.0, true, 100.0), (25.0, true, 500.0), (40.0, false, 800.0), (170.0, false, 800.0)]
        {
            assert_eq!(roof.is_memory_bound(intensity), Some(memory), "{intensity}");
            assert_eq!(roof.attainable_gflops(intensity), Some(attainable), "{intensity}");
        }
    }

    #[test]
    fn without_a_bandwidth_there_is_no_ridge() {
        let roof = Roofline::new((Device::Cpu, Dtype::Float32, 2), limit(800.0), None);
        assert_eq!((roof.is_memory_bound(1.0), roof.attainable_gflops(1.0)), (None, None));
    }

    #[test]
    fn a_figure_from_elsewhere_leaves_what_was_measured() {
        let measured = limit(800.0).measured;
        let instead = Some((1000.0, PeakSource::Given));
        let given = Limit::new(measured.clone(), instead.clone()).expect("a limit");
        assert_eq!((given.value, given.measured), (1000.0, measured));
        assert!(Limit::new(None, instead).is_some_and(|it| it.measured.is_none()));
        assert_eq!(Limit::new(None, None), None);
    }

    #[test]
    fn sources_come_back_from_files() {
        for source in [
            PeakSource::Measured,
            PeakSource::Given,
            PeakSource::Preset("h100".to_owned()),
            PeakSource::Reached("inference/a/linear/cpu/baseline/f32-8x8x8".to_owned()),
        ] {
            let json = serde_json::to_string(&source).expect("serialises");
            assert_eq!(serde_json::from_str::<PeakSource>(&json).expect("reads"), source);
        }
        assert!(PeakSource::try_from("guessed".to_owned()).is_err());
    }
}
