use std::cell::{Cell, RefCell};

use super::*;

#[test]
fn the_order_of_a_sample() {
    let log = RefCell::<Vec<String>>::default();
    let say = |what: &str| log.borrow_mut().push(what.to_owned());
    let wall_s = Cell::new(0.0);
    let mut samples = Samples {
        // By its own clock the device is ten times as fast as by the host's: the warm-up has passed
        // after 6 ms of the host's, which are 0.6 of the device's.
        take: &mut |iters| {
            say(&format!("take {iters}"));
            wall_s.set(wall_s.get() + iters as f64 / 1e3);
            Ok(Duration::from_micros(100 * iters))
        },
        read: &mut || say("read"),
        clock: &|| wall_s.get(),
        warm_up: Duration::from_millis(5),
    };
    let mut taken = Taken::default();
    for iters in [2, 4, 3] {
        let time = samples.next(iters, &mut taken).expect("nothing fails");
        assert_eq!(time, Duration::from_micros(100 * iters));
    }
    assert_eq!(log.take(), ["take 2", "take 4", "take 3", "read"]);
    assert_eq!(taken.last, Some(LastSample { iters: 3, ns: 300_000 }));
}

#[test]
fn a_sample_that_takes_no_time_takes_the_shortest() {
    let mut samples = Samples {
        take: &mut |_| Ok(Duration::ZERO),
        read: &mut || (),
        clock: &|| 0.0,
        warm_up: Duration::ZERO,
    };
    let mut taken = Taken::default();
    assert_eq!(samples.next(7, &mut taken), Ok(Duration::from_nanos(1)));
    assert_eq!(taken.last, Some(LastSample { iters: 7, ns: 1 }));
}
