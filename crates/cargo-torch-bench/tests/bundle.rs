//! `bundle` with the real cargo, compiler and loader, and the runner that it packs. A small package (fixtures/bundled)
//! stands for one with benchmarks, and a library of one function for libtorch.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::repository::copy;
use crate::common::{Outcome, Scratch, wait_until};
use serde_json::Value;

const FUSION: &str = "benchmark_mode: fusion\nfusion_params:\n  \
    - { patterns: [linear_bias_relu], sizes: [[8, 8, 8]], variants: [fused] }\n";
const CALIBRATION: &str =
    "benchmark_mode: calibration\ncalibration_params: [{ probes: [call], threads: 1 }]\n";

/// A package, its libtorch, and a folder for hosts.
struct TestWorkspace {
    scratch: Scratch,
    package: PathBuf,
    torch: PathBuf,
    /// The ids of the bench target `fusion`, sorted.
    ids: Vec<String>,
}

/// The id of the bench target `calibration`.
const CALL: &str = "calibration/calibration/call/cpu/1-thread/f32-1";

impl TestWorkspace {
    fn new() -> Self {
        let scratch = Scratch::new();
        let package = scratch.clone_dir();
        fs::remove_dir_all(&package).expect("make place");
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/bundled"), &package);
        let torch = scratch.fake("site/torch");
        libtorch(&torch);
        let programs = scratch.fake("programs");
        fs::create_dir(&programs).expect("made");
        for name in ["sh", "cat"] {
            symlink(Path::new("/bin").join(name), programs.join(name)).expect("linked");
        }
        let ids = plans(&package);
        Self { scratch, package, torch, ids }
    }

    fn tool(&self, line: &str) -> Outcome {
        self.tool_with(line, &[])
    }

    fn tool_with(&self, line: &str, variables: &[(&str, &str)]) -> Outcome {
        let words: Vec<&str> = line.split_whitespace().collect();
        let inherited = |name| std::env::var_os(name).unwrap_or_default();
        let mut tool = self.scratch.xtask(&[&["torch-bench"], &words[..]].concat());
        tool.env("PATH", inherited("PATH"))
            .env("HOME", inherited("HOME"))
            .env("CARGO", env!("CARGO"));
        tool.env("LIBTORCH", &self.torch).env("CARGO_NET_OFFLINE", "true");
        for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET_DIR", "CXX"] {
            tool.env_remove(name);
        }
        tool.envs(variables.iter().copied()).current_dir(&self.package);
        Outcome::run(tool)
    }

    /// Makes a bundle and unpacks it into a folder with spaces.
    fn bundle(&self, options: &str) -> Bundle<'_> {
        self.tool(&format!("bundle --output sweep.tar.zst {options}")).assert_fine();
        let host = self.scratch.fake("a host");
        if host.exists() {
            fs::remove_dir_all(&host).expect("make place");
        }
        fs::create_dir_all(&host).expect("made");
        let packed = fs::read(self.package.join("sweep.tar.zst")).expect("it was made");
        let archive = zstd::stream::decode_all(&packed[..]).expect("whole");
        tar::Archive::new(&archive[..]).unpack(&host).expect("a whole archive");
        Bundle { workspace: self, root: host.join("sweep"), host }
    }
}

/// A library in the form of a libtorch that programs can be linked with.
fn libtorch(root: &Path) {
    let put = |file: &str, text: &str| {
        let path = root.join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    };
    put("version.py", "__version__ = '2.11.0+cpu'\n");
    put("include/torch/csrc/api/include/torch/torch.h", "// header\n");
    put("lib/source.c", "int answer(void) { return 42; }\n");
    for (name, arguments) in [
        ("libc10.so", &[][..]),
        ("libtorch_python.so", &[]),
        ("libtorch_cpu.so", &["-Wl,--no-as-needed", "-L.", "-lc10", "-Wl,-rpath,$ORIGIN"]),
    ] {
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-o", name, "source.c"]).args(arguments);
        let status = cc.current_dir(root.join("lib")).status().expect("cc runs");
        assert!(status.success(), "{name}");
    }
}

