//! Compiling before anything is measured: traced then, compiled on all cores, and at hand when a case's
//! turn comes, which then neither traces nor compiles: its first call finds everything cold.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ::libtorch::packages::Key;
use plan::Case;

use super::traceable::job;
use super::{Refusal, eager, preflight};
use crate::compile::{Compiled, Job};

/// A case's operations, traced.
#[derive(Debug)]
pub struct Ahead {
    full_id: String,
    job: Job,
}

type Results = BTreeMap<String, Result<Compiled, Refusal>>;

/// By case.
static RESULTS: Mutex<Results> = Mutex::new(Results::new());

/// Most results that wait for their cases: each holds a file open, and many systems allow a thousand.
/// Any other case is traced again, and finds its package in the cache.
const MOST: usize = 512;

impl Ahead {
    /// Builds the case eagerly and traces a step; none where the case is not compiled.
    pub fn for_case(case: &Case) -> Result<Option<Self>, Refusal> {
        let Some(mode) = case.work.compile() else { return Ok(None) };
        preflight(case)?;
        let job = job(case, mode, &*eager(case)?)?;
        Ok(Some(Self { full_id: case.full_id(), job }))
    }

    /// The name of its package.
    pub fn key(&self) -> &Key {
        self.job.key()
    }

    /// Whether another process or thread is compiling its package.
    pub fn is_being_compiled(&self) -> bool {
        self.job.is_being_compiled()
    }

    /// Whether its package is there, of an earlier run.
    pub fn is_kept(&self) -> bool {
        self.job.is_kept()
    }

    /// Compiles where there is no package, and keeps what came of it for [`super::prepare`].
    pub fn compile(self) {
        let result = self.job.compile();
        let mut results = results();
        if results.len() < MOST {
            results.insert(self.full_id, result);
        }
    }
}

/// The result of compiling the case ahead; `None` if that was not done.
pub(super) fn result(case: &Case) -> Option<Result<Compiled, Refusal>> {
    results().get(&case.full_id()).cloned()
}

fn results() -> MutexGuard<'static, Results> {
    RESULTS.lock().unwrap_or_else(PoisonError::into_inner)
}
