//! The interval of a speed-up: what it covers, why it is wide, and what to believe where two times
//! say something else.

use std::fs;

use crate::common::{copied, report, write, write_on};
use criterion_report::cli::writer::Writer;
use criterion_report::export::Format;
use criterion_report::model::{
    BetweenRuns, Caution, Entry, Interval, Speedup, Time, VarianceComponents,
};
use criterion_report::read::{Location, Report, Selection};
use criterion_report::views::show::Options;
use insta::assert_snapshot;
use plan::{Record, Stop};

fn entry<'a>(report: &'a Report, variant: &str) -> Entry<'a> {
    let mut entries = report.entries();
    entries.find(|entry| entry.row.record.case.id.variant == variant).expect("a case")
}

fn speedup(report: &Report, variant: &str) -> Speedup {
    let comparison = entry(report, variant).comparison.expect("a candidate is compared");
    *comparison.speedup.as_ref().expect("there is a pair")
}

/// One of ±4 % where ±1 % was asked for.
fn wide(levels: VarianceComponents, runs: Option<BetweenRuns>) -> Speedup {
    let paired = speedup(&report("two-siblings"), "int8wo");
    let interval = Interval { low: paired.ratio * 0.96, high: paired.ratio * 1.04 };
    let stopped = Stop::Budget;
    Speedup { interval, levels, runs, blocks: 16, target: 0.01, stopped, ..paired }
}

fn levels(builds: u64, within: f64, between: f64) -> VarianceComponents {
    VarianceComponents { builds: Some(builds), within: Some(within), between: Some(between) }
}

#[test]
fn a_wide_interval_says_why_and_what_helps_in_one_note() {
    let runs = BetweenRuns { count: 8, between: 0.024 };
    for (speedup, expected) in [
        (
            wide(levels(8, 0.031, 0.024), None),
            "the speed-up's interval is wide as builds differ by σ 2.4 % (blocks 3.1 %): several \
             runs say more (cargo torch-bench bench --repeat 4)",
        ),
        (
            wide(levels(8, 0.05, 0.006), None),
            "the speed-up's interval is wide as blocks differ by σ 5.0 % (builds 0.60 %): a \
             quieter machine or more sampling.measurement_s helps",
        ),
        (
            wide(levels(1, 0.05, 0.006), None),
            "the speed-up's interval is wide as blocks of the only build differ by σ 5.0 %: more \
             sampling.measurement_s fits more builds",
        ),
        (
            wide(levels(32, 0.031, 0.02), Some(runs)),
            "the speed-up's interval is wide as runs differ by σ 2.4 % (blocks 3.1 %): more runs \
             narrow it (cargo torch-bench bench --repeat 16)",
        ),
        (
            wide(VarianceComponents::default(), None),
            "time budget spent before the speed-up's interval reached ±1 %; \
             `sampling.measurement_s` extends it",
        ),
    ] {
        let notes: Vec<String> =
            Caution::of_speedup(&speedup).iter().map(ToString::to_string).collect();
        assert_eq!(notes, [expected]);
        let interval = Interval { low: speedup.ratio * 0.995, high: speedup.ratio * 1.005 };
        assert_eq!(Caution::of_speedup(&Speedup { interval, ..speedup }), []);
    }
}

/// A report whose candidates ran out of time, with this many builds and these standard deviations of
/// blocks and builds.
fn report_of(candidates: [(&str, u64, f64, f64); 2]) -> Report {
    let folder = copied("interleaved");
    let file = folder.path().join("criterion-torch/new/inference.jsonl");
    let text = fs::read_to_string(&file).expect("readable");
    let lines = text.lines().map(|line| {
        let mut record: Record = serde_json::from_str(line).expect("a record");
        let variant = &record.case.id.variant;
        let candidate = candidates.into_iter().find(|(name, ..)| name == variant);
        if let Some((_, builds, within, between)) = candidate {
            let pair = &mut record.pairs[0];
            (pair.builds, pair.within, pair.between) = (builds, Some(within), Some(between));
            (pair.low, pair.high) = (pair.speedup * 0.96, pair.speedup * 1.04);
            pair.stopped = Stop::Budget;
        }
        serde_json::to_string(&record).expect("serialises") + "\n"
    });
    fs::write(&file, lines.collect::<String>()).expect("written");
    let location = Location::at(folder.path().join("criterion"));
    Report::read(&location, "new", Selection::default()).expect("readable")
}

