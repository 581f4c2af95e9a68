//! The child of a run that profiles cases.

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::process::ExitCode;

use plan::{Case, Plan};

use super::{Message, Request, case_profile};
use crate::harness::case_run::release;
use crate::harness::streams;
use crate::native::numerics;
use crate::workload::Prepare;

/// Set in the environment of a child.
pub(super) const CHILD: &str = "CRITERION_TORCH_PROFILES_FOR";

/// Whether this process is the child of a run.
pub fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Profiles the cases that the standard input asks for.
///
/// # Errors
/// When the request cannot be read, or when the results cannot be written.
pub fn run(plan: &Plan, prepare: Prepare) -> Result<ExitCode, String> {
    // Standard output carries the messages to the parent, so output of a case must not go there.
    let mut out = streams::take_stdout().map_err(|error| format!("standard output: {error}"))?;
    let request: Request = serde_json::from_reader(io::stdin())
        .map_err(|error| format!("{CHILD} is set, but standard input holds no request: {error}"))?;
    let mut tell = |message: &Message| {
        let mut line = serde_json::to_vec(message).map_err(io::Error::other)?;
        line.push(b'\n');
        out.write_all(&line)
    };
    let mut tell = |message: &Message| tell(message).map_err(|error| error.to_string());
    numerics::pin().map_err(|error| error.to_string())?;
    let _no_gradients = tch::no_grad_guard();
    let cases: HashMap<String, &Case> = plan.cases().map(|it| (it.full_id(), it)).collect();
    for (id, wanted) in request.cases {
        let case = cases.get(&id).ok_or_else(|| format!("this program has no case `{id}`"))?;
        tell(&Message::Starts(id.clone()))?;
        let profile = case_profile::profile(case, wanted, &request.root, prepare);
        release(case.device);
        tell(&Message::Ends(id, Box::new(profile)))?;
    }
    Ok(ExitCode::SUCCESS)
}
