use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use plan::{CompileMode, Device};
use tch::{Kind, TchError};

use super::*;
use crate::program::program;

/// Writes a line for each run, a package, and an answer. `LAG` is what it does before.
const COMPILES: &str = r#"
request=$(cat)
package=$(printf %s "$request" | sed 's/.*"package":"\([^"]*\)".*/\1/')
graph=$(printf %s "$request" | sed 's/.*"graph":"\([^"]*\)".*/\1/')
echo run >> RUNS
LAG
[ -s "$graph" ] && echo package > "$package"
echo '{"torch": "2.11.0+cpu", "options": {}, "target": "AVX2", "kernels": ["aten::mm"], "seconds": 1}'
"#;

/// A folder with a store, a Python that is none, and a record of its runs.
struct FakeCompiler {
    folder: tempfile::TempDir,
    store: Store,
    python: Interpreter,
}

impl FakeCompiler {
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (store, python) = Self::create_in(folder.path(), script);
        Self { folder, store, python }
    }

    fn create_in(folder: &Path, script: &str) -> (Store, Interpreter) {
        let store = Store::new(folder.join("compiled"), u64::MAX);
        let text = format!("#!/bin/sh\n{script}\n");
        let text = text.replace("RUNS", &folder.join("runs").display().to_string());
        (store, Interpreter::named(program(folder.join("python"), &text)))
    }

    fn compile(&self, job: &Job) -> Result<Compiled, Refusal> {
        job.compiled(Some(&self.store), || Ok(&self.python))
    }

    fn runs(&self) -> usize {
        fs::read_to_string(self.folder.path().join("runs")).map_or(0, |text| text.lines().count())
    }

    /// Everything in the store.
    fn names(&self) -> Vec<String> {
        let folder = fs::read_dir(self.folder.path().join("compiled"));
        let names = folder.into_iter().flatten().map(|it| it.unwrap().file_name());
        names.map(|it| it.into_string().unwrap()).collect()
    }
}

fn compiles(lag: &str) -> String {
    COMPILES.replace("LAG", lag)
}

/// A job for x + x, with another key for each number of threads.
fn job(threads: u64) -> Job {
    let x = Tensor::ones([2, 3], (Kind::Float, tch::Device::Cpu));
    Job::new(&[&x], options(threads, CompileMode::Default), || {
        Ok::<_, TchError>(vec![x.f_add(&x)?])
    })
    .unwrap()
}

fn options(threads: u64, mode: CompileMode) -> Options {
    let place = tch::Device::Cpu;
    Options { mode, threads, device: Device::Cpu, place, timeout: Duration::from_secs(60) }
}

fn no_python<'p>() -> Result<&'p Interpreter, Refusal> {
    Err(Refusal::Skipped("no python".to_owned()))
}

#[test]
fn what_was_compiled_once_is_kept_and_needs_no_python() {
    let place = FakeCompiler::new(&compiles(""));
    let first = place.compile(&job(1)).unwrap();
    assert_eq!(fs::read(&first.package).unwrap(), b"package\n");
    assert_eq!((first.facts.cache_hit, first.facts.package_bytes), (false, 8));
    assert!(first.facts.compiler.starts_with("torch 2.11.0, "), "{}", first.facts.compiler);
    assert!(first.facts.compiler.ends_with(", AVX2"), "{}", first.facts.compiler);
    assert_eq!(
        (first.kernels.as_slice(), first.notes.len()),
        (["aten::mm".to_owned()].as_slice(), 0)
    );
    assert_eq!(place.names(), std::slice::from_ref(&first.facts.key));

    // Another trace of the same.
    let second = job(1).compiled(Some(&place.store), no_python).unwrap();
    assert_eq!(second.package, first.package);
    assert_eq!(second.facts, Compilation { cache_hit: true, ..first.facts });
    assert_eq!(place.runs(), 1);
    // Nor does another key find it.
    let refusal = job(7).compiled(Some(&place.store), no_python).unwrap_err();
    assert_eq!(refusal, Refusal::Skipped("no python".to_owned()));
}

#[test]
fn a_truncated_package_is_compiled_again() {
    let place = FakeCompiler::new(&compiles(""));
    let first = place.compile(&job(1)).unwrap();
    fs::write(&first.package, "pack").unwrap();
    let second = place.compile(&job(1)).unwrap();
    assert_eq!((fs::read(&second.package).unwrap(), place.runs()), (b"package\n".to_vec(), 2));
}

