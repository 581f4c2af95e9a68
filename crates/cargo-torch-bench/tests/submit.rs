//! `submit` with a bundle of scripts: what the schedulers' files say, whether they are what the schedulers take, and what
//! `--run` starts. Real schedulers and a real bundle are in the tests of the plug-in.

#[path = "../../../tests/common/skip.rs"]
mod skip;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{self, Outcome, Scratch};
use serde_json::json;

/// Names a folder with the Python packages check-jsonschema and kubernetes-validate, which have the schemas that GitHub's
/// workflows and Kubernetes have published.
const SCHEMAS: &str = "CRITERION_TORCH_SCHEMAS";

/// 20 groups of two cases, 200 s each.
fn plan(device: &str) -> String {
    let variants = |group| ["aten", "rust"].map(|variant| (group, variant));
    let cases: Vec<_> = (0..20)
        .flat_map(variants)
        .map(|(group, variant)| {
            json!({ "full_id": format!("operators/all/g{group}/{variant}/f32-1"), "target": "operators",
                    "device": device, "seconds": 100.0 })
        })
        .collect();
    json!(cases).to_string()
}

struct TestWorkspace {
    scratch: Scratch,
}

impl TestWorkspace {
    fn new() -> Self {
        let workspace = Self { scratch: Scratch::new() };
        workspace.bundle("cpu", None);
        workspace
    }

    /// Makes the bundle, in a folder with spaces.
    fn bundle(&self, device: &str, cuda: Option<&str>) {
        let folder = self.folder().join("My Sweep_1");
        fs::create_dir_all(&folder).expect("writable");
        let manifest = json!({
            "format": 1, "version": "0.1.0", "revision": null, "target": "x86_64-unknown-linux-gnu",
            "glibc": "2.34", "cpu": { "target_cpu": null, "features": null },
            "torch": { "version": "2.11.0", "release": "2.11.0", "cuda": cuda, "folder": null },
            "compiled": null, "filter": null, "benches": [], "host_libraries": [], "parts": [], "files": [],
            "made_by": ["--config", "my sweep.yml", "--without-libtorch", "--", "^operators/"],
        });
        fs::write(folder.join("manifest.json"), manifest.to_string()).expect("writable");
        fs::write(folder.join("plan.json"), plan(device)).expect("writable");
    }

    fn folder(&self) -> PathBuf {
        self.scratch.clone_dir()
    }

    /// With these options, split at spaces, and then these words.
    fn submit(&self, options: &str, words: &[&str]) -> Outcome {
        let mut tool = self.scratch.xtask(&["torch-bench", "submit", "--bundle", "My Sweep_1"]);
        tool.args(options.split_whitespace()).args(words);
        Outcome::run(tool)
    }

    fn yaml(&self, file: &str) -> serde_yaml::Value {
        serde_yaml::from_str(&self.read(file)).expect("YAML")
    }

    fn read(&self, file: &str) -> String {
        let path = self.folder().join("torch-bench-sweep").join(file);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }
}

#[track_caller]
fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
}

/// As the book shows it.
const TOLD: &str = r#"40 cases in 14 shards, 8 at a time: about 5 min 46 s each, none over 9 min 6 s; ended after 28 min
  torch-bench-sweep/shards.sbatch    an array of shards
  torch-bench-sweep/merge.sbatch     puts results/ together into merged/
submit    cd torch-bench-sweep
          shards=$(sbatch --parsable shards.sbatch)
          sbatch --dependency="afterany:$shards" merge.sbatch
then      squeue --me
          cat /home/me/torch-bench-sweep/logs/merge.log
          /home/me/sweep/bin/criterion-report summary --criterion-dir /home/me/torch-bench-sweep/merged/criterion
"#;

