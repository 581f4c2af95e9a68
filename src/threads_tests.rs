use super::*;

#[test]
fn threads_that_run_are_counted() {
    let asked = tch::get_num_threads();
    for count in [1, 2, 3] {
        tch::set_num_threads(count);
        assert_eq!((running(), shortfall()), (Ok(count.unsigned_abs()), None));
    }
    tch::set_num_threads(asked);
}

#[test]
fn all_are_those_that_the_process_may_use() {
    assert_eq!(count(Threads::Count(3)), 3);
    let cpus = std::thread::available_parallelism().unwrap().get();
    assert_eq!(count(Threads::All) as usize, cpus);
}
