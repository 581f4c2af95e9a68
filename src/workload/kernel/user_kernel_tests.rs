use plan::{Dtype, JsonFloat, KernelTolerances, Work};
use serde_json::json;
use tch::Kind;

use super::testing::{CASE_FILE, case};
use super::user_kernel::{Runs, UNVERIFIED, prepare};
use super::*;
use crate::kernel::generated::{self, Entry, Fields, Function, Problem, UserKernel};
use crate::kernel::{self, Element, slice, tensor};

/// 2.5x + y of drawn vectors; what goes wrong in it is its problem size.
struct Saxpy<T> {
    y: Vec<T>,
    z: Vec<T>,
    wrong: Wrong,
    runs: u32,
}

#[derive(Clone, Copy, PartialEq, serde::Deserialize, serde::Serialize)]
enum Wrong {
    Nothing,
    WorksInPlace,
    OneElement,
    Nan,
    Dtype,
    Errors,
    HasNoInputs,
    HasNoReference,
    WorksInPlaceWithoutReference,
    Drifts,
    DriftsALittle,
    DriftsWithoutReference,
    Panics,
}

const ELEMENTS: usize = 100;

impl kernel::Task for Wrong {
    fn inputs(&self, context: &KernelContext) -> Result<Inputs, Refusal> {
        if *self == Wrong::HasNoInputs {
            return Err(context.unsupported("not here"));
        }
        let draw = || context.normal(&[ELEMENTS / 2, 2]);
        Ok(Inputs { examples: vec![draw()?], parameters: vec![draw()?] })
    }

    fn reference(&self, inputs: &Inputs, _: &KernelContext) -> Result<Option<Tensor>, Refusal> {
        use Wrong::{DriftsWithoutReference, HasNoReference, WorksInPlaceWithoutReference};
        if matches!(self, HasNoReference | WorksInPlaceWithoutReference | DriftsWithoutReference) {
            return Ok(None);
        }
        Ok(Some(inputs.examples[0].f_mul_scalar(2.5)?.f_add(&inputs.parameters[0])?))
    }
}

impl<T: Element> kernel::Kernel for Saxpy<T> {
    type ProblemSize = Wrong;

    fn prepare(size: &Wrong, y: &[Tensor], _: &KernelContext) -> Result<Self, Refusal> {
        let z = vec![T::from_f64(0.0); ELEMENTS];
        Ok(Self { y: slice(&y[0])?.to_vec(), z, wrong: *size, runs: 0 })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let x = slice::<T>(&examples[0])?;
        for ((z, x), y) in self.z.iter_mut().zip(x).zip(&self.y) {
            *z = T::narrow(T::wide(*x) * T::Wide::from_f64(2.5) + T::wide(*y));
        }
        self.runs += 1;
        match self.wrong {
            Wrong::Drifts | Wrong::DriftsWithoutReference if self.runs > 5 => {
                self.z[7] = T::from_f64(100.0);
            }
            Wrong::DriftsALittle if self.runs > 5 => {
                self.z[7] *= T::from_f64(1.0 + 4.0 * f64::from(f32::EPSILON));
            }
            Wrong::WorksInPlace | Wrong::WorksInPlaceWithoutReference => {
                self.y.copy_from_slice(&self.z);
            }
            Wrong::OneElement => self.z[7] = T::from_f64(0.0),
            Wrong::Nan => self.z[7] = T::from_f64(f64::NAN),
            Wrong::Errors => return Err(Refusal::Unsupported("seven is unlucky".to_owned())),
            Wrong::Panics => panic!("a kernel that panics"),
            _ => {}
        }
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        let output = tensor(&self.z, &[ELEMENTS / 2, 2])?;
        Ok(if self.wrong == Wrong::Dtype { output.f_to_kind(Kind::Double)? } else { output })
    }

    fn flops(_: &Wrong) -> Option<u64> {
        Some(2 * ELEMENTS as u64)
    }

    fn bytes(_: &Wrong, dtype: Dtype) -> Option<u64> {
        Some(3 * ELEMENTS as u64 * dtype.bytes())
    }
}

fn problem(given: &Fields) -> Result<Problem<Wrong>, Refusal> {
    let wrong: Wrong = generated::required(given, "wrong")?;
    let shown = Fields::from([("wrong".to_owned(), generated::show(&wrong))]);
    Ok(Problem::of_task(wrong, shown))
}

fn make(given: &Fields, context: &KernelContext) -> Result<UserKernel, Refusal> {
    let problem = problem(given)?;
    crate::in_precision!(context, T => Ok(generated::kernel::<Saxpy<T>>(problem, context)))
}