#[test]
fn what_to_do_next_is_told() {
    let workspace = TestWorkspace::new();
    fs::rename(workspace.folder().join("My Sweep_1"), workspace.folder().join("sweep"))
        .expect("renamed");
    let told = workspace.submit("--to slurm --at-once 8 --bundle sweep", &[]);
    let told =
        told.assert_fine().stdout.replace(&workspace.folder().display().to_string(), "/home/me");
    assert_eq!(told, TOLD);
}

#[test]
fn an_array_for_slurm_and_a_job_that_merges_it() {
    let workspace = TestWorkspace::new();
    let told =
        workspace.submit("--to slurm --at-once 4", &["--", "--save-baseline", "main", "a|b c"]);
    // 4000 s in shards of 300 s, and no shard is longer than the mean and the longest group.
    assert_has(
        &told.assert_fine().stdout,
        &[
            "40 cases in 14 shards, 4 at a time: about 5 min 46 s each, none over 9 min 6 s; ended after 28 min\n",
        ],
    );
    let shards = workspace.read("shards.sbatch");
    let folder = workspace.folder();
    let folder = folder.display();
    assert_has(
        &shards,
        &[
            &format!("#SBATCH --chdir=\"{folder}/torch-bench-sweep\"\n"),
            "#SBATCH --array=1-14%4\n#SBATCH --nodes=1\n#SBATCH --ntasks=1\n#SBATCH --exclusive\n",
            "#SBATCH --time=28\n",
            &format!(
                "'{folder}/My Sweep_1'/torch-bench-run --shard \"$shard/14\" --resume --output \"results/$shard\" \
                 -- --save-baseline main 'a|b c'\n"
            ),
        ],
    );
    assert!(!shards.contains("gres"), "{shards}");
    let merge = workspace.read("merge.sbatch");
    let end = "plan.json --output merged --filter 'a|b c' --baseline main\n";
    assert_has(&merge, &["criterion-report merge results/*/ --plan '", end]);
    for file in ["shards.sbatch", "merge.sbatch"] {
        let file = workspace.folder().join("torch-bench-sweep").join(file);
        let status = Command::new("bash").arg("-n").arg(file).status();
        assert!(status.expect("bash runs").success());
    }
}

#[test]
fn cpus_are_shared_and_gpus_asked_for_where_cases_need_them() {
    let workspace = TestWorkspace::new();
    workspace.bundle("cuda", Some("13.0"));
    workspace.submit("--to slurm --shards 3 --cpus 2", &[]).assert_fine();
    let line = "#SBATCH --cpus-per-task=2\n#SBATCH --gres=gpu:1\n";
    assert_has(&workspace.read("shards.sbatch"), &[line, "--array=1-3\n"]);
    workspace.submit("--to kubernetes --claim c --cpus 2", &[]).assert_fine();
    let shards = workspace.yaml("shards.yaml");
    let pod = &shards["spec"]["template"]["spec"];
    for kind in ["requests", "limits"] {
        let wanted = &pod["containers"][0]["resources"][kind];
        assert_eq!((wanted["cpu"].as_u64(), wanted["nvidia.com/gpu"].as_u64()), (Some(2), Some(1)));
    }
    assert!(pod.get("affinity").is_none(), "{pod:?}");
    workspace.submit("--to skypilot --bucket s3://b --gpu A100", &[]).assert_fine();
    assert_has(&workspace.read("shards.yaml"), &["  accelerators: A100:1\n"]);
    // Its cases of a GPU are skipped on any host.
    workspace.bundle("cuda", None);
    workspace.submit("--to slurm", &[]).assert_fine();
    assert!(!workspace.read("shards.sbatch").contains("gres"));
}

/// Runs the last block of a file of SkyPilot's, with the host's folders in the place of `/bundle` and `/bucket`.
fn skypilots(workspace: &TestWorkspace, file: &str) -> Option<i32> {
    let file = workspace.yaml(file);
    let script = file["run"].as_str().expect("it runs something");
    let host = workspace.scratch.fake("host");
    fs::create_dir_all(host.join("work")).expect("writable");
    let script = ["/bundle", "/bucket"]
        .iter()
        .fold(script.to_owned(), |text, it| text.replace(it, &format!("{}{it}", host.display())));
    let mut shell = Command::new("bash");
    shell.arg("-c").arg(&script).env("SKYPILOT_JOB_RANK", "2").current_dir(host.join("work"));
    shell.status().expect("bash runs").code()
}

