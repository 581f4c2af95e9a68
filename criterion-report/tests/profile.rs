//! A profile in the terminal output, in CSV and in the catalogue of values.

use std::collections::BTreeMap;

use crate::common::{
    self,
    made::{self, COUNTERS, GPU_COUNTERS, profiled_siblings},
};
use clap::ColorChoice;
use common::write;
use criterion_report::cli::writer::Writer;
use criterion_report::export::csv;
use criterion_report::html;
use criterion_report::model::{Entry, Field, Value};
use criterion_report::read::{Location, Report, Selection};
use criterion_report::views::{explain::text as explain, show};
use insta::assert_snapshot;
use plan::{OperationProfile, Profile, Record};

fn read(folder: &std::path::Path) -> Report {
    let location = Location::at(folder.join("criterion"));
    Report::read(&location, "new", Selection::default()).expect("readable")
}

fn profiled() -> Report {
    read(profiled_siblings().path())
}

fn details() -> Writer {
    Writer::Show(show::Options { color: ColorChoice::Auto, details: true, ..Default::default() })
}

fn csv(layout: csv::Layout) -> Writer {
    Writer::Csv(csv::Options { layout, ..csv::Options::default() })
}

#[test]
fn details_have_the_operations_of_a_step() {
    let text = write(&details(), &profiled());
    assert_snapshot!(text);
    let wide = text.lines().find(|line| line.chars().count() > 100 && !line.contains('/'));
    assert_eq!(wide, None);
}

/// The shares of the lines add up to the step, even if some are combined.
#[test]
fn shares_of_the_screen_add_up() {
    let text = write(&details(), &profiled());
    let (_, table) = text.split_once("profile ").expect("the table");
    let case = table.split("int8wo: ").next().expect("the baseline's lines");
    let percent = regex::Regex::new(r"([0-9.]+) %").expect("a valid pattern");
    let shares = percent.captures_iter(case).map(|it| it[1].parse::<f64>().expect("a number"));
    let sum: f64 = shares.sum();
    assert!((sum - 100.0).abs() < 0.5, "{sum} in {case}");
}

fn cells(text: &str, line: usize) -> BTreeMap<String, String> {
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let heading = reader.headers().expect("a heading").clone();
    let record = reader.records().nth(line).expect("a line").expect("cells");
    heading.iter().zip(record.iter()).map(|(a, b)| (a.to_owned(), b.to_owned())).collect()
}

#[test]
fn upstreams_columns_are_filled_where_a_profile_is() {
    let report = profiled();
    for layout in [csv::Layout::Cases, csv::Layout::VFinal] {
        let line = cells(&write(&csv(layout), &report), 1);
        let stem = "profiles/inference_quick_linear_cpu/int8wo/bf16-1024x1024x1024/\
                    custom_1024_1024_1024";
        assert_eq!(line["profiler_json_path"], format!("{stem}_profile.json"));
        assert_eq!(line["memory_profile_path"], format!("{stem}_memory_profile.pickle"));
        assert_eq!(line["memory_visualization_path"], format!("{stem}_memory_profile.svg"));
        assert_eq!(line["memory_stats"], "{'allocated_bytes.all.peak': 12.5}");
    }
    let without = write(&csv(csv::Layout::VFinal), &common::report("two-siblings"));
    let line = cells(&without, 1);
    for name in
        ["profiler_json_path", "memory_profile_path", "memory_visualization_path", "memory_stats"]
    {
        assert_eq!(line[name], "", "{name}");
    }
}

