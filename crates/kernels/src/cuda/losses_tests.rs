use std::collections::BTreeSet;

use tch::Device;

use super::super::emulation::Emulation;
use super::super::samples::{KINDS, Laid, Layout, check, double, noise};
use super::*;

struct Case {
    place: Place,
    x: Laid,
    /// Values like x, or classes.
    target: Laid,
    partial: Tensor,
    out: Laid,
}

impl Case {
    fn mse(place: Place, size: [i64; 2], layouts: [Layout; 2]) -> Self {
        let Place { kind, device } = place;
        let (x, target) = (noise(&size, 1) * 2.0, noise(&size, 2) + 0.25);
        let target = Laid::new(&target, layouts[1], kind, device);
        Self::new(place, Laid::new(&x, layouts[0], kind, device), target)
    }

    fn cross_entropy(place: Place, x: &Tensor, layout: Layout) -> Self {
        let (rows, dim) = x.size2().unwrap();
        let classes = (noise(&[1, rows], 3) + 1.0) * (dim as f64 / 2.0);
        let target = Laid::new(&classes.floor(), Layout::Dense, Kind::Int64, place.device);
        Self::new(place, Laid::new(x, layout, place.kind, place.device), target)
    }

    fn new(place: Place, x: Laid, target: Laid) -> Self {
        let out = Laid::untouched([1, 1], Layout::Dense, place.kind, place.device);
        Self { place, x, target, partial: partial(place.device).unwrap(), out }
    }

    fn mse_launches(&self) -> Vec<Launch> {
        let Self { place, x, target, partial, out } = self;
        mse_launches(*place, &x.view, &target.view, partial, &out.view).unwrap()
    }

    fn cross_entropy_launches(&self) -> Vec<Launch> {
        let Self { place, x, target, partial, out } = self;
        cross_entropy_launches(*place, &x.view, &target.memory, partial, &out.view).unwrap()
    }

    /// The entry functions that ran.
    fn emulate(&mut self, emulation: &Emulation, loss: &str, launches: &[Launch]) -> Vec<String> {
        let read = [&self.x.memory, &self.target.memory];
        let written = &mut [&mut self.partial, &mut self.out.memory];
        emulation.launch(&entries(loss, self.place), launches, &read, written);
        let entries = entries(loss, self.place);
        launches.iter().map(|it| entries[it.kernel].clone()).collect()
    }

    fn check(&self, exact: &Tensor) {
        let allowed = exact.abs().nan_to_num(1.0, 1.0, 1.0) * 2e-6 + 1e-43;
        let what = format!("{:?} {:?}", self.place.kind, self.x.view.size());
        let used = check(&self.out.view.reshape([]), exact, &allowed, &what);
        println!("{what}: {used:.3} of what is allowed");
    }

    fn check_mse(&self) {
        let difference = self.x.double() - self.target.double();
        self.check(&difference.square().mean(Kind::Double));
    }

    fn check_cross_entropy(&self) {
        let x = self.x.double();
        let target = self.target.memory.to_device(Device::Cpu);
        let of_target = x.gather(1, &target.unsqueeze(1), false).squeeze_dim(1);
        self.check(&(x.logsumexp([-1].as_slice(), false) - of_target).mean(Kind::Double));
    }
}

const MSE: [([i64; 2], [Layout; 2]); 8] = [
    ([1, 1], [Layout::Dense, Layout::Dense]),
    ([3, 33], [Layout::Dense, Layout::Dense]),
    ([1, 31], [Layout::Shifted, Layout::Dense]),
    ([70, 3], [Layout::Padded(5), Layout::Padded(5)]),
    ([5, 100], [Layout::Padded(4), Layout::Dense]),
    ([4, 768], [Layout::Padded(8), Layout::Padded(16)]),
    ([7, 1000], [Layout::Dense, Layout::Dense]),
    ([1, 50_001], [Layout::Dense, Layout::Dense]),
];

