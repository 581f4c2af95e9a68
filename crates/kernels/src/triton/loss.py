"""The mean squared error, and the second half of every mean.

A mean is made by two kernels, always the same additions in the same order: each program of the
first adds up a part, one program of the second adds up the parts.
"""

import triton
import triton.language as tl

from prelude import load, store


@triton.jit
def squared_error(x, target, sums, columns, stride, target_stride, blocks, tiles,
                  BLOCK: tl.constexpr):
    """Adds up the squares of every num_programs-th tile, `blocks` of which are a row."""
    program = tl.program_id(0)
    total = tl.zeros((BLOCK, ), tl.float32)
    for tile in range(program, tiles, tl.num_programs(0)):
        row = (tile // blocks).to(tl.int64)
        column = (tile % blocks).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        mask = column < columns
        error = load(x + row * stride + column, mask)
        error -= load(target + row * target_stride + column, mask)
        total += error * error
    tl.store(sums + program, tl.sum(total))


@triton.jit
def mean(sums, out, parts, count, BLOCK: tl.constexpr):
    """Σ sums / count, in one program."""
    total = tl.zeros((BLOCK, ), tl.float32)
    for start in range(0, parts, BLOCK):
        part = start + tl.arange(0, BLOCK)
        total += load(sums + part, part < parts)
    store(out, tl.sum(total) / count.to(tl.float32), None)
