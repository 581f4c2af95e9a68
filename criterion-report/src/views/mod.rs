//! Views: which rows, which columns, and what they advise.

pub mod aa;
pub(crate) mod answer;
pub mod calibration;
pub(crate) mod choice;
pub mod compare;
pub mod explain;
pub(crate) mod failures;
pub(crate) mod footer;
pub(crate) mod footnotes;
pub(crate) mod frontier;
pub mod fusion;
pub(crate) mod header;
pub(crate) mod heatmap;
pub mod kernels;
pub mod operators;
pub(crate) mod profile;
pub(crate) mod reason;
pub mod recommend;
pub mod show;
pub(crate) mod strategy;
pub mod summary;
pub mod training;
pub(crate) mod verdict;
pub(crate) mod view;
pub mod written;

pub use answer::{
    Answer, Answers, Beside, Level, Limits, OtherProduct, Question, Speedups, Unjudged, Unmeasured,
};
pub use frontier::fronts;
pub use fusion::{
    Accounting, Advice, FusionItem, FusionResult, OverControl, PatternAdvice, Point, VariantAdvice,
    other_products, saved, sdpa_dispatch,
};
pub use heatmap::{Heatmap, HeatmapKind};
pub use operators::{
    Bandwidths, Ceiling, Efficiency, EfficiencySource, NoEfficiency, OperatorResult, Rank,
    upstreams_estimate,
};
pub use reason::Reason;
