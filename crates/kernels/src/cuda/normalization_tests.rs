use std::collections::BTreeSet;

use tch::Device;

use super::super::emulation::Emulation;
use super::super::samples::{KINDS, Laid, Layout, check, double, noise};
use super::*;

const EPSILON: f64 = 1e-5;

/// Rows of all kinds: noise; far from zero; equal; tiny; large; with NaN, with infinity.
fn values(dim: i64, kind: Kind) -> Tensor {
    let noise = noise(&[8, dim], 1);
    let large = if kind == Kind::Half { 3e4 } else { 1e15 };
    let factors = Tensor::from_slice(&[1.0, 1.0, 0.0, 0.0, 1e-42, large, 1.0, 1.0]).unsqueeze(1);
    let offsets = Tensor::from_slice(&[0.0, 900.0, 1e4, large, 0.0, 0.0, 0.0, 0.0]).unsqueeze(1);
    let values = noise * factors + offsets;
    drop(values.get(6).narrow(0, dim / 2, 1).fill_(f64::NAN));
    drop(values.get(7).narrow(0, dim - 1, 1).fill_(f64::INFINITY));
    values
}

struct Case {
    norm: Norm,
    place: Place,
    x: Laid,
    residual: Option<Laid>,
    weight: Option<Tensor>,
    bias: Option<Tensor>,
    out: Laid,
}

impl Case {
    fn new(norm: Norm, place: Place, dim: i64, layouts: [Layout; 3]) -> Self {
        let Place { kind, device } = place;
        let of_dim = |seed| noise(&[dim], seed).to_kind(kind).to_device(device);
        let x = values(dim, kind);
        let residual = noise(&[8, dim], 5);
        Self {
            norm,
            place,
            x: Laid::new(&x, layouts[0], kind, device),
            residual: (norm == Norm::AddLayer)
                .then(|| Laid::new(&residual, layouts[1], kind, device)),
            weight: (norm != Norm::LayerNoAffine).then(|| of_dim(2)),
            bias: matches!(norm, Norm::Layer | Norm::AddLayer).then(|| of_dim(3)),
            out: Laid::untouched([8, dim], layouts[2], kind, device),
        }
    }

    fn operands(&self) -> Operands<'_> {
        Operands {
            x: &self.x.view,
            residual: self.residual.as_ref().map(|it| &it.view),
            weight: self.weight.as_ref(),
            bias: self.bias.as_ref(),
        }
    }

    fn launch(&self) -> Launch {
        launches(self.norm, self.place, self.operands(), &self.out.view).unwrap().expect("elements")
    }

    /// With another kernel than the one for these rows, if told; the entry function.
    fn emulate(&mut self, emulation: &Emulation, kernel: Option<usize>) -> String {
        let mut launch = self.launch();
        launch.kernel = kernel.unwrap_or(launch.kernel);
        self.out.reset();
        let residual = self.residual.as_ref().map(|it| &it.memory);
        let vectors = [self.weight.as_ref(), self.bias.as_ref()];
        let read: Vec<&Tensor> =
            [Some(&self.x.memory), residual].into_iter().chain(vectors).flatten().collect();
        let entries = entries(self.norm, self.place);
        emulation.launch(
            &entries,
            std::slice::from_ref(&launch),
            &read,
            &mut [&mut self.out.memory],
        );
        entries[launch.kernel].clone()
    }

    fn check(&self) -> f64 {
        let dims = [-1].as_slice();
        let x = self.x.double();
        let x = match &self.residual {
            Some(residual) => x + residual.double(),
            None => x,
        };
        let mean = match self.norm {
            Norm::Rms => Tensor::from(0.0),
            _ => x.mean_dim(dims, true, None),
        };
        let centered = &x - mean;
        let variance = centered.square().mean_dim(dims, true, None);
        let scale = (variance + EPSILON).rsqrt();
        let mut exact = &centered * &scale;
        // x + r is rounded to float32 before anything else, as the sum of a row is.
        let size = x.abs().amax(dims, true).nan_to_num(0.0, 0.0, 0.0);
        let rounding = match self.norm {
            Norm::AddLayer => size * &scale * 1.2e-7,
            _ => Tensor::from(0.0),
        };
        let mut allowed = exact.abs() * 4e-6 + rounding.nan_to_num(0.0, 0.0, 0.0) + 1e-6;
        if let Some(weight) = &self.weight {
            exact *= double(weight);
            allowed *= double(weight).abs();
        }
        if let Some(bias) = &self.bias {
            exact += double(bias);
            allowed += 1e-7;
        }
        let dim = self.x.view.size()[1];
        let what = format!("{:?} {:?} {dim}", self.norm, self.place.kind);
        self.out.check_gaps(&what);
        check(&self.out.view, &exact, &(allowed.nan_to_num(1.0, 1.0, 1.0) + 1e-43), &what)
    }
}

const DENSE: [Layout; 3] = [Layout::Dense; 3];

