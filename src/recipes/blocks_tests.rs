use super::*;
use tch::Device;

fn row(values: &[f32]) -> Tensor {
    Tensor::from_slice(values).unsqueeze(0)
}

fn bytes(tensor: &Tensor) -> Vec<u8> {
    Vec::try_from(tensor.contiguous().view_dtype(Kind::Uint8).reshape([-1])).unwrap()
}

/// A block whose first values are given and whose others are zero.
fn block(format: BlockFormat, first: &[f32]) -> Tensor {
    let mut values = first.to_vec();
    values.resize(usize::from(format.block()), 0.0);
    row(&values)
}

/// The scale and the first code of a block.
fn scale_and_code(format: BlockFormat, scaling: Scaling, first: f32) -> (u8, u8) {
    let blocks = Blocks::mx(format, &block(format, &[first]), scaling).unwrap();
    (bytes(&blocks.scales)[0], bytes(&blocks.codes)[0])
}

#[test]
fn e8m0_is_a_power_of_two_or_nan() {
    let all = Tensor::arange(256, (Kind::Uint8, Device::Cpu));
    let found = Vec::<f32>::try_from(e8m0(&all).unwrap()).unwrap();
    for (byte, found) in found.iter().enumerate().take(255) {
        assert_eq!(f64::from(*found), 2f64.powi(byte as i32 - 127), "{byte}");
    }
    assert!(found[255].is_nan());
}

#[test]
fn the_scales_exponent_is_rounded_down_or_up() {
    use BlockFormat::{Mxfp4, Mxfp8};
    use Scaling::{Floor, Rceil};
    // 0x7e is the largest e4m3, 448; 7 the largest e2m1, 6.
    for (format, scaling, first, expected) in [
        (Mxfp8, Floor, 448.0, (127, 0x7e)),
        (Mxfp8, Rceil, 448.0, (127, 0x7e)),
        // Saturated by the one, halved by the other.
        (Mxfp8, Floor, 500.0, (127, 0x7e)),
        (Mxfp8, Rceil, 500.0, (128, 0x78)),
        (Mxfp8, Floor, 256.0, (127, 0x78)),
        (Mxfp8, Rceil, 256.0, (127, 0x78)),
        (Mxfp4, Floor, 7.0, (127, 7)),
        (Mxfp4, Rceil, 7.0, (128, 6)),
        // The range of e8m0 ends on both sides.
        (Mxfp8, Floor, f32::MAX, (246, 0x7e)),
        (Mxfp8, Floor, f32::INFINITY, (247, 0x7e)),
        (Mxfp8, Rceil, f32::INFINITY, (254, 0x7e)),
        (Mxfp4, Floor, f32::INFINITY, (253, 7)),
        (Mxfp8, Floor, 1e-45, (0, 0)),
        (Mxfp8, Rceil, 1e-45, (0, 0)),
        (Mxfp8, Floor, 0.0, (0, 0)),
        (Mxfp8, Rceil, 0.0, (0, 0)),
        (Mxfp4, Rceil, 0.0, (0, 0)),
    ] {
        assert_eq!(
            scale_and_code(format, scaling, first),
            expected,
            "{format} {scaling:?} {first}"
        );
    }
}

#[test]
fn nan_is_the_scale_of_its_block_alone() {
    for format in [BlockFormat::Mxfp8, BlockFormat::Mxfp4] {
        for scaling in [Scaling::Floor, Scaling::Rceil] {
            let matrix = Tensor::cat(&[block(format, &[f32::NAN, 1.0]), block(format, &[1.0])], 1);
            let blocks = Blocks::mx(format, &matrix, scaling).unwrap();
            let scales = bytes(&blocks.scales);
            assert!(scales[0] == 255 && scales[1] < 127, "{format} {scaling:?}: {scales:?}");
            let nan = blocks.dequantize(Kind::Float).unwrap().isnan().sum(Kind::Int64);
            assert_eq!(nan.int64_value(&[]), 32, "{format} {scaling:?}");
        }
    }
}

#[test]
fn nvfp4_has_scales_between_its_bounds() {
    let matrix = Tensor::cat(
        &[block(BlockFormat::Nvfp4, &[2688.0, -448.0]), block(BlockFormat::Nvfp4, &[0.01])],
        1,
    );
    let scale = tensor_scale(&matrix).unwrap();
    assert_eq!((scale.size(), scale.double_value(&[])), (vec![], 1.0));
    for scale in [None, Some(scale)] {
        let blocks = Blocks::nvfp4(&matrix, scale).unwrap();
        // 448 and 2⁻⁶; 6, and −448 / 448 = −1, the first of two in the low bits.
        assert_eq!(bytes(&blocks.scales), [0x7e, 0x08]);
        assert_eq!(bytes(&blocks.codes)[0], 0xa7);
        let found = blocks.dequantize(Kind::Float).unwrap();
        assert_eq!((found.double_value(&[0, 0]), found.double_value(&[0, 1])), (2688.0, -448.0));
        // 0.64 of a step of 0.5 · 2⁻⁶.
        assert_eq!(found.double_value(&[0, 16]), 0.0078125);
    }
    // Without a scale of the tensor the largest has to fit by itself.
    let large = block(BlockFormat::Nvfp4, &[1e6]);
    let found = |scale| Blocks::nvfp4(&large, scale).unwrap().dequantize(Kind::Float).unwrap();
    assert_eq!(found(None).max().double_value(&[]), 2688.0);
    let scaled = found(Some(tensor_scale(&large).unwrap())).max().double_value(&[]);
    assert!((scaled / 1e6 - 1.0).abs() < 1e-6, "{scaled}");
}

#[test]
fn sizes_and_dtypes_are_kept() {
    for format in [BlockFormat::Mxfp8, BlockFormat::Mxfp4, BlockFormat::Nvfp4] {
        for kind in [Kind::BFloat16, Kind::Float] {
            let matrix = Tensor::randn([3, 5, 64], (kind, Device::Cpu));
            let blocks = Blocks::quantize(format, &matrix).unwrap();
            let found = blocks.dequantize(kind).unwrap();
            assert_eq!((found.size(), found.kind()), (matrix.size(), kind), "{format}");
            assert_eq!(blocks.scales.size(), [3, 5, 64 / i64::from(format.block())], "{format}");
            let wide = |tensor: &Tensor| tensor.to_kind(Kind::Double);
            let off = (wide(&found) - wide(&matrix)).norm() / wide(&matrix).norm();
            let most = if format == BlockFormat::Mxfp8 { 0.04 } else { 0.15 };
            assert!(off.double_value(&[]) < most, "{format}: {}", off.double_value(&[]));
        }
        let error = Blocks::quantize(format, &Tensor::ones([4, 24], (Kind::Float, Device::Cpu)));
        assert!(error.unwrap_err().to_string().contains("must divide"), "{format}");
    }
}
