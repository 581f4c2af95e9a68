"""The kernels share this: tiles of rows, exponentials, reductions in a fixed order.

Every kernel reads rows of unit stride, a stride apart, and writes contiguous memory. Sizes and
strides are 64-bit, so that no tensor is too large; the place inside a row is 32-bit where the
row's length is a constant.
"""

import triton
import triton.language as tl


@triton.jit
def exp(x):
    """e^x of x ≤ 0, within 3 ulp, 2 of them the hardware's; 0 below -110, where float32 has no number left.

    2^t by the hardware loses what rounding takes from t = x·log2(e), which for x = -80 is the last
    five bits of the result; it is put back to first order.
    """
    x = tl.maximum(x, -110.0, propagate_nan=tl.PropagateNan.ALL)
    t = x * 1.4426950408889634
    lost = tl.fma(x, 1.4426950408889634, -t) + x * 1.925963033500011e-8
    power = tl.exp2(t)
    return tl.fma(power, lost * 0.6931471805599453, power)


@triton.jit
def rows_of_tile(tile, rows, ROWS: tl.constexpr):
    """The numbers of a tile's rows as a column, and which of them there are."""
    row = tl.cast(tile, tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    return row, row < rows


@triton.jit
def load(pointer, mask):
    """The value there in float32, and 0 where the mask is false."""
    return tl.load(pointer, mask=mask, other=0.0).to(tl.float32)


@triton.jit
def load_first(x, tile, rows, stride, ROWS: tl.constexpr):
    """The first of each row as a column, in float32.

    Of one row it is a scalar, which is loaded once; of a column, every thread would load as many
    copies as it holds elements of a row.
    """
    start = tl.cast(tile, tl.int64) * ROWS
    if ROWS == 1:
        return tl.full((1, 1), tl.load(x + start * stride).to(tl.float32), tl.float32)
    row = start + tl.arange(0, ROWS)
    return load(x + row * stride, row < rows)[:, None]


@triton.jit
def columns_from(start, BLOCK: tl.constexpr):
    """The numbers of a block's columns as a row."""
    return start + tl.arange(0, BLOCK)[None, :]


@triton.jit
def store(pointer, value, mask):
    """Rounds once, to the dtype of the memory."""
    tl.store(pointer, value.to(pointer.dtype.element_ty), mask=mask)
