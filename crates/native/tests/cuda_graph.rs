//! Captures CUDA graphs on a fake device that only logs its calls. It is a separate test program because libtorch looks
//! for CUDA only once.

use std::env;
use std::ffi::{CStr, CString, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

use native::Error;
use native::cuda_graph::Graph;
use tch::{Device, Kind, Tensor};

#[path = "../../../tests/common/skip.rs"]
mod skip;

type Tell = unsafe extern "C" fn(*const c_char);
type Log = unsafe extern "C" fn() -> *const c_char;
type SetCode = unsafe extern "C" fn(i32);

/// The functions of `fake_cuda.cpp`.
struct Fake {
    note: Tell,
    log: Log,
    broken: Tell,
    uninstantiable: Tell,
    driver_code: SetCode,
}

impl Fake {
    /// The fake libtorch_cuda, compiled and loaded for the whole program.
    fn get() -> &'static Self {
        static FAKE: OnceLock<Fake> = OnceLock::new();
        FAKE.get_or_init(|| {
            let folder = tempfile::tempdir().expect("a folder");
            let library = folder.path().join("libfake_cuda.so");
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_cuda.cpp");
            // By this name the shim asks for the driver, and gets what is loaded under it.
            let flags = ["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o"];
            compiled(&[], &flags, &[&library, &source]);
            let path = CString::new(library.to_str().expect("UTF-8")).expect("no NUL");
            // SAFETY: its constructors register it with libtorch, which is loaded.
            let loaded = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
            assert!(!loaded.is_null(), "it loads");
            // SAFETY: `fake_cuda.cpp` has functions of these types under these names.
            let tell =
                |name| unsafe { std::mem::transmute::<*mut c_void, Tell>(symbol(loaded, name)) };
            // SAFETY: as above.
            let log =
                unsafe { std::mem::transmute::<*mut c_void, Log>(symbol(loaded, c"fake_log")) };
            let code = symbol(loaded, c"fake_driver_code");
            // SAFETY: as above.
            let driver_code = unsafe { std::mem::transmute::<*mut c_void, SetCode>(code) };
            let [note, broken, uninstantiable] =
                [c"fake_note", c"fake_broken", c"fake_uninstantiable"].map(tell);
            Fake { note, log, broken, uninstantiable, driver_code }
        })
    }

    fn note(&self, what: &CStr) {
        // SAFETY: the text lives during the call.
        unsafe { (self.note)(what.as_ptr()) }
    }

    fn log(&self) -> String {
        // SAFETY: nothing else is called meanwhile: tests hold the lock.
        let text = unsafe { (self.log)() };
        // SAFETY: it ends with NUL and lives until the next call.
        unsafe { CStr::from_ptr(text) }.to_str().expect("UTF-8").trim_end_matches("; ").to_owned()
    }

    /// Captures break from now on, which is found out at their end; none breaks where the text is empty.
    fn break_captures(&self, with: &CStr) {
        // SAFETY: the text lives during the call.
        unsafe { (self.broken)(with.as_ptr()) }
    }

    /// From now on captures are fine, and what follows them fails; nothing fails where the text is empty.
    fn fail_behind_captures(&self, with: &CStr) {
        // SAFETY: the text lives during the call.
        unsafe { (self.uninstantiable)(with.as_ptr()) }
    }

    /// Sets the driver's answer when the shim begins a capture, from now on.
    fn answer_of_the_driver(&self, code: i32) {
        // SAFETY: any number is fine.
        unsafe { (self.driver_code)(code) }
    }
}

fn symbol(library: *mut c_void, name: &CStr) -> *mut c_void {
    // SAFETY: the library is loaded for good.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    assert!(!found.is_null(), "{name:?}");
    found
}

