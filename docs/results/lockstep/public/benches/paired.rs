//! The cases as tango's benchmarks.

mod cases;

use tango_bench::{Benchmark, IntoBenchmarks, benchmark_fn, tango_benchmarks};

fn paired() -> impl IntoBenchmarks {
    let ids = cases::cases().into_iter().map(|(id, _)| id);
    let benchmark = |id: &'static str| {
        benchmark_fn(id, move |b| {
            let mut all = cases::cases();
            let place = all.iter().position(|(it, _)| *it == id).expect("there is one");
            let mut work = all.swap_remove(place).1;
            b.iter(move || work())
        })
    };
    ids.map(benchmark).collect::<Vec<Benchmark>>()
}

tango_benchmarks!(paired());
