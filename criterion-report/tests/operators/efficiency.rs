//! The share of the machine's limit.

use criterion_report::model::Caution;
use criterion_report::read::Report;
use criterion_report::views::{Efficiency, EfficiencySource, NoEfficiency, OperatorResult};
use plan::Cache;

use super::*;
use crate::common::{PAIR_HALF_WIDTH, pair_of};
use fixture::Measured;

const RUST: &str = "softmax/cpu/rust/f32-32x512x768";
const MIB: u64 = 1 << 20;

fn quick() -> Fixture {
    Fixture::of_operators("quick", SMALL)
}

fn efficiency_in(report: &Report, end: &str) -> Result<Efficiency, NoEfficiency> {
    result(&OperatorResult::all(report), end).efficiency.clone()
}

fn efficiency(fixture: &Fixture, end: &str) -> Efficiency {
    efficiency_in(&fixture.operators_report(""), end).expect("an efficiency")
}

/// The machine's caches, recorded with every case.
fn caches(fixture: Fixture) -> Fixture {
    fixture.edit("", |it| {
        let cache = |level, bytes| Cache { level, bytes, cpus: 1 };
        it.record.environment_mut().host.caches =
            vec![cache(1, 48 << 10), cache(2, MIB), cache(3, 16 * MIB)];
    })
}

/// Copies of 4 MiB and 256 MiB on one thread.
fn calibration() -> Fixture {
    let config = "benchmark_mode: calibration\ncalibration_params: { probes: [copy], \
                  sizes: [4MiB, 256MiB] }";
    Fixture::of_operators("bandwidth", config)
}

fn calibrated(operators: Fixture) -> Fixture {
    caches(operators.without("/stream/").and(calibration()))
}

fn repair(speedup: f64) -> impl Fn(&mut Measured) {
    move |it| {
        let against = it.record.pairs[0].against.clone();
        it.record.pairs = vec![pair_of(against, speedup)];
    }
}

#[test]
fn it_is_the_quotient_of_two_speedups_and_so_are_its_bounds() {
    for (own, limit) in [(1.8, 2.0), (0.3, 1.1), (2.5, 2.0), (1.0, 1.0), (12.0, 0.9)] {
        let fixture = quick().edit(RUST, repair(own));
        let fixture = fixture.edit("softmax/cpu/stream", repair(limit));
        let Efficiency { share, interval, source } = efficiency(&fixture, RUST);
        assert_eq!(source, EfficiencySource::Pairs);
        assert!((share - own / limit).abs() < 1e-12);
        let interval = interval.expect("pairs have intervals");
        let half = PAIR_HALF_WIDTH;
        let low = own * (1.0 - half) / (limit * (1.0 + half));
        let high = own * (1.0 + half) / (limit * (1.0 - half));
        assert!((interval.low - low).abs() < 1e-12 && (interval.high - high).abs() < 1e-12);
        assert!(interval.low < share && share < interval.high);
        // Wherever in their intervals both are, the quotient is in its own.
        for own in [own * (1.0 - half), own, own * (1.0 + half)] {
            for limit in [limit * (1.0 - half), limit, limit * (1.0 + half)] {
                let quotient = own / limit;
                let within = interval.low - 1e-12..=interval.high + 1e-12;
                assert!(within.contains(&quotient), "{quotient}");
            }
        }
    }
}

/// Upstream's is 100 for all that takes less than a millisecond.
#[test]
fn faster_than_the_limit_is_above_a_hundred() {
    let fixture = quick().edit(RUST, repair(2.5));
    let share = efficiency(&fixture, RUST).share;
    assert!((share - 1.25).abs() < 1e-6, "{share}, of times in whole nanoseconds");
    assert!(write(&TABLE, &fixture.operators_report("")).contains("125.0 %"));
}

#[test]
fn the_baseline_and_stream_have_theirs() {
    let aten = efficiency(&quick(), "softmax/cpu/aten/f32-32x512x768");
    assert_eq!(aten.source, EfficiencySource::Pairs);
    let (interval, half) = (aten.interval.expect("an interval"), PAIR_HALF_WIDTH);
    // Its one pair is that of `stream`, the other way round.
    assert!((aten.share - 0.5).abs() < 1e-6);
    assert!((interval.low - 0.5 / (1.0 + half)).abs() < 1e-6);
    assert!((interval.high - 0.5 / (1.0 - half)).abs() < 1e-6);
    let stream = efficiency(&quick(), "softmax/cpu/stream/f32-32x512x768");
    assert_eq!((stream.share, stream.source), (1.0, EfficiencySource::Itself));
}

