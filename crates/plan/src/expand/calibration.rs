//! Calibration: probe × size × dtype × device × threads.

use super::{Common, Expansion, product};
use crate::case::Role;
use crate::catalogue::probe::ProbeWork;
use crate::config::{CalibrationParams, Config};
use crate::settings::{Profiling, Settings};
use crate::work::Work;

/// The cases of an entry, equal ones included.
pub(super) fn count(params: &CalibrationParams) -> usize {
    let CalibrationParams { name: _, probes, sizes, dtypes, devices, threads, settings: _ } =
        params;
    product(&[probes.len(), sizes.len(), dtypes.len(), devices.len(), threads.len()])
}

pub(super) fn expand(expansion: &mut Expansion, config: &Config, params: &CalibrationParams) {
    for &probe in &params.probes {
        for &device in &params.devices {
            for &dtype in &params.dtypes {
                for (size_name, size) in &params.sizes {
                    for (place, &threads) in params.threads.iter().enumerate() {
                        let settings = Settings { threads, ..params.settings.clone() };
                        let common = Common {
                            config,
                            name: params.name.as_deref(),
                            workload: probe.to_string(),
                            size_name,
                            dtype,
                            device,
                            profiling: Profiling::default(),
                            settings: &settings,
                        };
                        let work = ProbeWork::new(probe, *size, threads, device);
                        let role = if place == 0 { Role::Baseline } else { Role::Candidate };
                        let name = work.probe.size_name(work.size);
                        expansion.add(config, common.case(Work::Probe(work), &name, role));
                    }
                }
            }
        }
    }
}