/// Writes the plans of the package; returns the ids of its fusion, sorted.
fn plans(package: &Path) -> Vec<String> {
    let folder = package.join("plans");
    fs::create_dir_all(&folder).expect("made");
    let plan = |name: &str, text: &str| {
        let config = folder.join(format!("{name}.yml"));
        fs::write(&config, text).expect("written");
        let plan = plan::load(&[config]).unwrap_or_else(|errors| panic!("{errors}"));
        let json = serde_json::to_string(&plan).expect("it serialises");
        fs::write(folder.join(format!("{name}.json")), json).expect("written");
        plan
    };
    let (fusion, calibration) = (plan("fusion", FUSION), plan("calibration", CALIBRATION));
    let groups = fusion.groups.iter().chain(&calibration.groups).cloned().collect();
    let all = plan::Plan { groups };
    let json = serde_json::to_string(&all).expect("it serialises");
    fs::write(folder.join("all.json"), json).expect("written");
    let planned = |case: &plan::Case| {
        let (id, device) = (case.full_id(), case.device.to_string());
        let target = plan::mode_of(&case.id.group);
        let probe = case.work.probe().map(|it| it.probe);
        serde_json::json!({
            "full_id": id, "target": target, "device": device, "probe": probe,
            "seconds": 1.0, "seconds_at_least": 0.5,
        })
    };
    let planned: Vec<Value> = all.cases().map(planned).collect();
    fs::write(folder.join("planned.json"), Value::from(planned).to_string()).expect("written");
    let mut ids: Vec<String> = fusion.cases().map(plan::Case::full_id).collect();
    ids.sort();
    assert!(ids.len() > 1, "{ids:?}");
    ids
}

/// A bundle on a host.
struct Bundle<'l> {
    workspace: &'l TestWorkspace,
    root: PathBuf,
    host: PathBuf,
}

impl Bundle<'_> {
    /// Runs the launcher in an empty folder, with the shell and `cat` on the PATH and nothing else.
    fn run(&self, words: &[&str]) -> Outcome {
        self.run_with(words, &[])
    }

    fn run_with(&self, words: &[&str], variables: &[(&str, &str)]) -> Outcome {
        let here = self.host.join("somewhere else");
        fs::create_dir_all(&here).expect("made");
        let mut run = Command::new(self.root.join("torch-bench-run"));
        run.args(words)
            .current_dir(here)
            .env_clear()
            .env("PATH", self.workspace.scratch.fake("programs"));
        run.envs(variables.iter().copied());
        Outcome::run(run)
    }

    /// How the bench targets were started since the last time, without the folder of the bundle.
    fn started(&self) -> Vec<String> {
        let log = self.host.join("somewhere else/torch-bench-results/criterion/log");
        let text = fs::read_to_string(&log).unwrap_or_default();
        drop(fs::remove_file(log));
        text.lines().map(|line| line.replace(&self.root.display().to_string(), "HERE")).collect()
    }

    fn manifest(&self) -> Value {
        serde_json::from_str(
            &fs::read_to_string(self.root.join("manifest.json")).expect("readable"),
        )
        .expect("JSON")
    }

    fn change_manifest(&self, pointer: &str, value: impl Into<Value>) {
        let mut manifest = self.manifest();
        *manifest.pointer_mut(pointer).expect(pointer) = value.into();
        fs::write(self.root.join("manifest.json"), manifest.to_string()).expect("written");
    }

    /// All files, by their paths in the bundle.
    fn files(&self) -> Vec<String> {
        let entries = walkdir::WalkDir::new(&self.root).sort_by_file_name();
        let files = entries.into_iter().map(|entry| entry.expect("readable"));
        let files = files.filter(|entry| !entry.file_type().is_dir());
        let inside =
            |path: &Path| path.strip_prefix(&self.root).expect("inside").display().to_string();
        files.map(|entry| inside(entry.path())).collect()
    }
}

