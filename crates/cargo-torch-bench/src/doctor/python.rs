//! python3 and pip: needed to provision libtorch, not afterwards.

use super::check::{Check, Mark};
use crate::python::Python;

pub fn check(libtorch_is_there: bool) -> Vec<Check> {
    match Python::find() {
        Ok(python) => vec![Check::ok("python3", python.version), Check::ok("pip", python.pip)],
        Err(error) => {
            let name = if error.what().starts_with("python3 (") { "pip" } else { "python3" };
            let mark = if libtorch_is_there { Mark::Warning } else { Mark::Missing };
            vec![Check::of_error(mark, name, &error, "")]
        }
    }
}
