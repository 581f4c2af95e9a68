use tch::Device;

use super::super::emulation::{
    Argument::{In, Int, Null, Out},
    Emulation,
};
use super::*;

const CPU: Device = Device::Cpu;

/// Names of all entry functions.
pub(in super::super) fn all_entries() -> Vec<String> {
    let kinds = [Kind::BFloat16, Kind::Half];
    let both = |bits| kinds.into_iter().flat_map(move |kind| entries(bits, kind));
    [4, 8].into_iter().flat_map(both).collect()
}

/// A product's operands: numbers that no formula of the kernel repeats.
pub(crate) struct Product {
    pub x: Tensor,
    values: Tensor,
    scale: Tensor,
    zero: Option<Tensor>,
}

impl Product {
    pub fn new(bits: u8, kind: Kind, [m, n, k, group]: [i64; 4]) -> Self {
        // An integer hash of the position: no generator is drawn from.
        let noise = |size: [i64; 2], seed: i64| {
            let position = Tensor::arange(size[0] * size[1], (Kind::Int64, CPU)) + seed * 7919;
            let hash = (position * 2_654_435_761_i64).remainder(1 << 32) * 40_503_i64;
            (hash.remainder(65_536).to_kind(Kind::Float) / 32_768.0 - 1.0).reshape(size)
        };
        let values = match bits {
            4 => (noise([n, k], 1) * 8.0 + 8.0).floor().to_kind(Kind::Uint8),
            _ => (noise([n, k], 1) * 128.0).floor().to_kind(Kind::Int8),
        };
        let groups = k / group;
        Self {
            x: noise([m, k], 2).to_kind(kind),
            values,
            scale: ((noise([n, groups], 3) + 2.0) / 100.0).to_kind(kind),
            zero: (bits == 4).then(|| (noise([n, groups], 4) * 3.0 + 7.5).to_kind(kind)),
        }
    }

    fn packed(&self) -> Packed {
        Packed::new(&self.values, &self.scale, self.zero.as_ref()).unwrap()
    }

    /// The packed weight, scales and zero points.
    pub fn tensors(&self) -> Vec<Tensor> {
        self.packed().tensors().map(Tensor::shallow_clone).collect()
    }

    fn gemlite(&self, device: Device) -> Result<Gemlite, Refusal> {
        let zero = self.zero.as_ref().map(|zero| zero.to_device(device));
        let (values, scale) = (self.values.to_device(device), self.scale.to_device(device));
        Gemlite::new(&values, &scale, zero.as_ref())
    }

    /// Replaces the activation by one of one sign: the zero points, and the 16 subtracted from each
    /// weight, are then multiplied by the largest sums.
    pub fn of_one_sign(self) -> Self {
        Self { x: self.x.abs() + 1.0, ..self }
    }

    /// Compares `y` with float64, as near as one rounding to its dtype and sums in float32 allow.
    pub fn check(&self, y: &Tensor, name: &str) {
        let double = |tensor: &Tensor| tensor.to_device(CPU).to_kind(Kind::Double);
        let (n, k) = self.values.size2().unwrap();
        let grouped = double(&self.values).reshape([n, self.scale.size()[1], -1]);
        let grouped = match &self.zero {
            Some(zero) => grouped - double(zero).unsqueeze(-1),
            None => grouped,
        };
        let weight = (grouped * double(&self.scale).unsqueeze(-1)).reshape([n, k]);
        let x = double(&self.x);
        let exact = x.matmul(&weight.tr());
        let magnitude = x.abs().matmul(&weight.abs().tr());
        let half_place = if y.kind() == Kind::Half { 1.0 / 2048.0 } else { 1.0 / 256.0 };
        let allowed = exact.abs() * half_place + magnitude * 1e-5 + 1e-7;
        let error = (double(y) - exact).abs();
        let is_near = error.le_tensor(&allowed).all().int64_value(&[]) == 1;
        assert!(is_near, "{name}: off by up to {}", error.max().double_value(&[]));
    }
}

