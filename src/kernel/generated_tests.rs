use std::cell::Cell;

use plan::Device;
use serde_json::json;

use super::*;
use crate::kernel::{Element, slice};

fn context(dtype: Dtype) -> KernelContext {
    let (device, place) = (Device::Cpu, tch::Device::Cpu);
    KernelContext { work: (), dtype, device, torch_device: place, threads: 1, seed: 7 }
}

fn given(fields: &[(&str, Value)]) -> Fields {
    fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

#[test]
fn fields_are_read_by_their_own_types_and_shown_again() {
    let given = given(&[("grid", json!([2, 3])), ("tolerance", json!(1e-6)), ("steps", json!(-1))]);
    assert_eq!(read::<[usize; 2]>(&given, "grid"), Ok(Some([2, 3])));
    assert_eq!(required::<f64>(&given, "tolerance"), Ok(1e-6));
    assert_eq!(read::<u32>(&given, "absent"), Ok(None));
    assert_eq!(show(&[2_usize, 3]), json!([2, 3]));
    let refused = |refusal: Refusal| refusal.to_string();
    let negative = refused(read::<u32>(&given, "steps").unwrap_err());
    assert!(negative.contains("`steps: -1`") && negative.contains("u32"), "{negative}");
    let long = refused(required::<[usize; 3]>(&given, "grid").unwrap_err());
    assert!(long.contains("`grid: [2,3]`"), "{long}");
    let absent = refused(required::<u32>(&given, "absent").unwrap_err());
    assert!(absent.contains("`absent` is missing"), "{absent}");
}

#[test]
fn a_generic_kernel_is_built_in_its_precision() {
    fn dtype<T: Element>() -> Result<Dtype, Refusal> {
        Ok(T::DTYPE)
    }
    for precision in Dtype::PRECISIONS {
        let found = in_precision!(&context(*precision), T => dtype::<T>());
        match precision {
            Dtype::Float8E4M3Fn => {
                let Err(Refusal::Unsupported(why)) = found else { panic!("{found:?}") };
                assert!(why.starts_with("cpu, fp8: "), "{why}");
            }
            other => assert_eq!(found, Ok(*other)),
        }
    }
}

/// Writes down when one is there.
struct Counted;

thread_local! {
    static THERE: Cell<i64> = const { Cell::new(0) };
    static MOST: Cell<i64> = const { Cell::new(0) };
}

impl Drop for Counted {
    fn drop(&mut self) {
        THERE.set(THERE.get() - 1);
    }
}

impl IntoTensor for Counted {
    fn into_tensor(self) -> Result<Tensor, Refusal> {
        Ok(Tensor::f_from_slice(&[1.0])?)
    }
}

fn left(step: &Step) -> Tensor {
    step.left().unwrap().expect("a step leaves its output")
}

/// The step of a kernel without inputs.
fn step_of(kernel: &UserKernel) -> Step {
    let Inputs { examples, parameters } = kernel.computation.inputs().unwrap();
    assert!(examples.is_empty() && parameters.is_empty());
    kernel.computation.build(Inputs::default()).unwrap()
}

#[test]
fn of_a_function_there_is_one_output_at_a_time() {
    let parts = Function {
        run: |(), _| {
            THERE.set(THERE.get() + 1);
            MOST.set(MOST.get().max(THERE.get()));
            Ok(Counted)
        },
        flops: None,
        bytes: None,
    };
    let problem = Problem::without_task((), Fields::new(), None);
    let it = function(problem, &context(Dtype::Float64), parts).unwrap();
    let step = step_of(&it);
    assert!(step.left().is_err(), "nothing has run");
    for _ in 0..3 {
        drop(step.run().unwrap());
    }
    assert_eq!((MOST.get(), THERE.get()), (1, 1));
    // It can be asked for again.
    for _ in 0..2 {
        assert_eq!(left(&step).double_value(&[0]), 1.0);
    }
    assert_eq!(step.runs.get(), 3);
    assert_eq!(it.computation.reference(Inputs::default()).unwrap(), None);
}

#[test]
fn a_function_of_numbers_is_refused_on_another_device_before_it_runs() {
    fn refusal<R: IntoTensor + 'static>(
        run: fn(&'static (), &'static KernelContext) -> Result<R, Refusal>,
    ) -> String {
        let parts = Function { run, flops: None, bytes: None };
        let context = KernelContext { device: Device::Cuda, ..context(Dtype::Float32) };
        let problem = Problem::without_task((), Fields::new(), None);
        function(problem, &context, parts).map(|_| ()).unwrap_err().to_string()
    }
    let one = refusal(|(), _| -> Result<f32, Refusal> { panic!("it does not run") });
    assert!(one.contains("returns numbers of the host"), "{one}");
    assert_eq!(refusal(|(), _| -> Result<Vec<f64>, Refusal> { panic!("it does not run") }), one);
}

#[test]
fn a_function_draws_the_same_at_every_call_and_for_its_reference() {
    fn drawn(size: &usize, context: &KernelContext) -> Result<Tensor, Refusal> {
        let (x, y) = (context.normal(&[*size])?, context.uniform(&[*size], (0.0, 1.0))?);
        Ok(x.f_add(&y)?)
    }
    let parts = Function {
        run: drawn,
        flops: Some(|size| 2 * *size as u64),
        bytes: Some(|size, dtype| *size as u64 * dtype.bytes()),
    };
    let problem = Problem::without_task(5_usize, Fields::new(), Some(drawn));
    let it = function(problem, &context(Dtype::Float64), parts).unwrap();
    let step = step_of(&it);
    // Nobody else draws meanwhile.
    let _drawing = crate::inputs::seeded(1);
    let once = || {
        drop(step.run().unwrap());
        slice::<f64>(&left(&step)).unwrap().to_vec()
    };
    let first = once();
    assert_eq!(once(), first);
    assert!(first.windows(2).any(|pair| pair[0] != pair[1]));
    let reference = it.computation.reference(Inputs::default()).unwrap().unwrap();
    assert_eq!(slice::<f64>(&reference).unwrap(), first);
    assert_eq!((it.cost)(), (Some(10), Some(40)));
}
