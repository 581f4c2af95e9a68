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
def reciprocal(x):
    """1 / x, off by one unit in the last place at most, where neither is denormal."""
    return tl.inline_asm_elementwise("rcp.approx.ftz.f32 $0, $1;", "=f,f", [x], tl.float32, True, 1)


@triton.jit
def power_of_two(x):
    """2^x; 0 where that is denormal."""
    return tl.inline_asm_elementwise("ex2.approx.ftz.f32 $0, $1;", "=f,f", [x], tl.float32, True, 1)


@triton.jit
def gelu_of(x):
    """x·Φ(x). Φ's smaller tail is e^(-x²/2)·p(t), as in `pointwise.cu`.

    Memory is waited for only with fewer than about 35 instructions for each number of a half dtype;
    `tl.erf` and exact quotients take more. The power is 2^24 times itself so as not to be denormal,
    and p a 2^24th of itself.
    """
    t = reciprocal(1.0 + 0.3 * tl.abs(x))
    p = 0.035423859 * 0.5**24 * t - 0.15615894 * 0.5**24
    p = p * t + 0.20455757 * 0.5**24
    p = p * t - 0.052034684 * 0.5**24
    p = p * t + 0.12769209 * 0.5**24
    p = p * t + 0.10017586 * 0.5**24
    p = p * t + 0.12071215 * 0.5**24
    p = p * t + 0.11963201 * 0.5**24
    tail = power_of_two(24.0 - 0.72134752044448170 * (x * x)) * (p * t)
    return x * tl.where(x < 0, tail, 1.0 - tail)


@triton.jit
def place(columns, stride, blocks, BLOCK: tl.constexpr):
    """Where a program reads and writes, of `blocks` programs a row: from where on, and 32-bit steps."""
    program = tl.program_id(0)
    row = (program // blocks).to(tl.int64)
    start = (program % blocks).to(tl.int64) * BLOCK
    column = tl.arange(0, BLOCK)
    inside = column < tl.minimum(columns - start, BLOCK).to(tl.int32)
    return row * stride + start, row * columns + start, column, inside


@triton.jit
def gelu(x, out, columns, stride, blocks, BLOCK: tl.constexpr):
    source, target, column, mask = place(columns, stride, blocks, BLOCK)
    store(out + target + column, gelu_of(load(x + source + column, mask)), mask)


@triton.jit
def gelu_tanh(x, out, columns, stride, blocks, BLOCK: tl.constexpr):
    source, target, column, mask = place(columns, stride, blocks, BLOCK)
    value = load(x + source + column, mask)
    cubic = value + 0.044715 * value * value * value
    store(out + target + column, value * sigmoid(1.5957691216057308 * cubic), mask)


@triton.jit
def silu(x, out, columns, stride, blocks, BLOCK: tl.constexpr):
    source, target, column, mask = place(columns, stride, blocks, BLOCK)
    value = load(x + source + column, mask)
    store(out + target + column, value * sigmoid(value), mask)


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
