use super::FusionWork;
use crate::words::Dtype;
pub struct Operation {
    pub writes: u64,
}
impl FusionWork {
    pub fn operations(&self, _: crate::words::Device) -> Vec<Operation> {
        vec![]
    }
    pub fn flops(&self) -> u64 {
        0
    }
    pub fn memory_bytes(&self, _: Dtype) -> u64 {
        0
    }
    pub fn drawing_bytes(&self, _: Dtype) -> u64 {
        0
    }
}

pub fn sizes(
    family: crate::words::PatternFamily,
    set: crate::words::SizeSet,
) -> Vec<super::FusionShape> {
    let _ = (family, set);
    vec![super::FusionShape::Linear { m: 128, k: 512, n: 512 }]
}
