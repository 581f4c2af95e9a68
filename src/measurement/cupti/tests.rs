use std::path::Path;
use std::process::Command;

use cudarc::cupti::sys::CUptiResult::*;
use tch::{Device, Kind, Tensor};

use super::library::{is_known, refused};
use super::*;
use crate::native::cuda;
use crate::refusal::Refusal;

/// Set where the test below runs in a process of its own, with the fake in the loader's path.
const CHILD: &str = "CUPTI_TESTS_CHILD";

/// cudarc keeps the library that it finds, so that each case of the fake is a process.
#[test]
fn a_step_is_counted_in_as_many_passes_as_cupti_asks_for() {
    if std::env::var_os(CHILD).is_some() {
        child();
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fake(folder.path(), &[]);
    let said = child_output(folder.path(), &[]);
    let pass = "before RangeProfilerStart RangeProfilerPushRange step RangeProfilerPopRange \
                RangeProfilerStop";
    let metrics = METRICS.map(|it| format!("metric {}", it.to_str().unwrap())).join(" ");
    let calls = format!(
        "ProfilerInitialize DeviceGetChipName ProfilerGetCounterAvailability \
         ProfilerGetCounterAvailability ProfilerHostInitialize ProfilerHostConfigAddMetrics {metrics} \
         ProfilerHostGetConfigImageSize ProfilerHostGetConfigImage RangeProfilerEnable \
         RangeProfilerGetCounterDataSize RangeProfilerCounterDataImageInitialize \
         RangeProfilerSetConfig {pass} {pass} {pass} RangeProfilerDecodeData \
         RangeProfilerGetCounterDataInfo ProfilerHostEvaluateToGpuValues RangeProfilerDisable \
         ProfilerHostDeinitialize ProfilerDeInitialize"
    );
    assert!(said.split_whitespace().collect::<Vec<_>>().join(" ").contains(&calls), "{said}");
    let counted = GpuCounters {
        cycles: 10.0,
        sm_throughput: 0.2,
        tensor_active: 0.3,
        occupancy: 0.4,
        dram_bytes: 50.0,
        dram_throughput: 0.6,
        l2_hit_rate: 0.7,
    };
    assert!(said.contains(&format!("counted {:?}", Ok::<_, String>(counted))), "{said}");
}

#[test]
fn what_cupti_refuses_is_a_reason_and_leaves_nothing_on() {
    let folder = tempfile::tempdir().unwrap();
    fake(folder.path(), &[]);
    let denied =
        child_output(folder.path(), &[("FAIL", "cuptiRangeProfilerEnable"), ("CODE", "35")]);
    assert!(denied.contains("NVreg_RestrictProfilingToAdminUsers=0"), "{denied}");
    assert!(denied.contains("ProfilerDeInitialize") && !denied.contains("step\n"), "{denied}");
    let busy = child_output(folder.path(), &[("FAIL", "cuptiRangeProfilerStart"), ("CODE", "26")]);
    assert!(busy.contains("cuptiRangeProfilerStart: another profiler"), "{busy}");
    assert!(busy.contains("RangeProfilerDisable\nProfilerHostDeinitialize\n"), "{busy}");
    let endless = child_output(folder.path(), &[("ENDLESS", "1")]);
    assert!(endless.contains("not all counted after 64 passes"), "{endless}");
    let dropped = child_output(folder.path(), &[("DROPPED", "1")]);
    assert!(dropped.contains("CUPTI has 1 ranges and dropped 1"), "{dropped}");
    let stepless = child_output(folder.path(), &[("REFUSING_STEP", "1")]);
    assert!(stepless.contains("the step is refused") && stepless.contains("RangeProfilerDisable"));
    let old = child_output(folder.path(), &[("VERSION", "18")]);
    assert!(old.contains("older than CUDA 12.6") && !old.contains("Initialize"), "{old}");
    fake(folder.path(), &["-DLACKING"]);
    let lacking = child_output(folder.path(), &[]);
    assert!(!lacking.contains("panicked") && lacking.contains("ProfilerDeInitialize"), "{lacking}");
}

/// On this machine's GPU, if it has one that counts: a copy larger than any L2 cache reads and writes each byte once.
#[test]
fn there_are_counters_or_a_reason() {
    const BYTES: i64 = 1 << 30;
    let device = Device::cuda_if_available();
    let bytes = if device == Device::Cpu { 1 } else { BYTES };
    let from = Tensor::zeros([bytes], (Kind::Uint8, device));
    let mut to = from.empty_like();
    let mut before = || Ok(());
    let mut step = || {
        to.f_copy_(&from)?;
        if device != Device::Cpu {
            cuda::synchronize(0)?;
        }
        Ok(())
    };
    match count(&mut Subject { before: &mut before, step: &mut step }) {
        Ok(counted) => {
            let copies = counted.dram_bytes / (2 * BYTES) as f64;
            assert!((0.9..1.1).contains(&copies), "{copies} copies: {counted:?}");
            assert!(counted.cycles > 0.0 && counted.dram_throughput > 0.3, "{counted:?}");
        }
        Err(reason) => {
            assert!(
                reason.contains("hardware counters: ") || reason.contains("driver"),
                "{reason}"
            );
            crate::skip::hardware(reason);
        }
    }
}

#[test]
fn only_versions_whose_structures_are_known_are_used() {
    // Versions of CUDA 12.5, 12.6, 12.8, 13.0 and 13.4.
    assert!(is_known(23).unwrap_err().contains("older than CUDA 12.6"));
    for known in [24, 26, 130_001, 130_401] {
        assert_eq!(is_known(known), Ok(()));
    }
    assert!(is_known(140_000).unwrap_err().contains("newer"));
}

#[test]
fn reasons_name_the_remedy() {
    for (code, remedy) in [
        (CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, "NVreg_RestrictProfilingToAdminUsers=0"),
        (CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED, "the bare machine"),
        (CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES, "enable_profiling=1"),
        (CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED, "nvidia-smi -mig 0"),
        (CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED, "turn that off"),
        (CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED, "Linux itself"),
        (CUPTI_ERROR_INVALID_CHIP_NAME, "compute capability 7.5"),
        (CUPTI_ERROR_INVALID_METRIC_NAME, "ncu --query-metrics"),
        (CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "another profiler"),
        (CUPTI_ERROR_OUT_OF_MEMORY, "CUPTI refuses"),
    ] {
        let text = refused("cuptiRangeProfilerEnable", code);
        assert!(text.starts_with("hardware counters: cuptiRangeProfilerEnable: "), "{text}");
        assert!(text.contains(remedy) && text.ends_with(&format!("({code:?})")), "{text}");
    }
}

#[test]
fn what_is_no_number_is_an_error_with_the_metrics_name() {
    let mut values = [1.0; METRICS.len()];
    assert!(counters(values).is_ok());
    values[6] = f64::NAN;
    let error = counters(values).unwrap_err();
    assert!(error.contains("lts__t_sector_hit_rate.pct is NaN"), "{error}");
}

/// Counts on the fake, in a context that it knows.
fn child() {
    let mut before = || {
        eprintln!("before");
        Ok(())
    };
    let refuses = std::env::var_os("REFUSING_STEP").is_some();
    let mut step = || {
        eprintln!("step");
        if refuses { Err(Refusal::Failed("the step is refused".to_owned())) } else { Ok(()) }
    };
    let mut subject = Subject { before: &mut before, step: &mut step };
    let context = std::ptr::without_provenance_mut(1);
    let counted = library::load().and_then(|()| count_in(context, 0, &mut subject));
    eprintln!("counted {counted:?}");
}

fn fake(folder: &Path, arguments: &[&str]) {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/measurement/cupti/fake.c");
    let mut command = Command::new(compiler);
    command.args(["-shared", "-fPIC"]).args(arguments).arg("-o");
    command.arg(folder.join("libcupti.so")).arg(source);
    assert!(command.status().expect("the shim needs a compiler too").success());
}

/// The output of a child process that loads the fake CUPTI of this folder.
fn child_output(folder: &Path, variables: &[(&str, &str)]) -> String {
    let before = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
    let test = "measurement::cupti::tests::a_step_is_counted_in_as_many_passes_as_cupti_asks_for";
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env("LD_LIBRARY_PATH", format!("{}:{before}", folder.display()))
        .env(CHILD, "1")
        .env("VERSION", "26")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    String::from_utf8(output.stderr).unwrap()
}
