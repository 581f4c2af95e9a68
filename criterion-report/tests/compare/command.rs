//! The commands on files: sides of several launches, formats, gates, and what is refused.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use plan::Device::{Cpu, Cuda};
use plan::Dtype::{Float16, Float32};
use plan::Outcome;
use serde_json::Value;

use crate::fixture::{Fixture, Make, Measured};

/// A folder with `criterion` and `criterion-torch` that goes when the test does.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    /// Saves what `launch` makes, once for each number, as `name@1` and so on; 0 is the name alone.
    fn save(&self, name: &str, launches: u64, launch: impl Fn(u64) -> Fixture) -> &Self {
        match launches {
            0 => drop(launch(0).write(self.0.path(), name)),
            _ => (1..=launches).for_each(|number| {
                launch(number).write(self.0.path(), &format!("{name}@{number}"));
            }),
        }
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_criterion-report"))
            .args(args)
            .args(["--criterion-dir", "criterion"])
            .current_dir(self.0.path())
            .output()
            .expect("the program starts")
    }

    /// Standard output of what has to end with this code.
    fn out(&self, code: i32, args: &[&str]) -> String {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", err(&output));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// Standard error of it.
    fn says(&self, code: i32, args: &[&str]) -> String {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", err(&output));
        err(&output)
    }

    fn json(&self, args: &[&str]) -> Value {
        let text = self.out(0, &[args, &["--format", "json"]].concat());
        serde_json::from_str(&text).expect("JSON")
    }
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

/// Without the breaks of lines.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Times of a launch: each differs by a few thousandths from the next.
fn in_launch(launch: u64, ns: u64) -> u64 {
    ns + ns / 1000 * (launch * 7 % 5)
}

fn clean(fixture: Fixture) -> Fixture {
    fixture.edit("kernels/", |it| {
        it.record.environment.git_revision = Some("1f0c2ab34d56".to_owned());
    })
}

const KERNELS: [&str; 9] =
    ["gemv", "reduction", "scan", "sort", "stencil", "fft", "spmv", "softmax", "histogram"];

/// What `main` measured: each kernel takes 1 ms.
fn main_branch(launch: u64) -> Fixture {
    let ns = in_launch(launch, 1_000_000);
    let made: Vec<Make<'_>> =
        KERNELS.iter().map(|kernel| Make(kernel, "kernel", Float32, Cpu, ns)).collect();
    clean(Fixture::of(&made)).edit("gemv", |it| wobble(it, launch, 1_000_000))
}

/// Five percent to either side, by turns.
fn wobble(it: &mut Measured, launch: u64, ns: u64) {
    let ns = ns / 100 * (95 + 5 * (launch % 3));
    it.ns = Some(ns);
    it.record.last_sample = Some(plan::LastSample { iters: 1, ns });
}

/// And what a branch did: one of each verdict.
fn branch(launch: u64) -> Fixture {
    let failed = Outcome::Failed { error: "the output has a NaN".to_owned() };
    let skipped = Outcome::Skipped { reason: "memory_gb < 1: it needs a GiB".to_owned() };
    let mut fixture = main_branch(launch)
        .edit("gemv", |it| wobble(it, launch, 1_080_000))
        .takes("reduction", in_launch(launch, 1_250_000))
        .takes("scan", in_launch(launch, 700_000))
        .without("sort")
        .end("fft", &failed)
        .end("spmv", &skipped)
        .edit("softmax", |it| {
            let memory = it.record.measures.memory.as_mut().expect("measured");
            memory.step.peak_bytes *= 3;
        })
        .edit("histogram", |it| {
            it.record.accuracy.as_mut().expect("measured").relative_error = plan::Stat(0.02);
        });
    let new = Fixture::of(&[Make("fused", "kernel", Float16, Cpu, 5_000)]);
    fixture.cases.extend(clean(new).cases);
    fixture
}

fn one_of_each() -> Folder {
    let folder = Folder::new();
    folder.save("main", 6, main_branch).save("pr", 6, branch);
    folder
}

#[test]
fn one_of_each_verdict_in_every_format() {
    let folder = one_of_each();
    insta::assert_snapshot!("table", folder.out(0, &["compare", "main", "pr"]));
    insta::assert_snapshot!(
        "markdown",
        folder.out(0, &["compare", "main", "pr", "--format", "markdown"])
    );
    insta::assert_snapshot!("json", folder.out(0, &["compare", "main", "pr", "--format", "json"]));
}

#[test]
fn all_shows_what_is_equivalent_and_a_filter_what_matches() {
    let folder = one_of_each();
    let text = folder.out(0, &["compare", "main", "pr", "--all", "--filter", "stencil"]);
    assert!(text.contains("equivalent (1)") && text.ends_with("1 case: 1 equivalent\n"), "{text}");
    let said = folder.says(2, &["compare", "main", "pr", "--filter", "nowhere"]);
    assert!(said.contains("--filter nowhere matches no case of either side"), "{said}");
}

#[test]
fn gates_fail_on_what_they_name() {
    let folder = one_of_each();
    for (gate, cases, says) in [
        ("regression", 3, "reduction/cpu/kernel/f32-4096: time: 25.0 % slower"),
        ("accuracy", 1, "histogram/cpu/kernel/f32-4096: accuracy: relative_error"),
        ("missing", 2, "sort/cpu/kernel/f32-4096: outcome: B has no record of it"),
        ("inconclusive", 1, "gemv/cpu/kernel/f32-4096: time: "),
    ] {
        let said = folder.says(1, &["compare", "main", "pr", "--fail-on", gate]);
        let title = format!("--fail-on {gate}: {cases} case");
        assert!(said.contains(&title) && said.contains(says), "{gate}: {said}");
    }
    let said = folder.says(1, &["compare", "main", "pr", "--fail-on", "accuracy,missing"]);
    assert_eq!(said.matches("--fail-on").count(), 2, "{said}");
    // A gate that holds is silent.
    folder.out(0, &["compare", "main", "main", "--fail-on", "regression,accuracy,missing"]);
}

#[test]
fn output_goes_to_a_file_as_a_whole() {
    let folder = one_of_each();
    let args = ["compare", "main", "pr", "--format", "markdown"];
    let printed = folder.out(0, &args);
    let nothing = folder.out(0, &[&args[..], &["--output", "comment.md"]].concat());
    assert_eq!(nothing, "");
    assert_eq!(fs::read_to_string(folder.path("comment.md")).expect("written"), printed);
}

#[test]
fn one_launch_per_side_is_widened_by_what_is_known_of_the_machine() {
    let folder = Folder::new();
    let slower = |_| main_branch(0).takes("reduction", 1_250_000);
    folder.save("main", 0, main_branch).save("pr", 0, slower);
    let text = one_line(&folder.out(0, &["compare", "main", "pr"]));
    assert!(text.contains("widened by an assumed floor of ±25 %"), "{text}");
    let of = |folder: &Folder, id: &str| {
        let document = folder.json(&["compare", "main", "pr"]);
        let cases = document["cases"].as_array().expect("cases").clone();
        cases.into_iter().find(|it| it["full_id"].as_str().expect("an id").contains(id)).expect(id)
    };
    let open = of(&folder, "reduction");
    assert_eq!(open["verdict"], "inconclusive");
    assert!(open["reason"].as_str().expect("text").contains("cargo xtask bench --repeat 8"));
    // With the launches of one revision it is decided.
    folder.save("quiet", 8, main_branch);
    let table = folder.out(0, &["aa", "quiet"]);
    insta::assert_snapshot!("aa", table);
    let text = one_line(&folder.out(0, &["compare", "main", "pr"]));
    assert!(text.contains("widened by the case's own noise floor, from 8 launches"), "{text}");
    assert_eq!(of(&folder, "reduction")["verdict"], "regressed");
    assert_eq!(of(&folder, "stencil")["verdict"], "equivalent");
}

#[test]
fn a_noise_profile_is_versioned_and_kept_whole() {
    let folder = Folder::new();
    folder.save("quiet", 3, main_branch);
    folder.out(0, &["aa", "quiet", "--no-save"]);
    let file = folder.path("criterion-torch/noise.json");
    assert!(!file.exists(), "--no-save");
    folder.out(0, &["aa", "quiet", "--filter", "gemv"]);
    folder.out(0, &["aa", "quiet", "--filter", "scan"]);
    let text = fs::read_to_string(&file).expect("written");
    let profile: Value = serde_json::from_str(&text).expect("JSON");
    let hosts = profile["hosts"].as_object().expect("hosts");
    let cases = hosts.values().next().expect("a host")["cases"].as_object().expect("cases");
    assert_eq!(cases.len(), 2, "earlier cases stay");
    for (text, says) in [
        (text.replace("\"version\": 1", "\"version\": 2"), "reads `criterion-torch/noise`"),
        (text.replace("\"launches\": 3", "\"launches\": 1"), "is no deviation of launches"),
        ("{".to_owned(), "not a noise profile"),
    ] {
        fs::write(&file, text).expect("written");
        let said = folder.says(2, &["compare", "quiet", "quiet"]);
        assert!(said.contains("noise.json") && said.contains(says), "{said}");
    }
    let said = folder.says(2, &["compare", "quiet", "quiet", "--noise", "none.json"]);
    assert!(said.contains("--noise none.json: there is no such file"), "{said}");
}

#[test]
fn aa_takes_launches_of_one_clean_revision_and_machine() {
    let revision = |revision: &'static str| {
        move |fixture: Fixture| {
            fixture.edit("kernels/", |it| {
                it.record.environment.git_revision = Some(revision.to_owned());
            })
        }
    };
    let (dirty, other) = (revision("1f0c2ab34d56-dirty"), revision("0a1b2c3d4e5f"));
    let folder = Folder::new();
    folder
        .save("alone", 1, main_branch)
        .save("dirty", 3, |launch| dirty(main_branch(launch)))
        .save("mixed", 3, |launch| {
            if launch == 2 { other(main_branch(launch)) } else { main_branch(launch) }
        })
        .save("moved", 3, |launch| {
            main_branch(launch).edit("scan", |it| {
                it.record.environment.host.cpus = if launch == 3 { 64 } else { 2 };
            })
        });
    let said = folder.says(0, &["compare", "mixed", "dirty"]);
    assert!(said.contains("the launches of `mixed` are of 2 revisions"), "{said}");
    for (name, says) in [
        ("alone", "`alone` has one launch, which shows no spread"),
        ("dirty", "are of 1f0c2ab34d56-dirty: uncommitted changes may differ"),
        ("mixed", "are of 2 revisions (0a1b2c3d4e5f, 1f0c2ab34d56)"),
        ("moved", "launches are of two machines: `kernels/default/scan"),
    ] {
        let said = folder.says(2, &["aa", name]);
        assert!(said.contains(says), "{name}: {said}");
    }
    folder.out(0, &["aa", "dirty", "--allow-dirty", "--no-save"]);
}

