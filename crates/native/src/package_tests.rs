use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use tch::Kind;

use super::*;
use crate::border::tests::wave;
use crate::trace::trace;

/// Compiles a trace for inputs of these forms. Knows nothing of modes and limits.
const COMPILE: &str = r#"
import json, re, sys, torch, torch._inductor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

def fake(form):
    dtype, sizes, strides = re.fullmatch(r"(\w+) (\[.*\]) (\[.*\])", form).groups()
    return torch.empty_strided(json.loads(sizes), json.loads(strides), dtype=getattr(torch, dtype))

script, package, *forms = sys.argv[1:]
step = torch.jit.load(script)
with FakeTensorMode():
    inputs = tuple(map(fake, forms))
    graph = make_fx(lambda *inputs: (step(*inputs),), tracing_mode="real")(*inputs)
torch._inductor.aoti_compile_and_package(
    torch.export.export(graph, inputs), package_path=package,
    inductor_configs={"cpp.threads": 2, "aot_inductor.metadata": {"inputs": "\n".join(forms)}})
"#;

fn inputs() -> Vec<Tensor> {
    // The weight as a layer may have it: not contiguous. The last one is read by nobody.
    let weight = wave(&[64, 512], Kind::Float).tr();
    let x = wave(&[256, 64], Kind::Float);
    vec![x, weight, wave(&[512], Kind::Float), wave(&[3], Kind::Int8)]
}

fn step(inputs: &[Tensor]) -> Result<Tensor, TchError> {
    inputs[0].f_linear(&inputs[1], Some(&inputs[2]))?.f_gelu("none")
}

/// Traced, saved, compiled: once for all tests. None without a Python that can.
fn package() -> Option<File> {
    static PACKAGE: OnceLock<Option<Vec<u8>>> = OnceLock::new();
    PACKAGE.get_or_init(compile).as_deref().map(File::holding)
}

/// A file of a test's own.
struct File {
    path: PathBuf,
    _folder: tempfile::TempDir,
}

impl File {
    fn holding(bytes: &[u8]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("step.pt2");
        std::fs::write(&path, bytes).expect("written");
        Self { path, _folder: folder }
    }
}