fn emulate(emulation: &Emulation, bits: u8, product: &Product) {
    let packed = product.packed();
    let Packed { n, k, group, .. } = packed;
    let (m, kind) = (product.x.size()[0], product.x.kind());
    let mut y = Tensor::empty([m, n], (kind, CPU));
    let launch = packed.launch(m, &product.x, &y).unwrap().expect("elements");
    let read: Vec<&Tensor> = [&product.x].into_iter().chain(packed.tensors()).collect();
    let entries = entries(bits, kind);
    emulation.launch(&entries, std::slice::from_ref(&launch), &read, &mut [&mut y]);
    product.check(&y, &format!("{} {:?}", entries[launch.kernel], [m, n, k, group]));
}

/// Every kernel, executed on the CPU: sizes that fill its blocks, and that do not.
#[test]
fn emulated_kernels_multiply() {
    let emulation = Emulation::build(&SOURCE);
    for kind in [Kind::BFloat16, Kind::Half] {
        for (m, n, k, group) in [
            (1, 1, 32, 32),
            (1, 6, 4160, 32),
            (2, 5, 256, 64),
            (3, 4, 96, 96),
            (8, 9, 256, 128),
            (9, 3, 64, 32),
            (64, 64, 64, 64),
            (65, 67, 96, 32),
            (10, 130, 64, 64),
        ] {
            emulate(&emulation, 4, &Product::new(4, kind, [m, n, k, group]));
            emulate(&emulation, 8, &Product::new(8, kind, [m, n, k, k]));
        }
        for (m, group) in [(1, 32), (1, 512), (8, 64), (9, 32), (9, 512)] {
            let product = Product::new(4, kind, [m, 5, 1024, group]).of_one_sign();
            emulate(&emulation, 4, &product);
        }
    }
}

/// That the emulation notices what it is there for: one element less of x than the kernel reads.
#[test]
#[should_panic(expected = "heap-buffer-overflow")]
fn the_emulation_notices_a_read_beyond_the_end() {
    let product = Product::new(8, Kind::BFloat16, [1, 4, 64, 64]);
    let packed = product.packed();
    let short = product.x.narrow(1, 0, 56);
    let mut y = Tensor::empty([1, 4], (Kind::BFloat16, CPU));
    let values = &packed.values;
    let arguments = &mut [
        In(&short),
        In(values),
        In(&packed.scale),
        Null,
        Out(&mut y),
        Int(1),
        Int(4),
        Int(64),
        Int(64),
    ];
    let grid = grid(1, 1, THREADS).unwrap();
    Emulation::build(&SOURCE).run(&entries(8, Kind::BFloat16)[0], grid, arguments);
}

/// `q[i]` of a row of packed bytes, by the formula at the head of gemlite.cu.
fn unpacked(row: &[u8], i: usize) -> u8 {
    let (words, part, word, half) = (i / 32, i % 32 / 8, i % 8 / 2, i % 2);
    row[16 * words + 4 * word + 2 * half + part / 2] >> (4 * (part % 2)) & 15
}

#[test]
fn packing_keeps_every_weight() {
    for (n, steps) in (1..5).flat_map(|n| (1..5).map(move |steps| (n, steps))) {
        let k = 32 * steps;
        // Nibbles in an order that no index of the packing repeats.
        let values: Vec<u8> = (0..n * k).map(|i| ((i * 40_503) >> 7) as u8 % 16).collect();
        let size = [n as i64, k as i64];
        let packed = pack_nibbles(&Tensor::from_slice(&values).reshape(size)).unwrap();
        assert_eq!(packed.size(), [size[0], size[1] / 2]);
        assert_eq!(packed.kind(), Kind::Uint8);
        let bytes = Vec::<u8>::try_from(packed.reshape([-1])).unwrap();
        for (row, expected) in bytes.chunks(k / 2).zip(values.chunks(k)) {
            let found: Vec<u8> = (0..k).map(|i| unpacked(row, i)).collect();
            assert_eq!(found, expected);
        }
    }
}

