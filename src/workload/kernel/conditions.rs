//! Whether a kernel's case is to be run at all.

use plan::{Case, Expression, FactValue, KernelWork, SkipCondition};

use super::facts;
use crate::device;
use crate::refusal::Refusal;

/// Whether its device is there and none of its skip conditions holds. Builds nothing. A user's
/// reason says more than that a device is absent, so conditions come first.
///
/// # Errors
/// Skipped; failed where a condition asks for what is not known here, though the device is.
pub(in crate::workload) fn check(case: &Case, work: &KernelWork) -> Result<(), Refusal> {
    let fact = |name: &str| facts::value(name, case, work);
    let mut judged = work.skip_conditions.iter().map(|skip| judge(skip, work, &fact));
    let Err(absent) = device::resolve(case.device) else { return judged.collect() };
    let skips = |it: &Result<(), Refusal>| matches!(it, Err(Refusal::Skipped(_)));
    judged.find(skips).unwrap_or(Err(absent))
}

fn judge(
    skip: &SkipCondition,
    work: &KernelWork,
    fact: &dyn Fn(&str) -> Option<FactValue>,
) -> Result<(), Refusal> {
    let SkipCondition { check, reason } = skip;
    let Some(check) = check else { return Err(Refusal::Skipped(reason.clone())) };
    let fields: Vec<_> = facts::fields(work).map(|(name, value)| (name, value.kind())).collect();
    let failed = |what: &str| Refusal::Failed(format!("skip_conditions: `{check}`: {what}"));
    let expression = Expression::parse(check, &fields)
        .map_err(|error| failed(&format!("{error}; {}", error.remedy)))?;
    if expression.holds(fact).map_err(|what| failed(&what))? {
        let why = format!("{reason} (skip_conditions: `{check}`)");
        return Err(Refusal::Skipped(why));
    }
    Ok(())
}

#[cfg(test)]
#[path = "conditions_tests.rs"]
mod tests;
