"""LayerNorm with and without weights, of a sum, and RMSNorm, over the last dimension.

A program takes ROWS whole rows. A row of more than BLOCK columns is gone through in blocks, once
for its moments and once for the result; ROWS is 1 then.

The moments of LayerNorm are those of x - x[0], and of a sum those of the sum of two such: a row
that is far from 0 for its spread loses nothing to the mean, and a constant one is exactly 0.
"""

import triton
import triton.language as tl

from prelude import columns_from, load, load_first, rows_of_tile, store


@triton.jit
def centred(x, residual, x_first, residual_first, row, exists, column, stride, residual_stride,
            COLUMNS: tl.constexpr):
    """x + residual, each less its row's first; 0 beyond the row's end."""
    mask = exists & (column < COLUMNS)
    value = load(x + row * stride + column, mask) - x_first
    if residual is not None:
        value += load(residual + row * residual_stride + column, mask) - residual_first
    return tl.where(mask, value, 0.0)


@triton.jit
def standardize(value, mean, squares, COLUMNS: tl.constexpr, EPSILON: tl.constexpr):
    return (value - mean) * tl.div_rn(1.0, tl.sqrt_rn(squares / COLUMNS + EPSILON))


@triton.jit
def write(out, value, weight, bias, row, exists, column, COLUMNS: tl.constexpr):
    """value·weight + bias, each where it is there."""
    inside = column < COLUMNS
    if weight is not None:
        value = value * load(weight + column, inside)
    if bias is not None:
        value = value + load(bias + column, inside)
    store(out + row * COLUMNS + column, value, exists & inside)


@triton.jit
def layer_norm_of(x, residual, weight, bias, out, rows, stride, residual_stride,
                  COLUMNS: tl.constexpr, EPSILON: tl.constexpr, ROWS: tl.constexpr,
                  BLOCK: tl.constexpr):
    tile = tl.program_id(0)
    row, exists = rows_of_tile(tile, rows, ROWS)
    x_first = load_first(x, tile, rows, stride, ROWS)
    residual_first = x_first
    if residual is not None:
        residual_first = load_first(residual, tile, rows, residual_stride, ROWS)
    if COLUMNS <= BLOCK:
        column = columns_from(0, BLOCK)
        value = centred(x, residual, x_first, residual_first, row, exists, column, stride,
                        residual_stride, COLUMNS)
        mean = tl.sum(value, axis=1, keep_dims=True) / COLUMNS
        distance = tl.where(column < COLUMNS, value - mean, 0.0)
        squares = tl.sum(distance * distance, axis=1, keep_dims=True)
        value = standardize(value, mean, squares, COLUMNS, EPSILON)
        write(out, value, weight, bias, row, exists, column, COLUMNS)
    else:
        mean = tl.zeros((ROWS, 1), tl.float32)
        squares = tl.zeros((ROWS, 1), tl.float32)
        for start in range(0, COLUMNS, BLOCK):
            # Chan's rule: the moments of two parts together.
            column = columns_from(start, BLOCK)
            value = centred(x, residual, x_first, residual_first, row, exists, column, stride,
                            residual_stride, COLUMNS)
            before = tl.full((ROWS, 1), start, tl.float32)
            count = tl.minimum(COLUMNS - before, BLOCK)
            block_mean = tl.sum(value, axis=1, keep_dims=True) / count
            distance = tl.where(column < COLUMNS, value - block_mean, 0.0)
            difference = block_mean - mean
            share = count / (before + count)
            mean += difference * share
            squares += tl.sum(distance * distance, axis=1, keep_dims=True)
            squares += difference * difference * before * share
        for start in range(0, COLUMNS, BLOCK):
            column = columns_from(start, BLOCK)
            value = centred(x, residual, x_first, residual_first, row, exists, column, stride,
                            residual_stride, COLUMNS)
            value = standardize(value, mean, squares, COLUMNS, EPSILON)
            write(out, value, weight, bias, row, exists, column, COLUMNS)


@triton.jit
def layer_norm(x, weight, bias, out, rows, stride, COLUMNS: tl.constexpr, EPSILON: tl.constexpr,
               ROWS: tl.constexpr, BLOCK: tl.constexpr):
    layer_norm_of(x, None, weight, bias, out, rows, stride, 0, COLUMNS, EPSILON, ROWS, BLOCK)


@triton.jit
def layer_norm_no_affine(x, out, rows, stride, COLUMNS: tl.constexpr, EPSILON: tl.constexpr,
                         ROWS: tl.constexpr, BLOCK: tl.constexpr):
    layer_norm_of(x, None, None, None, out, rows, stride, 0, COLUMNS, EPSILON, ROWS, BLOCK)


@triton.jit
def add_layer_norm(x, residual, weight, bias, out, rows, stride, residual_stride,
                   COLUMNS: tl.constexpr, EPSILON: tl.constexpr, ROWS: tl.constexpr,
                   BLOCK: tl.constexpr):
    layer_norm_of(x, residual, weight, bias, out, rows, stride, residual_stride, COLUMNS, EPSILON,
                  ROWS, BLOCK)


@triton.jit
def rms_norm(x, weight, out, rows, stride, COLUMNS: tl.constexpr, EPSILON: tl.constexpr,
             ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row, exists = rows_of_tile(tl.program_id(0), rows, ROWS)
    if COLUMNS <= BLOCK:
        column = columns_from(0, BLOCK)
        value = load(x + row * stride + column, exists & (column < COLUMNS))
        squares = tl.sum(value * value, axis=1, keep_dims=True)
        value = standardize(value, 0.0, squares, COLUMNS, EPSILON)
        write(out, value, weight, None, row, exists, column, COLUMNS)
    else:
        squares = tl.zeros((ROWS, 1), tl.float32)
        for start in range(0, COLUMNS, BLOCK):
            column = columns_from(start, BLOCK)
            value = load(x + row * stride + column, exists & (column < COLUMNS))
            squares += tl.sum(value * value, axis=1, keep_dims=True)
        for start in range(0, COLUMNS, BLOCK):
            column = columns_from(start, BLOCK)
            value = load(x + row * stride + column, exists & (column < COLUMNS))
            value = standardize(value, 0.0, squares, COLUMNS, EPSILON)
            write(out, value, weight, None, row, exists, column, COLUMNS)