/// A later profile has replaced the candidate's trace by one of the same size, and removed its other files.
#[test]
fn files_of_a_later_profile_are_not_shown() {
    let folder = profiled_siblings();
    let own = "criterion-torch/profiles/inference_quick_linear_cpu/int8wo/bf16-1024x1024x1024";
    let file = |name: &str| folder.path().join(own).join(format!("custom_1024_1024_1024_{name}"));
    let trace = std::fs::read_to_string(file("profile.json")).expect("readable");
    std::fs::write(file("profile.json"), trace.replace("int8wo", "later!")).expect("written");
    for gone in ["memory_profile.pickle", "memory_profile.svg"] {
        std::fs::remove_file(file(gone)).expect("it was there");
    }
    let report = read(folder.path());
    let [whole, replaced] = report.entries().collect::<Vec<_>>()[..] else { panic!("two cases") };
    let why = "files: no longer there: custom_1024_1024_1024_memory_profile.pickle, \
               custom_1024_1024_1024_memory_profile.svg; replaced by a later profile of the case: \
               custom_1024_1024_1024_profile.json; measure the case again with --profile";
    for name in ["trace", "memory-snapshot", "memory-timeline"] {
        let field = Field::named(name).expect("a field");
        assert!(field.value(&whole).is_some(), "{name}");
        assert_eq!(field.value(&replaced), None, "{name}");
        assert_eq!(field.absent(&replaced).as_deref(), Some(why), "{name}");
    }
    let table = write(&csv(csv::Layout::Cases), &report);
    assert!(cells(&table, 0)["profiler_json_path"].ends_with("_profile.json"));
    assert_eq!(cells(&table, 1)["profiler_json_path"], "");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let page = Writer::Html(html::Options { title: "A report".to_owned() });
    for writer in [details(), page] {
        let text = words(&write(&writer, &report));
        assert!(text.contains(why.strip_prefix("files: ").expect("the part's name")), "{text}");
        assert!(!text.contains(&format!("{}/custom", own.trim_start_matches("criterion-torch/"))));
    }
}

/// Half of the step's time on a GPU is a product; its launch takes a fiftieth on the host.
fn on_a_gpu(profile: &mut Profile) {
    let step_ns = profile.step_ns;
    for it in &mut profile.operations {
        (it.self_ns, it.total_ns, it.device_ns) = (0.02 * step_ns, 0.02 * step_ns, Some(0.0));
    }
    profile.operations.swap(0, 1);
    profile.operations[0].device_ns = Some(0.5 * step_ns);
    profile.operations[1].device_ns = Some(0.125 * step_ns);
    profile.outside_ns = 0.78 * step_ns;
}

#[test]
fn shares_on_a_gpu_are_of_its_time() {
    let report = changed(on_a_gpu);
    let text = write(&details(), &report);
    let (_, table) = text.split_once("profile ").expect("the table");
    let case = table.split("int8wo: ").next().expect("the baseline's lines");
    let line = |name: &str| {
        let found = case.lines().find(|line| line.trim_start().starts_with(name));
        found.unwrap_or_else(|| panic!("no {name}: {case}"))
    };
    assert!(line("aten::mm").contains(" 50.0 %"), "{case}");
    assert!(line("aten::copy_").contains(" 12.5 %"), "{case}");
    assert!(line("GPU without kernels").contains(" 37.5 %"), "{case}");
    assert!(!line("outside operations").contains('%'), "it is a time of the host: {case}");
    let percent = regex::Regex::new(r"([0-9.]+) %").expect("a valid pattern");
    let shares = percent.captures_iter(case).map(|it| it[1].parse::<f64>().expect("a number"));
    assert_eq!(shares.sum::<f64>(), 100.0, "{case}");
    let page = write(&Writer::Html(html::Options { title: "A report".to_owned() }), &report);
    assert!(page.contains("GPU without kernels"));
}

#[test]
fn a_gpu_whose_kernels_were_not_recorded_says_so() {
    const WHY: &str = "the profiler recorded no kernel: add the folder to LD_LIBRARY_PATH";
    let report = changed(|profile| {
        profile.absent.insert("device".to_owned(), WHY.to_owned());
    });
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = words(&write(&details(), &report));
    assert!(text.contains(" device – ") && text.contains(WHY), "{text}");
    let page = write(&Writer::Html(html::Options { title: "A report".to_owned() }), &report);
    assert!(page.contains(WHY), "the page says it, too");
    assert!(!write(&details(), &profiled()).contains("\n      device "));
}

