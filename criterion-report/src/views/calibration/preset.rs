//! Peaks of known hardware, as documented by its vendor: data, in `presets/hardware.yml`.

use plan::{Device, Dtype, Record, UnknownWord};
use serde::Deserialize;

use crate::render::units;
use crate::render::words::words;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// The name that `--preset` takes.
    pub name: String,
    /// The product.
    pub title: String,
    /// A part of the model's name that every such machine records.
    pub model: String,
    /// Cores of a CPU, per socket.
    #[serde(default)]
    pub cores: Option<u32>,
    pub device: Device,
    pub bandwidth: Bandwidth,
    pub peaks: Vec<PresetPeak>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bandwidth {
    pub gbps: f64,
    pub source: String,
}

/// A documented peak of dense products.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PresetPeak {
    pub precision: Precision,
    /// The circuits that do it.
    pub unit: String,
    pub gflops: f64,
    pub source: String,
}

words! {
    /// The type in which operands of a product are multiplied.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
    Precision {
        Float32 = "float32",
        /// float32 rounded to 10 bits of mantissa.
        Tf32 = "tf32",
        BFloat16 = "bfloat16",
        Float16 = "float16",
    }
}

impl Precision {
    /// The arithmetic with which torch multiplies a dtype, with or without TF32. Dtypes of kernels
    /// alone have none.
    pub const fn for_dtype(dtype: Dtype, tf32: bool) -> Option<Self> {
        match dtype {
            Dtype::Float32 if tf32 => Some(Self::Tf32),
            Dtype::Float32 => Some(Self::Float32),
            Dtype::BFloat16 => Some(Self::BFloat16),
            Dtype::Float16 => Some(Self::Float16),
            Dtype::Float64 | Dtype::Float8E4M3Fn => None,
        }
    }
}

impl Preset {
    /// All of them.
    ///
    /// # Panics
    /// Never: the data is compiled in and a test reads it.
    pub fn all() -> Vec<Self> {
        serde_yaml::from_str(include_str!("../../../presets/hardware.yml"))
            .expect("a test reads the presets")
    }

    pub fn named(name: &str) -> Result<Self, UnknownWord> {
        let all = Self::all();
        let unknown =
            || UnknownWord::new("preset", name, all.iter().map(|preset| preset.name.as_str()));
        all.iter().find(|preset| preset.name == name).cloned().ok_or_else(unknown)
    }

