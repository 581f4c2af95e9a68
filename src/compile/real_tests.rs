//! With a Python that has torch: compilations, each of half a minute.

use std::fs;
use std::path::Path;
use std::time::Duration;

use plan::{CompileMode, Device};
use tch::{Kind, TchError, Tensor};

use super::job::{Compiled, Job};
use super::options::{self, Options};
use crate::native::package::Package;
use crate::refusal::Refusal;
use ::libtorch::Interpreter;
use ::libtorch::packages::Store;

/// Whether there is a Python with torch. Without one the test says so and checks nothing.
pub(super) fn is_there() -> bool {
    match options::python_for(Device::Cpu) {
        Ok(()) => true,
        Err(refusal) => {
            crate::skip::tool(refusal);
            false
        }
    }
}

fn compile(
    cache: &Path,
    threads: u64,
    inputs: &[&Tensor],
    step: impl FnOnce() -> Result<Tensor, TchError>,
) -> Result<Compiled, Refusal> {
    let options = Options {
        mode: CompileMode::Default,
        threads,
        device: Device::Cpu,
        place: tch::Device::Cpu,
        timeout: Duration::from_secs(600),
    };
    let store = Store::new(cache.join("compiled"), u64::MAX);
    let job = Job::new(inputs, options, || Ok::<_, TchError>(vec![step()?]))?;
    job.compiled(Some(&store), || Ok(Interpreter::compiling()))
}

/// Numbers from -1 to 1 in no obvious order.
fn wave(size: &[i64], kind: Kind) -> Tensor {
    let count = size.iter().product::<i64>();
    Tensor::arange(count, (Kind::Float, tch::Device::Cpu)).sin().view(size).to_kind(kind)
}

fn runs(compiled: &Compiled, inputs: &[&Tensor]) -> Tensor {
    let inputs = inputs.iter().map(|it| it.shallow_clone()).collect();
    Package::load(&compiled.package, tch::Device::Cpu, inputs).unwrap().run().unwrap()
}

/// A package's files are stored as they are.
fn holds(compiled: &Compiled, text: &str) -> bool {
    let package = fs::read(&compiled.package).unwrap();
    package.windows(text.len()).any(|window| window == text.as_bytes())
}

fn relative_error(found: &Tensor, expected: &Tensor) -> f64 {
    let expected = expected.to_kind(Kind::Double);
    let error = found.to_kind(Kind::Double) - &expected;
    error.norm().double_value(&[]) / expected.norm().double_value(&[])
}

#[test]
#[ignore = "nightly: Inductor compiles, a quarter of a minute each time"]
fn nightly_a_linear_and_a_gelu_on_two_threads() {
    if !is_there() {
        return;
    }
    let cache = tempfile::tempdir().unwrap();
    let x = wave(&[64, 256], Kind::BFloat16);
    // A view whose strides are not those of a contiguous tensor.
    let weight = wave(&[256, 512], Kind::BFloat16).tr();
    let bias = wave(&[512], Kind::BFloat16);
    let inputs = [&x, &weight, &bias];
    let step = || x.f_linear(&weight, Some(&bias))?.f_gelu("none");
    let compiled = compile(cache.path(), 2, &inputs, step).unwrap();

    assert_eq!(compiled.kernels[0], "aten::addmm");
    assert!(compiled.kernels[1].starts_with("cpp_fused_gelu"), "{:?}", compiled.kernels);
    assert_eq!(compiled.kernels.len(), 2, "{:?}", compiled.kernels);
    assert!(holds(&compiled, "#pragma omp parallel num_threads(2)"));
    assert_eq!(compiled.facts.options["cpp.threads"], serde_json::json!(2));
    assert!(compiled.facts.compiler.starts_with("torch 2.11.0, "), "{}", compiled.facts.compiler);
    assert!(compiled.facts.seconds > 0.0 && !compiled.facts.cache_hit);

    let eager = step().unwrap();
    let error = relative_error(&runs(&compiled, &inputs), &eager);
    assert!(error < 1e-2, "{error}");

    // Only the package, its facts and the probes of this machine are left.
    let left = |folder: &Path| fs::read_dir(folder).unwrap().count();
    assert_eq!(left(&cache.path().join("compiled")), 2);
    assert_eq!(left(compiled.package.parent().unwrap()), 2);
    assert!(compile(cache.path(), 2, &inputs, step).unwrap().facts.cache_hit);
}

#[test]
#[ignore = "nightly: Inductor compiles, a quarter of a minute each time"]
fn nightly_a_quantized_weight_on_one_thread() {
    if !is_there() {
        return;
    }
    let cache = tempfile::tempdir().unwrap();
    let x = wave(&[3, 64], Kind::Float);
    let q = (wave(&[32, 64], Kind::Float) * 127.0).to_kind(Kind::Int8);
    let scale = wave(&[32], Kind::Float);
    let inputs = [&x, &q, &scale];
    let step = || x.f_matmul(&q.f_tr()?.f_to_kind(Kind::Float)?)?.f_mul(&scale)?.f_relu();
    let compiled = compile(cache.path(), 1, &inputs, step).unwrap();
    assert!(!holds(&compiled, "#pragma omp parallel"), "one thread needs no others");
    let error = relative_error(&runs(&compiled, &inputs), &step().unwrap());
    assert!(error < 1e-5, "{error}");
}

#[test]
#[ignore = "nightly: Inductor compiles, a quarter of a minute each time"]
fn nightly_a_float8_weight() {
    if !is_there() {
        return;
    }
    let cache = tempfile::tempdir().unwrap();
    for kind in [Kind::Float8e4m3fn, Kind::Float8e5m2] {
        let x = wave(&[4, 64], Kind::BFloat16);
        let q = wave(&[32, 64], Kind::Float).to_kind(kind);
        let scale = wave(&[32, 1], Kind::Float);
        let inputs = [&x, &q, &scale];
        let step = || {
            let wide = q.f_tr()?.f_to_kind(Kind::Float)?.f_mul(&scale.f_tr()?)?;
            x.f_matmul(&wide.f_to_kind(Kind::BFloat16)?)
        };
        let compiled = compile(cache.path(), 1, &inputs, step).unwrap();
        let error = relative_error(&runs(&compiled, &inputs), &step().unwrap());
        assert!(error < 1e-2, "{error}");
    }
}

#[test]
#[ignore = "long: Inductor compiles, a quarter of a minute each time"]
fn what_inductor_refuses_ends_with_its_reason() {
    if !is_there() {
        return;
    }
    let cache = tempfile::tempdir().unwrap();
    let x = wave(&[8, 8], Kind::Float);
    // How many elements that has depends on x.
    let refusal = compile(cache.path(), 1, &[&x], || x.f_nonzero()).unwrap_err();
    let Refusal::Unsupported(text) = &refusal else { panic!("{refusal}") };
    assert!(text.starts_with("Inductor: ") && text.contains("torch.nonzero: Dynamic"), "{text}");
    assert!(!text.contains("Traceback") && !text.contains('\n'), "{text}");
    // The probes of this machine are kept.
    let left = fs::read_dir(cache.path().join("compiled")).unwrap();
    let names: Vec<_> = left.map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names, ["probes.json"]);
}