#[test]
fn few_rows_take_gemv_and_many_gemm() {
    let chosen = |m, n| {
        let packed = Product::new(8, Kind::Half, [1, n, 32, 32]).packed();
        let x = Tensor::zeros([m, 32], (Kind::Half, CPU));
        let launch = packed.launch(m, &x, &x).unwrap().expect("elements");
        (GEMV_ROWS.get(launch.kernel).copied(), launch.grid.blocks)
    };
    assert_eq!(chosen(1, 4096), (Some(1), (1024, 1)));
    assert_eq!(chosen(2, 4097), (Some(2), (1025, 1)));
    assert_eq!(chosen(3, 1), (Some(4), (1, 1)));
    assert_eq!(chosen(5, 8), (Some(8), (2, 1)));
    assert_eq!(chosen(8, 8), (Some(8), (2, 1)));
    assert_eq!(chosen(9, 65), (None, (1, 2)));
    assert_eq!(chosen(129, 64), (None, (3, 1)));
}

#[test]
fn what_the_kernel_cannot_read_is_refused_with_its_value() {
    let zeros = |size: [i64; 2], kind| Tensor::zeros(size, (kind, CPU));
    let nibbles = zeros([4, 64], Kind::Uint8);
    let bytes = zeros([4, 64], Kind::Int8);
    let bf16 = |size| zeros(size, Kind::BFloat16);
    for (values, scale, zero, expected) in [
        (&nibbles, zeros([4, 2], Kind::Float), Some(bf16([4, 2])), "Float, but the kernel takes"),
        (&nibbles, bf16([4, 4]), Some(bf16([4, 4])), "weight [4, 64] with scales [4, 4]"),
        (&nibbles, bf16([4, 3]), Some(bf16([4, 3])), "weight [4, 64] with scales [4, 3]"),
        (&nibbles, bf16([1, 2]), Some(bf16([1, 2])), "weight [4, 64] with scales [1, 2]"),
        (&nibbles, bf16([4, 2]), None, "Uint8 weights in 2 groups without zero points"),
        (&nibbles, bf16([4, 2]), Some(bf16([4, 1])), "zero points are ([4, 1], BFloat16, Cpu)"),
        (&nibbles, bf16([4, 2]), Some(zeros([4, 2], Kind::Half)), "zero points are ([4, 2], Half"),
        (&bytes, bf16([4, 2]), None, "Int8 weights in 2 groups without zero points"),
        (&bytes, bf16([4, 1]), Some(bf16([4, 1])), "Int8 weights in 1 groups with zero points"),
    ] {
        let refusal = Packed::new(values, &scale, zero.as_ref()).expect_err(expected);
        let Refusal::Unsupported(text) = refusal else { panic!("{refusal}") };
        assert!(text.starts_with(expected), "{text}");
    }
    let refusal = Product::new(4, Kind::Half, [1, 4, 64, 32]).gemlite(CPU);
    let expected = Refusal::Unsupported("a CUDA kernel on Cpu".to_owned());
    assert_eq!(refusal.expect_err("not on CUDA"), expected);
}

#[test]
fn weights_that_do_not_fit_in_4_bits_are_refused() {
    let product = Product::new(4, Kind::Half, [1, 4, 64, 32]);
    drop(product.values.get(3).get(63).fill_(16));
    let packed = Packed::new(&product.values, &product.scale, product.zero.as_ref());
    assert!(packed.expect_err("16").to_string().contains("values above 15"));
}

#[test]
fn weights_at_another_address_than_the_kernels_load_from_are_refused() {
    let bytes = Tensor::zeros([4 * 64 + 16], (Kind::Int8, CPU));
    let scale = Tensor::ones([4, 1], (Kind::Half, CPU));
    let packed = |start| Packed::new(&bytes.narrow(0, start, 256).view([4, 64]), &scale, None);
    for start in [0, 16] {
        packed(start).unwrap();
    }
    for start in [1, 8, 15] {
        let text = packed(start).expect_err("at an odd address").to_string();
        assert!(text.contains("the weight begins at an address that 16"), "{text}");
    }
}