/// The profiled siblings with profiles that were changed.
fn changed(change: impl Fn(&mut Profile)) -> Report {
    let folder = profiled_siblings();
    let path = folder.path().join("criterion-torch/new/inference.jsonl");
    let text = std::fs::read_to_string(&path).expect("readable");
    let lines = text.lines().map(|line| {
        let mut record: Record = serde_json::from_str(line).expect("a record");
        change(record.profile.as_mut().expect("a profile"));
        serde_json::to_string(&record).expect("serialises") + "\n"
    });
    std::fs::write(&path, lines.collect::<String>()).expect("written");
    read(folder.path())
}

#[test]
fn peaks_are_in_torchs_order_and_decimal_megabytes() {
    let stats_of = |stats: &[(&str, u64)]| {
        let stats = stats.iter().map(|(name, bytes)| ((*name).to_owned(), *bytes));
        let stats: BTreeMap<String, u64> = stats.collect();
        let report = changed(|it| it.memory.as_mut().expect("memory").stats = stats.clone());
        cells(&write(&csv(csv::Layout::Cases), &report), 0)["memory_stats"].clone()
    };
    let all = [
        ("active_bytes.all.peak", 2_000_000),
        ("allocated_bytes.all.peak", 1_234_567),
        ("reserved_bytes.all.peak", 20),
        ("something.else", 1),
    ];
    assert_eq!(
        stats_of(&all),
        "{'allocated_bytes.all.peak': 1.234567, 'active_bytes.all.peak': 2.0, \
         'reserved_bytes.all.peak': 2e-05}"
    );
    assert_eq!(stats_of(&[]), "");
}

#[test]
fn a_profile_of_memory_alone_says_why_it_has_no_operations() {
    let report = changed(|profile| {
        profile.operations.clear();
        (profile.steps, profile.step_ns, profile.outside_ns) = (0, 0.0, 0.0);
        profile.absent.insert("operations".to_owned(), "the profiler did not start".to_owned());
    });
    let text = write(&details(), &report);
    assert!(text.contains("int8wo: no operations: the profiler did not start"), "{text}");
    assert!(!text.contains("outside operations"), "{text}");
    let entry = report.entries().next().expect("a case");
    for name in ["profiled-step", "outside-share"] {
        let field = Field::named(name).expect("a field");
        assert_eq!(field.value(&entry), None, "{name}");
        let why = field.absent(&entry);
        assert_eq!(why.as_deref(), Some("operations: the profiler did not start"), "{name}");
    }
}

#[test]
fn names_of_a_profile_steer_no_terminal() {
    const HOSTILE: &str = "\x1b[2J\nFORGED";
    let report = changed(|profile| {
        profile.operations[0].name.push_str(HOSTILE);
        profile.files[0].path.push_str(HOSTILE);
        profile.hardware = None;
        profile.absent.insert("hardware".to_owned(), HOSTILE.to_owned());
    });
    let text = write(&details(), &report);
    assert!(!text.contains('\x1b') && text.contains("FORGED"), "{text}");
    assert!(!text.lines().any(|line| line.trim_start().starts_with("FORGED")), "{text}");
}

