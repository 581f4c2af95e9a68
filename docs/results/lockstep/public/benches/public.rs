//! The cases as criterion's benchmarks.

mod cases;

use criterion::{Criterion, criterion_group, criterion_main};

fn public(c: &mut Criterion) {
    for (id, mut work) in cases::cases() {
        c.bench_function(id, |b| b.iter(&mut work));
    }
}

criterion_group!(benches, public);
criterion_main!(benches);
