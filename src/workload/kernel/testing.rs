//! Cases of kernels.

use plan::{
    Case, CaseId, Device, Dtype, FusionWork, KernelTolerances, KernelWork, Mode, ModelKind,
    OperatorWork, Profiling, Recipe, Role, Settings, Shape, Work,
};
use serde_json::Value;

use crate::workload::testing;

/// Work that ships with the library, as that of a case.
pub trait Shippable {
    fn work(self) -> Work;
}

impl Shippable for FusionWork {
    fn work(self) -> Work {
        Work::Fusion(self)
    }
}

impl Shippable for OperatorWork {
    fn work(self) -> Work {
        Work::Operator(self)
    }
}

/// A case of it on the CPU.
pub fn cpu_case(work: impl Shippable, dtype: Dtype) -> Case {
    let shape = Shape::new(1, 1, 1);
    let case = testing::case(ModelKind::Linear, Recipe::Baseline, dtype, shape);
    Case { work: work.work(), ..case }
}

pub const CASE_FILE: &str = "benches/kernels/saxpy/kernel.rs";

/// A case of a file in float32 on the CPU.
pub fn case(file: &str, problem_size: &[(&str, Value)]) -> Case {
    let work = KernelWork {
        kernel: "saxpy".to_owned(),
        implementation: KernelWork::BASELINE.to_owned(),
        file: file.to_owned(),
        uses_torch: false,
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
