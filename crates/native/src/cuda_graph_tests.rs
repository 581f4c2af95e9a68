use tch::{Device, Kind, Tensor};

use super::*;
use crate::cuda;

fn capture(step: impl Fn() -> Result<Vec<Tensor>, Error>) -> Result<Graph, Error> {
    Graph::capture(0, 2, step)
}

/// Members are looked up before the device, so that a program with CUDA notices on any machine when another libtorch
/// has no such class.
#[test]
fn without_a_device_nothing_is_run_and_the_error_says_why() {
    let build = cuda::build().expect("always answers");
    if build.as_ref().is_some_and(|build| build.devices > 0) {
        return;
    }
    let error = capture(|| panic!("there is nothing to run it on")).expect_err("no device");
    let expected = match build {
        None => "CUDA is not linked",
        Some(_) => "libtorch has CUDA, but finds no usable CUDA device",
    };
    assert!(error.to_string().starts_with(expected), "{error}");
}

#[test]
fn a_replay_computes_on_the_inputs_of_now() {
    if cuda::build().expect("always answers").is_none_or(|build| build.devices == 0) {
        crate::skip::hardware("no CUDA device");
        return;
    }
    let mut x = Tensor::ones([64, 64], (Kind::Float, Device::Cuda(0)));
    let input = x.shallow_clone();
    let graph = capture(move || Ok(vec![input.matmul(&input) + 1])).expect("captured");
    let output = graph.outputs()[0].shallow_clone();
    graph.replay().expect("replayed");
    assert_eq!(output.double_value(&[3, 5]), 65.0);
    drop(x.fill_(2.0));
    graph.replay().expect("replayed");
    assert_eq!(graph.outputs()[0].double_value(&[3, 5]), 257.0);
    assert_eq!(graph.outputs()[0].data_ptr(), output.data_ptr());
    assert!(graph.pool_bytes() > 0);
}

#[test]
fn what_waits_for_the_device_cannot_be_captured_and_harms_no_later_work() {
    if cuda::build().expect("always answers").is_none_or(|build| build.devices == 0) {
        crate::skip::hardware("no CUDA device");
        return;
    }
    let x = Tensor::ones([8], (Kind::Float, Device::Cuda(0)));
    let waits = || {
        let sum = x.f_sum(Kind::Float).map_err(|error| Error::of_tch(&error))?;
        let host = sum.f_to_device(Device::Cpu).map_err(|error| Error::of_tch(&error))?;
        Ok(vec![host])
    };
    let error = capture(waits).expect_err("a copy to the host waits");
    assert!(error.to_string().contains("captur"), "{error}");
    assert_eq!((&x + 1).double_value(&[0]), 2.0);
    // The generator refuses to work outside of a capture that has not ended for it.
    let random = Tensor::rand([8], (Kind::Float, Device::Cuda(0)));
    assert!(random.max().double_value(&[]) < 1.0);
    let graph = capture(|| Ok(vec![&x + &random])).expect("captured");
    graph.replay().expect("replayed");
    let difference = (&graph.outputs()[0] - &random - 1).abs().max().double_value(&[]);
    assert!(difference < 1e-6, "{difference}");
}