const LIBRARY: &str = "HERE/lib/torch/lib/libtorch_cpu.so";

#[test]
fn a_bundle_runs_where_nothing_is_installed() {
    let workspace = TestWorkspace::new();
    let made = workspace.tool("bundle --output sweep.tar.zst");
    made.assert_fine();
    assert!(made.stderr.contains("note: the bench target other is left out"), "{made:?}");
    for part in
        ["runner", "plan", "criterion-report", "benchmarks", "libtorch", "next      tar -xf"]
    {
        assert!(made.stdout.contains(part), "{part}: {made:?}");
    }
    let bundle = workspace.bundle("");
    let mut files = bundle.files();
    files.retain(|file| !file.starts_with("lib/system/"));
    let expected = [
        "SHA256SUMS",
        "benches/calibration",
        "benches/fusion",
        "bin/criterion-report",
        "bin/torch-bench-run",
        "lib/torch/lib/libc10.so",
        "lib/torch/lib/libtorch_cpu.so",
        "manifest.json",
        "plan.json",
        "torch-bench-run",
    ];
    assert_eq!(files, expected);
    let manifest = bundle.manifest();
    for (pointer, expected) in [
        ("/format", Value::from(1)),
        ("/cpu/target_cpu", Value::Null),
        ("/torch/version", "2.11.0+cpu".into()),
        ("/torch/folder", "lib/torch".into()),
        ("/torch/cuda", Value::Null),
        ("/revision", Value::Null),
        ("/benches/1/name", "fusion".into()),
        ("/benches/1/cases", workspace.ids.len().into()),
        ("/benches/0/modes/0", "calibration".into()),
    ] {
        assert_eq!(manifest.pointer(pointer), Some(&expected), "{pointer}: {manifest:#}");
    }
    let glibc = manifest["glibc"].as_str().expect("it needs one");
    assert!(glibc.starts_with("2."), "{glibc}");
    assert!(!manifest["cpu"]["features"].as_array().expect("a list").is_empty(), "{manifest:#}");

    // The build host's folder of libtorch is gone, as it is anywhere else.
    fs::rename(&workspace.torch, workspace.torch.with_file_name("away")).expect("moved");
    let listed = bundle.run(&["--", "--list"]);
    let ids: Vec<String> = workspace.ids.iter().map(|id| format!("{id}: benchmark")).collect();
    let listed: Vec<_> = listed.assert_fine().stdout.lines().map(str::to_owned).collect();
    assert!(ids.iter().all(|id| listed.contains(id)), "{listed:?}");
    let one = bundle.run(&["--", "--list", &workspace.ids[0]]);
    assert_eq!(one.assert_fine().stdout, format!("{}\n", ids[0]));
    // Through links, in another folder.
    symlink(bundle.root.join("torch-bench-run"), workspace.scratch.fake("link")).expect("linked");
    symlink("link", workspace.scratch.fake("second")).expect("linked");
    let mut run = Command::new(workspace.scratch.fake("second"));
    run.args(["--", "--list", &workspace.ids[0]]).current_dir(&bundle.host);
    assert_eq!(Outcome::run(run).assert_fine().stdout, format!("{}\n", ids[0]));
    assert!(
        !bundle.host.join("somewhere else/torch-bench-results").exists(),
        "nothing was measured"
    );
    bundle
        .run(&["--verify", "--shard", "2/3", "--partition", "hash", "--", "--quick"])
        .assert_fine();
    let expected = [
        format!("calibration [--bench --shard 2/3 --partition hash --quick] {LIBRARY} false"),
        format!("fusion [--bench --shard 2/3 --partition hash --quick] {LIBRARY} false"),
    ];
    assert_eq!(bundle.started(), expected);
    // Without the filter's own, only the limits that its cases need are measured, as far as they fit into the time.
    for (time, shown) in [("", "30s"), ("--calibration 2min", "120s")] {
        let words: Vec<&str> = time.split_whitespace().chain(["--", "--quick", "fused"]).collect();
        bundle.run(&words).assert_fine();
        let expected = [
            format!("calibration [--bench --quick --budget {shown} ^(?:{CALL})$] {LIBRARY} false"),
            format!("fusion [--bench --quick fused] {LIBRARY} false"),
        ];
        assert_eq!(bundle.started(), expected);
    }
    bundle.run(&["--no-calibration", "--resume", "--", "fused"]).assert_fine();
    assert_eq!(bundle.started(), [format!("fusion [--bench --resume fused] {LIBRARY} false")]);

    for words in [&["--check"][..], &["--help"], &["--", "--quick"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut run = Command::new(bundle.root.join("torch-bench-run"));
        run.args(words).current_dir(&bundle.host).stdout(writer);
        let ended = run.stderr(std::process::Stdio::piped()).spawn().expect("it starts");
        let outcome = Outcome::from(ended.wait_with_output().expect("it ends"));
        assert!(!outcome.assert_fine().stderr.contains("panicked"), "{outcome:?}");
    }
    let checked = bundle.run(&["--check"]);
    assert!(checked.assert_fine().stdout.starts_with("this host fits: "), "{checked:?}");
    bundle
        .run(&["--", "no-such-case"])
        .assert_refused(2, &["`no-such-case` selects no case", "--list"]);
    bundle.run(&["--nonsense"]).assert_refused(2, &["unexpected argument '--nonsense'"]);
    assert!(bundle.started().is_empty());
}

#[test]
fn a_bundle_of_gpu_check_checks_and_writes_its_page() {
    let workspace = TestWorkspace::new();
    let bundle = workspace.bundle("--bench fusion");
    bundle
        .run(&["--gpu-check"])
        .assert_refused(2, &["lacks the programs of gpu-check", "bundle --gpu-check"]);
    bundle.run(&["--quick"]).assert_refused(2, &["--gpu-check"]);
    bundle.run(&["--gpu-check", "--", "x"]).assert_refused(2, &["cannot be used with"]);
    // As if that had made it, though without its bench targets: every step says so, but the doctor's.
    bundle.change_manifest("/made_by", vec!["--gpu-check"]);
    let outcome = bundle.run(&["--gpu-check", "--quick", "--output", "found"]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let found = bundle.host.join("somewhere else/found");
    let read = |file: &str| fs::read_to_string(found.join(file)).expect("it was written");
    let page = read("gpu-check.md");
    assert!(page.starts_with("# gpu-check --quick: 1 of 16 steps passed, 15 failed"), "{page}");
    assert!(page.contains("there is no bench target self_test"), "{page}");
    let doctor = page.lines().find(|line| line.starts_with("| doctor | passed | ")).expect("a row");
    assert!(!doctor.contains("failed"), "{page}");
    assert!(!page.contains("rustc") && page.contains("libtorch | 2.11.0+cpu"), "{page}");
    let file: Value = serde_json::from_str(&read("gpu-check.json")).expect("JSON");
    assert!(file["steps"][0]["seconds"].is_f64(), "{file:#}");
    assert!(bundle.started().is_empty());

    let refused = workspace.tool("bundle --output x.tar --gpu-check --bench fusion");
    refused.assert_refused(2, &["'--gpu-check' cannot be used with '--bench"]);
}

#[test]
fn a_host_that_does_not_fit_is_told_all_of_it_and_nothing_runs() {
    let workspace = TestWorkspace::new();
    let bundle = workspace.bundle("--bench fusion");
    let before = bundle.manifest();
    bundle.change_manifest("/glibc", "9.99");
    // No processor has both of them.
    bundle.change_manifest("/cpu/features", vec!["tbm", "avx512vp2intersect"]);
    let refused = bundle.run(&[]);
    refused.assert_refused(2, &["the bundle needs glibc 9.99 or newer", "help: "]);
    if cfg!(target_arch = "x86_64") {
        refused.assert_refused(2, &["this processor lacks "]);
    }
    bundle.change_manifest("/glibc", before["glibc"].clone());
    bundle.change_manifest("/cpu/features", before["cpu"]["features"].clone());
    bundle.run(&["--check"]).assert_fine();

    // The plan says which cases are of a GPU.
    let plan = fs::read_to_string(bundle.root.join("plan.json")).expect("readable");
    let on_a_gpu = plan.replace("\"cpu\"", "\"cuda\"");
    assert!(plan != on_a_gpu);
    bundle.change_manifest("/files", Value::Array(Vec::new()));
    fs::write(bundle.root.join("plan.json"), on_a_gpu).expect("written");
    let what = format!(
        "{} cases are of a GPU, and the bundle's libtorch is without CUDA",
        workspace.ids.len()
    );
    bundle.run(&[]).assert_refused(2, &[&what, "-- FILTER"]);
    // A few bad files are no reason to refuse the others.
    let of_one = plan.replacen("\"cpu\"", "\"cuda\"", 1);
    fs::write(bundle.root.join("plan.json"), of_one).expect("written");
    let checked = bundle.run(&["--check"]);
    checked.assert_fine();
    assert!(checked.stderr.contains("without CUDA: 1 of "), "{}", checked.stderr);
    fs::write(bundle.root.join("plan.json"), plan).expect("written");

    fs::remove_file(bundle.root.join("lib/torch/lib/libc10.so")).expect("it was there");
    bundle.run(&[]).assert_refused(2, &["this host has no libc10.so, which the benchmarks need"]);
    bundle.change_manifest("/format", 2);
    bundle.run(&[]).assert_refused(2, &["manifest.json: `format` is 2"]);
    assert!(bundle.started().is_empty());

    // Whoever starts the program itself learns how to start it.
    let mut direct = Command::new(bundle.root.join("bin/torch-bench-run"));
    direct.env_remove("TORCH_BENCH_BUNDLE");
    Outcome::run(direct).assert_refused(2, &["start the bundle's torch-bench-run"]);
}

#[test]
fn a_damaged_bundle_is_noticed() {
    let workspace = TestWorkspace::new();
    let bundle = workspace.bundle("--bench fusion");
    let library = bundle.root.join("lib/torch/lib/libc10.so");
    let whole = fs::read(&library).expect("readable");
    // Its length is unchanged: only its contents tell.
    let mut changed = whole.clone();
    *changed.last_mut().expect("it is long") ^= 1;
    fs::write(&library, &changed).expect("written");
    bundle
        .run(&["--verify"])
        .assert_refused(2, &["libc10.so is damaged", "unpack the bundle again"]);
    fs::write(&library, &whole[..100]).expect("written");
    let cut = format!("libc10.so has 100 bytes, and {} when it was packed", whole.len());
    bundle.run(&[]).assert_refused(2, &[&cut, "unpack the bundle again"]);
    assert!(bundle.started().is_empty());

    // After a crash the contents are looked at, unasked.
    fs::write(&library, &changed).expect("written");
    let crashed = bundle.run_with(&["--no-calibration"], &[("BUNDLED_ENDS", "fusion crash")]);
    crashed.assert_refused(
        1,
        &["the bench target fusion was ended by signal: 6", "libc10.so is damaged"],
    );
}

#[test]
fn a_program_that_cannot_be_loaded_is_named_and_files_of_others_are() {
    let workspace = TestWorkspace::new();
    let bundle = workspace.bundle("--bench fusion");
    bundle.run(&["--verify", "--check"]).assert_fine();
    let fusion = bundle.root.join("benches/fusion");
    let whole = fs::read(&fusion).expect("readable");
    // Both have the program's length: one holds nothing of it, the other half of it.
    let half = [&whole[..whole.len() / 2], &vec![0; whole.len() - whole.len() / 2]].concat();
    for garbage in [vec![b'x'; whole.len()], half] {
        fs::write(&fusion, garbage).expect("written");
        let refused = bundle.run(&[]);
        refused.assert_refused(2, &["benches/fusion is damaged", "unpack the bundle again"]);
    }
    fs::write(&fusion, &whole).expect("written");
    let sums = bundle.root.join("SHA256SUMS");
    let text = fs::read_to_string(&sums).expect("readable");
    fs::write(&sums, text.lines().next().expect("a line").to_owned() + "\n").expect("written");
    bundle.run(&["--verify"]).assert_refused(2, &["SHA256SUMS lacks benches/fusion"]);
    fs::write(&sums, text).expect("written");
    fs::write(bundle.root.join("lib/torch/lib/libmore.so"), "").expect("written");
    bundle.run(&["--verify"]).assert_refused(2, &["libmore.so was not packed into the bundle"]);
    bundle.change_manifest("/benches/0/file", "../../bin/sh");
    bundle
        .run(&[])
        .assert_refused(2, &["\"../../bin/sh\" is not the path of something in the bundle"]);
}

#[test]
fn a_bench_target_ends_with_its_runner() {
    let workspace = TestWorkspace::new();
    let bundle = workspace.bundle("--bench fusion");
    let mut run = Command::new(bundle.root.join("torch-bench-run"));
    run.arg("--no-calibration").current_dir(&bundle.host).env("BUNDLED_ENDS", "fusion wait");
    let mut run = run.spawn().expect("it starts");
    let pid = bundle.host.join("torch-bench-results/criterion/pid");
    let read = || fs::read_to_string(&pid).unwrap_or_default();
    wait_until("the bench target runs", || !read().is_empty());
    let bench = PathBuf::from(format!("/proc/{}", read()));
    assert!(bench.exists());
    run.kill().expect("killed");
    run.wait().expect("it has ended");
    // A zombie is one until init has seen it.
    let state = || fs::read_to_string(bench.join("stat")).unwrap_or_default();
    wait_until("the bench target ends", || !bench.exists() || state().contains(") Z "));
}

#[test]
fn an_output_that_cannot_be_written_is_noticed_before_the_build_and_leftovers_go() {
    let workspace = TestWorkspace::new();
    fs::create_dir(workspace.package.join("folder.tar")).expect("made");
    for (output, code) in [("no/such/x.tar", 1), ("folder.tar", 1), ("..tar", 2), ("...tar.zst", 2)]
    {
        let refused = workspace.tool(&format!("bundle --bench none --output {output}"));
        refused.assert_refused(code, &[output, "--output "]);
    }
    assert!(!workspace.package.join("target").exists(), "nothing was built");
    let partial = |name: &str| workspace.package.join(name);
    for name in ["x.tar.partial-abc", "y.tar.zst.partial-abc", "z.txt.partial-abc"] {
        fs::write(partial(name), "left by a killed process").expect("written");
    }
    let held = fs::File::open(partial("x.tar.partial-abc")).expect("there");
    held.try_lock().expect("nobody has it");
    workspace.tool("bundle --output x.tar --bench none").assert_refused(101, &["none"]);
    let left = |name: &str| partial(name).exists();
    assert!(left("x.tar.partial-abc") && left("z.txt.partial-abc"));
    assert!(!left("y.tar.zst.partial-abc") && !left("x.tar"));
}

#[test]
fn the_end_of_a_target_is_that_of_the_run() {
    let workspace = TestWorkspace::new();
    let bundle = workspace.bundle("");
    for (ends, code) in [
        ("fusion 0", 0),
        ("fusion 1", 1),
        ("fusion 2", 2),
        ("fusion 75", 75),
        ("fusion kill", 75),
        // The others run all the same.
        ("calibration 1", 1),
    ] {
        let ended = bundle.run_with(&[], &[("BUNDLED_ENDS", ends)]);
        assert_eq!(ended.code, Some(code), "{ends}: {ended:?}");
        assert_eq!(bundle.started().len(), 2, "{ends}: {ended:?}");
    }
}

#[test]
fn a_refused_calibration_is_no_refusal_of_the_run() {
    let workspace = TestWorkspace::new();
    let bundle = workspace.bundle("");
    for (ends, code) in [("calibration 2", 0), ("calibration 1", 1), ("calibration 75", 75)] {
        let ended = bundle.run_with(&["--", "fused"], &[("BUNDLED_ENDS", ends)]);
        assert_eq!((ended.code, bundle.started().len()), (Some(code), 2), "{ends}: {ended:?}");
    }
}

#[test]
fn a_bundle_without_libtorch_takes_the_hosts() {
    let workspace = TestWorkspace::new();
    let made = workspace.tool("bundle --output x.tar --bench fusion --without-libtorch");
    assert!(
        made.assert_fine().stdout.contains("a torch 2.11.0, by --libtorch DIR or in Python"),
        "{made:?}"
    );
    let bundle = workspace.bundle("--bench fusion --without-libtorch");
    assert!(
        !bundle.files().iter().any(|file| file.starts_with("lib/torch")),
        "{:?}",
        bundle.files()
    );
    assert_eq!(bundle.manifest()["torch"]["release"], "2.11.0");
    // An own folder, and not the one that the benchmarks name themselves.
    let torch = workspace.scratch.fake("python's/torch");
    libtorch(&torch);
    fs::rename(&workspace.torch, workspace.torch.with_file_name("away")).expect("moved");
    let named = torch.display().to_string();

    bundle.run(&[]).assert_refused(
        2,
        &[
            "the bundle has no libtorch, and this host has none: python3: not found",
            "--libtorch DIR",
        ],
    );
    let is_used = |outcome: Outcome| {
        outcome.assert_fine();
        let started = bundle.started();
        assert!(
            started.len() == 1 && started[0].contains(&format!(" {named}/lib/")),
            "{started:?}"
        );
    };
    is_used(bundle.run(&["--libtorch", &named]));
    is_used(bundle.run_with(&[], &[("LIBTORCH", &named)]));
    // A Python that says where its torch is.
    let python = workspace.scratch.fake("bin/python3");
    fs::create_dir_all(python.parent().expect("a folder")).expect("made");
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "printf '#!/bin/sh\\necho \"%s\"\\n' \"$1\" >\"$0\""])
        .arg(&python)
        .arg(&named);
    assert!(shell.status().expect("sh runs").success());
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).expect("changed");
    let folder = python.parent().expect("a folder").display();
    let folder = format!("{folder}:{}", workspace.scratch.fake("programs").display());
    is_used(bundle.run_with(&[], &[("PATH", &folder)]));
    is_used(bundle.run_with(&[], &[("CRITERION_TORCH_PYTHON", &python.display().to_string())]));

    fs::write(torch.join("version.py"), "__version__ = '2.10.0'\n").expect("written");
    bundle.run_with(&[], &[("PATH", &folder)]).assert_refused(
        2,
        &[
            "python3's torch: wrong libtorch version",
            "wanted 2.11.0, found 2.10.0",
            "pip install torch==2.11.0",
        ],
    );
    assert!(bundle.started().is_empty());
}

