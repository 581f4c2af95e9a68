//! Benchmarks of four public crates. Each works on so many percent of its data, so that a known share of its time can be
//! planted.

use std::hint::black_box;

use criterion::{Bencher, Criterion, criterion_group, criterion_main};

/// Percent of the data that each benchmark works on. `measure` writes another line.
static PERCENT: [usize; 8] = [100, 100, 100, 100, 100, 100, 100, 100];

/// The part of `all` that the case works on.
fn part(case: usize, all: usize) -> usize {
    all * black_box(PERCENT[case]) / 100
}

/// Letters without a pattern, by a linear congruential generator.
fn letters() -> Vec<u8> {
    let mut state = 12_345_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        b'a' + ((state >> 33) % 26) as u8
    };
    (0..200_000).map(|_| next()).collect()
}

fn timed<T>(b: &mut Bencher, mut work: impl FnMut() -> T) {
    b.iter(|| black_box(work()));
}

fn public(c: &mut Criterion) {
    let text = letters();
    let words = ["lorem", "ipsum", "dolor", "sit"];
    let automaton = aho_corasick::AhoCorasick::new(words).expect("a few words");
    let any_case = aho_corasick::AhoCorasick::builder().ascii_case_insensitive(true).build(words);
    let any_case = any_case.expect("a few words");
    let class = regex::bytes::Regex::new("[a-f]{3}x").expect("a regular expression");
    let prefix = regex::bytes::Regex::new("q[u-z]+").expect("a regular expression");
    let object = |i: usize| format!("{{\"id\":{i},\"name\":\"n{i}\",\"values\":[1,2.5,{i}]}}");
    let json = |count| format!("[{}]", (1000..1000 + count).map(object).collect::<Vec<_>>().join(","));
    let parsed = json(part(6, 200));
    let value: serde_json::Value =
        serde_json::from_str(&json(part(7, 200))).expect("it is JSON");

    let some = |case, bytes| black_box(&text[..part(case, bytes)]);
    c.bench_function("memchr/count", |b| {
        timed(b, || memchr::memchr_iter(b'z', some(0, 100_000)).count());
    });
    c.bench_function("memchr/memmem", |b| {
        timed(b, || memchr::memmem::find_iter(some(1, 100_000), b"quar").count());
    });
    c.bench_function("aho-corasick/find", |b| {
        timed(b, || automaton.find_iter(some(2, 10_000)).count());
    });
    c.bench_function("aho-corasick/any-case", |b| {
        timed(b, || any_case.find_iter(some(3, 10_000)).count());
    });
    c.bench_function("regex/class", |b| timed(b, || class.find_iter(some(4, 10_000)).count()));
    c.bench_function("regex/prefix", |b| timed(b, || prefix.find_iter(some(5, 10_000)).count()));
    c.bench_function("serde_json/parse", |b| {
        timed(b, || serde_json::from_str::<serde_json::Value>(black_box(&parsed)).expect("JSON"));
    });
    c.bench_function("serde_json/write", |b| {
        timed(b, || serde_json::to_string(black_box(&value)).expect("it has no odd keys"));
    });
}

criterion_group!(benches, public);
criterion_main!(benches);
