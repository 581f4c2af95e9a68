//! Results as runs leave them, made by a test, with times that are easy to reckon with.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use criterion_report::read::{Location, Report, Selection};
use plan::{
    Case, GpuCounters, HardwareCounters, LastSample, Measures, MemoryProfile, Mode,
    OperationProfile, Outcome, Profile, ProfileFile, ProfileFileKind, Record, Role, RunManifest,
};
use regex::Regex;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::copied;

/// Half-width of the times' intervals.
pub const TIME_HALF_WIDTH: f64 = 0.005;

/// A record and, where criterion measured, its time in ns with the half-width of its interval.
#[derive(Clone)]
pub struct Measured {
    pub record: Record,
    pub ns: Option<u64>,
    pub half_width: f64,
}

impl Measured {
    /// A case whose step took so long, on the machine of another fixture, whose record has everything
    /// else.
    pub fn new(case: Case, ns: u64) -> Self {
        let record = Record {
            full_id: case.full_id(),
            case,
            outcome: Outcome::Measured,
            last_sample: Some(LastSample { iters: 1, ns }),
            kernels: Vec::new(),
            pairs: Vec::new(),
            ..template()
        };
        Self { record, ns: Some(ns), half_width: TIME_HALF_WIDTH }
    }
}

/// A record of another fixture.
pub fn template() -> Record {
    let file = "tests/fixtures/probes/criterion-torch/new/calibration.jsonl";
    let lines = fs::read_to_string(file).expect("readable");
    serde_json::from_str(lines.lines().next().expect("a line")).expect("a record")
}

/// A profile of a linear layer that converts its weight in every step of `ns`: the conversion, the product, nine views,
/// and a twentieth outside of all operations.
pub fn profile(ns: f64, files: &str) -> Profile {
    let weight = vec![1024, 1024];
    let operation = |name: &str, shapes: &[&Vec<i64>], share: f64| OperationProfile {
        name: name.to_owned(),
        shapes: shapes.iter().map(|&shape| shape.clone()).collect(),
        dtypes: vec!["bfloat16".to_owned(); shapes.len()],
        calls: 1.0,
        self_ns: share * ns,
        total_ns: share * ns,
        is_leaf: true,
        ..OperationProfile::default()
    };
    let conversion = OperationProfile {
        input_bytes: Some(1 << 20),
        allocated_bytes: 2 << 20,
        dtypes: ["bfloat16", "int8", ""].map(str::to_owned).to_vec(),
        ..operation("aten::copy_", &[&weight, &weight, &vec![]], 0.5)
    };
    let product = OperationProfile {
        flops: Some(2 << 30),
        input_bytes: Some(4 << 20),
        allocated_bytes: 2 << 20,
        ..operation("aten::mm", &[&weight, &weight], 0.36)
    };
    let views = (0..9).map(|place| operation("aten::view", &[&vec![1024, place + 1]], 0.01));
    let file = |kind| {
        let (name, content) = profile_file(kind, files);
        let path = format!("profiles/{files}/custom_1024_1024_1024_{name}");
        ProfileFile::new(kind, path, content.as_bytes())
    };
    Profile {
        steps: 10,
        step_ns: ns,
        outside_ns: 0.05 * ns,
        operations: [conversion, product].into_iter().chain(views).collect(),
        memory: Some(MemoryProfile {
            peak_bytes: 4 << 20,
            at_peak: vec![("aten::copy_".to_owned(), 2 << 20), ("aten::mm".to_owned(), 2 << 20)],
            events: 4,
            stats: BTreeMap::from([("allocated_bytes.all.peak".to_owned(), 12_500_000)]),
        }),
        hardware: None,
        gpu: None,
        files: vec![
            file(ProfileFileKind::Trace),
            file(ProfileFileKind::MemorySnapshot),
            file(ProfileFileKind::MemoryTimeline),
        ],
        absent: BTreeMap::from([("hardware".to_owned(), "the machine has no PMU".to_owned())]),
    }
}

