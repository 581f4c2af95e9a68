use proptest::prelude::*;
use tch::Device;

use super::super::emulation::{
    Argument::{In, Int, Null, Out},
    Emulation,
};
use super::*;

const CPU: Device = Device::Cpu;

/// Names of all entry functions.
pub(in super::super) fn all_entries() -> Vec<String> {
    let mut names = Vec::new();
    for bits in [4, 8] {
        for kind in [Kind::BFloat16, Kind::Half] {
            names.extend(GEMV_ROWS.map(|rows| gemv_name(bits, kind, rows)));
            names.push(gemm_name(bits, kind));
        }
    }
    names
}

/// A product's operands: numbers that no formula of the kernel repeats.
struct Product {
    x: Tensor,
    values: Tensor,
    scale: Tensor,
    zero: Option<Tensor>,
}

impl Product {
    fn new(bits: u8, kind: Kind, [m, n, k, group]: [i64; 4]) -> Self {
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

    fn packed(&self, device: Device) -> Packed {
        let zero = self.zero.as_ref().map(|zero| zero.to_device(device));
        let (values, scale) = (self.values.to_device(device), self.scale.to_device(device));
        Packed::new(&values, &scale, zero.as_ref()).unwrap()
    }

    /// Compares `y` with float64, as near as one rounding to its dtype and sums in float32 allow.
    fn check(&self, y: &Tensor, name: &str) {
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

fn emulate(emulation: &Emulation, bits: u8, kind: Kind, sizes: [i64; 4]) {
    let [m, n, k, group] = sizes;
    let product = Product::new(bits, kind, sizes);
    let packed = product.packed(CPU);
    let mut y = Tensor::empty([m, n], (kind, CPU));
    let (gemv, grid) = grid(m, n).unwrap();
    let name = gemv.map_or(gemm_name(bits, kind), |it| gemv_name(bits, kind, GEMV_ROWS[it]));
    emulation.run(
        &name,
        grid,
        &mut [
            In(&product.x),
            In(&packed.values),
            In(&packed.scale),
            packed.zero.as_ref().map_or(Null, In),
            Out(&mut y),
            Int(m),
            Int(n),
            Int(k),
            Int(group),
        ],
    );
    product.check(&y, &format!("{name} {sizes:?}"));
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
            emulate(&emulation, 4, kind, [m, n, k, group]);
            emulate(&emulation, 8, kind, [m, n, k, k]);
        }
    }
}

/// That the emulation notices what it is there for: one element less of x than the kernel reads.
#[test]
#[should_panic(expected = "heap-buffer-overflow")]
fn the_emulation_notices_a_read_beyond_the_end() {
    let product = Product::new(8, Kind::BFloat16, [1, 4, 64, 64]);
    let packed = product.packed(CPU);
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
    let grid = Grid { blocks: (1, 1), threads: THREADS };
    Emulation::build(&SOURCE).run(&gemv_name(8, Kind::BFloat16, 1), grid, arguments);
}

/// `q[i]` of a row of packed bytes, by the formula at the head of gemlite.cu.
fn unpacked(row: &[u8], i: usize) -> u8 {
    row[i / 2] >> (4 * (i % 2)) & 15
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn packing_keeps_every_weight(
        (n, k, values) in (1_usize..5, 1_usize..5).prop_flat_map(|(n, steps)| {
            let k = 32 * steps;
            (Just(n), Just(k), proptest::collection::vec(0_u8..16, n * k))
        })
    ) {
        let size = [n as i64, k as i64];
        let packed = pack_nibbles(&Tensor::from_slice(&values).reshape(size)).unwrap();
        prop_assert_eq!(packed.size(), vec![size[0], size[1] / 2]);
        prop_assert_eq!(packed.kind(), Kind::Uint8);
        let bytes = Vec::<u8>::try_from(packed.reshape([-1])).unwrap();
        for (row, expected) in bytes.chunks(k / 2).zip(values.chunks(k)) {
            let found: Vec<u8> = (0..k).map(|i| unpacked(row, i)).collect();
            prop_assert_eq!(found, expected);
        }
    }
}

#[test]
fn few_rows_take_gemv_and_many_gemm() {
    let chosen = |m, n| {
        let (gemv, grid) = grid(m, n).unwrap();
        (gemv.map(|index| GEMV_ROWS[index]), grid.blocks)
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
        (&nibbles, bf16([4, 2]), None, "Uint8 weights in 2 groups with zero points None"),
        (&nibbles, bf16([4, 2]), Some(bf16([4, 1])), "Uint8 weights in 2 groups"),
        (&bytes, bf16([4, 2]), None, "Int8 weights in 2 groups"),
        (&bytes, bf16([4, 1]), Some(bf16([4, 1])), "Int8 weights in 1 groups"),
    ] {
        let refusal = Packed::new(values, &scale, zero.as_ref()).expect_err(expected);
        let Refusal::Unsupported(text) = refusal else { panic!("{refusal}") };
        assert!(text.starts_with(expected), "{text}");
    }
    let refusal = Gemlite::load(&Product::new(4, Kind::Half, [1, 4, 64, 32]).packed(CPU));
    let expected = Refusal::Unsupported("a CUDA kernel on Cpu".to_owned());
    assert_eq!(refusal.expect_err("not on CUDA"), expected);
}

/// On a GPU, where there is one.
#[test]
fn kernels_multiply_on_the_device() {
    if !tch::Cuda::is_available() {
        println!("skipped: no CUDA device");
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
            ] {
                let sizes = [m, n, k, if bits == 4 { 32 } else { k }];
                let product = Product::new(bits, kind, sizes);
                let packed = product.packed(device);
                let kernel = match Gemlite::load(&packed) {
                    Ok(kernel) => kernel,
                    Err(Refusal::Skipped(reason)) => return println!("skipped: {reason}"),
                    Err(other) => panic!("{other}"),
                };
                let y = Tensor::full([m, n], f64::NAN, (kind, device));
                kernel.multiply(&product.x.to_device(device), &packed, &y).unwrap();
                product.check(&y, &format!("{bits} bits, {kind:?}, {sizes:?}"));
            }
        }
    }
}
