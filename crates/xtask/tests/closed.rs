//! A standard output that nobody reads.

use crate::common::closed::{assert_closed_changes_nothing, assert_full_is_an_error};

#[test]
fn a_closed_output_changes_nothing() {
    for line in ["test", "results --list", "compare-torchao x.yml", "gpu-check"] {
        assert_closed_changes_nothing(line);
    }
}

#[test]
fn a_full_output_is_an_error_of_its_own() {
    assert_full_is_an_error("results --list");
}