#[test]
fn machines_are_refused_unless_asked_for() {
    let folder = Folder::new();
    let elsewhere = |_| {
        main_branch(0).edit("kernels/", |it| {
            it.record.environment.host.cpu_model = "Another CPU".to_owned();
        })
    };
    folder.save("main", 0, main_branch).save("pr", 0, elsewhere);
    let said = folder.says(2, &["compare", "main", "pr"]);
    assert!(
        said.contains("was measured on two machines") && said.contains("Another CPU"),
        "{said}"
    );
    let document = folder.json(&["compare", "main", "pr", "--across-hosts"]);
    for case in document["cases"].as_array().expect("cases") {
        let caution = case["cautions"][0].as_str().expect("a caution");
        assert!(caution.starts_with("of two machines: "), "{caution}");
    }
}

#[test]
fn sides_are_names_folders_and_earlier_reports() {
    let folder = Folder::new();
    folder.save("main", 0, main_branch).save("new", 0, main_branch).save("both", 2, main_branch);
    folder.save("both", 0, main_branch);
    folder.out(0, &["kernels", "--output-dir", "earlier"]);
    for side in ["new", ".", "./criterion", "earlier"] {
        let document = folder.json(&["compare", "main", side]);
        let cases = document["cases"].as_array().expect("cases");
        assert_eq!(cases.len(), KERNELS.len(), "{side}");
        assert_ne!(cases[0]["verdict"], "missing", "{side}");
    }
    // What files hold of it: all, or times alone.
    for (format, measures) in [("json", 4), ("jsonl", 4), ("critcmp", 1)] {
        let file = format!("main.{format}");
        folder.out(0, &["export", format, "--baseline", "main", "--output", &file]);
        let document = folder.json(&["compare", "main", &file]);
        let cases = document["cases"].as_array().expect("cases");
        assert_eq!(cases.len(), KERNELS.len(), "{file}");
        for case in cases {
            let found = case["measures"].as_array().expect("measures");
            let both = found.iter().filter(|it| !it["b"].is_null()).count();
            assert_eq!(both, measures, "{file}: {case}");
            assert_eq!(found[0]["ratio"], 1.0, "{file}");
        }
    }
    let said = folder.says(0, &["compare", "both", "main"]);
    let note = "`both` is left out: its launches `both@1` to `both@2` are compared";
    assert!(said.contains(note), "{said}");
    let said = folder.says(2, &["compare", "main", "elsewhere"]);
    let names = "baselines that have records: both, both@1, both@2, main, new";
    assert!(said.contains("`elsewhere` is no side") && said.contains(names), "{said}");
    fs::write(folder.path("notes.txt"), "no export").expect("written");
    let said = folder.says(2, &["compare", "main", "notes.txt"]);
    assert!(said.contains("notes.txt: not an export of results"), "{said}");
}