/// Runs the C++ compiler with libtorch's headers, and `system` folders before them.
fn compiled(system: &[PathBuf], flags: &[&str], files: &[&Path]) {
    let root = libtorch::find::find(|name| env::var_os(name)).expect("libtorch").root;
    let compiler = env::var_os("CXX").unwrap_or_else(|| "g++".into());
    let output = Command::new(compiler)
        .arg(format!("-std={}", libtorch::CXX_STANDARD))
        .arg("-D_GLIBCXX_USE_CXX11_ABI=1")
        .args(system.iter().flat_map(|it| [Path::new("-isystem"), it]))
        .args([Path::new("-isystem"), &root.join("include")])
        .args(flags)
        .args(files)
        .output()
        .expect("the C++ compiler starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// One test at a time: they share the fake.
static TURN: Mutex<()> = Mutex::new(());

const WARM_UP: &str = "wait; stream 7; step; stream 0; wait";
/// A capture until its end. The generator and the pools have begun, too.
const STEP: &str = "wait; stream 7; generator begins; pools begin; begin in mode 1 on 7; step";
/// An empty capture in place of a broken one. Everything that has begun ends.
const EMPTY: &str = "driver begins in mode 1 on 7; end on 7; pools end; generator ends; stream 0";

fn capture(step: impl Fn() -> Result<Vec<Tensor>, Error>) -> Result<Graph, Error> {
    Graph::capture(0, 1, || {
        Fake::get().note(c"step");
        step()
    })
}

#[test]
#[ignore = "long: compiles against libtorch's headers, ten seconds"]
fn a_step_is_warmed_up_captured_and_replayed_in_this_order() {
    let _turn = TURN.lock();
    let fake = Fake::get();
    drop(fake.log());
    let made = || Ok(vec![Tensor::ones([3], (Kind::Float, Device::Cpu))]);
    let graph = capture(made).expect("captured");
    let end = "end on 7; pools end; generator ends; stream 0; wait";
    assert_eq!(fake.log(), format!("new; {WARM_UP}; {STEP}; {end}"));
    assert_eq!((graph.outputs()[0].size(), graph.pool_bytes()), (vec![3], 2048));
    graph.replay().expect("replayed");
    graph.replay().expect("replayed");
    assert_eq!(fake.log(), "replay on 0; replay on 0");
    drop(graph);
    assert_eq!(fake.log(), "free; pools free");
}

#[test]
#[ignore = "long: compiles against libtorch's headers, ten seconds"]
fn whatever_goes_wrong_nothing_stays_begun_and_the_reason_is_the_first_one() {
    let _turn = TURN.lock();
    let fake = Fake::get();
    drop(fake.log());
    let calls = std::cell::Cell::new(0);
    let fails = |when: u32, how: &dyn Fn() -> Error| {
        calls.set(calls.get() + 1);
        if calls.get() < when { Ok(vec![]) } else { Err(how()) }
    };
    let own = || Error::Torch("the step's own error".to_owned());
    // The step fails in a capture that it has broken, as a step that waits for the device does.
    fake.break_captures(c"operation failed due to a previous error during capture");
    assert_eq!(capture(|| fails(2, &own)).expect_err("it fails"), own());
    let dropped = "driver ends on 7";
    let expected = format!("new; {WARM_UP}; {STEP}; {dropped}; {EMPTY}; free; pools free");
    assert_eq!(fake.log(), expected);
    // Only the end of the capture fails.
    let error = capture(|| Ok(vec![])).expect_err("the end fails").to_string();
    assert_eq!(error, "operation failed due to a previous error during capture");
    let expected =
        format!("new; {WARM_UP}; {STEP}; end on 7; {dropped}; {EMPTY}; free; pools free");
    assert_eq!(fake.log(), expected);
    // The step fails in a capture that is fine.
    fake.break_captures(c"");
    calls.set(0);
    assert_eq!(capture(|| fails(2, &own)).expect_err("it fails"), own());
    let dropped = "driver ends on 7; driver destroys";
    let expected = format!("new; {WARM_UP}; {STEP}; {dropped}; {EMPTY}; free; pools free");
    assert_eq!(fake.log(), expected);
    // A panic is resumed after the capture has ended.
    calls.set(0);
    let panics = || capture(|| fails(2, &|| panic!("on purpose")));
    let panic = catch_unwind(AssertUnwindSafe(panics)).expect_err("it panics");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"on purpose"));
    assert_eq!(fake.log(), expected);
    // Earlier: nothing is captured.
    calls.set(1);
    assert_eq!(capture(|| fails(2, &own)).expect_err("it fails"), own());
    assert_eq!(fake.log(), "new; wait; stream 7; step; stream 0; free");
    // Later: everything has ended by itself.
    fake.fail_behind_captures(c"no memory for the graph");
    let error = capture(|| Ok(vec![])).expect_err("no graph").to_string();
    assert_eq!(error, "no memory for the graph");
    let end = "end on 7; pools end; generator ends; stream 0; free; pools free";
    assert_eq!(fake.log(), format!("new; {WARM_UP}; {STEP}; {end}"));
    fake.fail_behind_captures(c"");
}

/// The allocators ask the object of libtorch as long as its pools have not ended.
#[test]
#[ignore = "long: compiles against libtorch's headers, ten seconds"]
fn an_object_whose_capture_cannot_be_ended_is_not_freed() {
    let _turn = TURN.lock();
    let fake = Fake::get();
    drop(fake.log());
    fake.break_captures(c"unspecified launch failure");
    fake.answer_of_the_driver(719);
    let error = capture(|| Ok(vec![])).expect_err("the device is lost").to_string();
    fake.answer_of_the_driver(0);
    fake.break_captures(c"");
    assert_eq!(error, "unspecified launch failure");
    let end = "end on 7; driver ends on 7; driver begins in mode 1 on 7; stream 0";
    assert_eq!(fake.log(), format!("new; {WARM_UP}; {STEP}; {end}"));
}