#[test]
fn a_job_of_skypilots_recovers_twice_and_goes_on_with_what_it_had() {
    let workspace = TestWorkspace::new();
    workspace.submit("--to skypilot --bucket s3://b --shards 4", &[]).assert_fine();
    assert_has(&workspace.read("shards.yaml"), &["recover_on_exit_codes:\n    - 75\n"]);
    let program = |name: &str, body: &str| {
        let path = workspace.scratch.fake("host/bundle").join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
        common::script(&path, body);
    };
    // A run that has found what earlier ones left says how many there were.
    program("torch-bench-run", "echo \"$*\" >>results/calls; exit 75");
    let lost = || {
        let code = skypilots(&workspace, "shards.yaml");
        fs::remove_dir_all(workspace.scratch.fake("host/work")).expect("the host is gone");
        code
    };
    assert_eq!([lost(), lost(), lost()], [Some(75), Some(75), Some(1)]);
    let kept = workspace.scratch.fake("host/bucket/torch-bench-my-sweep-1");
    let calls = fs::read_to_string(kept.join("3/calls")).expect("it was kept");
    assert_eq!(calls, "--shard 3/4 --resume --output results\n".repeat(3));

    program("bin/criterion-report", "mkdir merged; echo \"$*\" >merged/merge.txt; exit 1");
    assert_eq!(skypilots(&workspace, "merge.yaml"), Some(1));
    let merged = fs::read_to_string(kept.join("merged/merge.txt")).expect("it was copied");
    assert_has(&merged, &["merge ", "/torch-bench-my-sweep-1/3/ --plan "]);
}

#[test]
fn run_starts_what_is_printed() {
    let workspace = TestWorkspace::new();
    workspace.scratch.program("sbatch", "echo \"sbatch $*\" >>\"$FAKE/calls\"; echo 42");
    symlink("/bin/sh", workspace.scratch.fake("../bin/sh")).expect("linked");
    workspace.submit("--to slurm --run", &[]).assert_fine();
    let calls = ["sbatch --parsable shards.sbatch", "sbatch --dependency=afterany:42 merge.sbatch"];
    assert_eq!(workspace.scratch.log("calls"), calls);

    workspace.scratch.program("sbatch", "echo 'error: no partition' >&2; exit 3");
    let failed = workspace.submit("--to slurm --run", &[]);
    failed.assert_refused(
        3,
        &["no partition", "it was not submitted (exit status: 3)", "leave out --run"],
    );
    let without = workspace.submit("--to kubernetes --claim c --run", &[]);
    without.assert_refused(127, &["kubectl", "has to be on the PATH"]);
}

