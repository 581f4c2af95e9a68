//! The request for a profile.

use plan::{Device, PatternFamily, Probe, ProbeKind};

use super::limit::PeakSource;
use super::preset::{Precision, Preset};

/// A kind of operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum OperationKind {
    /// Products of matrices, by torch and by oneDNN.
    Matmul,
    /// STREAM's four.
    Memory,
    /// The cost of starting a kernel.
    Launch,
    /// The cost of calling an operation, eagerly and compiled.
    Call,
}

impl OperationKind {
    pub const fn for_probe(probe: Probe) -> Self {
        match probe.kind() {
            ProbeKind::Product => Self::Matmul,
            ProbeKind::Stream => Self::Memory,
            ProbeKind::Launch => Self::Launch,
            ProbeKind::Call => Self::Call,
        }
    }
}

#[derive(Debug, Clone, Default)]
pub struct Request<'a> {
    pub hardware: &'a str,
    /// The device; without, the only one that there are operations of.
    pub device: Option<Device>,
    /// GFLOP/s of float32 on all threads, to take instead of what was measured.
    pub peak_gflops: Option<f64>,
    /// GB/s of memory, to take instead of what was measured.
    pub peak_bandwidth: Option<f64>,
    /// Documented peaks, to take where the user gives none.
    pub preset: Option<&'a Preset>,
    pub operations: &'a [OperationKind],
    pub patterns: &'a [PatternFamily],
}

impl Request<'_> {
    /// GFLOP/s of dense products that the user or the preset names.
    pub(super) fn peak(&self, precision: Precision) -> Option<(f64, PeakSource)> {
        let float32 = matches!(precision, Precision::Float32 | Precision::Tf32);
        let user = self.peak_gflops.filter(|_| float32).map(|gflops| (gflops, PeakSource::Given));
        user.or_else(|| Some((self.preset?.gflops(precision)?, self.preset_source()?)))
    }

    /// GB/s of memory that the user or the preset names.
    pub(super) fn bandwidth(&self) -> Option<(f64, PeakSource)> {
        let user = self.peak_bandwidth.map(|gbps| (gbps, PeakSource::Given));
        user.or_else(|| Some((self.preset?.bandwidth.gbps, self.preset_source()?)))
    }

    fn preset_source(&self) -> Option<PeakSource> {
        self.preset.map(|preset| PeakSource::Preset(preset.name.clone()))
    }

    pub(super) fn has(&self, probe: Probe) -> bool {
        self.operations.contains(&OperationKind::for_probe(probe))
    }
}
