use tch::Device;

use super::super::emulation::Emulation;
use super::super::samples::{Laid, Layout, noise};
use super::*;

/// 16-bit words of noise.
fn words(count: i64, seed: i64, layout: Layout, device: Device) -> Laid {
    Laid::new(&(noise(&[1, count], seed) * 32_767.0).floor(), layout, Kind::Int16, device)
}

fn untouched(count: i64, layout: Layout, device: Device) -> Laid {
    Laid::untouched([1, count], layout, Kind::Int16, device)
}

/// The XOR of all words.
fn folded(tensors: &[&Tensor]) -> i16 {
    let words = |it: &&Tensor| Vec::<i16>::try_from(it.reshape([-1]).to_device(Device::Cpu));
    tensors.iter().flat_map(|it| words(it).unwrap()).fold(0, |all, word| all ^ word)
}

const COUNTS: [i64; 6] = [1, 7, 8, 1001, 8192, 30_003];

#[test]
fn emulated_kernels_pass_over_every_word() {
    let emulation = Emulation::build(&SOURCE);
    for (count, layout) in COUNTS
        .map(|it| (it, Layout::Dense))
        .into_iter()
        .chain([(1, Layout::Shifted), (2050, Layout::Shifted)])
    {
        let x = words(count, 1, layout, Device::Cpu);
        let other = words(count, 2, Layout::Dense, Device::Cpu);
        let run = |pass: &Pass, partial: &Tensor, read: &[&Tensor], out: &mut Tensor| {
            let launch = launches(pass, partial).unwrap().unwrap();
            let is_scalar = entries()[launch.kernel].ends_with("_scalar");
            assert_eq!(is_scalar, layout == Layout::Shifted);
            emulation.launch(&entries(), std::slice::from_ref(&launch), read, &mut [out]);
            i64::from(launch.grid.blocks.0)
        };
        let memory = partial(Device::Cpu).unwrap();
        let mut out = untouched(count, Layout::Dense, Device::Cpu);
        let view = out.view.shallow_clone();
        let pass = Pass::Copy { x: &x.view, out: &view };
        run(&pass, &memory, &[&x.memory], &mut out.memory);
        assert!(out.view.equal(&x.view), "{count}");

        let pass = Pass::Merge { x: &x.view, other: &other.view, out: &view };
        run(&pass, &memory, &[&x.memory, &other.memory], &mut out.memory);
        assert!(out.view.equal(&x.view.bitwise_xor_tensor(&other.view)), "{count}");

        for other in [None, Some(&other)] {
            let pass = Pass::Read { x: &x.view, other: other.map(|it| &it.view) };
            let mut left = partial(Device::Cpu).unwrap();
            let read: Vec<&Tensor> =
                std::iter::once(&x).chain(other).map(|it| &it.memory).collect();
            let view = left.shallow_clone();
            let blocks = run(&pass, &view, &read, &mut left);
            let each = if layout == Layout::Shifted { WORD } else { ACCESS };
            let left = left.narrow(0, 0, blocks * each).view_dtype(Kind::Int16);
            let views: Vec<&Tensor> = std::iter::once(&x).chain(other).map(|it| &it.view).collect();
            assert_eq!(folded(&[&left]), folded(&views), "{count}");
        }
    }
}

#[test]
fn tensors_that_do_not_fit_are_refused() {
    let zeros = |size: &[i64], kind| Tensor::zeros(size, (kind, Device::Cpu));
    let memory = partial(Device::Cpu).unwrap();
    let text = |pass: Pass| launches(&pass, &memory).expect_err("unfit").to_string();
    let (x, out) = (zeros(&[4, 6], Kind::Float), zeros(&[4, 6], Kind::Float));
    assert!(text(Pass::Copy { x: &x, out: &x }).contains("shares memory"));
    assert!(text(Pass::Copy { x: &x, out: &zeros(&[24], Kind::Float) }).contains("out is [24]"));
    assert!(text(Pass::Copy { x: &x, out: &out.to_kind(Kind::Half) }).contains("but x is"));
    assert!(
        text(Pass::Copy { x: &x.narrow(1, 0, 3), out: &out.narrow(1, 0, 3) })
            .contains("contiguous words")
    );
    assert!(text(Pass::Read { x: &zeros(&[4], Kind::Int8), other: None }).contains("16 bits"));
    let short = zeros(&[4, 5], Kind::Float);
    assert!(text(Pass::Merge { x: &x, other: &short, out: &out }).contains("other is [4, 5]"));
    assert!(text(Pass::Merge { x: &x, other: &out, out: &out }).contains("shares memory"));
    let empty = zeros(&[0], Kind::Float);
    assert!(launches(&Pass::Read { x: &empty, other: None }, &memory).unwrap().is_none());
}

#[test]
fn the_name_is_of_the_kernel_that_runs() {
    for (entry, name) in entries().iter().zip(KERNELS.into_iter().flatten()) {
        let expected = match entry.strip_prefix("pass_").unwrap().strip_suffix("_scalar") {
            Some(pass) => format!("criterion_torch::{pass}_cuda_scalar"),
            None => format!("criterion_torch::{}_cuda", &entry["pass_".len()..]),
        };
        assert_eq!(name, [expected]);
    }
}

/// On a GPU, where there is one.
#[test]
fn kernels_pass_over_memory_of_the_device() {
    if !tch::Cuda::is_available() {
        crate::skip::hardware("no CUDA device");
        return;
    }
    let limit = match PassThrough::load(0) {
        Ok(limit) => limit,
        Err(Refusal::Skipped(reason)) => return crate::skip::tool(reason),
        Err(other) => panic!("{other}"),
    };
    let device = Device::Cuda(0);
    for count in COUNTS.into_iter().chain([50_000_001]) {
        let x = words(count, 1, Layout::Dense, device);
        let other = words(count, 2, Layout::Dense, device);
        let mut out = untouched(count, Layout::Dense, device);
        limit.copy(&x.view, &mut out.view).unwrap();
        assert!(out.view.equal(&x.view), "{count}");
        limit.merge(&x.view, &other.view, &mut out.view).unwrap();
        assert!(out.view.equal(&x.view.bitwise_xor_tensor(&other.view)), "{count}");
        let mut left = limit.partial.shallow_clone();
        drop(left.fill_(0));
        limit.read(&x.view, Some(&other.view)).unwrap();
        let found = folded(&[&left.view_dtype(Kind::Int16)]);
        assert_eq!(found, folded(&[&x.view, &other.view]), "{count}");
    }
}
