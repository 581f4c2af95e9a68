use criterion_torch::recipes;
use plan::{Float8Recipe, Recipe, TrainingSettings};
use std::time::Instant;
use tch::{Device, Kind, Tensor};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let mut size = args[2].split('x').map(|it| it.parse::<i64>().unwrap());
    let (m, k, n) = (size.next().unwrap(), size.next().unwrap(), size.next().unwrap());
    tch::set_num_threads(1);
    let _off = tch::no_grad_guard();
    let kind = Kind::BFloat16;
    let recipe = match args[1].as_str() {
        "baseline" => Recipe::Baseline,
        _ => Recipe::Float8 { recipe: Float8Recipe::Tensorwise },
    };
    let autograd = args.get(3).is_some_and(|it| it == "autograd");
    let w = (Tensor::rand([n, k], (kind, Device::Cpu)) - 0.5).set_requires_grad(autograd);
    let x = Tensor::randn([m, k], (kind, Device::Cpu)).set_requires_grad(autograd);
    let g = Tensor::randn([m, n], (kind, Device::Cpu));
    let layer =
        recipes::trained_with(recipe, &TrainingSettings::default(), false, w.shallow_clone())
            .unwrap();
    let step = || {
        if autograd {
            let y = layer.forward_autograd(&x).unwrap();
            let _g = native::autograd::gradients(&y, &g, &[&x, &w]).unwrap();
        } else {
            let _y = layer.forward(&x).unwrap();
            let _g = layer.backward(&x, &g).unwrap();
        }
    };
    let line = std::io::stdin().lines();
    for l in line {
        let reps: usize = l.unwrap().trim().parse().unwrap();
        let t = Instant::now();
        for _ in 0..reps {
            step();
        }
        println!("{}", t.elapsed().as_secs_f64() / reps as f64);
    }
}
