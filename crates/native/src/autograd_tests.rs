use std::sync::Weak;

use tch::Kind;

use super::*;
use crate::border::tests::wave;

/// Products in the dtype of the tensors; or the failure that it is named for.
enum Plain {
    Fine,
    FailsForward,
    FailsBackward,
    PanicsForward,
    PanicsBackward,
}

impl LinearFunction for Plain {
    fn forward(&self, input: &Tensor, weight: &Tensor) -> Result<Tensor, TchError> {
        match self {
            Self::FailsForward => input.f_mm(input),
            Self::PanicsForward => panic!("no forward"),
            _ => input.f_mm(&weight.f_tr()?),
        }
    }

    fn backward(
        &self,
        grad_output: &Tensor,
        input: &Tensor,
        weight: &Tensor,
    ) -> Result<(Tensor, Tensor), TchError> {
        match self {
            Self::FailsBackward => {
                Err(TchError::Torch("DefaultCPUAllocator: not enough memory\nframe #0".to_owned()))
            }
            Self::PanicsBackward => panic!("{}", "no backward".to_owned()),
            _ => Ok((grad_output.f_mm(weight)?, grad_output.f_tr()?.f_mm(input)?)),
        }
    }
}

fn arc(function: Plain) -> (Arc<dyn LinearFunction>, Weak<dyn LinearFunction>) {
    let function: Arc<dyn LinearFunction> = Arc::new(function);
    let weak = Arc::downgrade(&function);
    (function, weak)
}

fn variable(size: &[i64]) -> Tensor {
    wave(size, Kind::Double).set_requires_grad(true)
}

#[test]
fn it_gives_the_functions_own_bits_while_gradients_are_off() {
    let (input, weight) = (variable(&[5, 3]), variable(&[7, 3]));
    let grad_output = wave(&[5, 7], Kind::Double);
    let (function, weak) = arc(Plain::Fine);
    let _off = tch::no_grad_guard();
    let output = linear(&input, &weight, &function).expect("computed");
    drop(function);
    assert!(weak.upgrade().is_some(), "the graph holds the function");
    assert_eq!(output, Plain::Fine.forward(&input, &weight).expect("computed"));
    let found = gradients(&output, &grad_output, &[&weight, &input], false).expect("computed");
    let (grad_input, grad_weight) =
        Plain::Fine.backward(&grad_output, &input, &weight).expect("computed");
    assert_eq!(found, [grad_weight, grad_input]);
    drop(output);
    assert!(weak.upgrade().is_none(), "the function outlives its graph");
    assert!(!tch::Tensor::from(1.0).set_requires_grad(true).exp().requires_grad(), "still off");
}

#[test]
fn torchs_own_operations_join_the_graph() {
    let (input, weight) = (variable(&[5, 3]), variable(&[7, 3]));
    let (function, _) = arc(Plain::Fine);
    let through = |layer: &dyn Fn(&Tensor) -> Tensor| {
        let output = layer(&input.sin()).relu();
        gradients(&output, &output.ones_like(), &[&input, &weight], false).expect("computed")
    };
    let custom = through(&|x| linear(x, &weight, &function).expect("computed"));
    let plain = through(&|x| x.linear(&weight, None::<&Tensor>));
    for (custom, plain) in custom.iter().zip(&plain) {
        assert!(custom.allclose(plain, 1e-12, 1e-14, false));
    }
}

#[test]
fn the_backward_pass_may_run_on_another_thread() {
    let (input, weight) = (variable(&[5, 3]), variable(&[7, 3]));
    let (function, weak) = arc(Plain::Fine);
    let output = linear(&input, &weight, &function).expect("computed");
    drop(function);
    let expected = wave(&[5, 7], Kind::Double).mm(&weight);
    let other = std::thread::spawn(move || {
        gradients(&output, &wave(&[5, 7], Kind::Double), &[&input], false).expect("computed")
    });
    assert_eq!(other.join().expect("no panic"), [expected]);
    assert!(weak.upgrade().is_none());
}

#[test]
fn failures_and_panics_come_back_as_errors() {
    let (input, weight) = (variable(&[5, 3]), variable(&[7, 3]));
    let forward = |function| {
        let (function, weak) = arc(function);
        let error = linear(&input, &weight, &function).expect_err("it fails");
        drop(function);
        assert!(weak.upgrade().is_none(), "a function that failed is not dropped");
        error
    };
    let shapes = "mat1 and mat2 shapes cannot be multiplied (5x3 and 5x3)".to_owned();
    assert_eq!(forward(Plain::FailsForward), Error::Torch(shapes));
    let panicked = "the forward pass of a linear layer panicked: no forward".to_owned();
    assert_eq!(forward(Plain::PanicsForward), Error::Torch(panicked));

    let backward = |function| {
        let (function, _) = arc(function);
        let output = linear(&input, &weight, &function).expect("computed");
        gradients(&output, &output.ones_like(), &[&input], false).expect_err("it fails")
    };
    let memory = "DefaultCPUAllocator: not enough memory".to_owned();
    assert_eq!(backward(Plain::FailsBackward), Error::OutOfMemory(memory));
    let panicked = "the backward pass of a linear layer panicked: no backward".to_owned();
    assert_eq!(backward(Plain::PanicsBackward), Error::Torch(panicked));
}

#[test]
fn an_input_outside_of_the_graph_is_an_error() {
    let (input, weight) = (variable(&[5, 3]), variable(&[7, 3]));
    let (function, _) = arc(Plain::Fine);
    let output = linear(&input, &weight, &function).expect("computed");
    let error =
        gradients(&output, &output.ones_like(), &[&variable(&[2])], false).expect_err("unused");
    assert!(error.to_string().contains("not have been used in the graph"), "{error}");
}
