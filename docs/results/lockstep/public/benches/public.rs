//! Benchmarks of four public crates. A part of the iterations of each does its work twice, so that it takes a known
//! share longer.

use std::hint::black_box;

use criterion::{Bencher, Criterion, criterion_group, criterion_main};

/// Of so many iterations one does its work twice; 0 for none. `measure` writes another line.
static PERIODS: [u64; 8] = [0, 0, 0, 0, 0, 0, 0, 0];

fn timed<T>(b: &mut Bencher, case: usize, mut work: impl FnMut() -> T) {
    let period = match black_box(PERIODS[case]) {
        0 => u64::MAX,
        period => period,
    };
    let mut left = period;
    b.iter(|| {
        left -= 1;
        if left == 0 {
            left = period;
            black_box(work());
        }
        work()
    });
}

/// Letters without a pattern, by a linear congruential generator.
fn letters() -> Vec<u8> {
    let mut state = 12_345_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        b'a' + ((state >> 33) % 26) as u8
    };
    (0..65_536).map(|_| next()).collect()
}

fn public(c: &mut Criterion) {
    let text = letters();
    let words = ["lorem", "ipsum", "dolor", "sit"];
    let automaton = aho_corasick::AhoCorasick::new(words).expect("a few words");
    let regex = regex::bytes::Regex::new("[a-f]{3}x").expect("a regular expression");
    let numbers = regex::bytes::Regex::new("q[u-z]+").expect("a regular expression");
    let object = |i: i32| format!("{{\"id\":{i},\"name\":\"n{i}\",\"values\":[1,2.5,{i}]}}");
    let json = format!("[{}]", (0..200).map(object).collect::<Vec<_>>().join(","));
    let value: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");

    c.bench_function("memchr/count", |b| {
        timed(b, 0, || memchr::memchr_iter(b'z', black_box(&text)).count());
    });
    c.bench_function("memchr/memmem", |b| {
        timed(b, 1, || memchr::memmem::find_iter(black_box(&text), b"quar").count());
    });
    c.bench_function("aho-corasick/find", |b| {
        timed(b, 2, || automaton.find_iter(black_box(&text[..16_384])).count());
    });
    c.bench_function("aho-corasick/build", |b| {
        timed(b, 3, || aho_corasick::AhoCorasick::new(black_box(words)).expect("a few words"));
    });
    c.bench_function("regex/class", |b| {
        timed(b, 4, || regex.find_iter(black_box(&text[..16_384])).count());
    });
    c.bench_function("regex/prefix", |b| {
        timed(b, 5, || numbers.find_iter(black_box(&text[..16_384])).count());
    });
    c.bench_function("serde_json/parse", |b| {
        timed(b, 6, || serde_json::from_str::<serde_json::Value>(black_box(&json)).expect("JSON"));
    });
    c.bench_function("serde_json/write", |b| {
        timed(b, 7, || serde_json::to_string(black_box(&value)).expect("it has no odd keys"));
    });
}

criterion_group!(benches, public);
criterion_main!(benches);