    /// The one of the GPU on which the records were taken; where several are of its model, the one
    /// that says most of it. A slice of a GPU has none.
    pub fn of_gpu<'r>(mut records: impl Iterator<Item = &'r Record>) -> Result<Self, String> {
        let gpu = records.find_map(|record| record.environment.torch.cuda_device.as_deref());
        let gpu = gpu.ok_or("nothing was measured on a GPU, so `auto` finds no preset")?;
        let all = Self::all().into_iter();
        all.filter(|preset| preset.device == Device::Cuda && preset.is_of(gpu))
            .max_by_key(|preset| preset.model.len())
            .ok_or_else(|| format!("there is no preset for {gpu}: --list-presets shows them"))
    }

    /// Whether it is of the machine or device that calls itself `found`.
    fn is_of(&self, found: &str) -> bool {
        let (found, model) = (found.to_lowercase(), self.model.to_lowercase());
        let borders = |at: usize| {
            let word = |c: char| c.is_alphanumeric();
            !found[..at].ends_with(word) && !found[at + model.len()..].starts_with(word)
        };
        let slice = found.split_whitespace().any(|word| word == "mig");
        !slice && found.match_indices(&model).any(|(at, _)| borders(at))
    }

    /// Says that the machine of a record is another, or has a part of it only.
    pub(super) fn mismatch(&self, record: &Record) -> Option<String> {
        let environment = &record.environment;
        let found = match self.device {
            Device::Cpu => Some(environment.host.cpu_model.as_str()),
            Device::Cuda | Device::Rocm | Device::Xpu | Device::Mps => {
                environment.torch.cuda_device.as_deref()
            }
        };
        let found = found.filter(|found| !found.is_empty()).unwrap_or("a device without a name");
        let (name, title) = (&self.name, &self.title);
        if !self.is_of(found) {
            return Some(format!(
                "preset {name} is of {title}; the measured processor calls itself {found}: the \
                 peaks may be those of another machine"
            ));
        }
        let cpus = environment.host.cpus;
        let cores = self.cores.filter(|cores| *cores > cpus)?;
        let cpus = units::count(cpus as usize, "CPU");
        Some(format!(
            "preset {name} is of {cores} cores; the runs could use {cpus}: they cannot reach its \
             peaks"
        ))
    }

    pub fn gflops(&self, precision: Precision) -> Option<f64> {
        self.peaks.iter().find(|peak| peak.precision == precision).map(|peak| peak.gflops)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_preset_is_complete() {
        let all = Preset::all();
        let names: BTreeSet<&str> = all.iter().map(|preset| preset.name.as_str()).collect();
        assert_eq!(names.len(), all.len(), "names are unique");
        for upstream in ["i7-12700k", "h100", "jetson-orin", "ampere-altra"] {
            assert!(names.contains(upstream), "{upstream}");
        }
        for preset in &all {
            let name = &preset.name;
            assert!(preset.gflops(Precision::Float32).is_some(), "{name}");
            assert!(preset.bandwidth.gbps > 0.0 && !preset.bandwidth.source.is_empty(), "{name}");
            for peak in &preset.peaks {
                assert!(peak.gflops > 0.0 && !peak.source.is_empty(), "{name}");
                assert!(!peak.unit.is_empty(), "{name}");
            }
        }
    }

    /// Sums in a source that multiply out to something else are a slip in one of the two.
    #[test]
    fn derived_peaks_are_what_their_derivation_gives() {
        let figure = |word: &str| word.parse::<f64>().ok();
        for preset in Preset::all() {
            for peak in preset.peaks {
                let Some((_, derivation)) = peak.source.split_once("; ") else { continue };
                let product = |term: &str| {
                    let factor = |factor: &str| figure(factor.split_whitespace().next()?);
                    term.split('×').filter_map(factor).product::<f64>()
                };
                let derived: f64 = derivation.split('+').map(product).sum();
                let error = (derived / peak.gflops - 1.0).abs();
                assert!(error < 2e-3, "{}: {derived} against {}", preset.name, peak.gflops);
            }
        }
    }

    #[test]
    fn the_h100_is_not_given_the_peak_with_sparsity() {
        let h100 = Preset::named("h100").expect("a preset");
        assert_eq!(
            h100.gflops(Precision::for_dtype(Dtype::Float32, false).unwrap()),
            Some(66_900.0)
        );
        assert_eq!(
            h100.gflops(Precision::for_dtype(Dtype::Float32, true).unwrap()),
            Some(494_700.0)
        );
        assert_eq!(
            h100.gflops(Precision::for_dtype(Dtype::BFloat16, true).unwrap()),
            Some(989_400.0)
        );
    }

    #[test]
    fn a_gpu_has_the_preset_of_its_model_and_a_slice_none() {
        let of = |gpu: &str| {
            let fits = |preset: &Preset| preset.device == Device::Cuda && preset.is_of(gpu);
            let fitting = Preset::all().into_iter().filter(fits);
            fitting.max_by_key(|preset| preset.model.len()).map(|preset| preset.name)
        };
        for (gpu, preset) in [
            ("NVIDIA H100 80GB HBM3", Some("h100")),
            ("NVIDIA H100 PCIe", Some("h100-pcie")),
            ("NVIDIA A100-SXM4-80GB", Some("a100")),
            ("NVIDIA A100-SXM4-40GB", Some("a100-40gb")),
            ("NVIDIA A10", Some("a10")),
            ("NVIDIA L40S", Some("l40s")),
            ("NVIDIA L4", Some("l4")),
            ("NVIDIA L40", None),
            ("NVIDIA GeForce RTX 4090", Some("rtx-4090")),
            ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", None),
            ("NVIDIA GH200 480GB", None),
        ] {
            assert_eq!(of(gpu).as_deref(), preset, "{gpu}");
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest() {
        let error = Preset::named("h-100").expect_err("no preset");
        assert_eq!(
            (error.to_string(), error.remedy.as_str()),
            ("unknown preset `h-100`".to_owned(), "did you mean `h100`?")
        );
    }
}