/// The end of the name and the content of a file of [`profile`], which says whose it is.
pub fn profile_file(kind: ProfileFileKind, of: &str) -> (&'static str, String) {
    let (name, text, bytes) = match kind {
        ProfileFileKind::Trace => {
            ("profile.json", format!("{{\"traceEvents\": [], \"traceName\": \"{of}\"}}"), 31_000)
        }
        ProfileFileKind::MemorySnapshot => ("memory_profile.pickle", format!("V{of}\n."), 4_100),
        ProfileFileKind::MemoryTimeline => {
            let size = "xmlns='http://www.w3.org/2000/svg' width='40' height='20'";
            ("memory_profile.svg", format!("<svg {size}><title>{of}</title></svg>"), 9_000)
        }
    };
    (name, format!("{text:<bytes$}"))
}

/// Counters of a step of a million cycles.
pub const COUNTERS: HardwareCounters = HardwareCounters {
    cycles: 1e6,
    instructions: 2.5e6,
    cache_references: 4e4,
    cache_misses: 1e3,
    tlb_misses: 250.0,
};

/// Counters of a GPU's step that waits for its memory.
pub const GPU_COUNTERS: GpuCounters = GpuCounters {
    cycles: 25_000.0,
    sm_throughput: 0.312,
    tensor_active: 0.25,
    occupancy: 0.48,
    dram_bytes: 4_194_304.0,
    dram_throughput: 0.875,
    l2_hit_rate: 0.5,
};

