//! A Python that has torchao and its torch: the user's own, or the one in the cache.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::environment;
use crate::error::{Error, Result};
use ::libtorch::{PYTHON, TORCHAO, VERSION};

/// The Python that is `chosen`, that SELF_TEST_PYTHON names, or that lies in the cache: provisioned
/// if there is none yet.
pub fn python(chosen: Option<PathBuf>) -> Result<PathBuf> {
    let named = |value: &OsString| !value.is_empty();
    let (python, by) = match (chosen, std::env::var_os(PYTHON).filter(named)) {
        (Some(python), _) => (python, "--python"),
        (None, Some(python)) => (PathBuf::from(python), PYTHON),
        (None, None) => return environment::provision().map_err(use_your_own),
    };
    environment::check(&python).map_err(|why| {
        Error::new(format!("{by}: {} cannot be used: {why}", python.display()))
            .remedy(format!("leave out --python and unset {PYTHON}, and one is provisioned"))
            .remedy(format!("or have it: pip install torch=={VERSION} torchao=={TORCHAO}"))
    })?;
    Ok(python)
}

fn use_your_own(error: Error) -> Error {
    error.remedy(format!(
        "or name a Python that has torch {VERSION} and torchao {TORCHAO}: --python /path/to/it"
    ))
}
