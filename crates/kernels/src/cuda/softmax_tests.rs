use std::collections::BTreeSet;

use tch::Device;

use super::super::emulation::Emulation;
use super::super::samples::{KINDS, Laid, Layout, check, noise};
use super::*;

/// Rows of all kinds: noise; wide; equal and huge; huge of both signs; tiny; with −∞; of −∞ alone;
/// with +∞; with NaN.
fn values(dim: i64, kind: Kind) -> Tensor {
    let noise = noise(&[9, dim], 1);
    let huge = if kind == Kind::Half { 6e4 } else { 3e38 };
    let factors = Tensor::from_slice(&[4.0, 60.0, 0.0, huge, 1e-42, 4.0, 0.0, 4.0, 4.0]);
    let offsets = Tensor::from_slice(&[0.0, 0.0, huge, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    let values = noise * factors.unsqueeze(1) + offsets.unsqueeze(1);
    drop(values.get(5).narrow(0, 0, dim / 2).fill_(f64::NEG_INFINITY));
    drop(values.get(6).fill_(f64::NEG_INFINITY));
    drop(values.get(7).narrow(0, dim / 3, 1).fill_(f64::INFINITY));
    drop(values.get(8).narrow(0, dim - 1, 1).fill_(f64::NAN));
    values
}

struct Case {
    place: Place,
    x: Laid,
    out: Laid,
}

impl Case {
    fn new(place: Place, dim: i64, layouts: [Layout; 2]) -> Self {
        let Place { kind, device } = place;
        Self {
            place,
            x: Laid::new(&values(dim, kind), layouts[0], kind, device),
            out: Laid::untouched([9, dim], layouts[1], kind, device),
        }
    }

    /// With another kernel than the one for these rows, if told; the entry function.
    fn emulate(&mut self, emulation: &Emulation, kernel: Option<usize>) -> String {
        let mut launch = launches(self.place, &self.x.view, &self.out.view).unwrap().unwrap();
        launch.kernel = kernel.unwrap_or(launch.kernel);
        self.out.reset();
        let written = &mut [&mut self.out.memory];
        let launches = std::slice::from_ref(&launch);
        emulation.launch(&entries(self.place), launches, &[&self.x.memory], written);
        entries(self.place)[launch.kernel].clone()
    }

    fn check(&self) -> f64 {
        let exact = self.x.double().softmax(-1, None);
        let allowed = exact.nan_to_num(1.0, 1.0, 1.0) * 1e-5 + 1e-43;
        let what = format!("{:?} {:?}", self.place.kind, self.x.view.size());
        self.out.check_gaps(&what);
        check(&self.out.view, &exact, &allowed, &what)
    }
}

const DENSE: [Layout; 2] = [Layout::Dense; 2];

const DIMS: [(i64, [Layout; 2]); 13] = [
    (1, DENSE),
    (3, DENSE),
    (31, DENSE),
    (33, [Layout::Padded(7), Layout::Padded(3)]),
    (100, [Layout::Padded(4), Layout::Padded(12)]),
    (256, [Layout::Shifted, Layout::Dense]),
    (768, DENSE),
    (1000, [Layout::Padded(8), Layout::Padded(16)]),
    (1032, DENSE),
    (1100, [Layout::Dense, Layout::Shifted]),
    (4096, DENSE),
    (16384, DENSE),
    (17000, DENSE),
];

#[test]
fn emulated_kernels_compute() {
    let emulation = Emulation::build(&SOURCE);
    let mut ran = BTreeSet::new();
    let mut most = [0.0_f64; 3];
    for (index, (dim, layouts)) in DIMS.into_iter().enumerate() {
        for (nth, kind) in KINDS.into_iter().enumerate() {
            // Every dtype in some sizes, in turn in others.
            if !matches!(dim, 33 | 768 | 1000) && nth != index % 3 {
                continue;
            }
            let mut case = Case::new(Place { kind, device: Device::Cpu }, dim, layouts);
            // The kernel for long rows takes any that 16-byte accesses fit.
            let again = (dim == 1000).then_some(Some(1));
            for kernel in [None].into_iter().chain(again) {
                ran.insert(case.emulate(&emulation, kernel));
                most[nth] = most[nth].max(case.check());
            }
        }
    }
    println!("{most:?} of what is allowed");
    let all = KINDS.map(|kind| Place { kind, device: Device::Cpu });
    assert_eq!(ran, all.iter().flat_map(|it| entries(*it)).collect());
}

#[test]
fn the_name_is_of_the_kernel_that_runs() {
    let place = Place { kind: Kind::Float, device: Device::Cpu };
    for (dim, end) in [(768, ""), (16_388, "_long"), (33, "_scalar")] {
        let case = Case::new(place, dim, DENSE);
        let launch = launches(place, &case.x.view, &case.out.view).unwrap().unwrap();
        assert_eq!(KERNELS[launch.kernel], [format!("criterion_torch::softmax_cuda{end}")]);
        assert_eq!(entries(place)[launch.kernel], format!("softmax_f32{end}"));
    }
}

#[test]
fn tensors_that_do_not_fit_are_refused() {
    let place = Place { kind: Kind::Float, device: Device::Cpu };
    let zeros = |size: &[i64]| Tensor::zeros(size, (Kind::Float, Device::Cpu));
    let x = zeros(&[4, 6]);
    let text = |x: &Tensor, out: &Tensor| launches(place, x, out).expect_err("unfit").to_string();
    assert!(text(&x, &x).contains("shares memory"));
    assert!(text(&x, &zeros(&[24])).contains("out is [24]"));
    assert!(text(&x.tr(), &zeros(&[6, 4])).contains("one stride apart"));
    assert!(text(&x.to_kind(Kind::Double), &zeros(&[4, 6])).contains("x is Double"));
    assert!(launches(place, &zeros(&[3, 0]), &zeros(&[3, 0])).unwrap().is_none());
}

/// On a GPU, where there is one.
#[test]
fn kernels_compute_on_the_device() {
    if !tch::Cuda::is_available() {
        crate::skip::hardware("no CUDA device");
        return;
    }
    for kind in KINDS {
        let kernels = match Softmax::load(kind, 0) {
            Ok(kernels) => kernels,
            Err(Refusal::Skipped(reason)) => return crate::skip::tool(reason),
            Err(other) => panic!("{other}"),
        };
        for (dim, layouts) in DIMS {
            let mut case = Case::new(kernels.place, dim, layouts);
            kernels.run(&case.x.view, &mut case.out.view).unwrap();
            case.check();
        }
    }
}
