"""Softmax over the last dimension, and the mean cross entropy of logits.

Powers are of x less the largest so far, which begins at the lowest finite number: entries of -inf
are then 0 whatever comes first, and NaN, +inf or nothing finite make the row NaN.
"""

import triton
import triton.language as tl

from prelude import columns_from, exp, load, rows_of_tile, store

LOWEST: tl.constexpr = tl.constexpr(-3.4028234663852886e38)


@triton.jit
def logits(x, row, exists, column, stride, COLUMNS: tl.constexpr):
    """A block of rows; -inf beyond their end."""
    inside = column < COLUMNS
    value = load(x + row * stride + column, exists & inside)
    return tl.where(inside, value, -float("inf"))


@triton.jit
def largest_and_sum(x, row, exists, stride, COLUMNS: tl.constexpr, ROWS: tl.constexpr,
                    BLOCK: tl.constexpr):
    """The largest of each row and the sum of its e^(x - largest), in one pass."""
    largest = tl.full((ROWS, 1), LOWEST, tl.float32)
    total = tl.zeros((ROWS, 1), tl.float32)
    for start in range(0, COLUMNS, BLOCK):
        value = logits(x, row, exists, columns_from(start, BLOCK), stride, COLUMNS)
        larger = tl.maximum(largest, tl.max(value, axis=1, keep_dims=True))
        total = total * exp(largest - larger)
        total += tl.sum(exp(value - larger), axis=1, keep_dims=True)
        largest = larger
    return largest, total


@triton.jit
def softmax(x, out, rows, stride, COLUMNS: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row, exists = rows_of_tile(tl.program_id(0), rows, ROWS)
    if COLUMNS <= BLOCK:
        column = columns_from(0, BLOCK)
        value = logits(x, row, exists, column, stride, COLUMNS)
        largest = tl.maximum(tl.max(value, axis=1, keep_dims=True), LOWEST)
        power = exp(value - largest)
        value = power * (1.0 / tl.sum(power, axis=1, keep_dims=True))
        store(out + row * COLUMNS + column, value, exists & (column < COLUMNS))
    else:
        largest, total = largest_and_sum(x, row, exists, stride, COLUMNS, ROWS, BLOCK)
        for start in range(0, COLUMNS, BLOCK):
            column = columns_from(start, BLOCK)
            value = exp(logits(x, row, exists, column, stride, COLUMNS) - largest) * (1.0 / total)
            store(out + row * COLUMNS + column, value, exists & (column < COLUMNS))


@triton.jit
def load_chosen(x, targets, tile, rows, stride, COLUMNS: tl.constexpr, ROWS: tl.constexpr):
    """x[target] of each row as a column, in float32; NaN where there is no such column."""
    row = tl.cast(tile, tl.int64) * ROWS + tl.arange(0, ROWS)
    exists = row < rows
    target = tl.load(targets + row, mask=exists, other=0)
    is_column = (target >= 0) & (target < COLUMNS)
    chosen = load(x + row * stride + target, exists & is_column)
    return tl.where(is_column, chosen, float("nan"))[:, None]


@triton.jit
def cross_entropy(x, targets, sums, rows, stride, tiles, COLUMNS: tl.constexpr,
                  ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """Adds up the losses of every num_programs-th tile; `mean` of loss.py does the rest.

    The loss is (largest - x[target]) + log Σ: neither term loses what the other has.
    """
    program = tl.program_id(0)
    losses = tl.zeros((ROWS, 1), tl.float32)
    for tile in range(program, tiles, tl.num_programs(0)):
        row, exists = rows_of_tile(tile, rows, ROWS)
        largest, total = largest_and_sum(x, row, exists, stride, COLUMNS, ROWS, BLOCK)
        chosen = load_chosen(x, targets, tile, rows, stride, COLUMNS, ROWS)
        losses += tl.where(exists, largest - chosen + tl.log(total), 0.0)
    tl.store(sums + program, tl.sum(losses))