const DIMS: [(i64, [Layout; 3]); 16] = [
    (1, DENSE),
    (3, DENSE),
    (31, DENSE),
    (33, [Layout::Padded(7), Layout::Dense, Layout::Padded(3)]),
    (64, DENSE),
    (100, [Layout::Padded(4), Layout::Padded(4), Layout::Padded(12)]),
    (256, [Layout::Shifted, Layout::Dense, Layout::Dense]),
    (264, [Layout::Padded(8), Layout::Shifted, Layout::Padded(8)]),
    (768, DENSE),
    (1000, [Layout::Padded(8), Layout::Padded(24), Layout::Padded(16)]),
    (1024, DENSE),
    (1032, DENSE),
    (1100, [Layout::Shifted, Layout::Shifted, Layout::Shifted]),
    (4096, DENSE),
    (16384, DENSE),
    (16400, DENSE),
];

#[test]
fn emulated_kernels_normalize() {
    let emulation = Emulation::build(&SOURCE);
    let mut ran = BTreeSet::new();
    let mut most = [0.0_f64; 3];
    for (index, (dim, layouts)) in DIMS.into_iter().enumerate() {
        for norm in Norm::ALL {
            for (nth, kind) in KINDS.into_iter().enumerate() {
                // Every dtype in some sizes, in turn in others; of the largest, one norm is enough.
                let is_all = matches!(dim, 33 | 768 | 1000);
                let is_turn = nth == (index + norm as usize) % 3;
                if !is_all && !is_turn || dim > 4096 && norm as usize != index % 4 {
                    continue;
                }
                let place = Place { kind, device: Device::Cpu };
                let mut case = Case::new(norm, place, dim, layouts);
                // The kernel for long rows takes any that 16-byte accesses fit.
                let again = (dim == 1000).then_some(Some(1));
                for kernel in [None].into_iter().chain(again) {
                    ran.insert(case.emulate(&emulation, kernel));
                    most[nth] = most[nth].max(case.check());
                }
            }
        }
    }
    println!("{most:?} of what is allowed");
    let all = KINDS.map(|kind| Place { kind, device: Device::Cpu });
    let all = all.iter().flat_map(|it| Norm::ALL.into_iter().flat_map(|n| entries(n, *it)));
    assert_eq!(ran, all.collect());
}

#[test]
fn tensors_that_do_not_fit_are_refused() {
    let place = Place { kind: Kind::Float, device: Device::Cpu };
    let zeros = |size: &[i64]| Tensor::zeros(size, (Kind::Float, Device::Cpu));
    let (x, residual, out) = (zeros(&[4, 6]), zeros(&[4, 6]), zeros(&[4, 6]));
    let (weight, bias) = (zeros(&[6]), zeros(&[6]));
    let all =
        Operands { x: &x, residual: Some(&residual), weight: Some(&weight), bias: Some(&bias) };
    let text = |norm, operands, out: &Tensor| {
        launches(norm, place, operands, out).expect_err("unfit").to_string()
    };
    let layer = Operands { residual: None, ..all };
    assert!(launches(Norm::Layer, place, layer, &out).is_ok());
    assert!(text(Norm::Layer, all, &out).contains("the residual is of no use"));
    assert!(text(Norm::AddLayer, layer, &out).contains("the residual is missing"));
    assert!(text(Norm::Layer, Operands { bias: None, ..layer }, &out).contains("bias is missing"));
    assert!(text(Norm::Rms, layer, &out).contains("the bias is of no use"));
    assert!(text(Norm::LayerNoAffine, layer, &out).contains("the weight is of no use"));
    let short = zeros(&[4]);
    let wrong = Operands { weight: Some(&short), ..layer };
    assert!(text(Norm::Layer, wrong, &out).contains("the weight is [4]"));
    let other = zeros(&[6, 4]);
    let wrong = Operands { residual: Some(&other), ..all };
    assert!(text(Norm::AddLayer, wrong, &out).contains("the residual is [6, 4]"));
    assert!(text(Norm::AddLayer, all, &residual).contains("shares memory"));
    assert!(text(Norm::Layer, layer, &zeros(&[2, 12])).contains("out is [2, 12]"));
    let columns = other.tr();
    let wrong = Operands { x: &columns, ..layer };
    assert!(text(Norm::Layer, wrong, &out).contains("one stride apart"));
}

#[test]
fn the_name_is_of_the_kernel_that_runs() {
    let place = Place { kind: Kind::BFloat16, device: Device::Cpu };
    for norm in Norm::ALL {
        for (dim, end) in [(768, ""), (16_392, "_long"), (100, "_scalar")] {
            let kernel = Case::new(norm, place, dim, DENSE).launch().kernel;
            let name = format!("criterion_torch::{}_cuda{end}", norm.name());
            assert_eq!(norm.kernels()[kernel], [name]);
            assert_eq!(entries(norm, place)[kernel], format!("{}_bf16{end}", norm.name()));
        }
    }
}

/// On a GPU, where there is one.
#[test]
fn kernels_normalize_on_the_device() {
    if !tch::Cuda::is_available() {
        crate::skip::hardware("no CUDA device");
        return;
    }
    for norm in Norm::ALL {
        for kind in KINDS {
            let kernels = match Normalization::load(norm, kind, 0) {
                Ok(kernels) => kernels,
                Err(Refusal::Skipped(reason)) => return crate::skip::tool(reason),
                Err(other) => panic!("{other}"),
            };
            for (dim, layouts) in DIMS {
                let case = Case::new(norm, kernels.place, dim, layouts);
                let mut out = case.out.view.shallow_clone();
                kernels.run(case.operands(), &mut out).unwrap();
                case.check();
            }
        }
    }
}
