//! Prints what fusing gained in the latest run: `cargo run -p criterion-report --example patterns -- target/criterion`

use std::error::Error;
use std::path::PathBuf;

use criterion_report::fusion::{Family, pattern_results};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).ok_or("usage: patterns FOLDER")?;
    let found = pattern_results(&PathBuf::from(folder), &[Family::Linear])?;
    for pattern in &found.results {
        println!("{}: {:.2}×", pattern.fusion_pattern, pattern.speedup_factor);
    }
    for case in &found.unmeasured {
        println!("{}: not measured: {}", case.full_id, case.reason);
    }
    Ok(())
}
