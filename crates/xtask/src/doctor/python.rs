//! python3 and pip: needed to provision libtorch, not afterwards.

use super::check::Check;
use crate::python::{Python, pip_version, python_version};

pub fn check(libtorch_is_there: bool) -> Vec<Check> {
    match Python::find() {
        Ok(_) => vec![
            Check::ok("python3", python_version().unwrap_or_default()),
            Check::ok("pip", pip_version().unwrap_or_default()),
        ],
        Err(error) => {
            let name = if python_version().is_some() { "pip" } else { "python3" };
            let remedy = error.remedies().first().cloned().unwrap_or_default();
            vec![if libtorch_is_there {
                Check::warning(name, error.what(), remedy)
            } else {
                Check::missing(name, error.what(), remedy)
            }]
        }
    }
}
