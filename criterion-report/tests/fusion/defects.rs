//! The known defects of branes-ai/graphs.

use super::*;

/// The 0.71× of attention without an axis of heads is a kernel's, not fusion's.
#[test]
fn upstream_defect_1_attention_is_judged_by_a_variant_that_fuses() {
    let whole = report(ATTENTION);
    let attention = advice(&whole, Pattern::FullAttention);
    assert_eq!((attention.advice, attention.best), (Advice::Fuse, Some(FusionVariant::Fused)));
    assert_eq!(advice_for(&attention, FusionVariant::Sdpa3d), Advice::Slower);
    let text = write(&TABLE, &whole);
    assert!(text.contains("0.71× [0.70, 0.72]"), "its number is shown all the same");
    assert!(text.contains("`sdpa-3d` runs attention_math, `fused` "), "and explained");

    let alone = report("sdpa-3d");
    let attention = advice(&alone, Pattern::FullAttention);
    assert_eq!((attention.advice, attention.best), (Advice::Inconclusive, None));
    assert!(!write(&TABLE, &alone).contains("attention_math"), "there is nothing beside it");
}

/// Upstream keeps one size of a pattern: the last.
#[test]
fn upstream_defect_2_every_size_and_dtype_survives() {
    let report = report("");
    let results = FusionResult::all(&report);
    for (index, result) in results.iter().enumerate() {
        let twins = results[index + 1..].iter().filter(|other| other.key == result.key);
        assert_eq!(twins.count(), 0, "{}", result.entry.row.full_id());
    }
    let speedup = |end| result(&results, end).entry.speedup().expect("measured").ratio;
    assert_eq!(speedup("relu/cpu/fused/f32-128x512x512"), 1.214);
    assert_eq!(speedup("relu/cpu/fused/f32-512x1024x1024"), 1.02);
    assert_eq!(speedup("relu/cpu/fused/bf16-512x1024x1024"), 0.897);
    let document = document(&report);
    assert_eq!(document["results"].as_array().map(Vec::len), Some(results.len()));
}

/// Upstream's memory_reduction is a formula, and the same for code that fuses nothing.
#[test]
fn upstream_defect_3_what_is_computed_is_never_called_measured() {
    let report = report("");
    let results = FusionResult::all(&report);
    let reduction = |it: &FusionResult<'_>, by| saved(it.bytes(by));
    let inplace = result(&results, "inplace/f32-128x512x512");
    assert_eq!(inplace.fuses(), Some(false));
    assert_eq!(reduction(inplace, Accounting::Upstream), None, "upstream has no such variant");
    assert_eq!(
        reduction(inplace, Accounting::Consistent),
        Some(0.0),
        "it runs the same operations"
    );
    assert_eq!(reduction(inplace, Accounting::Peak), Some(0.5), "it allocates less");

    let sdpa_3d = result(&results, "sdpa-3d/f32-4x256x64");
    assert_eq!(reduction(sdpa_3d, Accounting::Upstream), Some(0.75), "upstream's claim");
    let moved = reduction(sdpa_3d, Accounting::Consistent);
    assert!(moved.is_some_and(|it| it < 0.0), "its operations move more");
    let peak = reduction(sdpa_3d, Accounting::Peak);
    assert_eq!(peak, Some(-0.25), "and more was seen to be allocated");

    // Allocations are the records'.
    let fused = result(&results, "full_attention/cpu/fused/f32-4x256x64");
    assert_eq!(fused.bytes(Accounting::Peak), [Some(2 << 20), Some(256 << 10)]);
    assert_eq!(reduction(fused, Accounting::Peak), Some(1.0 - 0.125));
    let [unfused_total, total] = fused.bytes(Accounting::Total).map(|it| it.expect("measured"));
    let expected = 1.0 - total as f64 / unfused_total as f64;
    assert_eq!(reduction(fused, Accounting::Total), Some(expected));

    // Under a heading that says which it is.
    let text = write(&TABLE, &report);
    let (_, table) = text.split_once("full_attention/cpu\n").expect("its table");
    let mut lines = table.lines();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let heading = words(lines.next().expect("a heading"));
    assert_eq!(heading[heading.len() - 4..], ["formula", "formula", "measured", "measured"]);
    assert_eq!(
        words(lines.next().expect("its second line")),
        ["bytes", "upstream", "peak", "total"]
    );
    let line = table.lines().rfind(|line| line.trim_start().starts_with("sdpa-3d  2.108"));
    let line = words(line.expect("its line"));
    assert_eq!(line[line.len() - 4..], ["+35.7%", "−75.0%", "+25.0%", "+46.2%"]);
}

