use tch::Device;

use super::*;

const MAIN: u64 = 1;
const WORKER: u64 = 2;

fn event(
    activity: ActivityType,
    name: &str,
    thread: u64,
    (start_ns, end_ns): (u64, u64),
) -> KinetoEvent {
    KinetoEvent {
        name: name.to_owned(),
        activity,
        device: Device::Cpu,
        start_ns,
        duration_ns: end_ns - start_ns,
        thread,
        correlation: 0,
        launched_by: 0,
        flops: 0,
        bytes: 0,
        arguments: vec![],
    }
}

fn step(interval: (u64, u64)) -> KinetoEvent {
    event(ActivityType::UserAnnotation, "ProfilerStep#0", MAIN, interval)
}

fn operation(name: &str, interval: (u64, u64)) -> KinetoEvent {
    event(ActivityType::CpuOp, name, MAIN, interval)
}

fn memory(at_ns: u64, bytes: i64) -> KinetoEvent {
    KinetoEvent { bytes, ..event(ActivityType::Memory, "[memory]", MAIN, (at_ns, at_ns)) }
}

fn checked_steps(events: &[KinetoEvent]) -> Steps {
    let steps = Steps::from_events(events).expect("there are steps");
    let own: f64 = steps.operations.iter().map(|it| it.self_ns).sum();
    assert!((own + steps.outside_ns - steps.step_ns).abs() < 1e-9, "{steps:?}");
    steps
}

fn found<'s>(steps: &'s Steps, name: &str) -> &'s OperationProfile {
    steps.operations.iter().find(|it| it.name == name).expect(name)
}

fn times(steps: &Steps, name: &str) -> (f64, f64, f64) {
    let it = found(steps, name);
    (it.calls, it.self_ns, it.total_ns)
}

#[test]
fn own_times_are_without_callees_and_gaps_are_outside() {
    let steps = checked_steps(&[
        step((100, 200)),
        operation("linear", (110, 160)),
        operation("t", (112, 117)),
        operation("addmm", (120, 150)),
        // The next operation begins when its sibling ends.
        operation("gelu", (160, 180)),
    ]);
    assert_eq!((steps.steps, steps.step_ns, steps.outside_ns), (1, 100.0, 30.0));
    assert_eq!(times(&steps, "linear"), (1.0, 15.0, 50.0));
    assert_eq!(times(&steps, "addmm"), (1.0, 30.0, 30.0));
    assert_eq!(times(&steps, "gelu"), (1.0, 20.0, 20.0));
    let leaves: Vec<&str> =
        steps.operations.iter().filter(|it| it.is_leaf).map(|it| &*it.name).collect();
    assert_eq!(leaves, ["addmm", "gelu", "t"], "the longest first");
}

#[test]
fn several_steps_are_a_mean_and_what_lies_between_them_is_none_of_it() {
    let steps = checked_steps(&[
        step((0, 100)),
        operation("exp", (10, 40)),
        operation("fill_", (120, 180)),
        memory(130, 64),
        step((200, 260)),
        operation("exp", (205, 215)),
        operation("exp", (220, 230)),
    ]);
    assert_eq!((steps.steps, steps.step_ns, steps.outside_ns), (2, 80.0, 55.0));
    assert_eq!(times(&steps, "exp"), (1.5, 25.0, 25.0));
    assert_eq!(steps.operations.len(), 1, "{steps:?}");
}

#[test]
fn a_callee_does_not_outlive_its_caller_nor_its_step() {
    let steps = checked_steps(&[
        step((0, 100)),
        operation("linear", (10, 50)),
        operation("addmm", (20, 52)),
        operation("gelu", (60, 103)),
    ]);
    assert_eq!(times(&steps, "linear"), (1.0, 10.0, 40.0));
    assert_eq!(times(&steps, "addmm"), (1.0, 30.0, 30.0));
    assert_eq!(times(&steps, "gelu"), (1.0, 40.0, 40.0));
}

#[test]
fn an_operation_that_calls_itself_has_its_time_once() {
    let steps =
        checked_steps(&[step((0, 100)), operation("to", (10, 60)), operation("to", (20, 50))]);
    assert_eq!(times(&steps, "to"), (2.0, 50.0, 50.0));
    assert!(!found(&steps, "to").is_leaf);
}

#[test]
fn work_of_other_threads_has_a_total_and_no_own_time() {
    let on_worker = |name, interval| KinetoEvent { thread: WORKER, ..operation(name, interval) };
    let steps = checked_steps(&[
        step((0, 100)),
        operation("join", (10, 90)),
        on_worker("mm", (20, 80)),
        on_worker("empty", (30, 35)),
        operation("mm", (92, 96)),
    ]);
    assert_eq!(times(&steps, "join"), (1.0, 80.0, 80.0));
    assert_eq!(times(&steps, "mm"), (2.0, 4.0, 64.0));
    assert_eq!(times(&steps, "empty"), (1.0, 0.0, 5.0));
    assert!(found(&steps, "join").is_leaf, "it waits for what it does not call");
    assert!(!found(&steps, "mm").is_leaf);
}