#[test]
fn thresholds_come_from_a_file_and_flags_come_before_it() {
    let folder = Folder::new();
    let slower = |_| main_branch(0).takes("reduction", 1_250_000);
    folder.save("main", 0, main_branch).save("pr", 0, slower);
    let file = folder.path("thresholds.yml");
    fs::write(&file, "latency: 0.3\nrules:\n- { filter: gemv, latency: 0.5 }\n").expect("written");
    let limit = |args: &[&str]| {
        let given = [&["compare", "main", "pr", "--thresholds", "thresholds.yml"], args].concat();
        folder.json(&given)["thresholds"]["latency"].as_f64().expect("a number")
    };
    assert_eq!(limit(&[]), 0.3);
    assert_eq!(limit(&["--latency-threshold", "0.2"]), 0.2);
    fs::write(&file, "latency: 0.3\nrule: []\n").expect("written");
    let said = folder.says(2, &["compare", "main", "pr", "--thresholds", "thresholds.yml"]);
    assert!(said.contains("thresholds.yml: ") && said.contains("line 2 column 1"), "{said}");
    let said = folder.says(2, &["compare", "main", "pr", "--latency-threshold", "-1"]);
    assert!(said.contains("a threshold is a number from 0 on"), "{said}");
}

#[test]
fn other_policies_are_named() {
    let folder = Folder::new();
    let slower = |launch| main_branch(launch).takes("reduction", 1_250_000);
    folder.save("main", 3, main_branch).save("pr", 2, slower);
    let verdict = |args: &[&str]| {
        let document = folder.json(&[&["compare", "main", "pr"], args].concat());
        let cases = document["cases"].as_array().expect("cases").clone();
        let slow =
            cases.iter().find(|it| it["full_id"].as_str().is_some_and(|id| id.contains("red")));
        let slow = slow.expect("a case");
        let text = |key: &str| slow[key].as_str().expect("text").to_owned();
        (document["policy"].as_str().expect("text").to_owned(), text("verdict"), text("reason"))
    };
    for (args, policy, expected, says) in [
        (&[][..], "default", "inconclusive", "3 launches against 2 cannot show a difference"),
        (&["--policy", "hud"], "hud", "regressed", "the last 2 launches violate 1.20 × the least"),
        (&["--policy", "quasim"], "quasim", "regressed", "latency increased by 24.8 %"),
    ] {
        let (name, verdict, reason) = verdict(args);
        assert_eq!((name.as_str(), verdict.as_str()), (policy, expected), "{reason}");
        assert!(reason.contains(says), "{reason}");
    }
    let args = ["compare", "main", "pr", "--policy", "hud", "--latency-threshold", "0.2"];
    assert!(folder.says(2, &args).contains("--policy hud has bounds of its own"));
    let said = folder.says(2, &["compare", "main", "pr", "--policy", "within"]);
    assert!(said.contains("`main` has 3: leave it out, or name one of them"), "{said}");
}

#[test]
fn a_cuda_case_is_of_its_gpu() {
    let folder = Folder::new();
    let on = |gpu: &'static str| {
        move |_| {
            clean(Fixture::of(&[Make("gemv", "kernel", Float32, Cuda, 1_000_000)])).edit(
                "gemv",
                |it| {
                    it.record.environment.torch.cuda_device = Some(gpu.to_owned());
                },
            )
        }
    };
    folder.save("main", 0, on("NVIDIA H200")).save("pr", 0, on("NVIDIA A100"));
    let said = folder.says(2, &["compare", "main", "pr"]);
    assert!(said.contains("NVIDIA H200") && said.contains("NVIDIA A100"), "{said}");
}