#[test]
fn what_no_scheduler_could_run_is_refused() {
    let workspace = TestWorkspace::new();
    for (options, words, said) in [
        ("--to github --cpus 2", &[][..], "--to github has no --cpus"),
        ("--to slurm --claim c", &[], "leave it out; it is for kubernetes"),
        ("--to kubernetes", &[], "--claim"),
        ("--to skypilot --bucket b", &[], "--bucket s3://my-bucket"),
        ("--to kubernetes --claim a}", &[], "no name that Kubernetes takes"),
        ("--to github --shards 257", &[], "at most 256"),
        ("--to slurm", &["--", "--list"], "leave out --list"),
        ("--to slurm", &["--", "--exact", "a"], "'^ID$'"),
        ("--to slurm", &["--", "a\nb"], "one line of UTF-8"),
        ("--to github", &["--", "${{ secrets }}"], "GitHub would replace"),
        (
            "--to github --runner ${{x}}",
            &[],
            "--runner '${{x}}' is no name that GitHub gives to runners",
        ),
        ("--to kubernetes --claim On", &[], "--claim 'On' is no name that Kubernetes takes"),
        ("--to github --runner a,b", &[], "no name that GitHub"),
        ("--to skypilot --bucket s3://b --gpu A100:8", &[], "--gpu 'A100:8' is no name"),
        ("--to skypilot --bucket s3://b --gpu 4090", &[], "--gpu '4090' is no name"),
    ] {
        workspace.submit(options, words).assert_refused(2, &[said]);
    }
    workspace
        .submit("--to skypilot --bucket s3://b --output a\u{1b}b", &[])
        .assert_refused(2, &["cannot stand in a script"]);
    let other = workspace.submit("--to slurm --bundle elsewhere", &[]);
    other.assert_refused(1, &["elsewhere", "tar -xf BUNDLE.tar.zst"]);
    fs::create_dir_all(workspace.folder().join("torch-bench-sweep/results")).expect("writable");
    workspace.submit("--to slurm", &[]).assert_refused(2, &["has results already", "--output DIR"]);
    fs::write(workspace.folder().join("My Sweep_1/plan.json"), "[]").expect("writable");
    workspace.submit("--to slurm --output new", &[]).assert_refused(2, &["plans no case"]);
}

/// Words that mean something to a shell, to YAML, to sbatch or to Kubernetes.
const WORDS: [&str; 11] = [
    "#x",
    "a: b",
    " #y",
    "a\tb",
    "$(JOB_NAME)",
    "$HOME `id`",
    "it's \"q\"",
    "\\n",
    "%a",
    "*&!",
    "é|~",
];

/// Folders that do, too.
const FOLDERS: [&str; 5] = ["Bob's #1: x", "-dash", "tab\tbed", "a=b \\ \"q\"", "$(x) é"];

/// The words that a script gives its launcher, one a line; the script runs in `host`.
fn given(workspace: &TestWorkspace, script: &str, host: &Path) -> Vec<String> {
    let script = script.replace("scontrol", "true");
    let mut bash = Command::new("bash");
    let variables = [("SHARD", "1"), ("JOB_COMPLETION_INDEX", "0"), ("SKYPILOT_JOB_RANK", "0")];
    bash.arg("-c").arg(&script).envs(variables).env("SLURM_ARRAY_TASK_ID", "1").current_dir(host);
    let output = bash.output().expect("bash runs");
    assert!(output.status.success(), "{script}: {output:?}");
    let words = fs::read_to_string(workspace.scratch.fake("given")).expect("it was started");
    words.lines().map(str::to_owned).collect()
}

