//! Prints how the cases of a run ended: `cargo run -p criterion-torch-plan --example records -- FILE.jsonl`

use std::error::Error;
use std::fs;

use plan::Record;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args_os().nth(1).ok_or("usage: records FILE.jsonl")?;
    for line in fs::read_to_string(file)?.lines() {
        let record: Record = serde_json::from_str(line)?;
        match record.outcome.reason() {
            Some(reason) => println!("{}: {reason}", record.full_id),
            None => println!("{}: {} pairs", record.full_id, record.pairs.len()),
        }
        for pair in &record.pairs {
            println!(
                "  {:.2}× [{:.2}, {:.2}] against {}",
                pair.speedup, pair.low, pair.high, pair.against
            );
        }
    }
    Ok(())
}