const CROSS_ENTROPY: [([i64; 2], Layout); 9] = [
    ([3, 1], Layout::Dense),
    ([20, 3], Layout::Dense),
    ([9, 31], Layout::Padded(1)),
    ([5, 100], Layout::Padded(4)),
    ([4, 256], Layout::Shifted),
    ([17, 768], Layout::Dense),
    ([5, 1100], Layout::Dense),
    ([3, 4096], Layout::Padded(8)),
    ([2, 40_000], Layout::Dense),
];

#[test]
fn emulated_kernels_take_means() {
    let emulation = Emulation::build(&SOURCE);
    let mut ran = BTreeSet::new();
    // Every dtype in some sizes, in turn in others.
    let kinds = |index: usize, dim: i64| {
        let all = matches!(dim, 31 | 768);
        KINDS.into_iter().enumerate().filter(move |(nth, _)| all || *nth == index % 3)
    };
    for (index, (size, layouts)) in MSE.into_iter().enumerate() {
        for (_, kind) in kinds(index, size[1]) {
            let mut case = Case::mse(Place { kind, device: Device::Cpu }, size, layouts);
            let launches = case.mse_launches();
            ran.extend(case.emulate(&emulation, "mse_loss", &launches));
            case.check_mse();
        }
    }
    for (index, (size, layout)) in CROSS_ENTROPY.into_iter().enumerate() {
        for (_, kind) in kinds(index, size[1]) {
            let place = Place { kind, device: Device::Cpu };
            let mut case = Case::cross_entropy(place, &(noise(&size, 1) * 8.0), layout);
            let launches = case.cross_entropy_launches();
            ran.extend(case.emulate(&emulation, "cross_entropy", &launches));
            case.check_cross_entropy();
        }
    }
    let all = KINDS.map(|kind| Place { kind, device: Device::Cpu });
    let losses = ["mse_loss", "cross_entropy"];
    let all = all.iter().flat_map(|it| losses.into_iter().flat_map(|loss| entries(loss, *it)));
    assert_eq!(ran, all.collect());
}

/// Each row alone: what libtorch gives in float64, or NaN.
#[test]
fn emulated_cross_entropy_of_rows_at_which_formulas_break() {
    let emulation = Emulation::build(&SOURCE);
    let infinity = f64::INFINITY;
    let run = |logits: &[f64], target: i64| {
        let place = Place { kind: Kind::Float, device: Device::Cpu };
        let x = Tensor::from_slice(logits).unsqueeze(0);
        let mut case = Case::cross_entropy(place, &x, Layout::Dense);
        drop(case.target.memory.fill_(target));
        let launches = case.cross_entropy_launches();
        case.emulate(&emulation, "cross_entropy", &launches);
        double(&case.out.view).double_value(&[0, 0])
    };
    assert_eq!(run(&[1e30, 1e30, 0.0, -1e30], 0), f64::from(2_f32.ln()));
    assert_eq!(run(&[3e38, 1.0, 2.0, -3e37], 0), 0.0);
    assert_eq!(run(&[0.0, -infinity, -infinity, -infinity], 0), 0.0);
    assert_eq!(run(&[0.0, -infinity, 1.0, 2.0], 1), infinity);
    for logits in [[0.0, infinity, 1.0, 2.0], [-infinity; 4], [0.0, 1.0, f64::NAN, 2.0]] {
        assert!(run(&logits, 0).is_nan(), "{logits:?}");
    }
    for target in [-100, -1, 4, i64::MAX] {
        assert!(run(&[0.0, 1.0, 2.0, 3.0], target).is_nan(), "no class {target}");
    }
}

#[test]
fn the_mean_of_nothing_is_nan() {
    let emulation = Emulation::build(&SOURCE);
    let place = Place { kind: Kind::BFloat16, device: Device::Cpu };
    let mut case = Case::mse(place, [1, 8], [Layout::Dense; 2]);
    let nothing = case.x.view.narrow(0, 0, 0);
    let launches = mse_launches(place, &nothing, &nothing, &case.partial, &case.out.view).unwrap();
    assert_eq!(launches.iter().map(|it| it.kernel).collect::<Vec<_>>(), [2]);
    case.emulate(&emulation, "mse_loss", &launches);
    assert!(double(&case.out.view).double_value(&[0, 0]).is_nan());
}

