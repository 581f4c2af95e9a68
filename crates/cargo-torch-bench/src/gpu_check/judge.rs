//! Judges the output of some steps.

use serde_json::Value;

use super::finding::{Finding, Verdict, outcome};

/// Shares of the vendor's figures that are likely: less hints at a wrong time or a wrong device, and more
/// cannot be. Boards that lack power reach little more than half of their products.
const BANDWIDTH: [f64; 2] = [0.6, 1.02];
const PRODUCTS: [f64; 2] = [0.4, 1.02];

/// Operations of a profile that `criterion-report calibration --preset` made.
pub fn vendor(profile: &Value) -> Vec<Finding> {
    let source = |key: &str| {
        let source = profile.get("peak_source")?.get(key)?;
        Some(source.as_str().map_or_else(|| source.to_string(), str::to_owned))
    };
    let Some(Value::Object(operations)) = profile.get("operation_profiles") else {
        return vec![Finding::failed("profile", "it has no operation_profiles")];
    };
    let found = operations.iter().map(|(_, operation)| {
        let read = |key: &str| operation.get(key).and_then(Value::as_f64);
        let id = operation.get("extra_params").and_then(|it| it.get("full_id")?.as_str());
        let product = operation.get("operation_type").and_then(Value::as_str) == Some("matmul");
        let (figure, unit, [least, most]) = if product {
            (read("measured_gflops"), "GFLOP/s", PRODUCTS)
        } else {
            (read("achieved_bandwidth_gbps"), "GB/s", BANDWIDTH)
        };
        let name = id.unwrap_or("an operation without an id");
        let (Some(figure), Some(share)) = (figure, read("efficiency")) else {
            return Finding::skipped(name, "the vendor names no figure for it");
        };
        let holds = (least..=most).contains(&share);
        Finding::new(
            name,
            format!("{figure:.0} {unit}, {:.0} % of the vendor's figure", share * 100.0),
            format!("{:.0} to {:.0} %", least * 100.0, most * 100.0),
            if holds { Verdict::Passed } else { Verdict::Failed },
        )
    });
    let preset = ["gflops", "bandwidth"].into_iter().find_map(source);
    let by = Finding::new(
        "figures",
        preset.as_deref().unwrap_or("of no preset"),
        "those of a preset of this GPU",
        if preset.is_some() { Verdict::Passed } else { Verdict::Failed },
    );
    [by].into_iter().chain(found).collect()
}

/// Records of the kernel that breaks CUDA, and of the one behind it.
pub fn culprit(records: &[Value]) -> Vec<Finding> {
    const BREAKS: &str = "kernels/fault/a_illegal_access/cuda/kernel/f32-default";
    const BEHIND: &str = "kernels/fault/b_sound/cuda/kernel/f32-default";
    const ON_CPU: &str = "kernels/fault/b_sound/cpu/kernel/f32-default";
    let find = |id: &str| {
        let record =
            records.iter().find(|it| it.get("full_id").and_then(Value::as_str) == Some(id));
        record.and_then(outcome).unwrap_or(("missing", "there is no record"))
    };
    let broke = find(BREAKS);
    let expects = [
        (BREAKS, "failed", "illegal", "failed, by an illegal access"),
        (BEHIND, "skipped", BREAKS, "skipped, naming the case that broke CUDA"),
        (ON_CPU, "measured", "", "measured"),
    ];
    let judged = expects.map(|(id, status, text, expected)| {
        let (found, reason) = find(id);
        let verdict = match (found == status && reason.contains(text), broke.0) {
            // Nothing broke: there is no GPU.
            (false, "skipped") => Verdict::Skipped,
            (true, _) => Verdict::Passed,
            (false, _) => Verdict::Failed,
        };
        let measured = match (found, reason) {
            (found, "") => found.to_owned(),
            ("skipped", reason) if verdict == Verdict::Skipped => reason.to_owned(),
            (found, reason) => format!("{found}: {reason}"),
        };
        Finding::new(id, measured, expected, verdict)
    });
    // A case on the CPU proves nothing about a GPU that is not there.
    let keeps = |finding: &Finding| broke.0 != "skipped" || finding.verdict == Verdict::Skipped;
    judged.into_iter().filter(keeps).collect()
}

