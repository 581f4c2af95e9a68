//! Figures that upstream published of its patterns at its sizes.

use super::*;
use crate::catalogue::SizeSet;
use crate::catalogue::pattern::sizes;
use crate::catalogue::reduction;

/// Flops, bytes unfused and fused, reduction.
type Published = (u64, u64, u64, f64);

/// Every pattern at its three sizes, as the profiles of branes-ai/graphs hold them.
const PUBLISHED: [(Pattern, [Published; 3]); 9] = [
    (
        Pattern::LinearBias,
        [
            (67_174_400, 2_099_200, 1_574_912, 0.249756),
            (1_074_266_112, 12_587_008, 8_392_704, 0.333225),
            (8_592_031_744, 50_339_840, 33_562_624, 0.333279),
        ],
    ),
    (
        Pattern::LinearBiasRelu,
        [
            (67_174_400, 2_623_488, 1_574_912, 0.399688),
            (1_074_266_112, 16_781_312, 8_392_704, 0.499878),
            (8_592_031_744, 67_117_056, 33_562_624, 0.499939),
        ],
    ),
    (
        Pattern::LinearBiasGelu,
        [
            (67_698_688, 2_623_488, 1_574_912, 0.399688),
            (1_078_460_416, 16_781_312, 8_392_704, 0.499878),
            (8_608_808_960, 67_117_056, 33_562_624, 0.499939),
        ],
    ),
    (
        Pattern::Conv2dRelu,
        [
            (231_211_008, 3_358_976, 1_753_344, 0.478012),
            (924_844_032, 7_012_864, 3_801_600, 0.457910),
            (1_849_688_064, 8_782_848, 5_571_584, 0.365629),
        ],
    ),
    (
        Pattern::Conv2dBn,
        [
            (231_612_416, 3_358_720, 1_753_344, 0.477973),
            (925_646_848, 7_012_352, 3_801_600, 0.457871),
            (1_850_490_880, 8_781_824, 5_571_584, 0.365555),
        ],
    ),
    (
        Pattern::Conv2dBnRelu,
        [
            (231_612_416, 4_964_352, 1_753_344, 0.646813),
            (925_646_848, 10_223_616, 3_801_600, 0.628155),
            (1_850_490_880, 11_993_088, 5_571_584, 0.535434),
        ],
    ),
    (
        Pattern::QkScores,
        [
            (2_113_536, 262_144, 131_072, 1.0 / 2.0),
            (33_816_576, 3_670_016, 1_572_864, 4.0 / 7.0),
            (270_532_608, 27_262_976, 10_485_760, 8.0 / 13.0),
        ],
    ),
    (
        Pattern::QkSoftmax,
        [
            (2_195_456, 327_680, 131_072, 3.0 / 5.0),
            (35_127_296, 4_718_592, 1_572_864, 2.0 / 3.0),
            (281_018_368, 35_651_584, 10_485_760, 12.0 / 17.0),
        ],
    ),
    (
        Pattern::FullAttention,
        [
            (4_292_608, 327_680, 131_072, 3.0 / 5.0),
            (68_681_728, 4_194_304, 1_048_576, 3.0 / 4.0),
            (549_453_824, 29_360_128, 4_194_304, 6.0 / 7.0),
        ],
    ),
];

#[test]
fn upstreams_numbers_come_out_to_the_byte() {
    let patterns: Vec<_> = PUBLISHED.iter().map(|(pattern, _)| *pattern).collect();
    assert_eq!(patterns, Pattern::ALL, "no pattern is left out");
    for (pattern, rows) in PUBLISHED {
        let full = sizes(pattern.family(), SizeSet::Full);
        assert_eq!(full.len(), rows.len());
        for (size, (flops, unfused, fused, published)) in full.into_iter().zip(rows) {
            let at = |variant| FusionWork { pattern, variant, compile: None, size };
            let bytes = |variant| at(variant).upstream_bytes(Dtype::Float32);
            assert_eq!(bytes(FusionVariant::Unfused), Some(unfused), "{pattern} {size}");
            assert_eq!(bytes(FusionVariant::Fused), Some(fused), "{pattern} {size}");
            for &variant in pattern.variants() {
                assert_eq!(at(variant).flops(), flops, "{pattern} {variant} {size}");
                let of_upstream = !matches!(
                    variant,
                    FusionVariant::Inplace | FusionVariant::Baddbmm | FusionVariant::MkldnnUnfused
                );
                assert_eq!(bytes(variant).is_some(), of_upstream, "{pattern} {variant}");
            }
            let reduction = reduction(unfused, fused).expect("unfused bytes");
            assert!((reduction - published).abs() < 5e-7, "{pattern} {size}: {reduction}");
        }
    }
}
