//! One measured operation of a machine, and its rates.

use std::collections::BTreeMap;
use std::fmt;

use plan::{Device, Dtype, Probe};

use crate::model::{Figure, Interval, Row, Time};
use crate::order::Order as _;

/// The identity of a measurement: two with the same key measured the same thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperationKey {
    pub probe: Probe,
    /// Rows and columns of matrices; bytes of one array.
    pub size: u64,
    pub dtype: Dtype,
    pub device: Device,
    pub threads: u32,
}

impl OperationKey {
    /// Bytes of all arrays together; none of other probes.
    pub const fn working_set(&self) -> u64 {
        self.size.saturating_mul(self.probe.arrays())
    }
}

/// Keys have the form of branes-ai/graphs, with parameters that are always there and tell all apart:
/// `matmul_device=cpu_dtype=float32_size=1024_threads=2`.
impl fmt::Display for OperationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { probe, dtype, device, threads, .. } = self;
        let (dtype, size) = (dtype.plain(), self.probe.size_name(self.size));
        write!(f, "{probe}_device={device}_dtype={dtype}_size={size}_threads={threads}")
    }
}

/// `count` per time, 10⁹ per second at the median; the interval is at the bounds of the median's.
fn rate(count: u64, time: &Time) -> Figure {
    let count = count as f64;
    let interval = time.interval.map(|it| Interval { low: count / it.high, high: count / it.low });
    Figure { value: count / time.median_ns, interval }
}

#[derive(Debug, Clone, Copy)]
pub struct Operation<'a> {
    pub key: OperationKey,
    pub row: &'a Row,
    pub time: Time,
    pub flops: u64,
    pub bytes: u64,
    /// How often a step goes over its arrays.
    pub passes: u64,
}

impl<'a> Operation<'a> {
    /// The measurement that a row holds; none of other rows than those of probes, and none of rows
    /// without a time.
    pub fn from_row(row: &'a Row) -> Option<Self> {
        let case = &row.record.case;
        let work = case.work.probe()?;
        let time = *row.time.as_ref().ok()?;
        let threads = row.record.environment.torch.threads;
        let (dtype, device) = (case.dtype, case.device);
        Some(Self {
            key: OperationKey { probe: work.probe, size: work.size, dtype, device, threads },
            row,
            time,
            flops: work.flops(dtype),
            bytes: work.bytes(dtype),
            passes: work.passes,
        })
    }

    /// The operations among rows by machine; of several measurements of the same thing the latest
    /// counts.
    pub fn by_machine<M: Ord>(
        rows: impl IntoIterator<Item = &'a Row>,
        machine: impl Fn(&Row) -> M,
    ) -> impl Iterator<Item = (M, Vec<Self>)> {
        let mut operations: Vec<Self> = rows.into_iter().filter_map(Self::from_row).collect();
        operations.order_by_key(|operation| operation.row.recency());
        let mut machines: BTreeMap<M, BTreeMap<OperationKey, Self>> = BTreeMap::new();
        for operation in operations {
            let machine = machines.entry(machine(operation.row)).or_default();
            machine.insert(operation.key, operation);
        }
        machines.into_iter().map(|(machine, latest)| (machine, latest.into_values().collect()))
    }

    pub fn gflops(&self) -> Figure {
        rate(self.flops, &self.time)
    }

    pub fn gbps(&self) -> Figure {
        rate(self.bytes, &self.time)
    }

    /// Floating-point operations per byte.
    pub fn intensity(&self) -> f64 {
        self.flops as f64 / self.bytes as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upstream_defect_2_keys_of_two_operations_differ() {
        let base = OperationKey {
            probe: Probe::Matmul,
            size: 1024,
            dtype: Dtype::Float32,
            device: Device::Cpu,
            threads: 2,
        };
        assert_eq!(base.to_string(), "matmul_device=cpu_dtype=float32_size=1024_threads=2");
        let others = [
            OperationKey { probe: Probe::Copy, ..base },
            OperationKey { size: 2048, ..base },
            OperationKey { dtype: Dtype::BFloat16, ..base },
            OperationKey { device: Device::Cuda, ..base },
            OperationKey { threads: 1, ..base },
        ];
        for other in others {
            assert_ne!(other.to_string(), base.to_string());
        }
    }
}
