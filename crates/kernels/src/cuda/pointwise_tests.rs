use std::collections::BTreeSet;

use tch::Device;

use super::super::emulation::Emulation;
use super::super::samples::{KINDS, Laid, Layout, check, noise};
use super::*;

const SQRT_HALF: f64 = std::f64::consts::FRAC_1_SQRT_2;

/// In float64, by other formulas than the kernels' where that loses nothing.
fn exact(operation: Operation, x: &Tensor) -> Tensor {
    let sigmoid = |z: &Tensor| ((-z).exp() + 1.0).reciprocal();
    match operation {
        Operation::Gelu | Operation::BiasGelu => x * (x * -SQRT_HALF).special_erfc() * 0.5,
        Operation::GeluTanh => {
            let u = (x + x.pow_tensor_scalar(3) * 0.044715) * (2.0 / std::f64::consts::PI).sqrt();
            x * sigmoid(&(u * 2.0))
        }
        Operation::Silu => x * sigmoid(x),
    }
}

/// Numbers at which formulas break, and then noise: mostly where the functions bend, some in their
/// tails.
fn values(rows: i64, dim: i64) -> Tensor {
    let special: Vec<f64> = [0.0, 1e-45, 1e-40, 6e-8, 1e-20, 1e-3, 0.5, 1.0, 3.0, 5.5, 9.0, 13.0]
        .into_iter()
        .chain([15.0, 40.0, 87.0, 88.7, 89.5, 100.0, 1e4, 6e4, 1e19, 1e30, 3.3e38, f64::INFINITY])
        .flat_map(|it| [it, -it])
        .chain([f64::NAN])
        .collect();
    let noise = noise(&[rows * dim], 1) * 5.0;
    let noise = &noise * (noise.abs() * 0.1 + 0.6);
    let count = noise.size1().unwrap().min(special.len() as i64 * 3);
    // Every third value, so that accesses of several hold both.
    let mut into = noise.slice(0, 0, count, 3);
    into.copy_(&Tensor::from_slice(&special).narrow(0, 0, into.size1().unwrap()));
    noise.reshape([rows, dim])
}

struct Case {
    operation: Operation,
    place: Place,
    x: Laid,
    bias: Option<Tensor>,
    out: Laid,
}

impl Case {
    fn new(operation: Operation, place: Place, size: [i64; 2], layouts: [Layout; 2]) -> Self {
        let Place { kind, device } = place;
        let bias = noise(&[size[1]], 2).to_kind(kind).to_device(device);
        Self {
            operation,
            place,
            x: Laid::new(&values(size[0], size[1]), layouts[0], kind, device),
            bias: (operation == Operation::BiasGelu).then_some(bias),
            out: Laid::untouched(size, layouts[1], kind, device),
        }
    }

    fn launch(&self) -> Launch {
        let (x, bias) = (&self.x.view, self.bias.as_ref());
        launches(self.operation, self.place, x, bias, &self.out.view).unwrap().expect("elements")
    }

    /// The entry function that ran.
    fn emulate(&mut self, emulation: &Emulation) -> String {
        let launch = self.launch();
        let read: Vec<&Tensor> = [&self.x.memory].into_iter().chain(&self.bias).collect();
        let entries = entries(self.operation, self.place);
        emulation.launch(
            &entries,
            std::slice::from_ref(&launch),
            &read,
            &mut [&mut self.out.memory],
        );
        entries[launch.kernel].clone()
    }

    fn check(&self) -> f64 {
        let x = self.x.double();
        let x = match &self.bias {
            Some(bias) => x + super::super::samples::double(bias),
            None => x,
        };
        let exact = exact(self.operation, &x);
        // The exponent's rounding grows with x², or with |x| in its smaller tail.
        let relative = (x.square() * 1e-7 + 1e-6).nan_to_num(0.0, 1.0, 1.0).clamp_max(4e-5);
        let allowed = exact.abs().nan_to_num(0.0, 1.0, 1.0) * relative + 1e-43;
        let what = format!("{:?} {:?} {:?}", self.operation, self.place.kind, self.x.view.size());
        self.out.check_gaps(&what);
        check(&self.out.view, &exact, &allowed, &what)
    }
}

const SIZES: [([i64; 2], [Layout; 2]); 9] = [
    ([1, 1], [Layout::Dense, Layout::Dense]),
    ([3, 33], [Layout::Dense, Layout::Dense]),
    ([2, 31], [Layout::Dense, Layout::Padded(1)]),
    ([70, 3], [Layout::Padded(5), Layout::Dense]),
    ([9, 100], [Layout::Shifted, Layout::Dense]),
    ([5, 100], [Layout::Padded(4), Layout::Padded(28)]),
    ([2, 768], [Layout::Dense, Layout::Dense]),
    ([20, 264], [Layout::Padded(8), Layout::Padded(16)]),
    ([1, 5000], [Layout::Dense, Layout::Dense]),
];

