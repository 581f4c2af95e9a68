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
        let memory = partial(Device::Cpu).unwrap();
        let run = |pass: Read, to: Option<&Tensor>, read: &[&Tensor], out: &mut Tensor| {
            let partial = if to.is_some() { &memory } else { &out.shallow_clone() };
            let launch = launches(pass, to, partial).unwrap().unwrap();
            let is_scalar = entries()[launch.kernel].ends_with("_scalar");
            assert_eq!(is_scalar, layout == Layout::Shifted);
            emulation.launch(&entries(), std::slice::from_ref(&launch), read, &mut [out]);
            i64::from(launch.grid.blocks.0)
        };
        let mut out = untouched(count, Layout::Dense, Device::Cpu);
        let view = out.view.shallow_clone();
        let alone = Read { x: &x.view, other: None };
        run(alone, Some(&view), &[&x.memory], &mut out.memory);
        assert!(out.view.equal(&x.view), "{count}");

        let both = Read { other: Some(&other.view), ..alone };
        run(both, Some(&view), &[&x.memory, &other.memory], &mut out.memory);
        assert!(out.view.equal(&x.view.bitwise_xor_tensor(&other.view)), "{count}");

        for other in [None, Some(&other)] {
            let pass = Read { other: other.map(|it| &it.view), ..alone };
            let mut left = partial(Device::Cpu).unwrap();
            let read: Vec<&Tensor> =
                std::iter::once(&x).chain(other).map(|it| &it.memory).collect();
            let blocks = run(pass, None, &read, &mut left);
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
    let text = |x: &Tensor, other: Option<&Tensor>, out: Option<&Tensor>| {
        launches(Read { x, other }, out, &memory).expect_err("unfit").to_string()
    };
    let (x, out) = (zeros(&[4, 6], Kind::Float), zeros(&[4, 6], Kind::Float));
    assert!(text(&x, None, Some(&x)).contains("shares memory"));
    assert!(text(&x, None, Some(&zeros(&[24], Kind::Float))).contains("out is [24]"));
    assert!(text(&x, None, Some(&out.to_kind(Kind::Half))).contains("but x is"));
    let (narrow, narrow_out) = (x.narrow(1, 0, 3), out.narrow(1, 0, 3));
    assert!(text(&narrow, None, Some(&narrow_out)).contains("contiguous words"));
    assert!(text(&zeros(&[4], Kind::Int8), None, None).contains("16 bits"));
    let short = zeros(&[4, 5], Kind::Float);
    assert!(text(&x, Some(&short), Some(&out)).contains("other is [4, 5]"));
    assert!(text(&x, Some(&out), Some(&out)).contains("shares memory"));
    let empty = zeros(&[0], Kind::Float);
    assert!(launches(Read { x: &empty, other: None }, None, &memory).unwrap().is_none());
}

#[test]
fn a_record_names_the_kernel_that_runs() {
    for (entry, name) in entries().iter().zip(recorded()) {
        let expected = match entry.strip_prefix("pass_").unwrap().strip_suffix("_scalar") {
            Some(pass) => format!("criterion_torch::{pass}_cuda_scalar"),
            None => format!("criterion_torch::{}_cuda", &entry["pass_".len()..]),
        };
        assert_eq!(name, expected);
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
        let alone = Read { x: &x.view, other: None };
        let both = Read { other: Some(&other.view), ..alone };
        limit.run(alone, Some(&mut out.view)).unwrap();
        assert!(out.view.equal(&x.view), "{count}");
        limit.run(both, Some(&mut out.view)).unwrap();
        assert!(out.view.equal(&x.view.bitwise_xor_tensor(&other.view)), "{count}");
        let mut left = limit.partial.shallow_clone();
        drop(left.fill_(0));
        limit.run(both, None).unwrap();
        let found = folded(&[&left.view_dtype(Kind::Int16)]);
        assert_eq!(found, folded(&[&x.view, &other.view]), "{count}");
    }
}
