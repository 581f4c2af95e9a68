use super::*;
use crate::border::tests::wave;

const STEPS: usize = 5;

fn numbers(tensor: &Tensor) -> Vec<f64> {
    Vec::try_from(tensor.to_kind(Kind::Double).reshape([-1])).expect("numbers")
}

/// Parameters of two sizes, and their gradients of each step.
fn parameters(kind: Kind) -> Vec<Tensor> {
    vec![wave(&[3, 5], kind), wave(&[7], kind)]
}

fn gradients(parameters: &[Tensor], step: usize) -> Vec<Tensor> {
    parameters.iter().map(|it| (it * 0.5 + 0.1 * (step as f64 + 1.0)).cos()).collect()
}

/// Steps both the optimizer and, number by number in float64, its formula, whose state are two numbers.
fn compare(
    kind: Kind,
    tolerance: f64,
    mut step: impl FnMut(&[&Tensor], &[&Tensor]) -> Result<(), Error>,
    formula: impl Fn(&mut f64, f64, &mut [f64; 2], usize),
) {
    let found = parameters(kind);
    let mut expected: Vec<f64> = found.iter().flat_map(numbers).collect();
    let mut states = vec![[0.0; 2]; expected.len()];
    for count in 1..=STEPS {
        let gradients = gradients(&found, count);
        let scalars: Vec<f64> = gradients.iter().flat_map(numbers).collect();
        let both: (Vec<_>, Vec<_>) = found.iter().zip(&gradients).unzip();
        step(&both.0, &both.1).expect("a step");
        for ((parameter, gradient), state) in expected.iter_mut().zip(scalars).zip(&mut states) {
            formula(parameter, gradient, state, count);
        }
        for (found, expected) in found.iter().flat_map(numbers).zip(&mut expected) {
            let error = (found - *expected).abs();
            assert!(error <= tolerance, "{kind:?}, step {count}: {found}, expected {expected}");
            // The next gradients are those of the parameters as they were rounded.
            *expected = found;
        }
    }
}

const DTYPES: [(Kind, f64); 3] =
    [(Kind::Double, 1e-14), (Kind::Float, 1e-6), (Kind::BFloat16, 8e-3)];

#[test]
fn sgd_is_its_formula() {
    for (kind, tolerance) in DTYPES {
        let plain = SgdOptions { lr: 0.1, ..SgdOptions::default() };
        let momentum = SgdOptions { momentum: 0.9, dampening: 0.3, weight_decay: 0.1, ..plain };
        let nesterov = SgdOptions { dampening: 0.0, nesterov: true, ..momentum };
        for options in [SgdOptions::default(), plain, momentum, nesterov] {
            let mut sgd = Sgd::new(options);
            let formula = |parameter: &mut f64, gradient: f64, state: &mut [f64; 2], step| {
                let mut gradient = gradient + options.weight_decay * *parameter;
                if options.momentum != 0.0 {
                    let fresh = if step == 1 { 1.0 } else { 1.0 - options.dampening };
                    state[0] = options.momentum * state[0] + fresh * gradient;
                    let nesterov = gradient + options.momentum * state[0];
                    gradient = if options.nesterov { nesterov } else { state[0] };
                }
                *parameter -= options.lr * gradient;
            };
            compare(kind, tolerance, |a, b| sgd.step(a, b), formula);
            let states = if options.momentum == 0.0 { 0 } else { 2 };
            assert_eq!(sgd.state().count(), states);
        }
    }
}

#[test]
fn adamw_is_its_formula() {
    for (kind, tolerance) in DTYPES {
        let fast = AdamWOptions { lr: 0.1, beta1: 0.8, beta2: 0.95, eps: 1e-3, weight_decay: 0.2 };
        for options in [AdamWOptions::default(), fast] {
            let mut adamw = AdamW::new(options);
            let formula = |parameter: &mut f64, gradient: f64, state: &mut [f64; 2], step| {
                *parameter *= 1.0 - options.lr * options.weight_decay;
                state[0] = options.beta1 * state[0] + (1.0 - options.beta1) * gradient;
                state[1] = options.beta2 * state[1] + (1.0 - options.beta2) * gradient * gradient;
                let average = state[0] / (1.0 - options.beta1.powi(step as i32));
                let square: f64 = state[1] / (1.0 - options.beta2.powi(step as i32));
                *parameter -= options.lr * average / (square.sqrt() + options.eps);
            };
            compare(kind, tolerance, |a, b| adamw.step(a, b), formula);
            // Two averages and a count of each parameter.
            assert_eq!(adamw.state().count(), 6);
        }
    }
}

#[test]
fn parameters_that_require_gradients_are_updated_in_place() {
    let parameter = wave(&[3], Kind::Float).set_requires_grad(true);
    let before = parameter.detach().copy();
    let gradient = wave(&[3], Kind::Float);
    Sgd::new(SgdOptions::default()).step(&[&parameter], &[&gradient]).expect("a step");
    let after_sgd = parameter.detach().copy();
    assert!(!after_sgd.equal(&before));
    AdamW::new(AdamWOptions::default()).step(&[&parameter], &[&gradient]).expect("a step");
    assert!(!parameter.detach().equal(&after_sgd));
    assert!(parameter.is_leaf() && parameter.requires_grad());
}

#[test]
fn what_does_not_fit_is_an_error() {
    let (one, other) = (wave(&[3], Kind::Float), wave(&[4], Kind::Float));
    let mut adamw = AdamW::new(AdamWOptions::default());
    let error = adamw.step(&[&one, &other], &[&one]).expect_err("one gradient is missing");
    let text = "2 parameters, but 1 gradients or states of an optimizer";
    assert_eq!(error, Error::Torch(text.to_owned()));
    adamw.step(&[&one], &[&one]).expect("a step");
    adamw.step(&[&one, &other], &[&one, &other]).expect_err("the state is that of one");
    Sgd::new(SgdOptions::default()).step(&[&one], &[]).expect_err("no gradient");
}