#[test]
fn emulated_kernels_compute() {
    let emulation = Emulation::build(&SOURCE);
    let mut ran = BTreeSet::new();
    let mut most = [0.0_f64; 3];
    for (index, (size, layouts)) in SIZES.into_iter().enumerate() {
        for operation in Operation::ALL {
            for (nth, kind) in KINDS.into_iter().enumerate() {
                // Every dtype where there are many values, or some unaligned; in turn elsewhere.
                let is_all = size[0] * size[1] >= 1000 || layouts[0] == Layout::Shifted;
                if !is_all && nth != (index + operation as usize) % 3 {
                    continue;
                }
                let place = Place { kind, device: Device::Cpu };
                let mut case = Case::new(operation, place, size, layouts);
                ran.insert(case.emulate(&emulation));
                most[nth] = most[nth].max(case.check());
            }
        }
    }
    println!("{most:?} of what is allowed");
    let all = KINDS.map(|kind| Place { kind, device: Device::Cpu });
    let all = all.iter().flat_map(|it| Operation::ALL.into_iter().flat_map(|o| entries(o, *it)));
    assert_eq!(ran, all.collect());
}

/// A block that runs past its rows, many times, and one that has too many threads for them.
#[test]
fn every_element_is_computed_once_whatever_the_shape() {
    for (count, dim) in [(1, 1), (1, 7), (1, 1 << 33), (3, 4096), (8, 5), (7, 513), (1 << 21, 768)]
    {
        for width in [1, 4, 8] {
            let (lanes, columns, rows) = shape(Rows { count, dim, stride: dim }, width);
            let accesses = (dim / width).max(1);
            let side = i64::from(lanes) * ACCESSES;
            assert!((columns - 1) * side < accesses && accesses <= columns * side);
            assert!(THREADS % i64::from(lanes) == 0 && (1..=65_535).contains(&rows));
            // The first threads of a block have a row.
            assert!((rows - 1) * (THREADS / i64::from(lanes)) < count, "{count} {dim}");
        }
    }
}

#[test]
fn tensors_that_do_not_fit_are_refused() {
    let place = Place { kind: Kind::Float, device: Device::Cpu };
    let zeros = |size: &[i64]| Tensor::zeros(size, (Kind::Float, Device::Cpu));
    let (x, out, bias) = (zeros(&[4, 6]), zeros(&[4, 6]), zeros(&[6]));
    let text = |operation, x: &Tensor, bias: Option<&Tensor>, out: &Tensor| {
        launches(operation, place, x, bias, out).expect_err("unfit").to_string()
    };
    let (gelu, bias_gelu) = (Operation::Gelu, Operation::BiasGelu);
    assert!(text(gelu, &x, Some(&bias), &out).contains("bias is of no use"));
    assert!(text(bias_gelu, &x, None, &out).contains("bias is missing"));
    assert!(text(bias_gelu, &x, Some(&zeros(&[4])), &out).contains("bias is [4]"));
    assert!(text(bias_gelu, &x, Some(&zeros(&[12]).slice(0, 0, 12, 2)), &out).contains("[2]"));
    assert!(text(gelu, &x, None, &zeros(&[6, 4])).contains("out is [6, 4], but x is [4, 6]"));
    assert!(text(gelu, &x.tr(), None, &zeros(&[6, 4])).contains("one stride apart"));
    assert!(text(gelu, &x, None, &x).contains("shares memory"));
    assert!(text(bias_gelu, &x, Some(&out.get(0)), &out).contains("shares memory"));
    assert!(text(gelu, &x.to_kind(Kind::Half), None, &out).contains("x is Half on Cpu"));
    let empty = zeros(&[0, 6]);
    assert!(launches(gelu, place, &empty, None, &zeros(&[0, 6])).unwrap().is_none());
}

#[test]
fn the_name_is_of_the_kernel_that_runs() {
    let place = Place { kind: Kind::Half, device: Device::Cpu };
    for operation in Operation::ALL {
        let aligned = Case::new(operation, place, [2, 64], [Layout::Dense; 2]).launch().kernel;
        let shifted = Case::new(operation, place, [2, 64], [Layout::Dense, Layout::Shifted]);
        for (kernel, end) in [(aligned, "_cuda"), (shifted.launch().kernel, "_cuda_scalar")] {
            let name = format!("criterion_torch::{}{end}", operation.name());
            assert_eq!(operation.kernels()[kernel], [name]);
            let entry = entries(operation, place)[kernel].clone();
            assert_eq!(entry.ends_with("_f16_scalar"), end == "_cuda_scalar", "{entry}");
        }
    }
}

/// On a GPU, where there is one.
#[test]
fn kernels_compute_on_the_device() {
    if !tch::Cuda::is_available() {
        crate::skip::hardware("no CUDA device");
        return;
    }
    for operation in Operation::ALL {
        for kind in KINDS {
            let kernels = match Pointwise::load(operation, kind, 0) {
                Ok(kernels) => kernels,
                Err(Refusal::Skipped(reason)) => return crate::skip::tool(reason),
                Err(other) => panic!("{other}"),
            };
            for (size, layouts) in SIZES.into_iter().chain([([4096, 768], [Layout::Dense; 2])]) {
                let mut case = Case::new(operation, kernels.place, size, layouts);
                kernels.run(&case.x.view, case.bias.as_ref(), &mut case.out.view).unwrap();
                case.check();
            }
        }
    }
}