/// Judges the output of a tool of compute-sanitizer and of the bench target that it ran.
pub fn sanitizer(target: &str, said: &str) -> Finding {
    let line = |text: &str| said.lines().rev().find(|line| line.contains(text)).map(str::trim);
    let expected = "no error and no hazard";
    let Some(cases) = line(" cases: ").or_else(|| line(" case: ")) else {
        return Finding::new(target, "the run did not end", expected, Verdict::Failed);
    };
    if !cases.contains(" tested") {
        return Finding::skipped(target, cases);
    }
    let summary = line("ERROR SUMMARY").or_else(|| line("RACECHECK SUMMARY"));
    let Some(summary) = summary else {
        return Finding::new(target, format!("no summary; {cases}"), expected, Verdict::Failed);
    };
    let summary = summary.trim_start_matches(['=', ' ']);
    let clean = [" 0 errors", " 0 hazards"].iter().any(|none| summary.contains(none));
    let verdict = if clean { Verdict::Passed } else { Verdict::Failed };
    Finding::new(target, format!("{summary}; {cases}"), expected, verdict)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts(findings: &[Finding]) -> Vec<Verdict> {
        findings.iter().map(|finding| finding.verdict).collect()
    }

    #[test]
    fn shares_of_the_vendors_figures_decide() {
        let profile = |operations: &str| {
            let text = format!(
                r#"{{"peak_source":{{"bandwidth":"preset h100"}},"operation_profiles":{{{operations}}}}}"#
            );
            vendor(&serde_json::from_str(&text).expect("JSON"))
        };
        let operation = |kind: &str, efficiency: &str| {
            profile(&format!(
                r#""x":{{"operation_type":"{kind}","measured_gflops":5,"achieved_bandwidth_gbps":3000,
                    "efficiency":{efficiency},"extra_params":{{"full_id":"id"}}}}"#
            ))
        };
        use Verdict::{Failed, Passed, Skipped};
        for (kind, efficiency, verdict) in [
            ("copy", "0.9", Passed),
            ("copy", "0.5", Failed),
            ("copy", "1.1", Failed),
            ("matmul", "0.5", Passed),
            ("matmul", "0.1", Failed),
            ("matmul", "null", Skipped),
        ] {
            let findings = operation(kind, efficiency);
            assert_eq!(verdicts(&findings), [Passed, verdict], "{kind} {efficiency}");
        }
        let copy = &operation("copy", "0.9")[1];
        assert_eq!(copy.measured, "3000 GB/s, 90 % of the vendor's figure");
        assert_eq!(verdicts(&vendor(&Value::Null)), [Failed]);
    }

    #[test]
    fn a_case_that_breaks_cuda_is_to_be_named() {
        let record = |id: &str, outcome: &str| {
            let id = format!("kernels/fault/{id}/kernel/f32-default");
            serde_json::from_str(&format!(r#"{{"full_id":"{id}","outcome":{outcome}}}"#))
                .expect("JSON")
        };
        let measured = r#"{"status":"measured"}"#;
        let illegal = r#"{"status":"failed","error":"CUDA error: an illegal memory access"}"#;
        let named = r#"{"status":"skipped","reason":"after kernels/fault/a_illegal_access/cuda/kernel/f32-default"}"#;
        let no_gpu = r#"{"status":"skipped","reason":"no CUDA device"}"#;
        let judged = |broke: &str, behind: &str| {
            verdicts(&culprit(&[
                record("a_illegal_access/cuda", broke),
                record("b_sound/cuda", behind),
                record("b_sound/cpu", measured),
            ]))
        };
        use Verdict::{Failed, Passed, Skipped};
        assert_eq!(judged(illegal, named), [Passed; 3]);
        assert_eq!(judged(illegal, illegal), [Passed, Failed, Passed]);
        assert_eq!(judged(measured, measured), [Failed, Failed, Passed]);
        assert_eq!(judged(no_gpu, no_gpu), [Skipped, Skipped]);
        assert_eq!(verdicts(&culprit(&[])), [Failed; 3]);
    }

    #[test]
    fn a_sanitizer_is_believed_only_if_kernels_ran() {
        let cases = "operators: 3 cases: 2 tested, 1 unsupported\n";
        let said = |summary: &str, cases: &str| {
            sanitizer("operators", &format!("{cases}{summary}")).verdict
        };
        use Verdict::{Failed, Passed, Skipped};
        assert_eq!(said("========= ERROR SUMMARY: 0 errors\n", cases), Passed);
        assert_eq!(said("========= ERROR SUMMARY: 10 errors\n", cases), Failed);
        let none = "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n";
        assert_eq!(said(none, cases), Passed);
        let some = "========= RACECHECK SUMMARY: 2 hazards displayed (2 errors, 0 warnings)\n";
        assert_eq!(said(some, cases), Failed);
        assert_eq!(said("", cases), Failed);
        assert_eq!(
            said("========= ERROR SUMMARY: 0 errors\n", "operators: 3 cases: 3 skipped\n"),
            Skipped
        );
        assert_eq!(said("========= ERROR SUMMARY: 0 errors\n", ""), Failed);
    }
}
