use plan::{
    Case, CaseId, Device, Dtype, Mode, Probe, ProbeWork, Profiling, Role, Settings, Threads, Work,
};
use tch::{Kind, Tensor};

use super::*;
use crate::native::memory;
use crate::{inputs, workload};
use kernels::cpu::Capability;

fn streams() -> impl Iterator<Item = Probe> {
    Probe::ALL.iter().copied().filter(Probe::is_stream)
}

fn case(probe: Probe, size: u64, dtype: Dtype, device: Device) -> (Case, ProbeWork) {
    let work = ProbeWork::new(probe, size, Threads::Count(1), Device::Cpu);
    let case = Case {
        id: CaseId {
            group: format!("calibration/test/{probe}/{device}"),
            variant: "1-thread".to_owned(),
            parameter: format!("{}-{}", dtype.short(), work.probe.size_name(work.size)),
        },
        config: "test".to_owned(),
        config_hash: String::new(),
        names: vec![],
        role: Role::Baseline,
        mode: Mode::Calibration,
        work: Work::Probe(work),
        dtype,
        device,
        shape_names: vec![],
        profiling: Profiling::default(),
        settings: Settings::default(),
    };
    (case, work)
}

fn prepared(probe: Probe, size: u64, dtype: Dtype) -> Box<dyn Workload> {
    let (case, _) = case(probe, size, dtype, Device::Cpu);
    workload::prepare(&case).unwrap_or_else(|refusal| panic!("{refusal}"))
}

/// As on a device, but on the host: the operations are the same.
fn as_on_a_device(probe: Probe, size: u64) -> Result<Kernel, Refusal> {
    let (case, work) = case(probe, size, Dtype::Float32, Device::Cuda);
    let context = context(&case, work, tch::Device::Cpu);
    Kernel::prepare(&context, |inputs| sampled::Sampled::new(&case, context, inputs))
}

#[test]
fn a_product_is_that_of_float64() {
    for dtype in Dtype::ALL.iter().copied() {
        for size in [1, 2, 17, 64, 200] {
            let matmul = prepared(Probe::Matmul, size, dtype);
            let accuracy = matmul.check().unwrap_or_else(|it| panic!("{dtype} {size}: {it}"));
            assert_eq!(accuracy.rows_checked, size);
            assert_eq!(matmul.inputs_bytes(), 2 * size * size * dtype.bytes());
            assert_eq!(matmul.kernels(), ["aten::mm"]);
            if crate::native::onednn::supports(inputs::kind(dtype)).is_err() {
                continue;
            }
            let onednn = prepared(Probe::MatmulOnednn, size, dtype);
            onednn.check().unwrap_or_else(|it| panic!("oneDNN {dtype} {size}: {it}"));
            assert_eq!(onednn.kernels(), ["mkldnn::_linear_pointwise"]);
        }
    }
}

#[test]
fn a_product_that_onednn_leaves_to_aten_is_noted() {
    let float32 = prepared(Probe::Matmul, 4, Dtype::Float32).notes();
    assert!(float32.len() == 1 && float32[0].contains("BLAS library"), "{float32:?}");
    assert!(prepared(Probe::MatmulOnednn, 4, Dtype::Float32).notes().is_empty());
    for (dtype, kind) in [(Dtype::BFloat16, Kind::BFloat16), (Dtype::Float16, Kind::Half)] {
        let notes = prepared(Probe::Matmul, 4, dtype).notes();
        match crate::native::onednn::supports(kind) {
            Ok(()) => assert!(notes.is_empty(), "{notes:?}"),
            Err(reason) => assert!(notes.len() == 1 && notes[0].ends_with(&reason), "{notes:?}"),
        }
    }
}

#[test]
fn stream_on_the_host_runs_our_kernels_and_is_exact() {
    for probe in streams() {
        // A rest behind the vectors, whole ones, several pages.
        for size in [4 * 1003, 8 << 10, 1 << 20] {
            let stream = prepared(probe, size, Dtype::Float32);
            let accuracy = stream.check().unwrap_or_else(|it| panic!("{probe} {size}: {it}"));
            assert_eq!(accuracy.sqnr_db.0, f64::INFINITY, "{probe} {size}");
            assert_eq!(accuracy.rows_checked, size / 4);
            assert_eq!(stream.inputs_bytes(), 3 * size);
            let [kernel] = &stream.kernels()[..] else { panic!("{:?}", stream.kernels()) };
            assert!(kernel.starts_with(&format!("criterion_torch::stream_{probe}_")), "{kernel}");
        }
    }
    assert!(Capability::best().is_available());
}

#[test]
fn a_step_on_the_host_allocates_nothing_of_torchs() {
    for probe in streams() {
        let stream = prepared(probe, 64 << 10, Dtype::Float32);
        let (output, report) = memory::track(|| stream.step()).expect("nothing else tracks");
        assert_eq!(output.expect("a step").numel(), 0);
        assert_eq!((report.cpu.total_bytes, report.cpu.allocations), (0, 0), "{probe}");
    }
}

#[test]
fn what_a_device_would_run_is_stream_too() {
    for probe in streams() {
        for size in [4, 4 * 1003, 1 << 20] {
            let stream = as_on_a_device(probe, size).unwrap();
            let accuracy = stream.check().unwrap_or_else(|it| panic!("{probe} {size}: {it}"));
            assert_eq!(accuracy.rows_checked, size / 4);
            assert_eq!(stream.inputs_bytes(), 3 * size);
            let (output, report) = memory::track(|| stream.step()).expect("nothing else tracks");
            drop(output.expect("a step"));
            assert_eq!(report.cpu.total_bytes, 0, "{probe}: one pass, written where it belongs");
        }
    }
}

