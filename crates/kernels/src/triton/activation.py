"""y = f(x) element by element: GELU by erf and by tanh, SiLU, GELU of x + b.

GELU's ½(1 + tanh u) is σ(2u), which neither overflows nor cancels. f(-inf) is -inf·0 = NaN, as in
ATen.
"""

import triton
import triton.language as tl

from prelude import columns_from, exp, load, rows_of_tile, store


@triton.jit
def sigmoid(x):
    """σ(x), from the side on which e^x is not large."""
    power = exp(-tl.abs(x))
    return tl.where(x < 0, power, 1.0) / (1.0 + power)


@triton.jit
def gelu_of(x):
    return 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))


@triton.jit
def place(columns, stride, blocks, BLOCK: tl.constexpr):
    """The places that a program reads and writes, of `blocks` programs a row."""
    program = tl.program_id(0)
    row = (program // blocks).to(tl.int64)
    column = (program % blocks).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    return row * stride + column, row * columns + column, column < columns


@triton.jit
def gelu(x, out, columns, stride, blocks, BLOCK: tl.constexpr):
    source, target, mask = place(columns, stride, blocks, BLOCK)
    store(out + target, gelu_of(load(x + source, mask)), mask)


@triton.jit
def gelu_tanh(x, out, columns, stride, blocks, BLOCK: tl.constexpr):
    source, target, mask = place(columns, stride, blocks, BLOCK)
    value = load(x + source, mask)
    cubic = value + 0.044715 * value * value * value
    store(out + target, value * sigmoid(1.5957691216057308 * cubic), mask)


@triton.jit
def silu(x, out, columns, stride, blocks, BLOCK: tl.constexpr):
    source, target, mask = place(columns, stride, blocks, BLOCK)
    value = load(x + source, mask)
    store(out + target, value * sigmoid(value), mask)


@triton.jit
def bias_gelu(x, bias, out, rows, stride, COLUMNS: tl.constexpr, ROWS: tl.constexpr,
              BLOCK: tl.constexpr):
    """A program takes ROWS rows by BLOCK columns; the programs of the same rows follow each other."""
    blocks = tl.cdiv(COLUMNS, BLOCK)
    program = tl.program_id(0)
    row, exists = rows_of_tile(program // blocks, rows, ROWS)
    column = columns_from(program % blocks * BLOCK, BLOCK)
    mask = exists & (column < COLUMNS)
    value = load(x + row * stride + column, mask) + load(bias + column, column < COLUMNS)
    store(out + row * COLUMNS + column, gelu_of(value), mask)