#[test]
fn counters_of_a_gpu_are_said_in_the_place_of_the_processors() {
    let report = changed(|profile| {
        profile.hardware = None;
        profile.gpu = Some(GPU_COUNTERS);
    });
    let said = "25 000 cycles, SMs at 31.2 % of their peak, tensor cores active in 25.0 %, occupancy \
                48.0 %, memory 4.00 MiB at 87.5 % of its peak, L2 hits 50.0 %";
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (format, color) = (explain::Format::Text, ColorChoice::Never);
    let explain = Writer::Explain(explain::Options { cases: None, format, color });
    let page = Writer::Html(html::Options { title: "A report".to_owned() });
    for writer in [details(), explain, page] {
        let text = words(&write(&writer, &report));
        assert!(text.contains(said), "{text}");
    }
    let [.., candidate] = report.entries().collect::<Vec<_>>()[..] else { panic!("two cases") };
    for (name, value) in [
        ("gpu-cycles", 25_000.0),
        ("sm-throughput", 0.312),
        ("tensor-active", 0.25),
        ("occupancy", 0.48),
        ("dram-bytes", 4_194_304.0),
        ("dram-throughput", 0.875),
        ("l2-hit-rate", 0.5),
    ] {
        assert_eq!(number(name, &candidate), Some(value), "{name}");
    }
    let why = Field::named("cycles").expect("a field").absent(&candidate).expect("a reason");
    assert!(why.contains("runs on a GPU"), "{why}");
}

fn number(name: &str, entry: &Entry<'_>) -> Option<f64> {
    Some(Field::named(name).expect("a field").figure(entry)?.value)
}

#[test]
fn fields_of_a_profile_have_values_and_reasons() {
    let report = profiled();
    let entries: Vec<Entry<'_>> = report.entries().collect();
    let [baseline, candidate] = entries[..] else { panic!("two cases") };
    let profile = candidate.row.record.profile.as_ref().expect("a profile");
    assert_eq!(number("profiled-step", &candidate), Some(profile.step_ns));
    assert!((number("outside-share", &candidate).expect("a share") - 0.05).abs() < 1e-12);
    assert_eq!(number("cycles", &candidate), Some(COUNTERS.cycles));
    assert_eq!(number("instructions-per-cycle", &candidate), Some(2.5));
    assert_eq!(number("tlb-misses", &candidate), Some(250.0));
    assert_eq!(number("cycles", &baseline), None);
    assert_eq!(number("dram-bytes", &candidate), None);
    let why = |name: &str, entry| Field::named(name).expect("a field").absent(entry);
    for name in ["cycles", "gpu-cycles"] {
        assert_eq!(why(name, &baseline), Some("hardware: the machine has no PMU".to_owned()));
    }
    assert!(why("dram-bytes", &candidate).expect("a reason").contains("runs on a CPU"));
    let report = common::report("two-siblings");
    let unprofiled = report.entries().next().expect("a case");
    for name in ["trace", "memory-snapshot", "memory-timeline", "memory-stats", "profiled-step"] {
        let why = why(name, &unprofiled).expect("a reason");
        assert!(why.contains("--profile"), "{name}: {why}");
    }
    let stats = Field::named("memory-stats").expect("a field");
    let value = stats.value(&baseline).expect("a value");
    assert!(matches!(value, Value::Named(_)));
    assert_eq!(stats.text(value, true), "allocated_bytes.all.peak 11.9 MiB");
}

/// A record whose profile contains an impossible number is refused, like other invalid records.
#[test]
fn impossible_numbers_of_a_profile_are_refused() {
    let check = |change: &dyn Fn(&mut OperationProfile)| {
        let mut record = made::template();
        let mut profile = made::profile(1e6, "x");
        change(&mut profile.operations[1]);
        record.profile = Some(profile);
        let line = serde_json::to_string(&record).expect("serialises");
        criterion_report::read::record_of_line(line.as_bytes()).map(drop)
    };
    check(&|_| {}).expect("possible");
    for (name, change) in [
        ("self_ns", (|it| it.self_ns = -1.0) as fn(&mut OperationProfile)),
        ("total_ns", |it| it.total_ns = 1e300),
        ("calls", |it| it.calls = -2.0),
        ("operations", |it| it.allocated_bytes = u64::MAX),
    ] {
        let error = check(&change).expect_err(name);
        assert!(error.contains(name) && error.contains("aten::mm"), "{error}");
    }
}