/// A kernel of the same problem by libtorch.
struct Sibling(Tensor, Tensor);

impl kernel::Kernel for Sibling {
    type ProblemSize = Wrong;

    fn prepare(_: &Wrong, y: &[Tensor], _: &KernelContext) -> Result<Self, Refusal> {
        Ok(Self(y[0].shallow_clone(), y[0].f_zeros_like()?))
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        self.1 = examples[0].f_mul_scalar(2.5)?.f_add(&self.0)?;
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        Ok(self.1.shallow_clone())
    }
}

fn make_sibling(given: &Fields, context: &KernelContext) -> Result<UserKernel, Refusal> {
    Ok(generated::kernel::<Sibling>(problem(given)?, context))
}

const SIBLING: &str = "benches/kernels/saxpy/sibling.rs";
const ENTRIES: &[Entry] =
    &[Entry { file: CASE_FILE, kernel: make }, Entry { file: SIBLING, kernel: make_sibling }];

fn wrong(wrong: Wrong) -> Case {
    case(CASE_FILE, &[("wrong", generated::show(&wrong))])
}

fn prepared(case: &Case) -> Result<Kernel, Refusal> {
    prepare(ENTRIES, case)
}

/// Checked as the harness does it: after a first step.
fn checked(case: &Case) -> Result<(Accuracy, Kernel), Refusal> {
    let kernel = prepared(case)?;
    drop(kernel.step()?);
    Ok((kernel.check()?, kernel))
}

