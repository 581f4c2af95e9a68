//! Threads inside one operator, which siblings may differ in.

use once_cell::sync::Lazy;
use plan::Threads;

/// Asked once: the answer is read from files, and it is wanted before every batch that is timed.
static CPUS: Lazy<u32> = Lazy::new(|| {
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    u32::try_from(cpus).unwrap_or(u32::MAX)
});

/// How many these are on this machine.
pub fn count(threads: Threads) -> u32 {
    threads.resolve(*CPUS)
}

/// Lets torch's operators use so many, from now on.
pub fn settle(threads: Threads) {
    let wanted = i32::try_from(count(threads)).unwrap_or(i32::MAX);
    if tch::get_num_threads() != wanted {
        tch::set_num_threads(wanted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_those_that_the_process_may_use() {
        assert_eq!(count(Threads::Count(3)), 3);
        let cpus = std::thread::available_parallelism().unwrap().get();
        assert_eq!(count(Threads::All) as usize, cpus);
    }
}