/// Here the arrays, and which of their elements are compared, lie on the host, too.
#[test]
fn checking_stream_on_a_device_takes_of_the_host_what_was_asked_for() {
    let (case, work) = case(Probe::Triad, 4 << 20, Dtype::Float32, Device::Cuda);
    let (checked, report) =
        memory::track(|| as_on_a_device(Probe::Triad, 4 << 20).and_then(|stream| stream.check()))
            .expect("nothing else tracks");
    assert_eq!(checked.expect("exact").rows_checked, 1 << 20);
    let (arrays, rows) = (3 * work.size, 8 * (1 << 20));
    // Besides, tensors of single numbers.
    let numbers = report.cpu.peak_bytes - arrays - rows - plan::cost::host_bytes_of(&case, None);
    assert!(numbers < 64, "{report:?}");
}

#[test]
fn what_is_launched_changes_a_sign_and_allocates_nothing() {
    let launch = as_on_a_device(Probe::Launch, 1).unwrap();
    let value = |output: Tensor| output.double_value(&[0]);
    for steps in 0..2 {
        // However many steps were taken before.
        (0..steps).for_each(|_| drop(launch.step().unwrap()));
        assert_eq!(launch.check().unwrap().sqnr_db.0, f64::INFINITY);
    }
    assert_eq!(value(launch.step().unwrap()), 1.0);
    assert_eq!(value(launch.step().unwrap()), -1.0);
    let (output, report) = memory::track(|| launch.step()).expect("nothing else tracks");
    drop(output.expect("a step"));
    assert_eq!(report.cpu.total_bytes, 0);
}

fn called() -> Kernel {
    let (case, work) = case(Probe::Call, 1, Dtype::Float32, Device::Cpu);
    super::prepare(&case, work).unwrap_or_else(|refusal| panic!("{refusal}"))
}

#[test]
fn what_is_called_makes_one_element_of_another() {
    let call = called();
    let accuracy = call.check().unwrap();
    assert_eq!((accuracy.sqnr_db.0, accuracy.rows_checked), (f64::INFINITY, 1));
    let (output, report) = memory::track(|| call.step()).expect("nothing else tracks");
    let output = output.expect("a step");
    // The allocator's smallest block may be larger than the element.
    assert_eq!(report.cpu.allocations, 1, "{report:?}");
    assert_eq!((output.size(), output.kind()), (vec![1], Kind::Float));
    for _ in 0..2 {
        assert_eq!(call.step().expect("a step").double_value(&[0]), -1.0, "out of place");
    }
    assert_eq!(call.inputs_bytes(), 4);
}

#[test]
fn what_a_call_reads_is_what_its_steps_read() {
    let call = called();
    let [mut value] = <[Tensor; 1]>::try_from(call.tensors()).expect("one tensor");
    drop(value.fill_(3.0));
    let output = call.step().unwrap();
    assert_eq!(output.double_value(&[0]), -3.0);
    let refused = call.judge(&[output]).unwrap_err().to_string();
    assert!(refused.contains("inaccurate"), "{refused}");
    let refused = call.judge(&[Tensor::from_slice(&[f32::NAN])]).unwrap_err().to_string();
    assert!(refused.contains("NaN"), "{refused}");
}

#[test]
fn what_cannot_be_measured_says_why() {
    let refusal = |probe, size, dtype, device| {
        let (case, work) = case(probe, size, dtype, device);
        context(&case, work, tch::Device::Cpu).check().map_err(|refusal| refusal.to_string())
    };
    let launch = refusal(Probe::Launch, 1, Dtype::Float32, Device::Cpu).unwrap_err();
    assert!(launch.contains("probe `launch`: the host starts no kernels"), "{launch}");
    assert_eq!(refusal(Probe::Launch, 1, Dtype::Float32, Device::Cuda), Ok(()));
    for (probe, size) in [(Probe::Triad, 1024), (Probe::Call, 1), (Probe::CompiledCall, 1)] {
        let dtype = refusal(probe, size, Dtype::BFloat16, Device::Cpu).unwrap_err();
        let named = dtype.contains(&format!("probe `{probe}`"));
        assert!(named && dtype.contains("bfloat16"), "{dtype}");
    }
    for device in [Device::Cpu, Device::Cuda] {
        for probe in [Probe::Call, Probe::CompiledCall] {
            assert_eq!(refusal(probe, 1, Dtype::Float32, device), Ok(()));
        }
    }
    for size in [0, 3, 1023] {
        let size_refused = refusal(Probe::Copy, size, Dtype::Float32, Device::Cpu).unwrap_err();
        assert!(size_refused.contains(&format!("an array of {size} bytes")), "{size_refused}");
    }
    for dtype in Dtype::ALL.iter().copied() {
        assert_eq!(refusal(Probe::Matmul, 1, dtype, Device::Cpu), Ok(()));
    }
}

#[test]
fn a_gate_of_ones_own_is_heeded() {
    for (probe, size) in [(Probe::Matmul, 8), (Probe::Triad, 1024), (Probe::Call, 1)] {
        let (mut case, _) = case(probe, size, Dtype::Float32, Device::Cpu);
        case.settings.tolerance.min_sqnr_db = Some(7.5);
        let accuracy = workload::prepare(&case).unwrap().check().unwrap();
        assert_eq!(accuracy.min_sqnr_db, 7.5);
    }
}