fn failure(of: Wrong) -> String {
    match checked(&wrong(of)).map(|(accuracy, _)| accuracy) {
        Err(Refusal::Failed(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_kernel_is_right_in_every_precision() {
    for (dtype, at_least) in [
        (Dtype::Float64, 300.0),
        (Dtype::Float32, 140.0),
        (Dtype::BFloat16, 45.0),
        (Dtype::Float16, 60.0),
    ] {
        let mut case = wrong(Wrong::Nothing);
        case.dtype = dtype;
        let (accuracy, kernel) = checked(&case).unwrap();
        assert!(accuracy.sqnr_db.0 > at_least, "{dtype}: {accuracy:?}");
        assert_eq!(accuracy.min_sqnr_db, crate::verify::kernel_min_sqnr_db(dtype, 4));
        assert_eq!(accuracy.rows_checked, ELEMENTS as u64 / 2);
        let facts = kernel.kernel().unwrap();
        assert_eq!(facts.problem_size["wrong"], json!("Nothing"));
        assert_eq!((facts.flops, facts.bytes), (Some(200), Some(300 * dtype.bytes())));
        assert_eq!((facts.has_reference, facts.runs), (true, 3));
        assert_eq!(facts.determinism_std, Some(JsonFloat(0.0)));
        let output = || kernel.step.left().unwrap().expect("it leaves its output").copy();
        let before = output();
        let bytes = ELEMENTS as u64 * dtype.bytes();
        assert_eq!((kernel.inputs_bytes(), kernel.weights_bytes()), (bytes, bytes));
        let kept = kernel.outputs_bytes();
        let displaced = kernel.rebuild().unwrap().expect("a kernel is prepared once more");
        assert_eq!(displaced.bytes, 2 * bytes + kept, "and its inputs are moved");
        drop(kernel.step().unwrap());
        assert!(output().equal(&before), "prepared anew, it computes something else");
        assert_eq!((kernel.notes(), kernel.kernels()), (vec![], vec![CASE_FILE.to_owned()]));
    }
    let mut case = wrong(Wrong::Nothing);
    case.dtype = Dtype::Float8E4M3Fn;
    let Err(Refusal::Unsupported(text)) = prepared(&case).map(drop) else { panic!() };
    assert!(text.starts_with("cpu, fp8"), "{text}");
}

#[test]
fn a_wrong_output_fails() {
    let one = failure(Wrong::OneElement);
    assert!(one.starts_with("inaccurate: ") && one.contains("104.4 dB of fp32"), "{one}");
    let nan = failure(Wrong::Nan);
    assert!(nan.contains("1 of 100 outputs are NaN"), "{nan}");
    let dtype = failure(Wrong::Dtype);
    assert!(dtype.contains("Double") && dtype.contains("Float"), "{dtype}");
}

#[test]
fn a_tolerance_that_is_exceeded_fails_by_name() {
    let mut case = wrong(Wrong::OneElement);
    let Work::Kernel(work) = &mut case.work else { panic!("a kernel's") };
    work.tolerances = KernelTolerances { max_error: Some(1e-6), ..KernelTolerances::default() };
    let Err(Refusal::Failed(text)) = checked(&case).map(drop) else { panic!("passed") };
    assert!(text.contains("`max_error` is ") && text.contains("tolerance of 1e-6"), "{text}");
}

#[test]
fn what_the_author_refuses_stays_what_it_is() {
    let kernel = prepared(&wrong(Wrong::Errors)).unwrap();
    let refused = Refusal::Unsupported("seven is unlucky".to_owned());
    assert_eq!(kernel.step().map(drop), Err(refused.clone()));
    assert_eq!(kernel.check().map(drop), Err(refused));
}

#[test]
fn a_kernel_that_works_in_place_is_found() {
    let text = failure(Wrong::WorksInPlace);
    assert!(text.starts_with("run 2 of 3 is wrong"), "{text}");
    let (_, kernel) = checked(&wrong(Wrong::WorksInPlaceWithoutReference)).unwrap();
    let spread = kernel.kernel().unwrap().determinism_std.unwrap().0;
    assert!(spread > 0.1, "{spread}");
    let notes = kernel.notes();
    assert!(
        notes[0].starts_with("no reference") && notes[1].contains("from run to run"),
        "{notes:?}"
    );
}

#[test]
fn what_is_right_at_first_alone_is_found_at_the_end() {
    let after = |of: Wrong, runs: usize| {
        let (_, kernel) = checked(&wrong(of)).unwrap();
        (0..runs).for_each(|_| drop(kernel.step().unwrap()));
        kernel.recheck()
    };
    // A difference within the limits may be a sum in another order.
    for right in [Wrong::Nothing, Wrong::HasNoReference, Wrong::DriftsALittle] {
        assert_eq!(after(right, 20), Ok(()));
    }
    // It differs from run to run anyway, and nothing is known of what it should be.
    assert_eq!(after(Wrong::WorksInPlaceWithoutReference, 20), Ok(()));
    for (drifts, what) in
        [(Wrong::Drifts, "inaccurate: "), (Wrong::DriftsWithoutReference, "its first runs agreed")]
    {
        assert_eq!(after(drifts, 2), Ok(()), "five runs");
        let Err(Refusal::Failed(text)) = after(drifts, 20) else { panic!("passed: {what}") };
        let expected = format!("the output changed since the check, after 23 runs: {what}");
        assert!(text.starts_with(&expected), "{text}");
    }
}

#[test]
fn an_output_on_another_device_has_its_remedy() {
    let case = wrong(Wrong::Nothing);
    let work = case.work.kernel().expect("a kernel's");
    let context = context(&case, (), tch::Device::Cpu);
    let kernel = make(&work.problem_size, &context).unwrap();
    let inputs = kernel.computation.inputs().unwrap();
    let on_cuda =
        KernelContext { device: plan::Device::Cuda, torch_device: tch::Device::Cuda(0), ..context };
    let runs = Runs::new(&case, work, on_cuda, &kernel, &inputs).unwrap();
    let step = kernel.computation.build(inputs).unwrap();
    drop(step.run().unwrap());
    let Err(Refusal::Failed(text)) = runs.output(&step) else { panic!("not failed") };
    assert!(text.contains("delete `cuda` from `backends`"), "{text}");
    assert!(text.contains("`context.unsupported`"), "{text}");
}

#[test]
fn tolerances_want_a_reference() {
    let mut case = wrong(Wrong::HasNoReference);
    let Work::Kernel(work) = &mut case.work else { panic!("a kernel's") };
    work.tolerances = KernelTolerances { max_error: Some(1e-6), ..KernelTolerances::default() };
    let Err(Refusal::Failed(text)) = prepared(&case).map(drop) else { panic!("prepared") };
    assert!(text.starts_with("`tolerances.max_error` is given"), "{text}");
}

#[test]
fn a_limit_without_a_reference_is_said_by_name() {
    let judged = |tolerances: KernelTolerances, min_sqnr_db: Option<f64>| {
        let mut case = case(CASE_FILE, &[]);
        case.settings.tolerance.min_sqnr_db = min_sqnr_db;
        let work =
            plan::KernelWork { tolerances, ..case.work.kernel().expect("a kernel's").clone() };
        crate::verify::Judge::user_kernel(&case, &work, None, 1).map(drop)
    };
    let none = KernelTolerances::default();
    assert_eq!(judged(none, None), Ok(()));
    for (tolerances, min_sqnr_db, name) in [
        (KernelTolerances { rmse: Some(0.0), ..none }, None, "`tolerances.rmse` is given"),
        (
            KernelTolerances { relative_error: Some(0.1), ..none },
            None,
            "`tolerances.relative_error`",
        ),
        (KernelTolerances { max_error: Some(0.1), ..none }, Some(3.0), "`tolerances.max_error`"),
        (none, Some(30.0), "`min_sqnr_db` is given"),
    ] {
        let Refusal::Failed(text) = judged(tolerances, min_sqnr_db).unwrap_err() else { panic!() };
        assert!(text.starts_with(name.trim_end_matches(" is given")), "{text}");
        assert!(text.contains("no reference"), "{text}");
    }
}

/// Blocks that could not be counted give a reason instead of a number.
#[test]
fn memory_that_cannot_be_told_has_a_reason() {
    let case = wrong(Wrong::Nothing);
    let mut kernel = prepared(&case).unwrap();
    assert_eq!(kernel.uncounted(), None);
    kernel.step.output_bytes = Err("too many blocks".to_owned());
    assert!(kernel.check().is_ok(), "it runs all the same");
    assert_eq!(kernel.uncounted().as_deref(), Some("too many blocks"));
}

#[test]
fn without_a_reference_it_is_unverified_and_measured() {
    let (accuracy, kernel) = checked(&wrong(Wrong::HasNoReference)).unwrap();
    assert!(accuracy.sqnr_db.0.is_nan());
    assert_eq!(accuracy.rows_checked, 0);
    assert_eq!(kernel.notes(), ["no reference: its output is unverified"]);
    assert!(!kernel.kernel().unwrap().has_reference);
}

#[test]
fn a_sibling_has_the_inputs_and_the_reference_of_its_folder() {
    let sibling = |wrong| case(SIBLING, &[("wrong", generated::show(&wrong))]);
    let (accuracy, kernel) = checked(&sibling(Wrong::Nothing)).unwrap();
    assert!(accuracy.sqnr_db.0 > 140.0, "it was given the same: {accuracy:?}");
    assert_eq!(kernel.notes(), [""; 0]);
    let bytes = 4 * ELEMENTS as u64;
    // The parameter that it keeps is not counted twice.
    assert_eq!((kernel.weights_bytes(), kernel.outputs_bytes()), (bytes, bytes));
    let (_, kernel) = checked(&sibling(Wrong::HasNoReference)).unwrap();
    assert_eq!(kernel.notes(), [UNVERIFIED]);
    let refused = prepared(&sibling(Wrong::HasNoInputs)).map(drop).unwrap_err();
    assert_eq!(refused, Refusal::Unsupported("cpu, fp32: not here".to_owned()));
}

#[test]
fn an_example_that_is_moved_is_what_the_next_step_reads() {
    for file in [CASE_FILE, SIBLING] {
        let kernel = prepared(&case(file, &[("wrong", json!("Nothing"))])).unwrap();
        let [mut x, _] = <[Tensor; 2]>::try_from(kernel.tensors()).expect("x and y");
        let before = x.data_ptr();
        let displaced = kernel.rebuild().unwrap();
        assert_ne!(x.data_ptr(), before, "{file}");
        drop(x.fill_(f64::INFINITY));
        drop(kernel.step().unwrap());
        let output = kernel.step.left().unwrap().expect("it leaves its output");
        assert_eq!(output.isinf().sum(tch::Kind::Int64).int64_value(&[]), ELEMENTS as i64);
        drop(displaced);
    }
}

#[test]
fn a_file_of_another_build_is_said() {
    let case = case("benches/kernels/gone.rs", &[]);
    let Err(Refusal::Failed(text)) = prepared(&case).map(drop) else { panic!("found") };
    assert!(text.contains("benches/kernels/gone.rs"), "{text}");
}

#[test]
fn a_function_is_a_kernel() {
    fn numbers(given: &Fields, context: &KernelContext) -> Result<UserKernel, Refusal> {
        let parts = Function {
            run: |count: &usize, _| Ok((0..*count).map(|it| it as f32).collect::<Vec<f32>>()),
            flops: None,
            bytes: None,
        };
        let count = generated::required(given, "count")?;
        let problem = Problem::without_task(
            count,
            given.clone(),
            Some(|count, _| Ok(Tensor::f_arange(*count as i64, (Kind::Double, tch::Device::Cpu))?)),
        );
        generated::function(problem, context, parts)
    }
    let entries = [Entry { file: CASE_FILE, kernel: numbers }];
    let kernel = prepare(&entries, &case(CASE_FILE, &[("count", json!(1000))])).unwrap();
    for _ in 0..2 {
        assert_eq!(kernel.check().unwrap().sqnr_db.0, f64::INFINITY);
    }
    assert_eq!(kernel.inputs_bytes(), 0);
}

#[test]
#[should_panic(expected = "a kernel that panics")]
fn a_panic_is_the_harness_s_to_catch() {
    drop(prepared(&wrong(Wrong::Panics)).unwrap().step());
}
