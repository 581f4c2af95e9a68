//! The part of the tensors that a program works on, and its warps.

use super::compile::Constant;

/// Elements of a program: 8 of each thread's are in flight at once, 16 bytes of a half dtype.
const ELEMENTS: i64 = 1024;
/// Elements of a warp up to the most warps.
const PER_WARP: i64 = 256;
const WARPS: (i64, i64) = (4, 32);
/// The longest row that is held in registers, 32 numbers of each of 1024 threads. With twice as
/// many, ptxas spills; longer rows are read twice instead.
const LONGEST: i64 = 32 << 10;
/// Columns of a longer row that are worked on at once, and warps for them.
const PART: (i64, u32) = (8192, 16);
/// The fewest columns that a row is cut into.
const NARROWEST: i64 = 128;

/// Rows by columns, both powers of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tile {
    pub rows: i64,
    pub block: i64,
    pub warps: u32,
}

impl Tile {
    /// Contiguous elements: twice as many, so that addresses are a small part of the instructions.
    pub const FLAT: Self = Self { rows: 1, block: 2 * ELEMENTS, warps: 4 };

    /// Whole rows: several short ones; one; or a part of one that is too long.
    pub fn of_rows(columns: i64) -> Self {
        let block = power_of_two(columns);
        if block > LONGEST {
            let (block, warps) = PART;
            return Self { rows: 1, block, warps };
        }
        let rows = (ELEMENTS / block).max(1);
        let warps = (rows * block / PER_WARP).clamp(WARPS.0, WARPS.1);
        Self { rows, block, warps: warps as u32 }
    }

    /// [`ELEMENTS`] in as many rows as it takes, of the largest width that leaves the fewest threads
    /// idle.
    pub fn of_columns(columns: i64) -> Self {
        let widest = power_of_two(columns).min(ELEMENTS);
        let covered = |block: &i64| (columns + block - 1) / block * block;
        let widths = std::iter::successors(Some(widest), |block| Some(block / 2))
            .take_while(|block| *block == widest || *block >= NARROWEST);
        let block = widths.min_by_key(covered).unwrap_or(widest);
        Self { rows: ELEMENTS / block, block, warps: 4 }
    }

    /// ROWS and BLOCK.
    pub fn constants(self) -> [(&'static str, Constant); 2] {
        [("ROWS", Constant::Integer(self.rows)), ("BLOCK", Constant::Integer(self.block))]
    }
}

/// The least that is not below it.
fn power_of_two(columns: i64) -> i64 {
    u64::try_from(columns).map_or(1, |columns| columns.next_power_of_two() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_rows(columns: i64) -> (i64, i64, u32) {
        let Tile { rows, block, warps } = Tile::of_rows(columns);
        (rows, block, warps)
    }

    #[test]
    fn short_rows_share_a_program_and_long_ones_get_more_warps() {
        assert_eq!(of_rows(1), (1024, 1, 4));
        assert_eq!(of_rows(64), (16, 64, 4));
        assert_eq!(of_rows(65), (8, 128, 4));
        assert_eq!(of_rows(768), (1, 1024, 4));
        assert_eq!(of_rows(4096), (1, 4096, 16));
        assert_eq!(of_rows(16_384), (1, 16_384, 32));
        assert_eq!(of_rows(32_768), (1, 32_768, 32));
        assert_eq!(of_rows(32_769), (1, 8192, 16));
    }

    #[test]
    fn columns_are_cut_so_that_few_threads_are_idle() {
        for (columns, rows, block) in [
            (1, 1024, 1),
            (8, 128, 8),
            (65, 8, 128),
            (768, 4, 256),
            (1024, 1, 1024),
            (1536, 2, 512),
            (4096, 1, 1024),
            (4097, 8, 128),
        ] {
            assert_eq!(Tile::of_columns(columns), Tile { rows, block, warps: 4 }, "{columns}");
        }
    }
}
