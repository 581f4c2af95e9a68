//! The question that `cargo torch-bench recommend` leaves beside the records.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Result, anyhow};
use plan::recommendation::{self, RecommendationRequest, SCHEMA, VERSION};
use serde_json::Value;

use crate::read::file;

/// The command that asks, and measures what answers it.
pub const COMMAND: &str = "cargo torch-bench recommend CONFIG.json";

/// The last question among the records.
pub fn read(records: &Path) -> Result<RecommendationRequest> {
    let path = recommendation::file(records);
    let text = file::text(&path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => anyhow!(
            "there is no {}: nothing was asked\n  `{COMMAND}` asks, and measures what answers it",
            path.display()
        ),
        _ => file::unusable(&path, error),
    })?;
    let value: Value = serde_json::from_str(&text).map_err(|error| file::unusable(&path, error))?;
    let (schema, version) = (&value["schema"], &value["version"]);
    if *schema != SCHEMA || *version != VERSION {
        let why = format!(
            "schema {schema}, version {version}: this program reads {SCHEMA}, version {VERSION}\n  \
             ask again with the `{COMMAND}` of this version"
        );
        return Err(file::unusable(&path, why));
    }
    serde_json::from_value(value).map_err(|error| file::unusable(&path, error))
}
