//! Steps under libtorch's profiler: their operations, and a Chrome trace of them.

use std::fs;
use std::path::Path;

use ::libtorch::partial;
use plan::{ProfileFile, ProfileFileKind};
use serde::de::IgnoredAny;

use super::operations::{STEP, Steps};
use super::profile_file;
use super::stopwatch::Stopwatch;
use crate::native::profile;
use crate::refusal::Refusal;

/// Warm-up steps before a case is profiled.
const WARM_UP: u64 = 3;
/// Seconds that the profiled steps may take.
const PROFILED_S: f64 = 0.05;
/// Fewest and most profiled steps.
const STEPS: (f64, f64) = (3.0, 50.0);

/// Steps to profile.
pub struct Subject<'a> {
    /// Runs before each step, outside of its time; for example it flushes the cache.
    pub before: &'a mut dyn FnMut() -> Result<(), Refusal>,
    /// Runs one step and waits for its device.
    pub step: &'a mut dyn FnMut() -> Result<(), Refusal>,
}

impl Subject<'_> {
    fn run(&mut self) -> Result<(), Refusal> {
        (self.before)()?;
        (self.step)()
    }

    /// Runs the warm-up; returns how many steps to profile.
    ///
    /// # Errors
    /// Errors of a step.
    pub fn warm_up(&mut self) -> Result<u64, Refusal> {
        let mut step_s = 0.0;
        for _ in 0..WARM_UP {
            (self.before)()?;
            let watch = Stopwatch::start();
            (self.step)()?;
            step_s = watch.seconds();
        }
        const SHORTEST_S: f64 = 1e-9;
        Ok((PROFILED_S / step_s.max(SHORTEST_S)).clamp(STEPS.0, STEPS.1) as u64)
    }

    /// Profiles `steps` warm steps. Writes their trace to `path`, which is reported relative to `root`.
    ///
    /// # Errors
    /// Errors of a step, those of the profiler, and when the trace cannot be written.
    pub fn profile(
        &mut self,
        device: tch::Device,
        steps: u64,
        path: &Path,
        root: &Path,
    ) -> Result<(Steps, ProfileFile), Refusal> {
        let failed = |error| Refusal::Failed(format!("cannot write {}: {error}", path.display()));
        let folder = path.parent().unwrap_or(Path::new(""));
        fs::create_dir_all(folder).map_err(failed)?;
        // Kineto writes in place and puts the path into the trace, so it gets a temporary file.
        let beside = partial::folder_beside(path).map_err(failed)?;
        let raw = beside.path().join("trace.json");
        let run = || {
            // The profiler's own buffers are made in the first step that it sees.
            self.run()?;
            for number in 0..steps {
                (self.before)()?;
                let _step = profile::range(&format!("{STEP}{number}"))?;
                (self.step)()?;
            }
            Ok::<_, Refusal>(())
        };
        let events = profile::record(device, Some(&raw), run)?;
        let of_steps = Steps::from_events(&events).map_err(Refusal::Failed)?;
        let trace = whole(&fs::read_to_string(&raw).map_err(failed)?, &raw, path)?;
        let file = profile_file::write(path, trace.as_bytes(), ProfileFileKind::Trace, root)?;
        Ok((of_steps, file))
    }
}

/// The trace that Kineto wrote to `raw`, with the name of `path` in it instead of that place. Kineto reports no error when
/// a disk is full, so a trace that does not end is refused here.
fn whole(trace: &str, raw: &Path, path: &Path) -> Result<String, Refusal> {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let (raw, name) = (raw.to_string_lossy(), path.file_name().unwrap_or_default());
    let name = quoted(&name.to_string_lossy());
    let trace = trace.replace(&quoted(&raw), &name).replace(&format!("\"{raw}\""), &name);
    match serde_json::from_str::<IgnoredAny>(&trace) {
        Ok(_) => Ok(trace),
        Err(error) => Err(Refusal::Failed(format!(
            "cannot write {}: the profiler left a trace that is not valid JSON: {error}; check the free space of its \
             disk",
            path.display()
        ))),
    }
}

