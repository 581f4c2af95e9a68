use super::*;
use crate::cuda::{operator, pass_through};
use plan::Operator;
use tch::{Device, Kind};

#[test]
fn every_row_has_to_begin_at_16_bytes() {
    let memory = Tensor::zeros([64], (Kind::Half, Device::Cpu));
    let is_aligned = |offset, stride, count| {
        let view = memory.as_strided([count, 8], [stride, 1], offset);
        let rows = Rows::new("x", &view).unwrap();
        is_aligned([(&memory, None), (&view, Some(rows))]).unwrap()
    };
    assert!(is_aligned(0, 8, 2) && is_aligned(8, 16, 2) && is_aligned(0, 0, 2));
    assert!(!is_aligned(1, 8, 2) && !is_aligned(4, 8, 2) && !is_aligned(0, 12, 2));
    assert!(is_aligned(0, 12, 1), "one row has no other");
}

#[test]
fn teams_fit_their_rows() {
    let of = |Team { lanes, threads }| (lanes, threads);
    for (dim, keeping, rereading) in [
        (1, Some((16, 256)), (32, 256)),
        (256, Some((16, 256)), (32, 256)),
        (257, Some((32, 256)), (32, 256)),
        (512, Some((32, 256)), (32, 256)),
        (513, Some((64, 64)), (32, 256)),
        (1024, Some((64, 64)), (32, 256)),
        (1025, Some((96, 96)), (96, 96)),
        (8192, Some((512, 512)), (512, 512)),
        (16384, Some((1024, 1024)), (512, 512)),
        (16385, None, (512, 512)),
    ] {
        assert_eq!(Team::keeping(dim).map(of), keeping, "{dim}");
        assert_eq!(of(Team::for_dim(dim)), rereading, "{dim}");
    }
    assert_eq!(Team::for_dim(64).grid(9).unwrap(), Grid { blocks: (2, 1), threads: 256 });
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

/// The Rust files repeat constants of the CUDA sources.
#[test]
fn constants_are_those_of_the_sources() {
    let [gelu, norm, softmax, loss] =
        [Operator::Gelu, Operator::LayerNorm, Operator::Softmax, Operator::MseLoss]
            .map(|it| operator::source(it).unwrap());
    for (source, constants) in [
        (gelu, &["kThreads = 256", "kUnroll = 2", "kMostThreads = 1024"] as &[&str]),
        (loss, &["kThreads = 256", "kUnroll = 4"]),
        (pass_through::SOURCE, &["kThreads = 256", "kUnroll = 4"]),
        (norm, &["kKept = 16", "kHalf = kWarp / 2"]),
        (softmax, &["kKept = 16"]),
    ] {
        for constant in constants {
            assert!(source.text.contains(&format!(" {constant};")), "{constant}, {}", source.name);
        }
    }
    let epsilon = format!(" kEpsilon = {:e}f;", Operator::EPSILON);
    assert!(norm.text.contains(&epsilon), "{epsilon}");
}