#[test]
fn without_a_pair_the_times_decide_and_that_is_said() {
    for unpaired in [RUST, "softmax/cpu/stream"] {
        let fixture = quick().edit(unpaired, |it| it.record.pairs.clear());
        let report = fixture.operators_report("");
        let Efficiency { share, interval, source } =
            efficiency_in(&report, RUST).expect("an efficiency");
        assert_eq!((source.word(), source.method()), ("stream", Some("times")));
        assert!((share - 0.9).abs() < 1e-6);
        let (interval, half) = (interval.expect("an interval"), fixture::TIME_HALF_WIDTH);
        assert!((interval.low - 0.9 * (1.0 - half) / (1.0 + half)).abs() < 1e-6);
        assert!((interval.high - 0.9 * (1.0 + half) / (1.0 - half)).abs() < 1e-6);
        let results = OperatorResult::all(&report);
        let cautions = &result(&results, RUST).cautions;
        let said = |it: &Caution| it.to_string().contains("two times of two moments");
        assert!(cautions.iter().any(said), "{cautions:?}");
    }
    // The pair of a row without a usable time says enough.
    let stale = quick().edit(RUST, |it| it.ns = Some(7));
    let stale = stale.edit(RUST, |it| it.record.last_sample = None);
    assert_eq!(efficiency(&stale, RUST).source, EfficiencySource::Pairs);
    let nothing = stale.edit(RUST, |it| it.record.pairs.clear());
    assert_eq!(efficiency_in(&nothing.operators_report(""), RUST), Err(NoEfficiency::NoTime));
}

#[test]
fn a_stream_of_another_place_is_no_limit_and_of_another_run_is_pointed_out() {
    let edit =
        |change: fn(&mut Measured)| quick().edit("softmax/cpu/stream", change).operators_report("");
    for elsewhere in [
        edit(|it| it.record.environment_mut().host.hostname = "bench-2".to_owned()),
        edit(|it| it.record.case.settings.threads = plan::Threads::Count(2)),
    ] {
        let error = efficiency_in(&elsewhere, RUST).expect_err("no limit").to_string();
        assert!(error.starts_with("its `stream` was measured elsewhere (cpu (AMD"), "{error}");
    }
    let later = edit(|it| it.record.run_id = "20261121T080000Z-9".to_owned());
    let results = OperatorResult::all(&later);
    let rust = result(&results, RUST);
    assert!(rust.efficiency.is_ok());
    let said = Caution::from("`stream`, its limit, is of another run");
    assert!(rust.cautions.contains(&said), "{:?}", rust.cautions);
}

#[test]
fn without_stream_the_machines_bandwidth_is_the_limit() {
    // 96 MiB are partly in a cache of 16 MiB, says STREAM's rule of four: not here.
    let report = calibrated(quick()).operators_report("");
    let Efficiency { share, interval, source } =
        efficiency_in(&report, RUST).expect("an efficiency");
    let EfficiencySource::Calibration(ceiling) = &source else { panic!("{source:?}") };
    assert!((ceiling.gb_per_s - 30.0).abs() < 1e-3, "{ceiling:?}");
    assert_eq!((ceiling.level.as_str(), ceiling.certain), ("memory", true));
    assert_eq!(ceiling.operation, "copy_device=cpu_dtype=float32_size=256MiB_threads=1");
    assert!((share - 1.2).abs() < 1e-4, "36 of 30 GB/s, and nothing is cut off");
    let (interval, half) = (interval.expect("an interval"), fixture::TIME_HALF_WIDTH);
    assert!((interval.low - 1.2 * (1.0 - half) / (1.0 + half)).abs() < 1e-4);
    assert!((interval.high - 1.2 * (1.0 + half) / (1.0 - half)).abs() < 1e-4);
    assert_eq!((source.word(), source.method()), ("calibration", Some("times")));
    let text = write(&TABLE, &report);
    assert!(text.contains("its limit is the calibrated bandwidth of memory\n"), "{text}");
    assert!(!text.contains("calibration/"), "calibrations are read, and not shown: {text}");
    assert!(text.contains("8 cases: 8 measured\n"), "nor counted: {text}");
}