#[test]
fn rows_share_the_note_and_their_figures_go_where_there_is_room() {
    let report = report_of([("int8wo", 6, 0.045, 0.014), ("int8dq", 6, 0.026, 0.006)]);
    let shown = write(&Writer::Show(Options::default()), &report);
    assert_snapshot!("show-wide", shown);
    assert_snapshot!("markdown-wide", write(&Writer::Export(Format::Markdown), &report));
    let narrow = write_on(Some(80), &Writer::Show(Options::default()), &report);
    assert_snapshot!("show-narrow-wide", narrow);
    for text in [&shown, &narrow] {
        let remedies = text.matches("sampling.measurement_s").count();
        assert_eq!(remedies, 2, "one note for each of both groups: {text}");
    }
    assert!(shown.contains("4.5 (1.4)") && shown.contains("2.6 (0.60)"), "{shown}");
    let details = Writer::Show(Options { details: true, ..Options::default() });
    let details = write_on(Some(80), &details, &report);
    let details = details.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(details.contains("σ 4.5 % (builds 1.4 %)"), "{details}");
    assert!(details.contains("σ 2.6 % (builds 0.60 %)"), "{details}");
    // Either kind has its own note, of one line each.
    let report = report_of([("int8wo", 6, 0.012, 0.024), ("int8dq", 1, 0.026, 0.0)]);
    assert_snapshot!("show-wide-of-two-kinds", write(&Writer::Show(Options::default()), &report));
}

/// The caution of the fixture's two times on a pair that finds `factor` times their quotient, in an
/// interval of ±`half_width`.
fn times_off(factor: f64, half_width: f64, change: impl Fn(Speedup) -> Speedup) -> Option<String> {
    let report = report("two-siblings");
    let (candidate, baseline) = (entry(&report, "int8wo"), entry(&report, "baseline"));
    let median = |entry: &Entry<'_>| entry.row.time.as_ref().expect("a time").median_ns;
    let ratio = factor * median(&baseline) / median(&candidate);
    let interval = Interval { low: ratio * (1.0 - half_width), high: ratio * (1.0 + half_width) };
    let speedup = Speedup { ratio, interval, ..speedup(&report, "int8wo") };
    Caution::of_times(&change(speedup), baseline.row, candidate.row).map(|it| it.to_string())
}

#[test]
fn the_intervals_decide_whether_pair_and_medians_exclude_each_other() {
    let report = report("two-siblings");
    let own = |variant| {
        let entry = entry(&report, variant);
        let time: &Time = entry.row.time.as_ref().expect("a time");
        time.interval.expect("an interval").half_width(time.median_ns)
    };
    // Wide enough to tell the two rules apart.
    let of_quotient = f64::hypot(own("baseline"), own("int8wo"));
    assert!(of_quotient < 0.05, "{of_quotient}");
    let new = |speedup| Speedup { levels: levels(8, 0.01, 0.01), ..speedup };
    for (factor, half_width, excluded) in [
        (1.0, 0.001, false),
        (1.1, 0.12, false),
        (1.1, 0.02, true),
        (0.9, 0.02, true),
        (0.7, 0.45, false),
    ] {
        let said = times_off(factor, half_width, new);
        assert_eq!(said.is_some(), excluded, "{factor} {half_width}: {said:?}");
    }
    // The interval of one build knows nothing of other moments.
    assert_eq!(times_off(1.1, 0.02, |it| it), None);
    assert!(times_off(1.3, 0.02, |it| it).is_some());
}

#[test]
fn the_note_says_what_to_believe_and_which_side_changed() {
    let report = report("two-siblings");
    let alone = |variant| entry(&report, variant).row.time.as_ref().expect("a time").median_ns;
    let (others, own) = (alone("baseline"), alone("int8wo"));
    let beside = |others_factor: f64, own_factor: f64| {
        let steps_ns = Some((others * others_factor, own * own_factor));
        times_off(others_factor / own_factor, 0.01, move |it| Speedup { steps_ns, ..it })
            .expect("they exclude each other")
    };
    let start = "the two medians give 1.82×: ";
    let end = " so the machine changed between the two moments; trust the speed-up, which \
               compares neighbours in time";
    let said = beside(0.75, 1.01);
    let side = "the baseline took 12.34 ms alone and 9.258 ms beside this case,";
    assert_eq!(said, format!("{start}{side}{end}"));
    let said = beside(1.01, 1.5);
    let side = "this case took 6.789 ms alone and 10.18 ms beside the baseline,";
    assert_eq!(said, format!("{start}{side}{end}"));
    let said = times_off(1.3, 0.01, |it| it).expect("they exclude each other");
    assert_eq!(
        said,
        format!("{start}the machine changed{}", end.replace(" so the machine changed", ""))
    );
}

#[test]
fn show_says_once_what_the_intervals_cover() {
    let text = write(&Writer::Show(Options::default()), &report("two-siblings"));
    let older = "intervals of speed-ups: of one build only; another run may well lie outside";
    assert_eq!(text.matches(older).count(), 1, "{text}");
}
