//! The numerics of the int8 and int4 recipes: whose roundings, and which parameters. Each word is what
//! the word of a recipe ends in.

use super::closed::closed_set;

closed_set! {
    /// The int8 implementation of torchao that is followed, to the last rounding.
    Int8Numerics, "numerics of int8" {
        /// Version 1 of the configurations, the default of torchao 0.17.
        V1 = "",
        /// Version 2 in torchao 0.17.
        V2 = "-v2",
        /// The default of torchao 0.18.
        V018 = "-v018",
    }
}

closed_set! {
    /// How scale and zero point of a group of 4-bit weights are chosen.
    Int4Numerics, "numerics of int4" {
        /// From minimum and maximum; the smallest scale is 1e-6.
        Affine = "",
        /// From minimum and maximum, as torchao 0.17's format for CUDA: the smallest scale is bfloat16's
        /// epsilon.
        TilePacked = "-tilepacked",
        /// Half-quadratic quantization, its solver in float32 on a CPU and in float16 on CUDA.
        Hqq = "-hqq",
        /// Half-quadratic quantization, its solver in float16 anywhere.
        HqqFp16Solver = "-hqq-fp16solver",
    }
}