#[test]
fn configs_and_filters_are_passed_on_and_kept() {
    let workspace = TestWorkspace::new();
    let id = &workspace.ids[0];
    let bundle = workspace.bundle(&format!("--bench fusion --profile dev -- {id}"));
    let asked =
        fs::read_to_string(workspace.package.join("plans/asked")).expect("the report was asked");
    assert!(asked.starts_with("plan --format json --built "), "{asked}");
    assert!(asked.ends_with(&format!("fusion.json --filter {id}")), "{asked}");
    assert_eq!(bundle.manifest()["filter"], **id);
    bundle.run(&[]).assert_fine();
    assert_eq!(bundle.started(), [format!("fusion [--bench -- {id}] {LIBRARY} false")]);

    workspace
        .tool("bundle --output x.tar -- none-has-this")
        .assert_refused(2, &["matches none of 3 planned cases"]);
    workspace
        .tool("bundle --output x.tar --config no.yml")
        .assert_refused(1, &["cannot read no.yml"]);
    workspace.tool("bundle --output x.zip").assert_refused(2, &["ends in .tar.zst or .tar"]);
    workspace
        .tool("bundle --output x.tar --bench none")
        .assert_refused(101, &["no bench target named `none`"]);
    workspace
        .tool("bundle --output x.tar --bench other")
        .assert_refused(1, &["no bench target of criterion-torch"]);
    workspace
        .tool("bundle --output x.tar --compiled")
        .assert_refused(1, &["--compiled: no package is in"]);
    assert!(!workspace.package.join("x.tar").exists());
}

