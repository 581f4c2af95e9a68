use std::panic::{self, AssertUnwindSafe};

use tch::{CModule, Device, Kind, TchError};

use super::*;
use crate::border::tests::wave;

fn float(size: &[i64]) -> Tensor {
    wave(size, Kind::Float)
}

/// The reason why a step on one input cannot be traced.
fn reason(step: impl FnOnce(&Tensor) -> Result<Tensor, TchError>) -> Option<String> {
    let x = float(&[4, 8]);
    let trace = trace(&[&x], || step(&x)).expect("recorded");
    trace.untraceable().map(str::to_owned)
}

#[test]
fn a_step_is_written_down() {
    let (x, weight, unread) = (float(&[4, 8]), float(&[6, 8]), float(&[3]));
    let step = || x.f_linear(&weight, None::<Tensor>)?.f_mul_scalar(0.1)?.f_relu();
    let trace = trace(&[&x, &weight, &unread], step).expect("recorded");
    assert_eq!(trace.untraceable(), None);
    assert_eq!(trace.constants(), [""; 0]);
    let form = |size: &str| format!("Float({size}, requires_grad=0, device=cpu)");
    let result = form("4, 6, strides=[6, 1]");
    assert_eq!(
        trace.graph(),
        format!(
            "graph(%0 : {},\n      %1 : {},\n      %2 : {}):\n  \
             %3 : float = prim::Constant[value=0.10000000000000001]()\n  \
             %4 : NoneType = prim::Constant()\n  \
             %5 : {result} = aten::linear(%0, %1, %4)\n  \
             %6 : {result} = aten::mul(%5, %3)\n  \
             %7 : {result} = aten::relu(%6)\n  \
             return (%7)\n",
            form("4, 8, strides=[8, 1]"),
            form("6, 8, strides=[8, 1]"),
            form("3, strides=[1]")
        )
    );
}

#[test]
fn a_step_has_several_outputs() {
    let (x, weight) = (float(&[4, 8]), float(&[6, 8]));
    let step = || -> Result<_, TchError> {
        let y = x.f_linear(&weight, None::<Tensor>)?;
        Ok(vec![y.f_relu()?, y.f_mul_scalar(2)?])
    };
    let trace = trace_all(&[&x, &weight], step).expect("recorded");
    assert_eq!(trace.untraceable(), None);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("step.ts");
    trace.save(&path).expect("saved");
    let module = CModule::load(&path).expect("loads");
    let given = [&x, &weight].map(|it| tch::IValue::Tensor(it.shallow_clone()));
    let tch::IValue::Tuple(outputs) = module.forward_is(&given).expect("runs") else {
        panic!("a tuple")
    };
    let expected = step().expect("runs");
    let expected = expected.into_iter().map(tch::IValue::Tensor).collect::<Vec<_>>();
    assert_eq!(outputs, expected);
    let none = trace_all(&[&x], || Ok::<_, Error>(vec![])).expect_err("there is no output");
    assert!(none.to_string().contains("failed"), "{none}");
    let given_back = |x: &Tensor| vec![x.relu(), x.tr()];
    let back = trace_all(&[&x], || Ok::<_, Error>(given_back(&x))).expect("recorded");
    assert_eq!(back.untraceable(), Some("its output is its input 0, or a view of it"));
}

#[test]
fn the_text_tells_steps_apart() {
    let text = |x: &Tensor, factor: f64, tensor: &Tensor| {
        trace(&[x], || x.f_mul_scalar(factor)?.f_add(tensor)).expect("recorded").graph().to_owned()
    };
    let number = |number: f64| Tensor::from(number);
    let (x, one) = (float(&[2, 4]), number(1.0));
    let reference = text(&x, 0.1, &one);
    assert_eq!(text(&float(&[2, 4]), 0.1, &number(1.0)), reference, "the same step elsewhere");
    for (what, other) in [
        ("size", text(&float(&[4, 2]), 0.1, &one)),
        ("strides", text(&float(&[4, 2]).tr(), 0.1, &one)),
        ("dtype", text(&x.to_kind(Kind::BFloat16), 0.1, &one)),
        ("a number's last bit", text(&x, f64::from_bits(0.1f64.to_bits() + 1), &one)),
        ("a tensor's last bit", text(&x, 0.1, &number(1.0 + f64::EPSILON))),
        ("a tensor's dtype", text(&x, 0.1, &number(1.0).to_kind(Kind::Float))),
    ] {
        assert_ne!(other, reference, "{what}");
    }
}