#[test]
fn of_several_at_once_one_compiles() {
    let place = FakeCompiler::new(&compiles(""));
    let jobs = [job(1), job(1)];
    let together = Barrier::new(4);
    let compiled: Vec<Compiled> = thread::scope(|scope| {
        let (place, together) = (&place, &together);
        let run = |job| {
            scope.spawn(move || {
                together.wait();
                place.compile(job).unwrap()
            })
        };
        let threads = [&jobs[0], &jobs[0], &jobs[1], &jobs[1]].map(run);
        threads.into_iter().map(|it| it.join().unwrap()).collect()
    });
    assert_eq!(place.runs(), 1);
    assert_eq!(compiled.iter().filter(|it| it.facts.cache_hit).count(), 3);
    assert!(compiled.iter().all(|it| it.package == compiled[0].package));
}

#[test]
fn what_was_refused_is_not_tried_again_in_this_process() {
    let refuses =
        r#"echo run >> RUNS; cat > /dev/null; echo '{"refused": "unsupported", "reason": "no"}'"#;
    let place = FakeCompiler::new(refuses);
    // No other test has this key.
    for _ in 0..2 {
        let refusal = place.compile(&job(101)).unwrap_err();
        assert_eq!(refusal, Refusal::Unsupported("Inductor: no".to_owned()));
    }
    assert_eq!(place.runs(), 1);
    assert!(place.names().is_empty(), "{:?}", place.names());
}

#[test]
fn without_a_cache_it_is_not_tried_again_either() {
    let refuses =
        r#"echo run >> RUNS; cat > /dev/null; echo '{"refused": "failed", "reason": "no"}'"#;
    let place = FakeCompiler::new(refuses);
    for _ in 0..2 {
        let refusal = job(103).compiled(None, || Ok(&place.python)).unwrap_err();
        assert_eq!(refusal, Refusal::Failed("Inductor: no".to_owned()));
    }
    assert_eq!(place.runs(), 1);
}

/// With a time limit in seconds.
fn limited(threads: u64, seconds: f64) -> Job {
    let mut job = job(threads);
    job.options.timeout = Duration::from_secs_f64(seconds);
    job
}

#[test]
fn a_limit_that_was_too_short_refuses_none_that_is_longer() {
    let hangs = FakeCompiler::new("echo run >> RUNS; sleep 100000");
    for _ in 0..2 {
        let refusal = hangs.compile(&limited(104, 0.2)).unwrap_err();
        assert!(matches!(refusal, Refusal::Timeout(_)), "{refusal}");
    }
    assert_eq!(hangs.runs(), 1);
    let place = FakeCompiler::new(&compiles(""));
    assert!(matches!(place.compile(&limited(104, 0.1)), Err(Refusal::Timeout(_))));
    assert_eq!(place.runs(), 0);
    place.compile(&limited(104, 60.0)).unwrap();
}

#[test]
fn another_that_never_ends_is_a_timeout_that_names_its_lock() {
    let place = FakeCompiler::new(&compiles(""));
    let job = limited(105, 0.2);
    let _other = place.store.turn(&job.key, Duration::ZERO).unwrap().unwrap();
    let Err(Refusal::Timeout(text)) = place.compile(&job) else { panic!() };
    assert!(text.contains(&place.store.lock(&job.key).display().to_string()), "{text}");
    assert!(text.contains(" for 0.2 s ") && text.contains("compile_timeout_s"), "{text}");
    assert_eq!(place.runs(), 0);
}

#[test]
fn what_the_tracer_has_no_word_for_is_unsupported() {
    let of = |text: &str| of_tracing(TchError::Torch(format!("{text}\nframe #0")).into());
    for text in ["Unsupported value kind: Tensor", "unsupported input list type: Storage"] {
        let expected = format!("this step cannot be traced: {text}");
        assert_eq!(of(text), Refusal::Unsupported(expected));
    }
    assert_eq!(of("mat1 and mat2"), Refusal::Failed("mat1 and mat2".to_owned()));
    assert!(matches!(of("out of memory: Unsupported value kind"), Refusal::Oom(_)));
}

#[test]
fn an_answer_without_a_package_is_a_failure() {
    let answers = COMPILES.replace("LAG", "graph=/nowhere");
    let place = FakeCompiler::new(&answers);
    let Err(Refusal::Failed(text)) = place.compile(&job(102)) else { panic!() };
    assert!(
        text.starts_with("Inductor wrote no package: ") && text.contains("package.pt2"),
        "{text}"
    );
    assert!(place.names().is_empty() && place.runs() == 1, "{:?}", place.names());
}