#[test]
fn entries_differ_by_arguments_and_have_bytes_and_flops() {
    let tensor =
        |shape: &[i64], dtype: &str| Argument { shape: shape.to_vec(), dtype: dtype.to_owned() };
    let product = |interval, rows: i64| KinetoEvent {
        flops: 2 * rows.unsigned_abs() * 8 * 6,
        arguments: vec![
            tensor(&[rows, 8], "float"),
            tensor(&[8, 6], "c10::BFloat16"),
            tensor(&[], "Scalar"),
        ],
        ..operation("mm", interval)
    };
    let list =
        KinetoEvent { arguments: vec![tensor(&[], "TensorList")], ..operation("cat", (60, 70)) };
    let steps = checked_steps(&[
        step((0, 100)),
        product((0, 10), 4),
        memory(5, 96),
        memory(10, 32),
        memory(7, -96),
        product((20, 30), 4),
        product((40, 55), 5),
        list,
        memory(90, 1000),
    ]);
    let shapes = |it: &OperationProfile| it.shapes.first().cloned().unwrap_or_default();
    let [four, five, cat] = [0, 1, 2].map(|at| &steps.operations[at]);
    assert_eq!(shapes(five), [5, 8]);
    assert_eq!((shapes(four), four.calls, four.self_ns), (vec![4, 8], 2.0, 20.0));
    assert_eq!(four.dtypes, ["float32", "bfloat16", ""]);
    assert_eq!(four.flops, Some(2 * 2 * 4 * 8 * 6));
    assert_eq!(four.input_bytes, Some(2 * (4 * 8 * 4 + 8 * 6 * 2)));
    assert_eq!(four.allocated_bytes, 96 + 32, "what is released is no allocation");
    assert_eq!((five.flops, five.allocated_bytes), (Some(2 * 5 * 8 * 6), 0));
    assert_eq!((cat.flops, cat.input_bytes, &*cat.dtypes), (None, None, &[String::new()][..]));
    assert_eq!(four.device_ns, None);
}

#[test]
fn kernels_belong_to_what_launched_them() {
    let launching =
        |name, interval, correlation| KinetoEvent { correlation, ..operation(name, interval) };
    let kernel = |launched_by, interval| KinetoEvent {
        device: Device::Cuda(0),
        launched_by,
        ..event(ActivityType::Kernel, "gemm", 0, interval)
    };
    let steps = checked_steps(&[
        step((0, 100)),
        launching("linear", (0, 30), 11),
        launching("addmm", (5, 25), 12),
        event(ActivityType::CudaRuntime, "cudaLaunchKernel", MAIN, (10, 20)),
        kernel(12, (40, 90)),
        launching("gelu", (30, 40), 13),
        kernel(13, (90, 300)),
        kernel(0, (300, 999)),
    ]);
    let device = |name| found(&steps, name).device_ns;
    assert_eq!(
        (device("linear"), device("addmm"), device("gelu")),
        (Some(0.0), Some(50.0), Some(210.0))
    );
    assert_eq!(steps.operations[0].name, "gelu", "the longest on the device first");
    assert_eq!(steps.operations.len(), 3, "what runs after the step is none of it: {steps:?}");
    assert_eq!(times(&steps, "addmm"), (1.0, 20.0, 20.0), "a call of the runtime is its own time");
}

/// Kernels of cudarc, of Triton and of CUDA graphs are launched by no operation that the profiler records.
#[test]
fn kernels_that_no_operation_launched_have_entries_of_their_own() {
    let kernel = |name: &str, launched_by, interval| KinetoEvent {
        device: Device::Cuda(0),
        launched_by,
        ..event(ActivityType::Kernel, name, 0, interval)
    };
    let flush = |interval| KinetoEvent { correlation: 7, ..operation("fill_", interval) };
    let script =
        KinetoEvent { correlation: 8, ..event(ActivityType::Other, "forward", MAIN, (210, 220)) };
    let steps = checked_steps(&[
        flush((0, 5)),
        step((100, 200)),
        // The flush of a cold case may still run when the step begins.
        kernel("fill", 7, (90, 101)),
        kernel("fill", 7, (101, 110)),
        kernel("mine", 0, (120, 150)),
        kernel("mine", 0, (150, 180)),
        KinetoEvent { correlation: 9, ..operation("gelu", (180, 185)) },
        kernel("gelu_kernel", 9, (185, 195)),
        step((200, 300)),
        script,
        kernel("mine", 0, (220, 250)),
        kernel("fused", 8, (250, 290)),
        kernel("later", 0, (300, 310)),
    ]);
    let figures: Vec<(&str, f64, Option<f64>)> =
        steps.operations.iter().map(|it| (&*it.name, it.calls, it.device_ns)).collect();
    assert_eq!(
        figures,
        [("mine", 1.5, Some(45.0)), ("fused", 0.5, Some(20.0)), ("gelu", 0.5, Some(5.0))]
    );
    let mine = found(&steps, "mine");
    assert_eq!((mine.self_ns, mine.total_ns, mine.input_bytes), (0.0, 0.0, None));
    assert!(mine.is_leaf && steps.has_device);
    assert_eq!((steps.step_ns, steps.outside_ns), (100.0, 97.5));
}

#[test]
fn without_a_step_there_is_nothing_to_take_apart() {
    let error = Steps::from_events(&[operation("exp", (0, 1))]).expect_err("no step");
    assert_eq!(error, "the profiler recorded no step");
}
