//! Work of four public crates, of memory and of the allocator. Each case does its work a hundred times, so that a percent
//! of its time can be planted: once more.

use std::fmt::Write as _;
use std::hint::black_box;

/// How often each case does its work, in the order of [`cases`]. `measure` writes another line.
static TIMES: [usize; 20] = [100; 20];

/// A benchmark by its id.
pub type Case = (&'static str, Box<dyn FnMut()>);

pub fn cases() -> Vec<Case> {
    let all = [searches(), expressions(), documents(), memory()].into_iter().flatten();
    let repeated = |(place, (id, mut work)): (usize, Case)| -> Case {
        (id, Box::new(move || (0..black_box(TIMES[place])).for_each(|_| work())))
    };
    all.enumerate().map(repeated).collect()
}

fn case<T>(id: &'static str, mut work: impl FnMut() -> T + 'static) -> Case {
    (id, Box::new(move || drop(black_box(work()))))
}

/// Letters without a pattern, by a linear congruential generator.
fn letters<const COUNT: usize>() -> [u8; COUNT] {
    let mut state = 12_345_u64;
    [(); COUNT].map(|()| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        b'a' + ((state >> 33) % 26) as u8
    })
}

fn searches() -> Vec<Case> {
    let (long, short) = (letters::<1000>(), letters::<200>());
    let words = ["lorem", "ipsum", "dolor", "sit", "qu", "ab"];
    let automaton = |any_case| {
        let mut builder = aho_corasick::AhoCorasick::builder();
        builder.ascii_case_insensitive(any_case).build(words).expect("a few words")
    };
    let [find, replace, stream] = [(); 3].map(|()| automaton(false));
    let any_case = automaton(true);
    vec![
        case("memchr/count", move || memchr::memchr_iter(b'z', black_box(&long)).count()),
        case("memchr/memmem", move || memchr::memmem::find_iter(black_box(&long), b"quar").count()),
        case("memchr/two", move || memchr::memchr2_iter(b'q', b'x', black_box(&long)).count()),
        case("memchr/backwards", move || memchr::memrchr_iter(b'e', black_box(&long)).count()),
        case("aho-corasick/find", move || find.find_iter(black_box(&short)).count()),
        case("aho-corasick/any-case", move || any_case.find_iter(black_box(&short)).count()),
        case("aho-corasick/replace", move || {
            replace.replace_all_bytes(black_box(&short), &["1", "2", "3", "4", "5", "6"])
        }),
        case("aho-corasick/stream", move || {
            stream.stream_find_iter(black_box(&short[..])).filter(Result::is_ok).count()
        }),
    ]
}

fn expressions() -> Vec<Case> {
    let text = letters::<200>();
    let new = |it| regex::bytes::Regex::new(it).expect("a regular expression");
    let (class, prefix) = (new("[a-f]{3}x"), new("q[u-z]+"));
    let (groups, split) = (new("([a-m])([n-z]+)"), new("[aeiou]+"));
    vec![
        case("regex/class", move || class.find_iter(black_box(&text)).count()),
        case("regex/prefix", move || prefix.find_iter(black_box(&text)).count()),
        case("regex/groups", move || groups.captures_iter(black_box(&text)).count()),
        case("regex/split", move || split.split(black_box(&text)).count()),
    ]
}

fn documents() -> Vec<Case> {
    let text = r#"{"id":1000,"name":"n1000","values":[1,2.5,1000],"is_new":true}"#;
    let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("it is JSON");
    let (value, pretty) = (read(text), read(text));
    let numbers = "[1000.25,1.5,-7.125,1e3,0.001,123456.789,2,3]";
    vec![
        case("serde_json/parse", move || read(black_box(text))),
        case("serde_json/write", move || serde_json::to_string(black_box(&value))),
        case("serde_json/pretty", move || serde_json::to_string_pretty(black_box(&pretty))),
        case("serde_json/numbers", move || {
            serde_json::from_str::<Vec<f64>>(black_box(numbers)).expect("they are numbers")
        }),
    ]
}

fn memory() -> Vec<Case> {
    let (from, mut to) = (vec![1_u8; 20_000], vec![0_u8; 20_000]);
    let (gathered, mut text) = (letters::<200>(), String::new());
    vec![
        case("memory/copy", move || to.copy_from_slice(black_box(&from))),
        case("memory/gather", move || {
            // Each letter says where the next one is looked up.
            let all = black_box(&gathered);
            (0..50).fold(0, |at: usize, _| usize::from(all[at % all.len()]) + at.wrapping_mul(31))
        }),
        case("allocation/boxes", move || {
            (0..black_box(10)).map(|it| Box::new([it; 8])).collect::<Vec<_>>()
        }),
        case("allocation/texts", move || {
            let numbers = 1000..black_box(1003);
            let texts = numbers.map(|number| {
                text.clear();
                write!(text, "number {number}").expect("a text takes all");
                text.clone()
            });
            texts.collect::<Vec<_>>()
        }),
    ]
}
