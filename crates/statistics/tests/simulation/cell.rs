//! Many runs alike, and what their intervals are worth.

use std::{
    fmt,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use statistics::{Ratio, Verdict, median, population_sd, verdict};

use crate::noise::Model;

/// Standard deviations of ln(time of a batch).
pub const NOISES: [f64; 4] = [0.003, 0.01, 0.03, 0.1];

/// The intervals of all runs under one kind of noise with one budget and one true ratio.
pub struct Cell {
    pub model: Model,
    pub sd: f64,
    /// Blocks, or builds, or runs.
    pub budget: usize,
    pub truth: f64,
    /// How many were taken, and the interval.
    pub runs: Vec<(usize, Ratio)>,
}

impl Cell {
    fn share(&self, counts: impl Fn(&Ratio) -> bool) -> f64 {
        self.runs.iter().filter(|(_, ratio)| counts(ratio)).count() as f64 / self.runs.len() as f64
    }

    pub fn coverage(&self) -> f64 {
        self.share(|ratio| ratio.low <= self.truth && self.truth <= ratio.high)
    }

    pub fn share_of(&self, said: Verdict) -> f64 {
        self.share(|ratio| verdict(ratio) == said)
    }

    /// How often a difference is seen.
    pub fn alarms(&self) -> f64 {
        self.share_of(Verdict::Faster) + self.share_of(Verdict::Slower)
    }

    pub fn half_width(&self) -> f64 {
        median(&self.runs.iter().map(|(_, ratio)| ratio.half_width()).collect::<Vec<_>>())
    }

    pub fn bias(&self) -> f64 {
        let errors = self.runs.iter().map(|(_, ratio)| (ratio.ratio / self.truth).ln());
        errors.sum::<f64>() / self.runs.len() as f64
    }

    /// Standard deviation of the bias, as the runs show it.
    pub fn bias_error(&self) -> f64 {
        let errors: Vec<f64> =
            self.runs.iter().map(|(_, ratio)| (ratio.ratio / self.truth).ln()).collect();
        population_sd(&errors) / (errors.len() as f64).sqrt()
    }

    /// Mean number taken.
    pub fn taken(&self) -> f64 {
        self.runs.iter().map(|(taken, _)| *taken as f64).sum::<f64>() / self.runs.len() as f64
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { model, sd, budget, truth, .. } = self;
        write!(
            f,
            "{:19} {:4.1} % budget {budget:3} ratio {truth:4.2}: {:5.1} taken, covers {:5.2} %, \
             half-width {:5.2} %, faster {:5.1} %, slower {:4.1} %, same {:5.1} %, bias {:+.3} %",
            format!("{model:?}"),
            100.0 * sd,
            self.taken(),
            100.0 * self.coverage(),
            100.0 * self.half_width(),
            100.0 * self.share_of(Verdict::Faster),
            100.0 * self.share_of(Verdict::Slower),
            100.0 * self.share_of(Verdict::Same),
            100.0 * self.bias(),
        )
    }
}

/// A share or mean over all runs of these cells.
pub fn pooled<'a>(cells: impl Iterator<Item = &'a Cell>, of: impl Fn(&Cell) -> f64) -> f64 {
    let (sum, runs) = cells.fold((0.0, 0.0), |(sum, runs), cell| {
        let weight = cell.runs.len() as f64;
        (sum + weight * of(cell), runs + weight)
    });
    sum / runs
}

/// The work of each job, in order.
pub fn on_two_threads<T: Send>(jobs: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let take = || {
        loop {
            let job = next.fetch_add(1, Ordering::Relaxed);
            if job >= jobs {
                break;
            }
            let result = work(job);
            done.lock().expect("no job panics").push((job, result));
        }
    };
    thread::scope(|scope| [(); 2].map(|()| scope.spawn(take)).map(drop));
    let mut done = done.into_inner().expect("no job panics");
    done.sort_unstable_by_key(|(job, _)| *job);
    done.into_iter().map(|(_, result)| result).collect()
}