#[test]
fn tensors_that_are_no_inputs_are_constants() {
    let (x, weight, scale) = (float(&[4, 8]), float(&[8, 8]), Tensor::from(2.0));
    let step = || x.f_mm(&weight)?.f_mul(&scale);
    let recorded = trace(&[&x], step).expect("recorded");
    assert_eq!(recorded.constants(), ["float32 [8, 8]"]);
    assert_eq!(recorded.untraceable(), None);
    // Another tensor on an input's storage is not that input.
    let view = weight.tr();
    let step = || x.f_mm(&view.f_to_kind(Kind::BFloat16)?.f_to_kind(Kind::Float)?);
    let recorded = trace(&[&x, &weight], step).expect("recorded");
    assert_eq!(recorded.constants(), ["float32 [8, 8]"]);
    // As are the tensors of another thread, whose work is not recorded.
    let step = || x.f_add(&std::thread::spawn(|| float(&[4, 8]).abs()).join().expect("no panic"));
    let recorded = trace(&[&x], step).expect("recorded");
    assert_eq!(recorded.constants(), ["float32 [4, 8]"]);
}

#[test]
fn inputs_may_share_memory() {
    let weights = float(&[2, 8, 8]);
    let (first, second, both) = (weights.get(0), weights.get(1), weights.view([16, 8]));
    let step = || both.f_mm(&first)?.f_mm(&second);
    let recorded = trace(&[&first, &second, &both], step).expect("recorded");
    assert_eq!((recorded.untraceable(), recorded.constants().len()), (None, 0));
    assert!(recorded.graph().contains("aten::mm(%2, %0)"), "{}", recorded.graph());
}

#[test]
fn the_same_tensor_twice_is_refused() {
    let x = float(&[4, 4]);
    let refused = trace(&[&x, &float(&[1]), &x.shallow_clone()], || x.f_mm(&x));
    let refused = refused.expect_err("refused").to_string();
    assert!(refused.contains("inputs 0 and 2 of the trace are the same tensor"), "{refused}");
    let undefined = trace(&[&x, &Tensor::new()], || x.f_abs()).expect_err("refused").to_string();
    assert!(undefined.contains("input 1 of the trace is undefined"), "{undefined}");
}

#[test]
fn an_output_that_no_operation_made_is_refused() {
    let x = float(&[4]);
    let unrelated = float(&[4]);
    let refused = trace(&[&x], || Ok::<_, TchError>(unrelated.shallow_clone()))
        .expect_err("refused")
        .to_string();
    assert!(refused.contains("float32 [4], comes from no operation"), "{refused}");
}

#[test]
fn a_number_out_of_a_tensor_is_seen() {
    let seen = |operation: &str| Some(format!("it takes a number out of a tensor ({operation})"));
    let item = seen("aten::_local_scalar_dense");
    assert_eq!(reason(|x| x.f_mul_scalar(x.f_sum(None)?.f_double_value(&[])?)), item);
    assert_eq!(
        reason(|x| if x.f_allclose(x, 0.0, 0.0, false)? { x.f_abs() } else { x.f_neg() }),
        item
    );
    let either = |x: &Tensor| if x.f_equal(x)? { x.f_abs() } else { x.f_neg() };
    assert_eq!(reason(either), seen("aten::equal"));
    // A number that the operation itself reads is part of it.
    assert_eq!(reason(|x| x.f_index_select(0, &x.f_argmax(0, false)?.f_clamp_max(3)?)), None);
    assert_eq!(reason(|x| x.f_repeat_interleave_self_int(2, 0, None)), None);
}

/// Writes into a tensor behind libtorch's back.
fn fill(tensor: &Tensor, value: f32) {
    assert_eq!(tensor.kind(), Kind::Float);
    // SAFETY: contiguous, of that many numbers of that type, and nobody else's.
    let numbers =
        unsafe { std::slice::from_raw_parts_mut(tensor.data_ptr().cast::<f32>(), tensor.numel()) };
    numbers.fill(value);
}

