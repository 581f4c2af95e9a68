//! The limits of a machine: the roofline model of Williams, Waterman and Patterson (2009).

use std::fmt;

use plan::Dtype;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::operation::Operation;
use crate::model::Figure;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum PeakSource {
    Measured,
    /// The user's own figure.
    Given,
    Preset(String),
}

impl fmt::Display for PeakSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Measured => f.write_str("measured"),
            Self::Given => f.write_str("given"),
            Self::Preset(name) => write!(f, "preset {name}"),
        }
    }
}

impl From<PeakSource> for String {
    fn from(source: PeakSource) -> Self {
        source.to_string()
    }
}

impl TryFrom<String> for PeakSource {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match (text.as_str(), text.strip_prefix("preset ")) {
            ("measured", _) => Ok(Self::Measured),
            ("given", _) => Ok(Self::Given),
            (_, Some(name)) => Ok(Self::Preset(name.to_owned())),
            _ => Err(format!("source of a peak `{text}` is none of measured, given, preset NAME")),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Best {
    /// Its rate, 10⁹ per second.
    pub value: f64,
    /// Lower bound of it; null in quick mode.
    pub low: Option<f64>,
    /// Upper bound of it; null in quick mode.
    pub high: Option<f64>,
    /// Key of the operation.
    pub operation: String,
}

impl Best {
    /// The one of `operations` whose `rate` is highest.
    pub fn of<'a, 'r: 'a>(
        operations: impl IntoIterator<Item = &'a Operation<'r>>,
        rate: impl Fn(&Operation<'r>) -> Figure,
    ) -> Option<Self> {
        let rated = operations.into_iter().map(|operation| (rate(operation), operation.key));
        let (Figure { value, interval }, key) =
            rated.max_by(|(a, _), (b, _)| a.value.total_cmp(&b.value))?;
        let (low, high) = (interval.map(|it| it.low), interval.map(|it| it.high));
        Some(Self { value, low, high, operation: key.to_string() })
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// 10⁹ per second.
    pub value: f64,
    /// `measured`, `given` or `preset NAME`.
    #[schemars(with = "String")]
    pub source: PeakSource,
    /// The best that was measured, if anything was; equal to `value` unless the source is another.
    pub measured: Option<Best>,
}

impl Limit {
    /// The figure to take instead of what was measured, or what was measured; none without both.
    pub fn new(measured: Option<Best>, instead: Option<(f64, PeakSource)>) -> Option<Self> {
        let best = measured.as_ref().map(|best| (best.value, PeakSource::Measured));
        let (value, source) = instead.or(best)?;
        Some(Self { value, source, measured })
    }
}

/// The roof over products of one dtype on so many threads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Roofline {
    /// Where the products ran.
    pub device: plan::Device,
    /// Their dtype.
    pub dtype: Dtype,
    /// Intra-op threads in force.
    pub threads: u32,
    /// 10⁹ operations per second of the best product.
    pub peak_gflops: Limit,
    /// 10⁹ bytes per second of memory; null where it was not measured on so many threads.
    pub bandwidth_gbps: Option<Limit>,
    /// Floating-point operations per byte from which on arithmetic is the limit.
    pub ridge_flop_per_byte: Option<f64>,
}

impl Roofline {
    pub fn new(
        (device, dtype, threads): (plan::Device, Dtype, u32),
        peak_gflops: Limit,
        bandwidth_gbps: Option<Limit>,
    ) -> Self {
        let ridge = bandwidth_gbps.as_ref().map(|limit| peak_gflops.value / limit.value);
        Self { device, dtype, threads, peak_gflops, bandwidth_gbps, ridge_flop_per_byte: ridge }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(value: f64) -> Limit {
        let best = Best { value, low: None, high: None, operation: String::new() };
        Limit::new(Some(best), None).expect("it was measured")
    }

    fn roof(gflops: f64, gbps: f64) -> Roofline {
        let of = (plan::Device::Cpu, Dtype::Float32, 2);
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
        let roof = Roofline::new((plan::Device::Cpu, Dtype::Float32, 2), limit(800.0), None);
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
        for source in
            [PeakSource::Measured, PeakSource::Given, PeakSource::Preset("h100".to_owned())]
        {
            let json = serde_json::to_string(&source).expect("serialises");
            assert_eq!(serde_json::from_str::<PeakSource>(&json).expect("reads"), source);
        }
        assert!(PeakSource::try_from("guessed".to_owned()).is_err());
    }
}
