//! What a product with packed weights asks of an instruction set.

/// Weights that are decoded at a time.
pub const QUARTER: usize = 32;

/// The registers and instructions of one capability. All methods are inlined into a function that
/// has the instructions enabled, which is what makes calling them sound.
pub trait Lanes {
    /// An element of the activation, as the instructions want it.
    type X: Copy + Send + Sync;
    /// 32 weights as numbers.
    type Quarter: Copy;
    /// Partial sums in float32.
    type Sum: Copy;

    /// Whether the activation's 32 elements that meet a quarter of 4-bit weights come as the 16 of
    /// even index and then the 16 of odd index, rather than in order.
    const SPLITS_PAIRS: bool;

    /// Has the cache fetch what will be read at `address`, which need not be there. Rows of a weight are
    /// short, and the next ones are not where the hardware looks for them.
    #[inline(always)]
    fn prefetch(_address: *const u8) {}

    /// No sum yet.
    ///
    /// # Safety
    /// The CPU has the capability.
    unsafe fn zero() -> Self::Sum;

    /// `q − 8` of one quarter (0 to 3) of a block of 128 4-bit weights.
    ///
    /// # Safety
    /// The CPU has the capability; 64 bytes can be read at `block`.
    unsafe fn u4(block: *const u8, quarter: usize) -> Self::Quarter;

    /// 32 integers, the first of which meets the first element of the activation's 32.
    ///
    /// # Safety
    /// The CPU has the capability; 32 bytes can be read at `values`.
    unsafe fn i8(values: *const i8) -> Self::Quarter;

    /// `sum + quarter · x`.
    ///
    /// # Safety
    /// The CPU has the capability; 32 elements can be read at `x`.
    unsafe fn dot(quarter: Self::Quarter, x: *const Self::X, sum: Self::Sum) -> Self::Sum;

    /// `total + sum · scale`.
    ///
    /// # Safety
    /// The CPU has the capability.
    unsafe fn add_scaled(sum: Self::Sum, scale: f32, total: Self::Sum) -> Self::Sum;

    /// The sum of the partial sums.
    ///
    /// # Safety
    /// The CPU has the capability.
    unsafe fn total(sum: Self::Sum) -> f32;
}
