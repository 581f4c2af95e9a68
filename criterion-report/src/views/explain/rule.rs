//! The rules by which statements are made.

/// The rule of a statement, as the book's table has it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// The statement's name in JSON.
    pub name: &'static str,
    /// The figure that is compared with the threshold, and how it is computed.
    pub rule: &'static str,
    /// The least share for which the statement is made.
    pub threshold: f64,
    /// An example of the sentence.
    pub example: &'static str,
}

/// The least share of the time that is worth a statement.
const NOTABLE: f64 = 0.1;
/// A case is bound by a limit if the limit is at least half of its time.
const AT_LIMIT: f64 = 0.5;
/// A case is launch-bound if calls take at least a quarter of its time.
const BY_CALLS: f64 = 0.25;

impl Rule {
    pub const MEMORY_BOUND: Self = Self {
        name: "memory_bound",
        rule: "time at the measured bandwidth of the level in which the working set lies, without that of added operations",
        threshold: AT_LIMIT,
        example: "memory-bound: 93 % of the time at the bandwidth of memory",
    };
    pub const COMPUTE_BOUND: Self = Self {
        name: "compute_bound",
        rule: "time at the measured peak in the case's dtype, without that of added operations",
        threshold: AT_LIMIT,
        example: "compute-bound: 87 % of the time at the measured peak",
    };
    pub const CONVERTS_WEIGHT: Self = Self {
        name: "converts_weight",
        rule: "time of operations of a quantized model that have a tensor with the weight's elements as argument and are neither products nor views nor an activation's",
        threshold: NOTABLE,
        example: "82 % of the time converts the weight on every call",
    };
    pub const PAGE_FAULTS: Self = Self {
        name: "page_faults",
        rule: "page faults × the measured cost of one, at most the time in the kernel, over the wall time, or over the CPU time where that is longer",
        threshold: NOTABLE,
        example: "12\u{202f}289 page faults per step, 71 % of the time",
    };
    pub const OTHER_LIBRARY: Self = Self {
        name: "other_library",
        rule: "difference of the products' times over the longer of both cases' times, where another operation computes the product than in the baseline; without two profiles the difference of both cases' times; made for any share if the libraries differ",
        threshold: NOTABLE,
        example: "the matrix product comes from oneDNN (mkldnn::_linear_pointwise instead of aten::mm): 1.50× the baseline's speed",
    };
    pub const OTHER_DISPATCH: Self = Self {
        name: "other_dispatch",
        rule: "the same for implementations of attention, if a sibling of the same parameter is dispatched to another one",
        threshold: NOTABLE,
        example: "dispatched to aten::_scaled_dot_product_attention_math instead of aten::_scaled_dot_product_flash_attention_for_cpu: 0.25× the speed of `fused`",
    };
    pub const LAUNCH_BOUND: Self = Self {
        name: "launch_bound",
        rule: "calls × the calibrated cost of a call, each at most the time of its operation; on a device the time in which it waits for the host",
        threshold: BY_CALLS,
        example: "launch-bound: 1280 calls take 64 % of the time",
    };
    pub const IDLE_THREADS: Self = Self {
        name: "idle_threads",
        rule: "1 − CPU time / (wall time × threads), at most what no part explains; at least half a thread is idle",
        threshold: NOTABLE,
        example: "1 of 2 threads is idle: 48 % of the time",
    };
    pub const ADDED_OPERATION: Self = Self {
        name: "added_operation",
        rule: "time of calls that the baseline does not make, less that of calls that only the baseline makes, without attention, conversions and page faults; of products, where they are more than in the baseline, at most what all of them take longer",
        threshold: NOTABLE,
        example: "aten::copy_ runs once more than in the baseline: 46 % of the time",
    };
    pub const UNEXPLAINED: Self = Self {
        name: "unexplained",
        rule: "the rest, in operations and outside of them; made for any share if there is no other statement",
        threshold: NOTABLE,
        example: "unexplained: 34 %",
    };

    /// All of them, in the order of the book's table.
    pub const ALL: [Self; 10] = [
        Self::MEMORY_BOUND,
        Self::COMPUTE_BOUND,
        Self::CONVERTS_WEIGHT,
        Self::PAGE_FAULTS,
        Self::OTHER_LIBRARY,
        Self::OTHER_DISPATCH,
        Self::LAUNCH_BOUND,
        Self::IDLE_THREADS,
        Self::ADDED_OPERATION,
        Self::UNEXPLAINED,
    ];
}
