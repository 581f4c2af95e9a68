//! Checks: of the machine before a run, and of a kernel by its judge.

use serde::{Deserialize, Serialize};

use crate::words::closed::closed_set;

closed_set! {
    /// The status that a check found.
    CheckStatus, "status of a check" {
        /// Nothing that disturbs measuring.
        Passed = "passed",
        /// Something that makes numbers less certain.
        Warning = "warning",
        /// Something that makes numbers wrong.
        Failed = "failed",
        /// It could not be asked here.
        Skipped = "skipped",
    }
}

/// One question, to the machine before a run or to a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    /// The check's name, e.g. `governor`; unique in a run, or in a case.
    pub name: String,
    /// The finding.
    pub status: CheckStatus,
    /// The value that was read, with its unit; for a skipped check, the reason.
    pub value: String,
    /// Why it matters and what to do; absent when passed or skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Check {
    /// One whose `value` is as it should be.
    pub fn passed(name: &str, value: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            status: CheckStatus::Passed,
            value: value.into(),
            remedy: None,
        }
    }

    /// One that could not be made, and why.
    pub fn skipped(name: &str, why: impl Into<String>) -> Self {
        Self { status: CheckStatus::Skipped, ..Self::passed(name, why) }
    }

    /// One whose `value` was found to be `status`; `remedy` is kept where something is to be done.
    pub fn graded(
        name: &str,
        status: CheckStatus,
        value: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let disturbs = matches!(status, CheckStatus::Warning | CheckStatus::Failed);
        Self { status, remedy: disturbs.then(|| remedy.into()), ..Self::passed(name, value) }
    }

    /// One line about what disturbs measuring, and what to do about it; none when passed or
    /// skipped.
    pub fn warning(&self) -> Option<String> {
        let remedy = self.remedy.as_deref()?;
        Some(format!("{}: {}; {remedy}", self.name, self.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_disturbs_has_a_remedy_and_a_line() {
        for status in CheckStatus::ALL {
            let check = Check::graded("load", *status, "2.00 processes", "stop other programs");
            let disturbs = ["warning", "failed"].contains(&status.as_str());
            assert_eq!(check.remedy.is_some(), disturbs, "{status}");
            let line = disturbs.then_some("load: 2.00 processes; stop other programs");
            assert_eq!(check.warning().as_deref(), line);
        }
        assert_eq!(Check::passed("turbo", "off").warning(), None);
        assert_eq!(Check::skipped("turbo", "no cpufreq here").warning(), None);
    }

    #[test]
    fn files_hold_the_words() {
        let check = Check::graded("turbo", CheckStatus::Warning, "on", "switch it off");
        let json = serde_json::to_string(&check).unwrap();
        let expected =
            r#"{"name":"turbo","status":"warning","value":"on","remedy":"switch it off"}"#;
        assert_eq!(json, expected);
        assert_eq!(serde_json::from_str::<Check>(&json).unwrap(), check);
        let skipped = r#"{"name":"turbo","status":"skipped","value":"no cpufreq here"}"#;
        assert_eq!(
            serde_json::from_str::<Check>(skipped).unwrap(),
            Check::skipped("turbo", "no cpufreq here")
        );
        let unknown = skipped.replace("skipped", "PASSED");
        let error = serde_json::from_str::<Check>(&unknown).unwrap_err().to_string();
        assert!(error.contains("unknown status of a check `PASSED`"), "{error}");
    }
}