#[test]
fn a_bundle_of_a_repository_has_its_revision() {
    let workspace = TestWorkspace::new();
    let git = |words: &str| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=n", "-c", "user.email=n@localhost"])
            .args(words.split_whitespace());
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
            git.env_remove(name);
        }
        let output = git.current_dir(&workspace.package).output().expect("git runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text").trim().to_owned()
    };
    git("init --quiet");
    git("add Cargo.toml src");
    git("commit --quiet --message=first");
    let commit = git("rev-parse --short=12 HEAD");
    let bundle = workspace.bundle("--bench fusion");
    assert_eq!(bundle.manifest()["revision"], *commit);
    bundle.run(&[]).assert_fine();
    assert_eq!(bundle.started(), [format!("fusion [--bench] {LIBRARY} true")]);
    fs::write(
        workspace.package.join("src/lib.rs"),
        "// changed\npub fn run(_: &str, _: &str) {}\n",
    )
    .expect("written");
    assert_eq!(
        workspace.bundle("--bench fusion").manifest()["revision"],
        *format!("{commit}-dirty")
    );
}

#[cfg(target_arch = "x86_64")]
#[test]
fn another_processor_is_built_for_and_checked() {
    let workspace = TestWorkspace::new();
    let configuration = workspace.package.join(".cargo/config.toml");
    fs::create_dir_all(configuration.parent().expect("a folder")).expect("made");
    // A flag of the user's stays.
    fs::write(&configuration, "[build]\nrustflags = [\"-Ctarget-feature=+aes\"]\n")
        .expect("written");
    let features = |bundle: &Bundle<'_>| -> Vec<String> {
        let manifest = bundle.manifest();
        let list = manifest["cpu"]["features"].as_array().expect("a list").iter();
        list.map(|it| it.as_str().expect("a name").to_owned()).collect()
    };
    let bundle = workspace.bundle("--bench fusion --target-cpu x86-64-v4");
    let found = features(&bundle);
    for feature in ["aes", "avx2", "avx512f"] {
        assert!(found.iter().any(|it| it == feature), "{feature}: {found:?}");
    }
    assert_eq!(bundle.manifest()["cpu"]["target_cpu"], "x86-64-v4");
    let checked = bundle.run(&["--check"]);
    match is_x86_feature_detected!("avx512f") {
        true => drop(checked.assert_fine()),
        false => checked.assert_refused(2, &["this processor lacks avx512", "(x86-64-v4)"]),
    }
    let refused = workspace.tool("bundle --output x.tar --target-cpu x86-64-v9");
    refused.assert_refused(2, &["rustc knows no such processor", "x86-64-v4 (AVX-512)"]);
}
