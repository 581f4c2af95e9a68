//! Cases of kernels.

use plan::{
    Case, CaseId, Device, Dtype, KernelTolerances, KernelWork, Mode, Profiling, Role, Settings,
    Work,
};
use serde_json::Value;

pub const CASE_FILE: &str = "benches/kernels/saxpy/kernel.rs";

/// A case of a file in float32 on the CPU.
pub fn case(file: &str, problem_size: &[(&str, Value)]) -> Case {
    let work = KernelWork {
        kernel: "saxpy".to_owned(),
        implementation: KernelWork::BASELINE.to_owned(),
        file: file.to_owned(),
        problem_size: problem_size.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect(),
        tolerances: KernelTolerances::default(),
        skip_conditions: vec![],
        metadata: Default::default(),
    };
    Case {
        id: CaseId {
            group: "kernels/test/saxpy/cpu".to_owned(),
            variant: KernelWork::BASELINE.to_owned(),
            parameter: "f32-default".to_owned(),
        },
        config: "test".to_owned(),
        config_hash: String::new(),
        names: vec![],
        role: Role::Baseline,
        mode: Mode::Kernels,
        work: Work::Kernel(work),
        dtype: Dtype::Float32,
        device: Device::Cpu,
        shape_names: vec![],
        profiling: Profiling::default(),
        settings: Settings::default(),
    }
}