/// The fixture `two-siblings` with a profile of each case and its files; the candidate's has counters.
pub fn profiled_siblings() -> TempDir {
    let folder = copied("two-siblings");
    let path = folder.path().join("criterion-torch/new/inference.jsonl");
    let mut text = String::new();
    for line in fs::read_to_string(&path).expect("readable").lines() {
        let mut record: Record = serde_json::from_str(line).expect("a record");
        let sample = record.last_sample.expect("measured");
        let ns = 1.1 * sample.ns as f64 / sample.iters as f64;
        let id = record.case.id.directory().display().to_string();
        let mut profile = profile(ns, &id);
        for file in &profile.files {
            let path = folder.path().join("criterion-torch").join(&file.path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("created");
            fs::write(path, profile_file(file.kind, &id).1).expect("written");
        }
        if record.case.role == Role::Candidate {
            profile.hardware = Some(COUNTERS);
            profile.absent.clear();
        }
        record.profile = Some(profile);
        text += &(serde_json::to_string(&record).expect("serialises") + "\n");
    }
    fs::write(path, text).expect("written");
    folder
}

/// Cases, not yet written.
#[derive(Clone)]
pub struct Fixture {
    pub cases: Vec<Measured>,
    /// The run that selected them, if it is to be known.
    pub run: Option<RunManifest>,
    /// Cases that the run selected and did not reach.
    pub unreached: Vec<String>,
}

impl Fixture {
    /// Cases of no run.
    pub fn of_cases(cases: Vec<Measured>) -> Self {
        Self { cases, run: None, unreached: Vec::new() }
    }

    /// And those of another one.
    pub fn and(mut self, other: Self) -> Self {
        self.cases.extend(other.cases);
        self
    }

    /// Changes the cases whose id matches; at least one does.
    pub fn edit(mut self, filter: &str, change: impl Fn(&mut Measured)) -> Self {
        let matches = Regex::new(filter).expect("a valid pattern");
        let matching = self.cases.iter_mut().filter(|it| matches.is_match(&it.record.full_id));
        assert!(matching.map(change).count() > 0, "{filter} matches no case");
        self
    }

    /// Ends the cases without a measurement.
    pub fn end(self, filter: &str, outcome: &Outcome) -> Self {
        self.edit(filter, |it| {
            it.ns = None;
            let record = &mut it.record;
            record.outcome = outcome.clone();
            record.pairs.clear();
            record.last_sample = None;
            record.accuracy = None;
            record.kernel = None;
            let absent = std::mem::take(&mut record.measures.absent);
            record.measures = Measures { absent, ..Measures::default() };
            record.kernels.clear();
        })
    }

    /// Sets the median of a step.
    pub fn takes(self, filter: &str, ns: u64) -> Self {
        self.edit(filter, |it| {
            it.ns = Some(ns);
            it.record.last_sample = Some(LastSample { iters: 1, ns });
        })
    }

    /// Leaves the cases out.
    pub fn without(mut self, filter: &str) -> Self {
        let matches = Regex::new(filter).expect("a valid pattern");
        let before = self.cases.len();
        self.cases.retain(|it| !matches.is_match(&it.record.full_id));
        assert!(self.cases.len() < before, "{filter} matches no case");
        self
    }

    /// Cases that the run ended before.
    pub fn unreached(mut self, ids: &[&str]) -> Self {
        self.unreached = ids.iter().map(|&id| id.to_owned()).collect();
        self
    }

    /// Writes it all under a baseline into the folder; criterion's is the one in it.
    pub fn write_in(&self, folder: &Path, baseline: &str) -> PathBuf {
        let (criterion, all) = (folder.join("criterion"), folder.join("criterion-torch"));
        let mut lines: BTreeMap<String, String> = BTreeMap::new();
        for it in &self.cases {
            let line = serde_json::to_string(&it.record).expect("serialises") + "\n";
            lines.entry(it.record.case.mode.to_string()).or_default().push_str(&line);
            if let Some(ns) = it.ns {
                let own = criterion.join(it.record.case.id.directory()).join(baseline);
                estimate(&own, &it.record.full_id, ns as f64, it.half_width);
            }
        }
        for folder in [&criterion, &all.join(baseline), &all.join("runs")] {
            fs::create_dir_all(folder).expect("created");
        }
        for (mode, lines) in lines {
            fs::write(all.join(baseline).join(format!("{mode}.jsonl")), lines).expect("written");
        }
        if let Some(run) = self.run.clone().filter(|_| baseline == "new") {
            let ids = self.cases.iter().map(|it| it.record.full_id.clone());
            let selected = ids.chain(self.unreached.clone()).collect();
            let file = all.join(format!("runs/{}.json", run.run_id));
            let text = serde_json::to_string(&RunManifest { selected, ..run }).expect("serialises");
            fs::write(file, text).expect("written");
        }
        criterion
    }

    /// Writes into a temporary folder, which the caller keeps.
    pub fn write(&self) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let criterion = self.write_in(folder.path(), "new");
        (folder, criterion)
    }

    /// The report of the cases of a mode whose id matches, with the calibrations beside them.
    pub fn report_of(&self, mode: Mode, filter: &str) -> Report {
        let (_folder, criterion) = self.write();
        let filter = Regex::new(filter).expect("a valid pattern");
        let modes = [mode];
        let selection = Selection {
            modes: Some(&modes),
            beside: &[Mode::Calibration],
            filter: Some(&filter),
            latest: false,
        };
        Report::read(&Location::at(criterion), "new", selection).expect("readable")
    }
}

/// Criterion's files of a case whose samples all took `ns`.
fn estimate(folder: &Path, full_id: &str, ns: f64, half_width: f64) {
    fs::create_dir_all(folder).expect("created");
    let put = |name: &str, value: Value| {
        fs::write(folder.join(name), value.to_string()).expect("written");
    };
    let estimate = json!({
        "confidence_interval": {
            "confidence_level": 0.95,
            "lower_bound": ns * (1.0 - half_width),
            "upper_bound": ns * (1.0 + half_width),
        },
        "point_estimate": ns,
        "standard_error": 1.0,
    });
    let sample = json!({ "sampling_mode": "Flat", "iters": vec![1.0; 10], "times": vec![ns; 10] });
    put("sample.json", sample);
    let names = ["mean", "median", "median_abs_dev", "std_dev"];
    let estimates: BTreeMap<&str, &Value> = names.map(|name| (name, &estimate)).into();
    put("estimates.json", json!(estimates));
    put("benchmark.json", json!({ "full_id": full_id }));
}
