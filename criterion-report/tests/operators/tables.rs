//! The tables.

use super::*;
use crate::common::pair_of;

fn small() -> Fixture {
    let failed = Outcome::Failed { error: "gate `nan`: 3.2 is above 1".to_owned() };
    Fixture::of_operators("quick", SMALL).end("/gelu/cpu/aten-out/", &failed)
}

/// Sizes of which one was skipped altogether, and one lacks `rust`.
fn sizes() -> Fixture {
    let large = Outcome::Skipped { reason: "67108864 elements are above the 50000000".to_owned() };
    let faster = |speedup: f64| {
        move |it: &mut fixture::Measured| {
            let against = it.record.pairs[0].against.clone();
            it.record.pairs = vec![pair_of(against, speedup)];
        }
    };
    Fixture::of_operators("sizes", SIZES)
        .without("rust/f32-32x512x512")
        .end("16x256x512", &large)
        .edit("rust/f32-32x256x512", faster(4.0))
        .edit("rust/f32-32x256x64", faster(1.005))
        .edit("rust/f32-32x512x64", faster(0.5))
}

fn narrow(writer: &Writer, report: &criterion_report::read::Report) -> String {
    write_on(Some(80), writer, report)
}

#[test]
fn the_tables_at_every_width() {
    let report = small().operators_report("");
    assert_snapshot!("table", write(&TABLE, &report));
    assert_snapshot!("table-narrow", narrow(&TABLE, &report));
    for report in [report, sizes().operators_report("")] {
        for writer in [TABLE, by(Axis::Batch), by(Axis::Dimension)] {
            for width in [60, 80, 100, 120, 160] {
                let text = write_on(Some(width), &writer, &report);
                // The last columns, names, times, speed-ups and shares, need this much.
                let long = text.lines().find(|line| line.chars().count() > width.max(76));
                assert_eq!(long, None, "{width}");
            }
        }
    }
}

#[test]
fn what_is_alike_at_a_size_is_said_once() {
    let text = narrow(&TABLE, &sizes().operators_report(""));
    assert_snapshot!("table-of-sizes", text);
    assert_eq!(text.matches("67108864").count(), 1, "{text}");
}

#[test]
fn means_along_a_dimension() {
    let report = sizes().operators_report("");
    assert_snapshot!("by-batch", narrow(&by(Axis::Batch), &report));
    assert_snapshot!("by-dimension", narrow(&by(Axis::Dimension), &report));
    let text = narrow(&by(Axis::Batch), &report);
    // At batch 32: 4×, 1.005× and 0.5×, whose arithmetic mean would be 1.83.
    let line = text.split_once("\n  rust").expect("its part").1;
    let line = line.lines().find(|line| line.starts_with("    32 ")).expect("its line");
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[1..4], ["1.26×", "0.50×", "4.00×"], "{line}");
    assert_eq!(words[4..8], ["1", "1", "0", "1"], "{line}");
}

#[test]
fn colour_changes_no_letter() {
    let codes = Regex::new("\x1b\\[[0-9]+m").expect("a valid pattern");
    let report = sizes().operators_report("");
    for by in [None, Some(Axis::Sequence)] {
        let options = Options { by, ..OPTIONS };
        let coloured = Writer::Operators(Options { color: ColorChoice::Always, ..options.clone() });
        let text = write(&coloured, &report);
        assert!(codes.is_match(&text));
        assert_eq!(codes.replace_all(&text, ""), write(&Writer::Operators(options), &report));
    }
    let coloured = Options { color: ColorChoice::Always, ..OPTIONS };
    let text = write(&Writer::Operators(coloured), &report);
    for (code, word) in [(32, "▲"), (31, "▼"), (33, "?"), (32, "fastest")] {
        assert!(text.contains(&format!("\x1b[{code}m{word}")), "{word}");
    }
}

/// Each dtype, number of threads and config has a table and a summary of its own.
#[test]
fn nothing_is_mixed() {
    let config = |threads: &str| {
        format!(
            "benchmark_mode: operators\nthreads: {threads}\noperator_params:\n  operators: [silu]\n  \
             implementations: [rust]\n  dtypes: [torch.float32, torch.bfloat16]\n  \
             batch_sizes: [2]\n  sequence_lengths: [8]\n  tensor_dimensions: [64]\n"
        )
    };
    let fixture =
        Fixture::of_operators("one", &config("1")).and(Fixture::of_operators("two", &config("2")));
    let text = narrow(&TABLE, &fixture.operators_report(""));
    assert_snapshot!("several-dtypes-threads-and-configs", text);
    assert_eq!(text.matches("\nsummary of ").count(), 4);
}