/// A lock for tests that profile: a process can have only one session.
#[cfg(test)]
pub fn turn() -> std::sync::MutexGuard<'static, ()> {
    static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());
    TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use plan::OperationProfile;
    use tch::{Device, Kind, TchError, Tensor};

    use super::*;

    type Body<'a> = &'a mut dyn FnMut() -> Result<Tensor, TchError>;

    /// Profiles steps after something else; also their trace.
    fn profiled(before: Body<'_>, step: Body<'_>) -> (Steps, serde_json::Value) {
        let _turn = turn();
        let root = tempfile::tempdir().expect("a folder");
        let path = root.path().join("profiles/a case/x_profile.json");
        let mut before = || {
            drop(before()?);
            Ok(())
        };
        let mut step = || {
            drop(step()?);
            Ok(())
        };
        let mut subject = Subject { before: &mut before, step: &mut step };
        let steps = subject.warm_up().expect("warm");
        let found = subject.profile(Device::Cpu, steps, &path, root.path());
        let (found, file) = found.expect("profiled");
        let text = fs::read_to_string(&path).expect("written");
        let place = "profiles/a case/x_profile.json".to_owned();
        let expected = ProfileFile::new(ProfileFileKind::Trace, place, text.as_bytes());
        assert_eq!((found.steps, file), (steps, expected));
        let beside = fs::read_dir(path.parent().expect("a folder")).expect("readable");
        assert_eq!(beside.count(), 1, "nothing else is left there");
        (found, serde_json::from_str(&text).expect("JSON"))
    }

    fn nothing() -> Result<Tensor, TchError> {
        Ok(Tensor::new())
    }

    fn found<'s>(steps: &'s Steps, name: &str) -> &'s OperationProfile {
        steps.operations.iter().find(|it| it.name == name).expect(name)
    }

    #[test]
    fn a_linear_layer_with_gelu_is_its_operations() {
        const M: i64 = 64;
        const K: i64 = 128;
        const N: i64 = 256;
        let floats = (Kind::Float, Device::Cpu);
        let (x, weight) = (Tensor::ones([M, K], floats), Tensor::ones([N, K], floats));
        let bias = Tensor::ones([N], floats);
        let mut step = || x.f_linear(&weight, Some(&bias))?.f_gelu("none");
        let (steps, trace) = profiled(&mut nothing, &mut step);
        let own: f64 = steps.operations.iter().map(|it| it.self_ns).sum();
        assert!((own + steps.outside_ns - steps.step_ns).abs() < 1e-6, "{steps:?}");
        assert!(steps.steps >= 3 && own > 0.0 && steps.outside_ns > 0.0);
        let product = found(&steps, "aten::addmm");
        assert_eq!(product.shapes[..3], [vec![N], vec![M, K], vec![K, N]]);
        assert_eq!(product.dtypes[..3], ["float32"; 3]);
        let flops = 2 * M * K * N;
        assert_eq!((product.flops, product.calls), (Some(flops.unsigned_abs()), 1.0));
        assert_eq!(product.input_bytes, Some(4 * (N + M * K + K * N).unsigned_abs()));
        let gelu = found(&steps, "aten::gelu");
        assert_eq!((gelu.shapes[0].clone(), gelu.calls), (vec![M, N], 1.0));
        let allocated: u64 = steps.operations.iter().map(|it| it.allocated_bytes).sum();
        assert_eq!(allocated, 2 * 4 * (M * N).unsigned_abs(), "{steps:?}");
        let linear = found(&steps, "aten::linear");
        assert!(linear.total_ns > product.total_ns && !linear.is_leaf);
        let events = trace["traceEvents"].as_array().expect("events");
        let count = |name: &str| {
            let named = |it: &&serde_json::Value| it["ph"] == "X" && it["name"] == name;
            events.iter().filter(named).count() as u64
        };
        assert_eq!((count("ProfilerStep#0"), count("ProfilerStep#1")), (1, 1));
        assert_eq!(count("aten::addmm"), steps.steps + 1, "one without a range comes first");
        assert_eq!(trace["traceName"], "x_profile.json");
    }

    #[test]
    fn what_comes_before_a_step_is_none_of_it() {
        let x = Tensor::ones([64], (Kind::Float, Device::Cpu));
        let (steps, trace) = profiled(&mut || x.f_exp(), &mut || x.f_tanh());
        let names: Vec<&str> = steps.operations.iter().map(|it| &*it.name).collect();
        assert_eq!(names, ["aten::tanh"]);
        assert!(trace.to_string().contains("aten::exp"));
    }

    #[test]
    fn a_trace_without_a_place_is_an_error_that_names_it() {
        let root = tempfile::tempdir().expect("a folder");
        fs::write(root.path().join("profiles"), "a file").expect("written");
        let (mut nothing, path) = (|| Ok(()), root.path().join("profiles/x_profile.json"));
        let mut step = || Ok(());
        let mut subject = Subject { before: &mut nothing, step: &mut step };
        let error = subject.profile(Device::Cpu, 3, &path, root.path()).expect_err("no folder");
        assert!(error.to_string().contains("profiles/x_profile.json"), "{error}");
    }

    #[test]
    fn a_trace_has_its_own_name() {
        let _turn = turn();
        let root = tempfile::tempdir().expect("a folder");
        let path = root.path().join("a folder/x_profile.json");
        let (mut nothing, mut step) = (|| Ok(()), || Ok(()));
        let mut subject = Subject { before: &mut nothing, step: &mut step };
        subject.profile(Device::Cpu, 3, &path, root.path()).expect("profiled");
        let text = fs::read_to_string(&path).expect("written");
        let trace: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(trace["traceName"], "x_profile.json");
        assert!(!text.contains("partial"), "the place where it was written is not in it");
    }

    #[test]
    fn a_path_is_replaced_as_kineto_writes_it_and_as_json_does() {
        let (raw, path) = (Path::new(r#"/a "b" \ c/trace.json"#), Path::new("/p/x_profile.json"));
        let quoted = serde_json::json!({"traceName": raw}).to_string();
        assert_eq!(whole(&quoted, raw, path).expect("whole"), r#"{"traceName":"x_profile.json"}"#);
        let (raw, plain) = (Path::new("/a b/trace.json"), r#"{"traceName":"/a b/trace.json"}"#);
        assert_eq!(whole(plain, raw, path).expect("whole"), r#"{"traceName":"x_profile.json"}"#);
    }

    #[test]
    fn a_trace_that_was_cut_off_is_refused() {
        let (raw, path) = (Path::new("/raw/trace.json"), Path::new("/p/x_profile.json"));
        let trace = "{\n\"traceEvents\": [{\"ph\": \"X\"}],\n\"traceName\": \"/raw/trace.json\"\n}";
        let named = whole(trace, raw, path).expect("whole");
        assert_eq!(named, trace.replace("/raw/trace.json", "x_profile.json"));
        for cut in [trace.len() - 2, 30, 1] {
            let error = whole(&trace[..cut], raw, path).expect_err("cut off").to_string();
            assert!(error.contains("/p/x_profile.json") && error.contains("EOF"), "{error}");
            assert!(error.contains(" at line ") && error.contains("free space"), "{error}");
        }
    }
}