#[test]
fn arguments_that_do_not_fit_are_refused() {
    let packed = Product::new(8, Kind::Half, [1, 8, 64, 64]).packed();
    let zeros = |size: [i64; 2], kind| Tensor::zeros(size, (kind, CPU));
    let (x, out) = (zeros([2, 64], Kind::Half), zeros([2, 8], Kind::Half));
    assert_eq!(packed.check(&x, &out).unwrap(), 2);
    assert_eq!(packed.check(&x.narrow(0, 0, 0), &out.narrow(0, 0, 0)).unwrap(), 0);
    let flat = zeros([1, 512], Kind::Half).view([-1]);
    let shared = packed.values.view([-1]).narrow(0, 0, 32).view_dtype(Kind::Half).view([2, 8]);
    for (x, out, word) in [
        (&zeros([2, 32], Kind::Half), &out, "for Packed"),
        (&x, &zeros([2, 9], Kind::Half), "for Packed"),
        (&zeros([2, 64], Kind::BFloat16), &out, "for Packed"),
        (&x, &zeros([2, 8], Kind::Float), "for Packed"),
        (&zeros([64, 2], Kind::Half).tr(), &out, "for Packed"),
        (&x, &zeros([8, 2], Kind::Half).tr(), "for Packed"),
        (&flat.narrow(0, 1, 128).view([2, 64]), &out, "x begins at an address that 16"),
        (&x, &x.view([-1]).narrow(0, 100, 16).view([2, 8]), "shares memory"),
        (&x, &shared, "shares memory"),
    ] {
        let text = packed.check(x, out).expect_err(word).to_string();
        assert!(text.contains(word), "{text}");
    }
}

#[test]
fn the_name_is_of_the_kernel_that_runs() {
    for (m, name) in [(1, "gemv"), (2, "gemv"), (8, "gemv"), (9, "gemm"), (4096, "gemm")] {
        assert_eq!(names(kernel(m)), [format!("criterion_torch::gemlite_{name}")]);
    }
}

/// On a GPU, where there is one.
#[test]
fn kernels_multiply_on_the_device() {
    if !tch::Cuda::is_available() {
        crate::skip::hardware("no CUDA device");
        return;
    }
    let device = Device::Cuda(0);
    for kind in [Kind::BFloat16, Kind::Half] {
        for bits in [4, 8] {
            for (m, n, k) in [
                (1, 4096, 4096),
                (1, 3, 96),
                (5, 130, 256),
                (8, 64, 512),
                (9, 1, 32),
                (64, 64, 64),
                (300, 257, 1024),
                (1024, 1024, 512),
            ] {
                let sizes = [m, n, k, if bits == 4 { 32 } else { k }];
                let product = Product::new(bits, kind, sizes);
                let weight = match product.gemlite(device) {
                    Ok(weight) => weight,
                    Err(Refusal::Skipped(reason)) => return crate::skip::tool(reason),
                    Err(other) => panic!("{other}"),
                };
                let what = format!("{bits} bits, {kind:?}, {sizes:?}");
                let run = || {
                    let mut y = Tensor::full([m, n], f64::NAN, (kind, device));
                    weight.multiply(&product.x.to_device(device), &mut y).unwrap();
                    product.check(&y, &format!("{what}, {:?}", weight.kernels(m)));
                };
                run();
                let lack = "as if there were no Triton";
                if m > GEMV_ROWS[3] && weight.lack.set(lack.to_owned()).is_ok() {
                    run();
                    assert_eq!(weight.kernels(m), ["criterion_torch::gemlite_gemm"], "{what}");
                    assert!(weight.note().is_some_and(|it| it.ends_with(lack)), "{what}");
                }
            }
        }
    }
}
