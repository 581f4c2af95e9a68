//! What the targets with workloads of their own share.

use plan::{Accuracy, Stat};

/// An output that equals its reference.
pub fn exact() -> Accuracy {
    let (infinite, zero) = (Stat(f64::INFINITY), Stat(0.0));
    Accuracy {
        sqnr_db: infinite,
        max_abs_error: zero,
        relative_error: zero,
        rmse: None,
        min_sqnr_db: 45.0,
        rows_checked: 1,
        gates: vec![],
        eager: None,
    }
}