/// The packages of the Python that compiles, if it has a torch with CUDA, and CUDA's headers.
fn packages_with_cuda() -> Option<PathBuf> {
    let Some(python) = env::var_os("CRITERION_TORCH_PYTHON") else {
        skip::tool(format!(
            "CRITERION_TORCH_PYTHON names no Python with torch {}",
            libtorch::VERSION
        ));
        return None;
    };
    let output = Command::new(python)
        .args(["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"])
        .output()
        .expect("Python starts");
    let packages = PathBuf::from(String::from_utf8(output.stdout).expect("UTF-8").trim());
    let is_there = |it: &str| packages.join(it).exists();
    if ![LIBRARY, HEADERS, RUNTIME_HEADERS].into_iter().all(is_there) {
        skip::tool("CRITERION_TORCH_PYTHON has no torch with CUDA, or no triton");
        return None;
    }
    Some(packages)
}

const LIBRARY: &str = "torch/lib/libtorch_cuda.so";
const HEADERS: &str = "triton/backends/nvidia/include";
/// Headers of the very CUDA that libtorch_cuda was built with. They need some of the others.
const RUNTIME_HEADERS: &str = "nvidia/cu13/include";

/// The real libtorch_cuda, on a runtime without a device: what a broken capture leaves behind, it leaves in there.
#[test]
#[ignore = "long: compiles against libtorch's headers and imports torch, half a minute"]
fn a_broken_capture_leaves_nothing_behind_in_libtorch() {
    let Some(packages) = packages_with_cuda() else { return };
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().expect("a folder");
    let (cuda, shim) = (folder.path().join("libcuda.so.1"), folder.path().join("libshim.so"));
    let headers = [RUNTIME_HEADERS, HEADERS].map(|it| packages.join(it));
    // The language is that of the file, whatever the compiler: C takes functions with other parameters.
    let flags = ["-xc", "-std=gnu11", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o"];
    compiled(&headers, &flags, &[&cuda, &here.join("tests/fake_cudart.c")]);
    let units = ["cuda", "cuda_graph", "border"].map(|it| here.join(format!("shim/{it}.cpp")));
    let [one, other, border] = &units;
    compiled(&[], &["-shared", "-fPIC", "-o"], &[&shim, one, other, border]);
    let python = env::var_os("CRITERION_TORCH_PYTHON").expect("it has the packages");
    let output = Command::new(python)
        .arg(here.join("tests/failed_captures.py"))
        .args([&shim, &packages.join(LIBRARY), &cuda])
        .env("LD_PRELOAD", &cuda)
        .output()
        .expect("Python starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let broken = "CUDA error: operation failed due to a previous error during capture";
    let ends = ["captured", "the step failed", broken, "the step failed", "captured"];
    let left = "0 queries, random: works, reserved: 0";
    let expected: String = ends.iter().map(|end| format!("{end}: {left}\n")).collect();
    assert_eq!(String::from_utf8(output.stdout).expect("UTF-8"), expected, "{said}");
    assert!(!said.contains("The CUDA Graph is empty"), "{said}");
}

/// The shim knows libtorch's class by the names of its members and gives it room, without its header.
#[test]
#[ignore = "long: compiles against libtorch's headers, ten seconds"]
fn the_class_is_the_one_of_libtorch() {
    let Some(packages) = packages_with_cuda() else { return };
    let library = packages.join(LIBRARY);
    let symbols = Command::new("nm").args(["-D", "--defined-only"]).arg(&library).output();
    let symbols = String::from_utf8(symbols.expect("nm starts").stdout).expect("UTF-8");
    let shim = include_str!("../shim/cuda_graph.cpp");
    let names: Vec<&str> = shim.split('"').filter(|it| it.starts_with("_ZN2at4cuda")).collect();
    assert_eq!(names.len(), 6, "{names:?}");
    for name in names {
        assert!(symbols.lines().any(|line| line.ends_with(&format!(" {name}"))), "{name}");
    }
    let class = include_str!("cuda_graph_class.cpp");
    let driver = ["cuStream", "cuGraph"];
    let called = shim.split('"').filter(|it| driver.iter().any(|first| it.starts_with(first)));
    for name in called {
        assert!(class.contains(&format!("== \"{name}\"")), "{name} is not held against cuda.h");
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cuda_graph_class.cpp");
    let cuda = ["-fsyntax-only", "-DC10_CUDA_NO_CMAKE_CONFIGURE_FILE"];
    compiled(&[packages.join(HEADERS)], &cuda, &[&source]);
}