#[test]
fn what_fits_a_cache_has_the_caches_bandwidth() {
    let config = |dimension: u64| {
        format!(
            "benchmark_mode: operators\noperator_params:\n  operators: [gelu]\n  implementations: \
             [rust]\n  batch_sizes: [1]\n  sequence_lengths: [1024]\n  \
             tensor_dimensions: [{dimension}]\n"
        )
    };
    let ceiling = |dimension: u64| {
        let report = calibrated_of(&config(dimension)).operators_report("");
        match efficiency_in(&report, &format!("rust/f32-1x1024x{dimension}"))
            .expect("an efficiency")
            .source
        {
            EfficiencySource::Calibration(ceiling) => {
                (ceiling.gb_per_s.round(), ceiling.level, ceiling.certain)
            }
            other => panic!("{other:?}"),
        }
    };
    // 8 MiB lie in the third cache; 2 KiB·1024 = 1.5 MiB between two; 32 MiB between it and memory.
    assert_eq!(ceiling(1024), (120.0, "L3".to_owned(), true));
    assert_eq!(ceiling(192), (30.0, "memory".to_owned(), false));
    assert_eq!(ceiling(4096), (30.0, "memory".to_owned(), false));
    assert_eq!(ceiling(16384), (30.0, "memory".to_owned(), true));
    // Nothing is known of a cache that was not measured.
    assert_eq!(ceiling(64), (30.0, "memory".to_owned(), false));
    let text = write(&TABLE, &calibrated_of(&config(4096)).operators_report(""));
    assert!(text.contains("its tensors may lie in caches in part"), "{text}");
}

fn calibrated_of(config: &str) -> Fixture {
    caches(Fixture::of_operators("cached", config).and(calibration()))
}

/// No limit of another machine, device or number of threads is taken.
#[test]
fn a_bandwidth_is_of_this_machine_on_as_many_threads() {
    let reason = "its group has no `stream`, and no bandwidth of this machine on as many threads \
                  is recorded";
    let edits: [fn(&mut Measured); 3] = [
        |it| it.record.environment_mut().torch.threads = 2,
        |it| it.record.environment_mut().host.hostname = "bench-2".to_owned(),
        |it| it.record.case.device = plan::Device::Cuda,
    ];
    for edit in edits {
        let report = calibrated(quick()).edit("^calibration/", edit).operators_report("");
        assert_eq!(efficiency_in(&report, RUST).expect_err("no limit").to_string(), reason);
        let text = write(&TABLE, &report);
        assert!(text.contains("no limit: its group has no `stream`"), "{text}");
        assert!(text.contains("8 cases without a limit: measure `stream`"), "{text}");
    }
    let skipped = quick().end("/stream/", &skipped()).operators_report("");
    let error = efficiency_in(&skipped, RUST).expect_err("no limit").to_string();
    let start = "`stream` has no time (skipped: this machine has no CUDA device), and no bandwidth";
    assert!(error.starts_with(start), "{error}");
    assert_snapshot!("no-limit", write_on(Some(80), &TABLE, &skipped));
}

/// The threads of the host are nothing to a device, and its caches are not recorded.
#[test]
fn a_device_has_the_bandwidth_of_its_memory() {
    let on_device = |fixture: Fixture| {
        fixture.edit("", |it| {
            it.record.case.device = plan::Device::Cuda;
            it.record.environment_mut().torch.cuda_device = Some("NVIDIA H200".to_owned());
        })
    };
    let threads = |it: &mut Measured| it.record.environment_mut().torch.threads = 2;
    let fixture = || on_device(calibrated(quick()).edit("^calibration/", threads));
    match efficiency(&fixture(), RUST).source {
        EfficiencySource::Calibration(ceiling) => {
            assert_eq!((ceiling.level.as_str(), ceiling.certain), ("memory", false));
        }
        other => panic!("{other:?}"),
    }
    let other_device = fixture().edit("^calibration/", |it| {
        it.record.environment_mut().torch.cuda_device = Some("NVIDIA A100".to_owned());
    });
    assert!(efficiency_in(&other_device.operators_report(""), RUST).is_err());
}

#[test]
fn limits_of_two_kinds_in_one_mean_are_pointed_out() {
    let mixed = caches(quick().without("gelu/cpu/stream").and(calibration())).operators_report("");
    let text = write(&TABLE, &mixed);
    let note = "its limits have different sources, calibration and stream";
    assert!(text.contains(note), "{text}");
    assert!(!write(&TABLE, &quick().operators_report("")).contains("its limits have"));
}

#[test]
fn the_latest_calibration_counts() {
    let twice = calibrated(quick()).and(caches(calibration().edit("", |it| {
        it.record.full_id = it.record.full_id.replace("bandwidth", "again");
        it.record.case.id.group = it.record.case.id.group.replace("bandwidth", "again");
        it.record.timestamp += 1;
        let ns = it.ns.expect("measured") / 2;
        it.ns = Some(ns);
        it.record.last_sample = Some(plan::LastSample { iters: 1, ns });
    })));
    match efficiency(&twice, RUST).source {
        EfficiencySource::Calibration(ceiling) => assert!((ceiling.gb_per_s - 60.0).abs() < 1e-3),
        other => panic!("{other:?}"),
    }
}