#[test]
fn upstream_defect_4_a_speedup_is_a_pairs_and_never_a_quotient_of_times() {
    let report = report("");
    let results = FusionResult::all(&report);
    let quotient = |result: &FusionResult<'_>| {
        let [unfused, fused] =
            result.sides().map(|row| row.expect("a record").time.expect("a time").median_ns);
        unfused / fused
    };
    let noisy = result(&results, "mkldnn/f32-128x512x512");
    let speedup = noisy.entry.speedup().expect("a pair");
    assert_eq!(speedup.ratio, 1.31);
    assert!((quotient(noisy) - speedup.ratio).abs() > 0.04, "the fixture tells them apart");

    // Both times, and no pair.
    let unpaired = result(&results, "mkldnn/f32-512x1024x1024");
    assert!(quotient(unpaired) > 1.3);
    let reason = "memory does not suffice for it and its baseline at once".to_owned();
    let comparison = unpaired.entry.comparison.expect("it is no baseline");
    assert_eq!(comparison.speedup, Err(NoSpeedup::Recorded(reason.clone())));
    assert_eq!((unpaired.benefit(), unpaired.entry.speedup()), (None, None));
    let document = document(&report);
    let unpaired = entry(&document, "mkldnn/f32-512x1024x1024");
    assert!(unpaired["unfused_latency_ms"].is_f64() && unpaired["fused_latency_ms"].is_f64());
    assert_eq!(unpaired["speedup_factor"], Value::Null);
    assert_eq!(unpaired["gflops_improvement"], Value::Null);
    assert_eq!(unpaired["no_speedup_reason"], Value::String(reason));

    // A pair, and no time.
    let stale = entry(&document, "addmm/bf16-512x1024x1024");
    assert_eq!(stale["fused_latency_ms"], Value::Null);
    assert!(stale["reason"].as_str().expect("a reason").starts_with("stale: "));
    assert_eq!(stale["speedup_factor"], 0.998);
}

#[test]
fn upstream_defect_4_an_interval_over_two_bands_is_inconclusive() {
    let report = report("");
    let results = FusionResult::all(&report);
    let benefit = |end| result(&results, end).benefit();
    let spans = |lowest, highest| Some(Benefit::Inconclusive { lowest, highest });
    assert_eq!(benefit("mkldnn/f32-128x512x512"), spans(Band::Slower, Band::Strong));
    assert_eq!(benefit("inplace/f32-512x1024x1024"), spans(Band::Minimal, Band::Moderate));
    assert_eq!(benefit("inplace/f32-128x512x512"), Some(Benefit::Of(Band::Strong)));
    assert_eq!(benefit("relu/cpu/fused/bf16-512x1024x1024"), Some(Benefit::Of(Band::Slower)));
    let document = document(&report);
    let noisy = entry(&document, "mkldnn/f32-128x512x512");
    assert_eq!(noisy["benefit"], "inconclusive");
    assert_eq!(
        (&noisy["lowest_band"], &noisy["highest_band"]),
        (&"slower".into(), &"strong".into())
    );
    assert_eq!(entry(&document, "inplace/f32-128x512x512")["benefit"], "strong fusion benefit");
}

/// Whether a line praises a speed-up below 0.95: the first in it, the lowest in a strategy.
fn flatters(line: &str) -> bool {
    let Some((before, _)) = line.split_once('×') else { return false };
    let ratio: f64 = before.rsplit(' ').next().expect("a number").parse().expect("a number");
    let praise = ["strong", "moderate", "faster", "  fuse  "];
    ratio < 0.95 && praise.iter().any(|word| line.contains(word))
}

/// Upstream prints "0.71x faster".
#[test]
fn upstream_defect_4_nothing_slower_is_called_faster() {
    let text = write(&TABLE, &report(""));
    // Each could be said of the slow ones, for it is said of others.
    for word in ["strong", "moderate", "faster", "  fuse  "] {
        let line = text.lines().find(|line| line.contains(word) && line.contains('×'));
        let line = line.expect("something is as fast as that");
        assert!(!flatters(line), "{line}");
        let (before, after) = line.split_once('×').expect("a speed-up");
        let (name, _) = before.rsplit_once(' ').expect("its name");
        assert!(flatters(&format!("{name} 0.71×{after}")), "it would be seen: {line}");
    }
    let slow = text.lines().filter(|line| line.contains(" 0.71×") || line.contains(" 0.90×"));
    assert!(slow.count() >= 2, "something is slower");
    let flattering: Vec<&str> = text.lines().filter(|line| flatters(line)).collect();
    assert_eq!(flattering, Vec::<&str>::new());
}
