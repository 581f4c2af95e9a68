use std::panic::{AssertUnwindSafe, catch_unwind};

use tch::{Device, Kind, Tensor};

use super::*;

const FLOATS: (Kind, Device) = (Kind::Float, Device::Cpu);

/// The peak of the running sum of the events.
fn peak(events: &[MemoryEvent]) -> i64 {
    let sums = events.iter().scan(0, |live, event| {
        *live += event.bytes;
        Some(*live)
    });
    sums.max().unwrap_or(0)
}

fn recorded<T>(f: impl FnOnce() -> T) -> (T, MemoryReport, Vec<MemoryEvent>) {
    timeline(f).expect("no profiler runs in these tests")
}

#[test]
fn each_event_has_its_block_and_its_operations() {
    let x = Tensor::rand([100, 10], FLOATS);
    let (y, report, events) = recorded(|| {
        let y = x.softmax(-1, Kind::Float);
        drop(Tensor::empty([3], FLOATS));
        y
    });
    let [softmax, empty, dropped] = &events[..] else { panic!("{events:?}") };
    assert_eq!(softmax.address, y.data_ptr() as u64);
    assert_eq!((softmax.bytes, empty.bytes, dropped.bytes), (4000, 12, -12));
    assert_eq!(softmax.operations.first().map(String::as_str), Some("aten::softmax"));
    assert!(softmax.operations.len() > 1, "{softmax:?}");
    assert_eq!(empty.operations.first().map(String::as_str), Some("aten::empty"));
    assert_eq!(dropped.operations, [""; 0], "no operation releases it");
    assert_eq!(dropped.address, empty.address);
    assert!(events.is_sorted_by_key(|event| event.time_ns));
    assert!(events.iter().all(|event| event.device == Device::Cpu));
    assert_eq!(peak(&events) as u64, report.cpu.peak_bytes);
    assert_eq!(report.cpu.allocations, 2);
}

#[test]
fn the_events_come_to_the_tally_of_the_same_work() {
    let x = Tensor::rand([64, 64], FLOATS);
    let weight = Tensor::rand([64, 64], FLOATS).set_requires_grad(true);
    let work = || {
        let y = x.matmul(&weight).gelu("none").softmax(-1, Kind::Float);
        y.sum(Kind::Float).backward();
    };
    work();
    let ((), tallied) = track(work).expect("no profiler");
    let ((), report, events) = recorded(work);
    assert_eq!(report.cpu, tallied.cpu);
    assert_eq!(peak(&events) as u64, tallied.cpu.peak_bytes);
    assert_eq!(events.iter().map(|event| event.bytes).sum::<i64>(), tallied.cpu.live_bytes);
    // The backward pass runs on autograd's thread or on this one; in both cases its operations are recorded.
    let backward = |event: &MemoryEvent| event.operations.iter().any(|it| it.contains("Backward"));
    assert!(events.iter().any(backward), "{events:?}");
}

#[test]
fn a_block_freed_unseen_is_released_before_its_address_comes_again() {
    let ((), report, events) = recorded(|| {
        for _ in 0..64 {
            let tensor = Tensor::empty([1 << 20], FLOATS);
            std::thread::scope(|threads| threads.spawn(move || drop(tensor)).join())
                .expect("dropping a tensor does not panic");
        }
    });
    let mut live = std::collections::HashMap::new();
    for event in &events {
        if event.bytes > 0 {
            assert_eq!(live.insert(event.address, event.bytes), None, "live twice: {event:?}");
        } else {
            assert_eq!(live.remove(&event.address), Some(-event.bytes), "{event:?}");
        }
    }
    assert!(events.iter().any(|event| event.bytes < 0), "no address came again");
    assert_eq!(live.values().sum::<i64>(), report.cpu.live_bytes);
    assert_eq!(peak(&events) as u64, report.cpu.peak_bytes);
}

#[test]
fn nothing_is_kept_outside() {
    let before = Tensor::empty([10], FLOATS);
    let ((), _, events) = recorded(|| drop(before));
    assert_eq!(events, []);
    // A scope without events has none, and its operations leave no name behind.
    drop(track(|| Tensor::empty([10], FLOATS)));
    let (_kept, _, events) = recorded(|| Tensor::empty([10], FLOATS));
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].operations, ["aten::empty"]);
}

#[test]
fn scopes_nest_but_two_timelines_do_not() {
    let (_kept, outer, events) = recorded(|| {
        let (kept, inner) = track(|| Tensor::empty([10], FLOATS)).expect("no profiler");
        assert_eq!(inner.cpu.peak_bytes, 40);
        kept
    });
    assert_eq!((outer.cpu.peak_bytes, events.len()), (40, 1));
    let ((), _, events) = recorded(|| {
        let refused = timeline(|| ()).expect_err("within another").to_string();
        assert!(refused.contains("recorded over time on this thread already"), "{refused}");
    });
    assert_eq!(events, []);
}

#[test]
fn a_panic_ends_it() {
    let x = Tensor::rand([2], FLOATS);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        timeline(|| {
            drop(x.exp());
            panic!("on purpose")
        })
    }));
    assert!(panicked.is_err());
    let (_kept, _, events) = recorded(|| Tensor::empty([10], FLOATS));
    assert_eq!(events[0].operations, ["aten::empty"]);
}