#[test]
fn without_a_cache_the_package_is_there_for_now_and_a_note_says_so() {
    let place = FakeCompiler::new(&compiles(""));
    fs::write(place.folder.path().join("compiled"), "in the way").unwrap();
    let without = job(1).compiled(None, || Ok(&place.python)).unwrap();
    for (compiled, why) in
        [(place.compile(&job(1)).unwrap(), "File exists"), (without, "HOME is not set")]
    {
        let [note] = compiled.notes.as_slice() else { panic!("{:?}", compiled.notes) };
        assert!(note.starts_with(&format!("the package is not kept: {why}")), "{note}");
        assert!(!compiled.facts.cache_hit);
        let package = compiled.package.clone();
        let twin = compiled.clone();
        drop(compiled);
        assert_eq!(fs::read(&package).unwrap(), b"package\n");
        drop(twin);
        assert!(!package.parent().unwrap().exists());
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_process_that_is_killed_leaves_its_turn_and_its_folder_to_the_next() {
    const FOLDER: &str = "FOLDER_OF_THE_JOB_OF_THIS_TEST";
    if let Some(folder) = std::env::var_os(FOLDER) {
        // The process that is going to be killed.
        let (store, python) =
            FakeCompiler::create_in(Path::new(&folder), &compiles("sleep 100000"));
        panic!("{:?}", job(1).compiled(Some(&store), || Ok(&python)));
    }
    let place = FakeCompiler::new(&compiles(""));
    let other = tempfile::tempdir_in(place.folder.path()).unwrap();
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture"])
        .arg("compile::job::tests::a_process_that_is_killed_leaves_its_turn_and_its_folder_to_the_next")
        .env(FOLDER, other.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let runs = other.path().join("runs");
    let began = (0..6000).any(|_| {
        assert!(process.try_wait().unwrap().is_none(), "it ended by itself");
        thread::sleep(Duration::from_millis(10));
        runs.exists()
    });
    assert!(began, "it does not begin to compile");
    process.kill().unwrap();
    assert_eq!(process.wait().unwrap().signal(), Some(libc::SIGKILL));

    let (store, python) = FakeCompiler::create_in(other.path(), &compiles(""));
    let left = fs::read_dir(other.path().join("compiled")).unwrap().count();
    assert_eq!(left, 2, "a lock and a folder");
    let compiled = job(1).compiled(Some(&store), || Ok(&python)).unwrap();
    assert!(!compiled.facts.cache_hit);
    let left = fs::read_dir(other.path().join("compiled")).unwrap().count();
    assert_eq!(left, 1, "the package");
}

#[test]
fn a_step_that_a_graph_does_not_hold_is_unsupported() {
    let x = Tensor::ones([2, 3], (Kind::Float, tch::Device::Cpu));
    let weight = Tensor::ones([2, 3], (Kind::Float, tch::Device::Cpu));
    let options = || options(1, CompileMode::Default);
    let forgotten =
        Job::new(&[&x], options(), || Ok::<_, TchError>(vec![x.f_add(&weight)?])).unwrap_err();
    let expected = "the step reads tensors that are not its inputs: float32 [2, 3]";
    assert!(matches!(&forgotten, Refusal::Unsupported(it) if it == expected), "{forgotten}");
    let own_error =
        Job::new(&[&x], options(), || Ok::<_, TchError>(vec![x.f_mm(&x)?])).unwrap_err();
    assert!(matches!(&own_error, Refusal::Failed(it) if it.contains("cannot be multiplied")));
}

#[test]
fn modes_with_cuda_graphs_are_compiled_for_cuda_and_noted_on_a_cpu() {
    let x = Tensor::ones([2, 3], (Kind::Float, tch::Device::Cpu));
    for mode in [CompileMode::ReduceOverhead, CompileMode::MaxAutotune] {
        assert_eq!(options::notes(Device::Cuda, mode), Vec::<String>::new());
        let on_cuda = Options { device: Device::Cuda, ..options(1, mode) };
        let step = || Ok::<_, TchError>(vec![x.f_add(&x)?]);
        Job::new(&[&x], on_cuda, step).expect("it can be asked for");

        let place = FakeCompiler::new(&compiles(""));
        let compiled = place.compile(
            &Job::new(&[&x], options(1, mode), || Ok::<_, TchError>(vec![x.f_add(&x)?])).unwrap(),
        );
        let note = format!("{} asks for CUDA graphs, which a CPU does not have", mode.as_str());
        assert_eq!(compiled.unwrap().notes, [note]);
    }
    assert!(matches!(options::available(Device::Mps), Err(Refusal::Unsupported(_))));
}

#[test]
fn inputs_are_described_by_torchs_words() {
    let x = Tensor::ones([2, 3], (Kind::BFloat16, tch::Device::Cpu)).tr();
    let input = Input::from_tensor(&x).unwrap();
    let Input { sizes, strides, dtype, device } = &input;
    assert_eq!((sizes.as_slice(), strides.as_slice()), ([3, 2].as_slice(), [1, 3].as_slice()));
    assert_eq!((*dtype, device.as_str()), ("bfloat16", "cpu"));
    let complex = Tensor::ones([1], (Kind::ComplexFloat, tch::Device::Cpu));
    assert_eq!(
        Input::from_tensor(&complex),
        Err(Refusal::Unsupported("an input of ComplexFloat".to_owned()))
    );
}
