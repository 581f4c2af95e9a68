"""y = x · Wᵀ with W dequantized on the way, 4 or 8 bits, on tensor cores; `gemlite.cu` has the layout.

A program computes a block of y transposed, W · xᵀ: tensor cores take the first operand of a product
from registers, where W is decoded, and the second one from shared memory. Weights enter as integers,
those of 4 bits plus 16, so that products are exact. Sums over a group are float32 and get its scale
and zero point afterwards:

    y = Σ over groups of scale · (Σ x · (16 + q) − (16 + zero) · Σ x)
"""

import triton
import triton.language as tl

from prelude import load, store


@triton.jit
def group_sums(x, sums, groups, GROUP: tl.constexpr, ROWS: tl.constexpr):
    """Σ x over each group, of which a contiguous x is so many."""
    group = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    at = group[:, None] * GROUP + tl.arange(0, GROUP)[None, :]
    value = load(x + at, (group < groups)[:, None])
    tl.store(sums + group, tl.sum(value, axis=1), mask=group < groups)


@triton.jit
def pair(word, PART: tl.constexpr, like):
    """Weights 8·PART + 2c and the next of word c, each plus 16."""
    if like.dtype.element_ty == tl.bfloat16:
        # 0x4180 is 16, whose last place but three is 1.
        two = (word << 3 if PART == 0 else word >> (4 * PART - 3)) & 0x00780078 | 0x41804180
    else:
        two = (word << (6 - 4 * PART) if PART < 2 else word >> (4 * PART - 6)) & 0x03C003C0 | 0x4C004C00
    low = two.to(tl.int16).to(like.dtype.element_ty, bitcast=True)
    high = (two >> 16).to(tl.int16).to(like.dtype.element_ty, bitcast=True)
    return tl.join(low, high)


@triton.jit
def decode(word, like, N: tl.constexpr, K: tl.constexpr):
    """Words [N, K / 8] to weights plus 16 [N, K].

    No number moves to another thread for it: tensor cores expect the weights of a word in one.
    """
    even = tl.join(pair(word, 0, like), pair(word, 2, like))
    odd = tl.join(pair(word, 1, like), pair(word, 3, like))
    # [row, 32 weights, word, half of the word, part / 2, part % 2]
    each = tl.reshape(tl.join(even, odd), (N, K // 32, 4, 2, 2, 2))
    return tl.reshape(tl.permute(each, (0, 1, 4, 5, 2, 3)), (N, K))


@triton.jit
def gemlite_gemm(x, packed, scale, y, m, n, k, zero, sums, GROUP: tl.constexpr, M: tl.constexpr,
                 N: tl.constexpr, K: tl.constexpr, BAND: tl.constexpr):
    """A block [N, M] of y transposed; without `zero` W has 8 bits and a scale for each row.

    K divides k and GROUP. Σ x comes from `sums`, as of `group_sums`, or, for few rows, where tensor
    cores are idle anyway, from a product with ones.
    """
    # Programs that follow each other share rows of x and of W: BAND blocks of W at a time.
    program = tl.program_id(0)
    blocks_m = tl.cdiv(m, M)
    band = program // (BAND * blocks_m)
    wide = tl.minimum(tl.cdiv(n, N) - band * BAND, BAND)
    inner = program % (BAND * blocks_m)
    m0 = inner // wide * M
    n0 = (band * BAND + inner % wide) * N
    # Rows and columns that do not exist are computed as the last ones and not stored.
    row = tl.minimum(m0 + tl.arange(0, M), m - 1).to(tl.int64)
    column = tl.minimum(n0 + tl.arange(0, N), n - 1).to(tl.int64)
    x_at = x + row[None, :] * k + tl.arange(0, K)[:, None]
    total = tl.zeros((N, M), tl.float32)
    if zero is None:
        w_at = packed + column[:, None] * k + tl.arange(0, K)[None, :]
        for _ in range(0, k // K):
            total = tl.dot(tl.load(w_at).to(x.dtype.element_ty), tl.load(x_at), total)
            x_at += K
            w_at += K
        total *= tl.load(scale + column).to(tl.float32)[:, None]
    else:
        groups = k // GROUP
        w_at = packed + column[:, None] * (k // 8) + tl.arange(0, K // 8)[None, :]
        for block in range(0, k // K):
            of_group = column * groups + block * K // GROUP
            weight_scale = tl.load(scale + of_group).to(tl.float32)[:, None]
            values = tl.load(x_at)
            part = tl.dot(decode(tl.load(w_at), x, N, K), values)
            if sums is None:
                ones = tl.full((N, K), 1.0, tl.float32).to(x.dtype.element_ty)
                weight_zero = tl.load(zero + of_group).to(tl.float32)[:, None]
                part -= (weight_zero + 16.0) * tl.dot(ones, values)
            total += weight_scale * part
            x_at += K
            w_at += K // 8
        if sums is not None:
            # More groups at once would not fit into registers.
            STEP: tl.constexpr = 16
            for first in tl.range(0, groups, STEP, num_stages=1):
                group = first + tl.arange(0, STEP)
                inside = group < groups
                of_group = column[:, None] * groups + group[None, :]
                zeros = load(zero + of_group, inside[None, :]) + 16.0
                zeros *= load(scale + of_group, inside[None, :])
                of_x = load(sums + row[None, :] * groups + group[:, None], inside[:, None])
                total = tl.dot(-zeros, of_x, total, input_precision="tf32x3")
    row = m0 + tl.arange(0, M)[:, None]
    column = n0 + tl.arange(0, N)[None, :]
    store(y + row.to(tl.int64) * n + column, tl.trans(total), (row < m) & (column < n))
