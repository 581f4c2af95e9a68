//! One comparison, or one case: what was expected, what was found, and the verdict.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::doctor::{Check, Mark};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Passed,
    Failed,
    /// This machine, or this GPU, lacks what it takes.
    Skipped,
}

impl Verdict {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }

    /// The verdict of several findings: one failure fails all, and they are skipped if each one is.
    pub fn from_findings(findings: &[Finding]) -> Self {
        let any = |verdict| findings.iter().any(|finding| finding.verdict == verdict);
        if any(Self::Failed) || findings.is_empty() {
            Self::Failed
        } else if any(Self::Passed) {
            Self::Passed
        } else {
            Self::Skipped
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    pub name: String,
    pub verdict: Verdict,
    /// The values; the reason if it was skipped.
    pub measured: String,
    pub expected: String,
    /// The record of a case, without its circumstances.
    pub record: Option<Value>,
}

impl Finding {
    pub fn new(
        name: impl Into<String>,
        measured: impl Into<String>,
        expected: impl Into<String>,
        verdict: Verdict,
    ) -> Self {
        let (name, measured, expected) = (name.into(), measured.into(), expected.into());
        Self { name, measured, expected, verdict, record: None }
    }

    /// Something that went wrong.
    pub fn failed(name: &str, measured: impl Into<String>) -> Self {
        Self::new(name, measured, "no error", Verdict::Failed)
    }

    pub fn skipped(name: &str, reason: impl Into<String>) -> Self {
        Self::new(name, reason, "", Verdict::Skipped)
    }

    /// A line of the doctor's.
    pub fn of_check(check: &Check) -> Self {
        let verdict = match check.mark {
            Mark::Ok | Mark::Warning => Verdict::Passed,
            Mark::Missing => Verdict::Failed,
            Mark::Skipped => Verdict::Skipped,
        };
        Self::new(check.name, &check.found, check.remedy.as_deref().unwrap_or("there"), verdict)
    }

    /// A line of `self_test --format json`.
    pub fn of_line(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }

    /// A case: it passes with an output within its limits. A feature that the GPU or libtorch lacks
    /// is not a failure; running out of memory is one, as these cases are small.
    pub fn of_record(record: &Value) -> Option<Self> {
        let id = record.get("full_id")?.as_str()?;
        let (status, reason) = outcome(record)?;
        let measured = match status {
            "measured" => accuracy(record),
            "skipped" => reason.to_owned(),
            status => format!("{status}: {reason}"),
        };
        let verdict = match status {
            "measured" => Verdict::Passed,
            "skipped" | "unsupported" => Verdict::Skipped,
            _ => Verdict::Failed,
        };
        let record = Some(without_circumstances(record));
        Some(Self { record, ..Self::new(id, measured, "an output within its limits", verdict) })
    }
}

/// The status of a record, and the reason where it has one.
pub fn outcome(record: &Value) -> Option<(&str, &str)> {
    let outcome = record.get("outcome")?;
    let reason = ["reason", "error"].iter().find_map(|key| outcome.get(key)?.as_str());
    Some((outcome.get("status")?.as_str()?, reason.unwrap_or_default()))
}

fn accuracy(record: &Value) -> String {
    let Some(accuracy) = record.get("accuracy") else { return "not verified".to_owned() };
    let figure = |value: &Value| match (value.as_f64(), value.as_str()) {
        (Some(number), _) => format!("{number:.1}"),
        (None, word) => word.unwrap_or_default().to_owned(),
    };
    let read = |key: &str| accuracy.get(key).map(figure).unwrap_or_default();
    format!("SQNR {} dB, at least {}", read("sqnr_db"), read("min_sqnr_db"))
}

fn without_circumstances(record: &Value) -> Value {
    let mut record = record.clone();
    if let Value::Object(members) = &mut record {
        members.retain(|name, _| name != "environment" && name != "run_id");
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(outcome: &str) -> Finding {
        let accuracy = r#"{"sqnr_db":"inf","min_sqnr_db":40.0}"#;
        let text = format!(
            r#"{{"full_id":"a/b","outcome":{outcome},"accuracy":{accuracy},"environment":{{}}}}"#
        );
        Finding::of_record(&serde_json::from_str(&text).expect("JSON")).expect("a record")
    }

    #[test]
    fn a_case_is_judged_by_how_it_ended() {
        for (outcome, verdict, measured) in [
            (r#"{"status":"measured"}"#, Verdict::Passed, "SQNR inf dB, at least 40.0"),
            (r#"{"status":"unsupported","reason":"k"}"#, Verdict::Skipped, "unsupported: k"),
            (r#"{"status":"skipped","reason":"no GPU"}"#, Verdict::Skipped, "no GPU"),
            (r#"{"status":"oom","reason":"1 GiB"}"#, Verdict::Failed, "oom: 1 GiB"),
            (r#"{"status":"failed","error":"x"}"#, Verdict::Failed, "failed: x"),
        ] {
            let finding = record(outcome);
            assert_eq!((finding.verdict, finding.measured.as_str()), (verdict, measured));
            assert!(finding.record.is_some_and(|record| record.get("environment").is_none()));
        }
    }

    #[test]
    fn a_line_of_the_self_test_is_read() {
        let line =
            r#"{"check":"flush","name":"n","measured":"m","expected":"e","verdict":"failed"}"#;
        assert_eq!(Finding::of_line(line), Some(Finding::new("n", "m", "e", Verdict::Failed)));
        assert_eq!(Finding::of_line(r#"{"name":"n","measured":"m","verdict":"failed"}"#), None);
        assert_eq!(Finding::of_line("note: x"), None);
    }

    #[test]
    fn nothing_found_is_a_failure() {
        let finding = |verdict| Finding::new("", "", "", verdict);
        let [passed, failed, skipped] =
            [Verdict::Passed, Verdict::Failed, Verdict::Skipped].map(finding);
        assert_eq!(Verdict::from_findings(&[]), Verdict::Failed);
        assert_eq!(Verdict::from_findings(std::slice::from_ref(&skipped)), Verdict::Skipped);
        assert_eq!(Verdict::from_findings(&[skipped.clone(), passed.clone()]), Verdict::Passed);
        assert_eq!(Verdict::from_findings(&[skipped, passed, failed]), Verdict::Failed);
    }
}