#[test]
fn cases_of_a_device() {
    let config = "
benchmark_mode: operators
operator_params:
  operators: [softmax]
  devices: [cuda]
  batch_sizes: [32]
  sequence_lengths: [512]
  tensor_dimensions: [768]
";
    let there = Fixture::of_operators("gpu", config).edit("/cuda/", |it| {
        it.record.environment_mut().torch.cuda_device = Some("NVIDIA H200".to_owned());
    });
    assert_snapshot!("cuda", narrow(&TABLE, &there.operators_report("")));
    let absent = Fixture::of_operators("gpu", config).end("", &skipped());
    assert_snapshot!("cuda-absent", narrow(&TABLE, &absent.operators_report("")));
}

/// `stream` computes nothing: it is nobody's rival.
#[test]
fn who_is_fastest_follows_from_intervals() {
    let standing = |fixture: &Fixture, end: &str| {
        let report = fixture.operators_report("");
        let results = OperatorResult::all(&report);
        result(&results, end).standing.map(|standing| standing.word())
    };
    let [rust, aten, stream, out] = ["rust", "aten", "stream", "aten-out"]
        .map(|variant| format!("softmax/cpu/{variant}/f32-32x512x768"));
    let usual = Fixture::of_operators("quick", SMALL);
    assert_eq!(standing(&usual, &rust), Some("fastest"));
    assert_eq!(standing(&usual, &aten), None);
    assert_eq!(standing(&usual, &stream), None);
    // Their intervals meet.
    let pair = |speedup: f64| {
        move |it: &mut fixture::Measured| {
            let against = it.record.pairs[0].against.clone();
            it.record.pairs = vec![pair_of(against, speedup)];
        }
    };
    let close = Fixture::of_operators("quick", SMALL).edit(&out, pair(1.79));
    assert_eq!(standing(&close, &out), Some("tie"));
    assert_eq!(standing(&close, &rust), Some("tie"));
    // All are slower than the baseline, which has no interval of its own.
    let slow = Fixture::of_operators("quick", SMALL).edit("softmax/cpu/(rust|aten-)", pair(0.8));
    assert_eq!(standing(&slow, &aten), Some("fastest"));
    // And so it is where it has no record of its own.
    let unrecorded = slow.without("/aten/");
    assert_eq!(standing(&unrecorded, &rust), None);
    // Without a pair the times decide; without those nobody leads.
    let unpaired =
        || Fixture::of_operators("quick", SMALL).edit(&out, |it| it.record.pairs.clear());
    assert_eq!(standing(&unpaired(), &rust), Some("fastest"));
    assert_eq!(standing(&unpaired().edit(&out, |it| it.ns = None), &rust), None);
    // Nobody is faster than nobody.
    let alone = Fixture::of_operators("quick", SMALL).without("/(rust|aten-out|aten-composed)/");
    assert_eq!(standing(&alone, &aten), None);
    // A filter hides cases; it does not make others faster.
    let report = usual.operators_report("aten-out|stream");
    assert!(OperatorResult::all(&report).iter().all(|result| result.standing.is_none()));
}

/// The pairs are in the candidates' records.
#[test]
fn without_a_record_of_the_baseline_the_comparisons_stand() {
    let report = small().without("/aten/").operators_report("");
    let text = narrow(&TABLE, &report);
    assert_snapshot!("no-baseline", text);
    for part in ["1.80× [1.78, 1.82]", "90.0 %  fastest"] {
        assert_eq!(text.matches(part).count(), 2, "{part}: {text}");
    }
    let results = OperatorResult::all(&report);
    let reduction = |it: &OperatorResult<'_>| it.entry.comparison?.peak_reduction;
    assert!(results.iter().all(|result| reduction(result).is_none()));
}

#[test]
fn one_implementation_alone_has_its_pair_and_its_limit() {
    let report = small().operators_report("softmax/cpu/rust");
    let text = narrow(&TABLE, &report);
    assert_eq!(OperatorResult::all(&report).len(), 1);
    for part in ["1.80× [1.78, 1.82]", "90.0 %", "fastest", "1 case: 1 measured (of 10 recorded)"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_summary_of_nothing_says_so() {
    let text = narrow(
        &TABLE,
        &Fixture::of_operators("quick", SMALL).end("/rust/", &skipped()).operators_report(""),
    );
    assert!(text.contains("    rust           none of 2 cases measured in pairs\n"), "{text}");
    assert!(text.contains("    aten           baseline "), "{text}");
}

/// The whole suite of the comprehensive operator benchmark, and then some.
#[test]
fn many_cases_have_a_way_to_fewer_lines() {
    let config = "
benchmark_mode: operators
operator_params:
  operators: [softmax, gelu]
  implementations: [rust, stream]
  batch_sizes: [1, 2, 3, 4]
  sequence_lengths: [1, 2, 3]
  tensor_dimensions: [8, 16, 32]
";
    let many = Fixture::of_operators("many", config).operators_report("");
    let text = narrow(&TABLE, &many);
    assert!(text.contains("`--by batch`, `sequence` or `dimension` has means"), "{text}");
    let few = narrow(&by(Axis::Sequence), &many);
    assert!(!few.contains("`--by batch`"), "{few}");
    assert!(few.lines().count() * 4 < text.lines().count());
}