#[test]
fn every_word_and_folder_arrives_as_it_was() {
    for folder in FOLDERS {
        let workspace = TestWorkspace::new();
        let place = workspace.folder().join(folder);
        fs::rename(workspace.folder().join("My Sweep_1"), &place).expect("renamed");
        common::script(
            &place.join("torch-bench-run"),
            &format!("printf '%s\\n' \"$@\" >'{}'", workspace.scratch.fake("given").display()),
        );
        let submit = |options: &str| {
            let mut tool = workspace.scratch.xtask(&["torch-bench", "submit"]);
            tool.arg(format!("--bundle={folder}")).args(options.split_whitespace());
            tool.arg("--").args(WORDS);
            Outcome::run(tool).assert_fine().stdout.clone()
        };
        let assert_given = |script: &str, host: &Path| {
            let words = given(&workspace, script, host);
            let (_, words) = words.split_at(words.len() - WORDS.len());
            assert_eq!(words, WORDS, "{folder}: {script}");
        };
        submit("--to github");
        let workflow = workspace.yaml("sweep.yml");
        let steps = workflow["jobs"]["shard"]["steps"].as_sequence().expect("steps");
        let run = steps.iter().find(|it| it["name"].as_str() == Some("shard")).expect("a step");
        assert_given(run["run"].as_str().expect("a script"), &workspace.folder());

        let told = submit("--to kubernetes --claim c");
        let job = workspace.yaml("shards.yaml");
        let script = job["spec"]["template"]["spec"]["containers"][0]["args"][0].as_str();
        // As Kubernetes reads it, which knows no variable of these names.
        let script = script.expect("a script").replace("$$(", "$(");
        let name = told.lines().find_map(|line| line.split_once(" get job ")?.1.split_once(' '));
        let bundle = format!("/sweep/{}-bundle", name.expect("a job").0);
        let script = script.replace(&bundle, "./bundle");
        std::os::unix::fs::symlink(&place, workspace.folder().join("bundle")).expect("linked");
        assert_given(&script, &workspace.folder());

        submit("--to slurm");
        assert_given(&workspace.read("shards.sbatch"), &workspace.folder());

        submit("--to skypilot --bucket s3://b");
        let job = workspace.yaml("shards.yaml");
        assert_eq!(job["file_mounts"]["/bundle"].as_str(), place.to_str());
        let bucket = workspace.scratch.fake("bucket");
        let script = job["run"].as_str().expect("a script").replace("/bundle", "./bundle");
        assert_given(
            &script.replace("/bucket", &bucket.display().to_string()),
            &workspace.folder(),
        );
    }
}

