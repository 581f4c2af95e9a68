//! The plan that results are held against.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Result, bail};
use regex::Regex;
use serde::Deserialize;

use crate::read::file;
use crate::render::units;

/// A case of the JSON that `plan` prints; the other keys are not needed here.
#[derive(Debug, Deserialize)]
pub struct Planned {
    pub full_id: String,
    /// The number of its shard, where `plan` was asked for it.
    #[serde(default)]
    pub shard: Option<u32>,
}

/// The planned cases, in their order, each once.
#[derive(Debug)]
pub struct Plan {
    pub cases: Vec<Planned>,
    /// Ids of the planned cases that the filter leaves out.
    pub left_out: HashSet<String>,
}

impl Plan {
    /// Reads a plan; only the cases that match the filter count.
    pub fn read(path: &Path, filter: Option<&Regex>) -> Result<Self> {
        let text = file::read_all(path).map_err(|cause| file::unusable(path, cause))?;
        let mut cases: Vec<Planned> = serde_json::from_slice(&text).map_err(|cause| {
            let remedy = "write the plan with `criterion-report plan --format json CONFIG`";
            file::unusable(path, format!("not a plan: {cause}; {remedy}"))
        })?;
        if cases.is_empty() {
            return Err(file::unusable(
                path,
                "the plan has no case: write it again without a filter",
            ));
        }
        let mut known = HashSet::new();
        if let Some(twice) = cases.iter().find(|case| !known.insert(case.full_id.as_str())) {
            let why = format!("`{}` is planned twice: keep one of them", twice.full_id);
            return Err(file::unusable(path, why));
        }
        let mut left_out = HashSet::new();
        if let Some(filter) = filter {
            let (some, others): (Vec<Planned>, Vec<Planned>) =
                cases.into_iter().partition(|case| filter.is_match(&case.full_id));
            cases = some;
            left_out = others.into_iter().map(|case| case.full_id).collect();
            if cases.is_empty() {
                let planned = units::count(left_out.len(), "planned case");
                bail!("--filter {filter} matches none of {planned} in {}", path.display());
            }
        }
        Ok(Self { cases, left_out })
    }
}
