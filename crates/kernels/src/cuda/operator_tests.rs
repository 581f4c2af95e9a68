use super::*;
use crate::cuda::{losses, normalization, pass_through, pointwise, softmax};

fn zeros(size: &[i64]) -> Tensor {
    Tensor::zeros(size, (Kind::Float, Device::Cpu))
}

#[test]
fn rows_of_an_output_may_not_overlap() {
    let place = Place { kind: Kind::Float, device: Device::Cpu };
    let x = zeros(&[3, 4]);
    assert!(place.out_rows(&x, &x).is_ok());
    assert!(place.out_rows(&zeros(&[3, 9]).narrow(1, 2, 4), &x).is_ok());
    for (out, text) in [
        (zeros(&[1, 4]).expand([3, 4], false), "the rows of out overlap"),
        (zeros(&[12]).as_strided([3, 4], [3, 1], 0), "the rows of out overlap"),
        (zeros(&[4, 3]), "out is [4, 3], but x is [3, 4]"),
        (x.to_kind(Kind::Half), "out is Half on Cpu, but the kernel was loaded for Float on Cpu"),
    ] {
        let found = place.out_rows(&out, &x).unwrap_err().to_string();
        assert!(found.contains(text), "{found}");
    }
}

#[test]
fn a_dtype_without_kernels_is_unsupported() {
    for kind in [Kind::Double, Kind::Int64, Kind::Float8e4m3fn] {
        let refusal = Place::new(kind, 0).expect_err("no kernel");
        assert!(matches!(&refusal, Refusal::Unsupported(text) if text.contains("float16")));
    }
    assert_eq!(Place::new(Kind::Half, 3).unwrap().device, Device::Cuda(3));
}

#[test]
fn every_row_has_to_begin_at_16_bytes() {
    let memory = Tensor::zeros([64], (Kind::Half, Device::Cpu));
    let is_aligned = |offset, stride, count| {
        let view = memory.as_strided([count, 8], [stride, 1], offset);
        let rows = Rows::of("x", &view).unwrap();
        is_aligned([(&memory, None), (&view, Some(rows))]).unwrap()
    };
    assert!(is_aligned(0, 8, 2) && is_aligned(8, 16, 2) && is_aligned(0, 0, 2));
    assert!(!is_aligned(1, 8, 2) && !is_aligned(4, 8, 2) && !is_aligned(0, 12, 2));
    assert!(is_aligned(0, 12, 1), "one row has no other");
}

#[test]
fn teams_fit_their_rows() {
    let team = |dim| {
        let Team { lanes, threads } = Team::of(dim);
        (lanes, threads, Team::of(dim).kernel(dim, 1, true))
    };
    assert_eq!(team(1), (32, 256, 0));
    assert_eq!(team(1024), (32, 256, 0));
    assert_eq!(team(1025), (96, 96, 0));
    assert_eq!(team(4096), (256, 256, 0));
    assert_eq!(team(8192), (512, 512, 0));
    assert_eq!(team(16384), (512, 512, 0));
    assert_eq!(team(16385), (512, 512, 1));
    assert_eq!(Team::of(64).kernel(64, 8, false), 2);
    assert_eq!(Team::of(60).kernel(60, 8, true), 2);
    assert_eq!(Team::of(64).grid(9).unwrap(), Grid { blocks: (2, 1), threads: 256 });
}

#[test]
fn sizes_beyond_the_kernels_are_refused() {
    assert_eq!(int(1 << 30).unwrap(), 1 << 30);
    let text = int((1 << 30) + 1).unwrap_err().to_string();
    assert!(text.contains("rows of 1073741825 values"), "{text}");
    let most = i64::from(i32::MAX);
    assert!(grid(most, 65_535, 512).is_ok());
    for (x, y) in [(most + 1, 1), (1 << 40, 1), (1, 65_536)] {
        assert!(grid(x, y, 256).unwrap_err().to_string().contains("more than CUDA has"));
    }
}

/// What the Rust files know of the sources.
#[test]
fn constants_are_those_of_the_sources() {
    for (source, constants) in [
        (pointwise::SOURCE, &["kThreads = 256", "kUnroll = 2", "kMostThreads = 512"] as &[&str]),
        (losses::SOURCE, &["kThreads = 256", "kUnroll = 4"]),
        (pass_through::SOURCE, &["kThreads = 256", "kUnroll = 4"]),
        (normalization::SOURCE, &["kKept = 32"]),
        (softmax::SOURCE, &["kKept = 32"]),
    ] {
        for constant in constants {
            assert!(source.text.contains(&format!(" {constant};")), "{constant}, {}", source.name);
        }
    }
    let epsilon = format!(" kEpsilon = {:e}f;", plan::Operator::EPSILON);
    assert!(normalization::SOURCE.text.contains(&epsilon), "{epsilon}");
}