#[test]
fn what_is_printed_can_be_pasted_and_sbatch_reads_its_folder() {
    let workspace = TestWorkspace::new();
    let output = "-Bob's \\ #1";
    let mut tool = workspace.scratch.xtask(&["torch-bench", "submit", "--to", "slurm"]);
    tool.args(["--bundle", "My Sweep_1"]).arg(format!("--output={output}"));
    let told = Outcome::run(tool).assert_fine().stdout.clone();
    let cd = told.lines().find_map(|line| line.strip_prefix("submit    ")).expect("a line");
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{cd} && ls")]).current_dir(workspace.folder());
    assert!(Outcome::run(shell).assert_fine().stdout.contains("shards.sbatch"), "{told}");
    let script = fs::read_to_string(workspace.folder().join(output).join("shards.sbatch"));
    assert_has(&script.expect("written"), &[r#"/-Bob\'s \\ \#1""#]);
    fs::create_dir(workspace.folder().join(output).join("results")).expect("made");
    let mut again = workspace.scratch.xtask(&["torch-bench", "submit", "--to", "slurm"]);
    again.args(["--bundle", "My Sweep_1"]).arg(format!("--output={output}"));
    Outcome::run(again).assert_refused(2, &[r"rm -r './-Bob'\''s \ #1/results'"]);
}

#[test]
fn a_foreign_bundle_decides_nothing() {
    let workspace = TestWorkspace::new();
    let file = workspace.folder().join("My Sweep_1/manifest.json");
    let manifest = fs::read_to_string(&file).expect("readable");
    for (words, said) in [
        (json!(["--config", "x\n      - run: id"]), "cannot stand in a script"),
        (json!(["--config", "x\u{85}- run: id"]), "cannot stand in a script"),
        (json!(["--config", "${{ secrets.X }}"]), "GitHub would replace"),
        (json!(["--output", "../../x.tar"]), "is no command line of `bundle`"),
        (json!(["--no-such-option"]), "is no command line of `bundle`"),
    ] {
        let mut changed: serde_json::Value = serde_json::from_str(&manifest).expect("JSON");
        changed["made_by"] = words;
        fs::write(&file, changed.to_string()).expect("writable");
        workspace.submit("--to github", &[]).assert_refused(2, &[said]);
        assert!(!workspace.folder().join("torch-bench-sweep/sweep.yml").exists());
    }
    fs::write(&file, &manifest).expect("writable");
    let plan = workspace.folder().join("My Sweep_1/plan.json");
    for seconds in ["1e308", "-1"] {
        let text = self::plan("cpu").replacen("100.0", seconds, 1);
        fs::write(&plan, text).expect("writable");
        let refused = workspace.submit("--to slurm", &[]);
        refused.assert_refused(
            1,
            &["plan.json: estimated seconds are from 0 to 1e9", " at line 1 column "],
        );
    }
}

#[test]
fn its_actions_are_pinned_as_our_own() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = |file: &str| fs::read_to_string(root.join(file)).expect(file);
    let ours =
        ["ci", "bench", "release"].map(|it| text(&format!("../../.github/workflows/{it}.yml")));
    let generated = text("src/submit/github.yml");
    let uses: Vec<&str> =
        generated.lines().filter_map(|line| line.split_once("uses: ")).map(|it| it.1).collect();
    assert!(!uses.is_empty());
    for action in uses {
        let (name, pin) = action.split_once('@').expect("pinned");
        let version = ours
            .concat()
            .lines()
            .find_map(|line| Some(line.split_once(&format!("uses: {action} # "))?.1.to_owned()));
        let version =
            version.unwrap_or_else(|| panic!("{name} at {pin} is not what our workflows use"));
        assert_has(&generated, &[&format!("{name} {version}")]);
    }
    assert_has(&generated, &["cargo install --locked cargo-torch-bench@"]);
}

/// A module of these packages; skipped without them.
fn validator(module: &str) -> Option<Command> {
    let Some(packages) = std::env::var_os(SCHEMAS) else {
        skip::tool(format!(
            "{SCHEMAS} names no folder of check-jsonschema and kubernetes-validate, which pip install --target makes"
        ));
        return None;
    };
    let mut command = Command::new("python3");
    command.args(["-m", module]).env("PYTHONPATH", packages);
    Some(command)
}

#[track_caller]
fn ends(mut validator: Command, well: bool) {
    let output = validator.output().expect("it can be started");
    let said = [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    assert_eq!(output.status.success(), well, "{}", said.concat());
}

#[test]
fn the_workflow_is_what_github_takes() {
    let Some(mut check) = validator("check_jsonschema") else { return };
    let workspace = TestWorkspace::new();
    workspace.submit("--to github --at-once 4 --runner big", &["--", "it's"]).assert_fine();
    let workflow = workspace.read("sweep.yml");
    assert_has(
        &workflow,
        &[
            "bundle --output 'My Sweep_1.tar.zst' --config 'my sweep.yml' -- '^operators/'\n",
            "matrix:\n        shard:\n        - 1\n        - 2\n",
        ],
    );
    let file = workspace.folder().join("torch-bench-sweep/sweep.yml");
    check.args(["--builtin-schema", "vendor.github-workflows"]).arg(&file);
    ends(check, true);
    fs::write(&file, workflow.replace("fail-fast", "fail-slow")).expect("writable");
    let mut check = validator("check_jsonschema").expect("as before");
    check.args(["--builtin-schema", "vendor.github-workflows"]).arg(&file);
    ends(check, false);
}

#[test]
fn the_job_is_what_kubernetes_takes() {
    let Some(mut check) = validator("kubernetes_validate") else { return };
    let workspace = TestWorkspace::new();
    for options in ["", "--cpus 2 --at-once 3 --image ghcr.io/me/base:1"] {
        let options = format!("--to kubernetes --claim shared {options}");
        workspace.submit(&options, &["--", "it's"]).assert_fine();
        check.arg("--strict");
        for file in ["files.yaml", "shards.yaml"] {
            check.arg(workspace.folder().join("torch-bench-sweep").join(file));
        }
        ends(check, true);
        check = validator("kubernetes_validate").expect("as before");
    }
    let file = workspace.folder().join("torch-bench-sweep/shards.yaml");
    fs::write(&file, workspace.read("shards.yaml").replace("PerIndex:", "PerShard:"))
        .expect("writable");
    check.arg("--strict").arg(&file);
    ends(check, false);
}