fn compile() -> Option<Vec<u8>> {
    let Some(python) = std::env::var_os("CRITERION_TORCH_PYTHON") else {
        crate::skip::tool(format!(
            "CRITERION_TORCH_PYTHON names no Python with torch {}",
            libtorch::VERSION
        ));
        return None;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (script, package) = (folder.path().join("step.ts"), folder.path().join("step.pt2"));
    let inputs = inputs();
    let recorded = trace(&inputs.iter().collect::<Vec<_>>(), || step(&inputs)).expect("recorded");
    assert_eq!(recorded.untraceable(), None);
    recorded.save(&script).expect("saved");
    let output = Command::new(python)
        .args(["-c", COMPILE])
        .args([&script, &package])
        .args(inputs.iter().map(|input| form(input).expect("dense")))
        .env("TORCHINDUCTOR_CACHE_DIR", folder.path().join("inductor"))
        .output()
        .expect("Python starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(std::fs::read(package).expect("written"))
}

fn load(path: &Path, inputs: Vec<Tensor>) -> Result<Package, Error> {
    Package::load(path, Device::Cpu, inputs)
}

fn refusal(path: &Path, inputs: Vec<Tensor>) -> String {
    let refusal = load(path, inputs).expect_err("refused").to_string();
    let of = format!("{}: ", path.display());
    refusal.strip_prefix(&of).unwrap_or_else(|| panic!("without its path: {refusal}")).to_owned()
}

fn assert_near(found: &Tensor, expected: &Tensor) {
    assert_eq!((found.size(), found.kind()), (expected.size(), expected.kind()));
    let error = (found - expected).abs().max().double_value(&[]);
    assert!(error <= 1e-4, "off by {error:e}");
}

#[test]
#[ignore = "long: Inductor compiles, a quarter of a minute each time"]
fn a_traced_step_runs_compiled() {
    let Some(file) = package() else { return };
    let path = &*file.path;
    let inputs = inputs();
    let bound = inputs.iter().map(Tensor::shallow_clone).collect();
    let package = load(path, bound).expect("loads");
    let first = package.run().expect("runs");
    assert_near(&first, &step(&inputs).expect("runs"));
    // The inputs are bound, not their values; and every call has an output of its own.
    drop(inputs[0].shallow_clone().fill_(0.25));
    let second = package.run().expect("runs");
    assert_near(&second, &step(&inputs).expect("runs"));
    assert_ne!(first.data_ptr(), second.data_ptr());
    // Nor do other sizes of the caller's tensor reach the compiled code, which does not look at them.
    let size = inputs[0].size();
    drop(inputs[0].shallow_clone().resize_([1, 1]));
    assert_near(&package.run().expect("runs"), &second);
    drop(inputs[0].shallow_clone().resize_(size));
    drop(package);
    assert_near(&second, &step(&inputs).expect("runs"));
}

#[test]
#[ignore = "long: Inductor compiles, a quarter of a minute each time"]
fn nothing_leaks_between_calls() {
    let Some(file) = package() else { return };
    let path = &*file.path;
    let package = load(path, inputs()).expect("loads");
    let ((), report) = crate::memory::track(|| {
        for _ in 0..10 {
            drop(package.run().expect("runs"));
        }
    })
    .expect("nothing else tracks");
    assert!(report.cpu.total_bytes >= 10 * 256 * 512 * 4, "{report:?}");
    assert_eq!(report.cpu.live_bytes, 0, "{report:?}");
}

#[test]
#[ignore = "long: Inductor compiles, a quarter of a minute each time"]
fn other_inputs_are_refused() {
    let Some(file) = package() else { return };
    let path = &*file.path;
    let with = |index: usize, other: Tensor| {
        let mut inputs = inputs();
        inputs[index] = other;
        refusal(path, inputs)
    };
    let x = &inputs()[0];
    let form = "and it was compiled for float32 [256, 64] [64, 1]";
    let expected = |found: &str| format!("input 0 is {found}, {form}");
    assert_eq!(with(0, x.to_kind(Kind::Half)), expected("float16 [256, 64] [64, 1]"));
    assert_eq!(with(0, x.narrow(0, 0, 255)), expected("float32 [255, 64] [64, 1]"));
    assert_eq!(with(0, x.view([64, 256]).tr()), expected("float32 [256, 64] [1, 256]"));
    assert_eq!(with(0, x.view([-1])), expected("float32 [16384] [1]"));
    let few = inputs().drain(..3).collect();
    assert_eq!(refusal(path, few), "it takes 4 inputs, not 3");
    let elsewhere = Package::load(path, Device::Cuda(0), inputs()).expect_err("refused");
    assert!(elsewhere.to_string().ends_with("it was compiled for cpu, not cuda"), "{elsewhere}");
}

#[test]
fn what_is_no_package_is_refused() {
    let text = File::holding("no archive\n".repeat(100).as_bytes());
    let reason = refusal(&text.path, vec![]);
    assert!(reason.contains("failed finding central directory"), "{reason}");
    std::fs::remove_file(&text.path).expect("there");
    let missing = refusal(&text.path, vec![]);
    assert!(missing.contains("open file failed"), "{missing}");
    // An archive of libtorch's, but not of Inductor's.
    let x = wave(&[4], Kind::Float);
    trace(&[&x], || x.f_abs()).expect("recorded").save(&text.path).expect("saved");
    let other = refusal(&text.path, vec![]);
    assert_eq!(other, "the package has no file data/aotinductor/model/*.wrapper_metadata.json");
}

#[test]
#[ignore = "long: Inductor compiles, a quarter of a minute each time"]
fn a_package_that_was_cut_off_is_refused() {
    let Some(whole) = package() else { return };
    let whole = std::fs::read(&whole.path).expect("read");
    for length in [whole.len() / 2, whole.len() - 1] {
        let cut = refusal(&File::holding(&whole[..length]).path, inputs());
        assert!(cut.contains("failed finding central directory"), "{cut}");
    }
}

/// The files in this process's memory whose path has the word in it.
fn mapped(word: &str) -> BTreeSet<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux");
    let paths = maps.lines().filter_map(|line| line.split_once('/').map(|(_, path)| path));
    paths.filter(|path| path.contains(word)).map(|path| format!("/{path}")).collect()
}

#[test]
#[ignore = "long: Inductor compiles, a quarter of a minute each time"]
fn packages_go_when_they_are_dropped() {
    let Some(file) = package() else { return };
    let path = &*file.path;
    // The kernel says of a mapped file that it was deleted. Tests beside this one have packages of their own.
    let deleted =
        |package: &Package| format!("{} (deleted)", package.library().expect("a name").display());
    let together: Vec<_> = (0..3).map(|_| load(path, inputs()).expect("loads")).collect();
    for package in &together {
        // From the moment it is in memory, nothing is left that a killed process would leave behind.
        let library = package.library().expect("a name");
        let folder = library.parent().expect("in a folder");
        assert!(!folder.exists(), "{}", library.display());
        let library = deleted(package);
        assert!(mapped("(deleted)").contains(&library), "{library}");
    }
    let mut ours: BTreeSet<_> = together.iter().map(deleted).collect();
    drop(together);
    for _ in 0..100 {
        let package = load(path, inputs()).expect("loads");
        ours.insert(deleted(&package));
        drop(package.run().expect("runs"));
    }
    // The first of all stays, because of what C++ wants to be there once in a process.
    let left = mapped("(deleted)").intersection(&ours).count();
    assert!(left <= 1, "{left} of {} packages are still there", ours.len());
}

#[cfg(target_os = "linux")]
#[test]
fn its_constants_are_mapped() {
    let Some(file) = package() else { return };
    let package = load(&file.path, inputs()).expect("loads");
    let library = package.library().expect("a name");
    assert!(constants::tests::is_mapped(&library), "{}", library.display());
}

#[test]
fn there_is_one_openmp() {
    let Some(file) = package() else { return };
    let path = &*file.path;
    let package = load(path, inputs()).expect("loads");
    drop(package.run().expect("runs"));
    let runtimes: BTreeSet<_> = mapped("/lib")
        .into_iter()
        .filter(|it| it.contains("gomp") || it.contains("omp5"))
        .collect();
    assert_eq!(runtimes.len(), 1, "{runtimes:?}");
}