#[test]
fn work_outside_of_libtorch_is_seen() {
    let unwritten = |reason: Option<String>| {
        let reason = reason.expect("seen");
        assert!(
            reason.starts_with("it reads what no operation of libtorch has written"),
            "{reason}"
        );
        assert!(reason.contains("Float(4, 8, strides=[8, 1]"), "{reason}");
    };
    let own = |x: &Tensor| {
        let out = x.f_empty_like()?;
        fill(&out, 3.0);
        Ok(out)
    };
    unwritten(reason(|x| x.f_add(&own(x)?)));
    unwritten(reason(own));
    unwritten(reason(|x| own(x)?.f_view([-1])?.f_add(&x.f_view([-1])?)));
    unwritten(reason(|x| own(x)?.f_add_(x)));
    unwritten(reason(|x| Tensor::f_cat(&[x, &own(x)?], 0)));
    let elsewhere = |reason: Option<String>| {
        let reason = reason.expect("seen");
        assert!(reason.contains("give another output on the same inputs"), "{reason}");
    };
    elsewhere(reason(|x| x.f_add(&Tensor::f_from_slice(&[1.0f32; 8])?)));
    elsewhere(reason(|x| {
        let result = x.f_abs()?;
        fill(&result, 3.0);
        Ok(result)
    }));
    // Also if it is little of much.
    elsewhere(reason(|x| {
        let result = x.f_repeat([100_000, 1])?;
        fill(&result.f_narrow(0, 399_999, 1)?, 3.0);
        Ok(result)
    }));
}

#[test]
fn what_is_no_number_is_the_same() {
    assert_eq!(reason(|x| x.f_mul_scalar(f64::NAN)), None);
    assert_eq!(reason(|x| x.f_abs()?.f_div_scalar(0.0)), None);
}

#[test]
fn memory_that_operations_write_first_is_fine() {
    assert_eq!(reason(|x| x.f_abs_out(&x.f_empty_like()?)), None);
    // The out form of a view, as a layer writes its rows.
    assert_eq!(
        reason(|x| {
            let out = Tensor::f_empty([2, 2, 8], (Kind::Float, Device::Cpu))?;
            drop(x.f_abs_out(&out.f_view([-1, 8])?)?);
            Ok(out)
        }),
        None
    );
    assert_eq!(
        reason(|x| {
            let out = x.f_empty_like()?;
            drop(out.f_narrow(0, 0, 1)?.f_fill_(1.0)?);
            out.f_narrow(0, 1, 3)?.f_copy_(&x.f_narrow(0, 0, 3)?)?;
            out.f_neg()
        }),
        None
    );
    // Also beside lists of tensors.
    assert_eq!(
        reason(|x| {
            let parts = x.f_abs()?.f_chunk(2, 0)?;
            let out = parts[0].f_empty_like()?;
            drop(parts[1].f_neg_out(&out)?);
            Tensor::f_cat(&[&out, &parts[0]], 0)
        }),
        None
    );
    assert_eq!(reason(|x| x.f_empty_like()?.f_zeros_like()?.f_add(x)), None);
    // Nothing that nobody reads matters.
    assert_eq!(
        reason(|x| {
            fill(&x.f_empty_like()?, 1.0);
            x.f_abs()
        }),
        None
    );
}

#[test]
fn writing_into_an_input_is_seen() {
    let reason = reason(|x| x.f_view([-1])?.f_add_scalar_(1.0)).expect("seen");
    assert_eq!(reason, "it writes into its input 0");
}

#[test]
fn an_output_that_is_an_input_is_seen() {
    let given_back = Some("its output is its input 0, or a view of it".to_owned());
    assert_eq!(reason(|x| Ok(x.shallow_clone())), given_back);
    assert_eq!(reason(|x| x.f_view([-1])), given_back);
    assert_eq!(reason(|x| x.f_abs().and_then(|_| x.f_narrow(0, 1, 2))), given_back);
    // Whether something is copied may depend on the input.
    assert_eq!(reason(|x| x.f_reshape([8, 4])), given_back);
    assert_eq!(reason(|x| x.f_tr()?.f_reshape([-1])), None);
    assert_eq!(reason(|x| x.f_abs()?.f_view([-1])), None);
    let (x, weight) = (float(&[4]), float(&[4]));
    let recorded = trace(&[&x, &weight], || x.f_abs().and_then(|_| weight.f_view([2, 2])));
    let reason = recorded.expect("recorded").untraceable().map(str::to_owned);
    assert_eq!(reason.as_deref(), Some("its output is its input 1, or a view of it"));
}

