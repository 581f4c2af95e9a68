//! Products of float8 matrices with scales that have been multiplied into them.

use tch::{Kind, TchError, Tensor};

/// A matrix and its scale: a scalar, or of size 1 in the inner dimension.
type Scaled<'t> = (&'t Tensor, &'t Tensor);

/// A product in float32 of the numbers that the values stand for: torchao's `emulate`.
pub(super) fn dequantized(left: Scaled, right: Scaled, kind: Kind) -> Result<Tensor, TchError> {
    let number = |(values, scale): Scaled| values.f_to_kind(Kind::Float)?.f_div(scale);
    number(left)?.f_mm(&number(right)?)?.f_to_kind(kind)
}

/// `_scaled_mm`, whose left operand is row-major and whose right one column-major.
///
/// Scales per row go to its row-wise kernel, which is slow unless it may accumulate fast; else the products have unit
/// scales, and the scales are applied afterwards. Row-wise products come in bfloat16 alone.
pub(super) fn scaled_mm(
    (left, left_scale): Scaled,
    (right, right_scale): Scaled,
    kind: Kind,
    use_fast_accum: bool,
) -> Result<Tensor, TchError> {
    let left = if is_row_major(left)? { left.shallow_clone() } else { left.f_contiguous()? };
    let right = match is_row_major(right)? {
        true => right.f_tr()?.f_contiguous()?.f_tr()?,
        false => right.shallow_clone(),
    };
    let ((rows, _), (_, columns)) = (left.size2()?, right.size2()?);
    let is_rowwise = left_scale.dim() > 0 || right_scale.dim() > 0;
    // Both in one granularity: a scale of the whole tensor is that of each row.
    let of_rows = match is_rowwise && left_scale.dim() == 0 {
        true => left_scale.f_repeat([rows])?.f_reshape([-1, 1])?,
        false => left_scale.shallow_clone(),
    };
    let of_columns = match is_rowwise && right_scale.dim() == 0 {
        true => right_scale.f_repeat([columns])?.f_reshape([1, -1])?,
        false => right_scale.shallow_clone(),
    };
    let (mut of_rows, mut of_columns) = (of_rows.f_reciprocal()?, of_columns.f_reciprocal()?);
    let mut afterwards = None;
    if is_rowwise && !use_fast_accum {
        afterwards = Some(of_rows.f_mul(&of_columns)?);
        let one = of_rows.f_new_ones([] as [i64; 0], (Kind::Float, left.device()))?;
        (of_rows, of_columns) = (one.shallow_clone(), one);
    }
    let written = if is_rowwise { Kind::BFloat16 } else { kind };
    let none = None::<&Tensor>;
    let mut product = left.f_internal_scaled_mm(
        &right,
        &of_rows,
        &of_columns,
        none,
        none,
        written,
        use_fast_accum,
    )?;
    if let Some(scale) = afterwards {
        product = product.f_mul_(&scale)?;
    }
    product.f_to_kind(kind)
}

fn is_row_major(matrix: &Tensor) -> Result<bool, TchError> {
    let (rows, columns) = matrix.stride2()?;
    Ok(rows > columns && columns == 1)
}