#[test]
fn no_launch_has_more_blocks_than_there_is_memory_between() {
    let place = Place { kind: Kind::Half, device: Device::Cpu };
    let (out, memory) =
        (Tensor::zeros([], (Kind::Half, Device::Cpu)), partial(Device::Cpu).unwrap());
    let x = Tensor::zeros([1, 8], (Kind::Half, Device::Cpu)).expand([1 << 40, 8], false);
    let launches = mse_launches(place, &x, &x, &memory, &out).unwrap();
    assert_eq!(i64::from(launches[0].grid.blocks.0), MOST_BLOCKS);
    let x = x.narrow(0, 0, 50_000);
    let target = Tensor::zeros([50_000], (Kind::Int64, Device::Cpu));
    let launches = cross_entropy_launches(place, &x, &target, &memory, &out).unwrap();
    assert_eq!(i64::from(launches[0].grid.blocks.0), MOST_BLOCKS);
}

#[test]
fn tensors_that_do_not_fit_are_refused() {
    let place = Place { kind: Kind::Float, device: Device::Cpu };
    let zeros = |size: &[i64], kind| Tensor::zeros(size, (kind, Device::Cpu));
    let (x, t) = (zeros(&[4, 6], Kind::Float), zeros(&[4, 6], Kind::Float));
    let (classes, out) = (zeros(&[4], Kind::Int64), zeros(&[], Kind::Float));
    let memory = partial(Device::Cpu).unwrap();
    let mse = |x: &Tensor, t: &Tensor, out: &Tensor| {
        mse_launches(place, x, t, &memory, out).expect_err("unfit").to_string()
    };
    assert!(mse(&x, &zeros(&[24], Kind::Float), &out).contains("the target is [24]"));
    assert!(mse(&x, &t, &zeros(&[2], Kind::Float)).contains("must be a scalar"));
    assert!(mse(&x, &t, &zeros(&[], Kind::Half)).contains("out is Half"));
    assert!(mse(&x, &t, &t.get(0).get(0)).contains("shares memory"));
    let entropy = |x: &Tensor, t: &Tensor, out: &Tensor| {
        cross_entropy_launches(place, x, t, &memory, out).expect_err("unfit").to_string()
    };
    assert!(entropy(&x, &zeros(&[5], Kind::Int64), &out).contains("the target is [5]"));
    assert!(entropy(&x, &zeros(&[4], Kind::Int), &out).contains("the target is Int on"));
    assert!(entropy(&x.tr(), &zeros(&[6], Kind::Int64), &out).contains("one stride apart"));
    assert!(entropy(&x, &classes, &x.get(1).get(1)).contains("shares memory"));
    assert!(entropy(&x.unsqueeze(0), &classes, &out).contains("dim"));
}

/// On a GPU, where there is one.
#[test]
fn kernels_take_means_on_the_device() {
    if !tch::Cuda::is_available() {
        crate::skip::hardware("no CUDA device");
        return;
    }
    for kind in KINDS {
        let loaded = MseLoss::load(kind, 0).and_then(|it| Ok((it, CrossEntropy::load(kind, 0)?)));
        let (mse, entropy) = match loaded {
            Ok(kernels) => kernels,
            Err(Refusal::Skipped(reason)) => return crate::skip::tool(reason),
            Err(other) => panic!("{other}"),
        };
        for (size, layouts) in MSE.into_iter().chain([([2048, 4096], [Layout::Dense; 2])]) {
            let mut case = Case::mse(mse.0.place, size, layouts);
            mse.run(&case.x.view, &case.target.view, &mut case.out.view).unwrap();
            case.check_mse();
        }
        for (size, layout) in CROSS_ENTROPY.into_iter().chain([([20_000, 768], Layout::Dense)]) {
            let logits = noise(&size, 1) * 8.0;
            let mut case = Case::cross_entropy(entropy.0.place, &logits, layout);
            entropy.run(&case.x.view, &case.target.memory, &mut case.out.view).unwrap();
            case.check_cross_entropy();
        }
    }
}