#[test]
fn a_step_that_fails_leaves_no_trace() {
    let (x, other) = (float(&[4, 8]), float(&[3]));
    for _ in 0..2 {
        let failed = trace(&[&x], || x.f_abs()?.f_add(&other)).expect_err("fails").to_string();
        assert!(failed.contains("must match the size of tensor b (3)"), "{failed}");
        let caught = panic::catch_unwind(AssertUnwindSafe(|| {
            trace(&[&x], || -> Result<Tensor, TchError> {
                let _recorded = x.f_abs()?;
                panic!("in the step")
            })
        }));
        let payload = caught.expect_err("panics");
        assert_eq!(payload.downcast_ref(), Some(&"in the step"));
        let whole = trace(&[&x], || x.f_abs()).expect("recorded");
        assert_eq!(whole.graph().matches("aten::").count(), 1, "{}", whole.graph());
    }
}

#[test]
fn a_trace_inside_of_a_trace_is_refused() {
    let x = float(&[4]);
    let outer = trace(&[&x], || {
        let inner = trace(&[&x], || x.f_neg()).expect_err("refused").to_string();
        assert!(inner.contains("being traced on this thread already"), "{inner}");
        // Another thread may.
        std::thread::spawn(|| {
            let x = float(&[4]);
            drop(trace(&[&x], || x.f_neg()).expect("recorded"));
        })
        .join()
        .expect("no panic");
        x.f_abs()
    })
    .expect("recorded");
    assert!(outer.graph().contains("aten::abs") && !outer.graph().contains("aten::neg"));
}

#[test]
fn bits_as_another_dtype_are_copied() {
    // TorchScript itself would take the dtype for a size here.
    let x = wave(&[4, 8], Kind::BFloat16);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("step.ts");
    let last = || x.f_abs()?.f_view_dtype(Kind::Int16);
    let inside = || x.f_view_dtype(Kind::Int16)?.f_add_scalar(1)?.f_view_dtype(Kind::Half)?.f_neg();
    for step in [&last as &dyn Fn() -> Result<Tensor, TchError>, &inside] {
        let recorded = trace(&[&x], step).expect("recorded");
        assert_eq!(recorded.untraceable(), None);
        assert!(recorded.graph().contains("aten::view_copy(%"), "{}", recorded.graph());
        recorded.save(&path).expect("written");
        let module = CModule::load(&path).expect("loads");
        let found = module.forward_ts(&[&x]).expect("runs");
        assert_eq!(found.view_dtype(Kind::Int16), step().expect("runs").view_dtype(Kind::Int16));
    }
}

#[test]
fn gradients_are_no_part_of_it() {
    let weight = float(&[8, 8]).set_requires_grad(true);
    let x = float(&[4, 8]);
    let recorded = trace(&[&x, &weight], || x.f_mm(&weight)?.f_relu()).expect("recorded");
    assert!(!recorded.graph().contains("requires_grad=1"), "{}", recorded.graph());
    assert_eq!(recorded.untraceable(), None);
}

#[test]
fn what_is_saved_is_loaded() {
    let (x, weight, unread) = (float(&[4, 8]), float(&[8, 8]), float(&[2]));
    let factor = Tensor::from(0.3);
    let step = || x.f_mm(&weight)?.f_gelu("none")?.f_mul(&factor);
    let recorded = trace(&[&x, &weight, &unread], step).expect("recorded");
    assert_eq!(recorded.untraceable(), None);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("step.ts");
    // On another thread, too: a trace may be handed on.
    std::thread::spawn({
        let path = path.clone();
        move || recorded.save(&path)
    })
    .join()
    .expect("no panic")
    .expect("written");
    let module = CModule::load(&path).expect("loads");
    assert_eq!(module.forward_ts(&[&x, &weight, &unread]).expect("runs"), step().expect("runs"));
    let other = float(&[5, 8]);
    assert_eq!(module.forward_ts(&[&other, &weight, &unread]).expect("runs").size(), [5, 8]);
    assert!(module.forward_ts(&[&x, &weight]).is_err(), "one is missing");

    let recorded = trace(&[&x], || x.f_abs()).expect("recorded");
    let refused = recorded.save(&folder.path().join("none/step.ts")).expect_err("refused");
    assert!(refused.to_string().contains("none"), "{refused}");
}
