//! `criterion-report`.

fn main() {}
