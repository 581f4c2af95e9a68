//! The questions to a kernel, in the order in which they are asked.

use plan::{Check, CheckStatus, Threads};
use statistics::{median, quantile};

use super::confine;
use super::examples::Content;
use super::trial::{Stopped, Trial};
use crate::harness::clock::Stopwatch;
use crate::refusal::Refusal;
use crate::threads;

/// Nanoseconds of a batch.
const BATCH_NS: f64 = 1e6;
/// Nanoseconds of calling a process that waits, which no comparison counts.
const CALLING_NS: f64 = 2e3;
/// Nanoseconds that a call by itself may take longer than one in a batch: its code and data have left the caches, and on
/// some machines come back slowly.
const COLD_NS: f64 = 20e3;
/// Nanoseconds of calling it where the judge pauses between two looks.
const PAUSING_NS: f64 = 200e3;
/// Nanoseconds of launching a call on a device and waiting for it.
const LAUNCHING_NS: f64 = 50e3;
/// Milliseconds after which threads of OpenMP no longer wait for more work.
const PATIENCE_MS: f64 = 25.0;
/// Times that a suspicion has to come back before it is one.
const CONFIRMATIONS: usize = 3;
/// Times that is looked at most where it is not clear whether there is one.
const LOOKS: usize = 6;

/// The remark on a time that is shorter where inputs stay the same.
const INPUTS: &str = "its time depends on its inputs, on their values or on whether caches hold them: the judge's is of \
                      many, and new ones";

/// The findings, and how long a call takes.
#[derive(Debug, Default)]
pub struct Findings {
    pub checks: Vec<Check>,
    pub calls: u64,
    pub compared: u64,
    /// Nanoseconds of a call in each batch.
    pub batches: Vec<f64>,
    /// Nanoseconds that the first reading of an output takes longer than the second one.
    deferred: Vec<f64>,
    /// Nanoseconds of reading an output.
    read: Vec<f64>,
    /// Outputs on mixed inputs that were compared.
    mixed: u32,
    /// Seconds that their references took.
    references_s: f64,
}

/// Asks everything. What was found until a check failed is in `findings`.
pub fn examine(
    trial: &mut Trial<'_>,
    claimed_ns: f64,
    findings: &mut Findings,
) -> Result<(), Stopped> {
    for draw in 0..trial.draws.all.len() {
        findings.compare(trial, draw)?;
    }
    let step_ns = warm(trial)?;
    findings.threads(trial, step_ns)?;
    let rounds = (40e6 / step_ns.max(BATCH_NS)).clamp(2.0, 6.0) as usize;
    findings.batch(trial, step_ns, rounds)?;
    let early = findings.batches.clone();
    findings.one_by_one(trial, step_ns)?;
    for draw in 0..trial.draws.all.len() {
        findings.compare(trial, draw)?;
    }
    findings.outputs(trial)?;
    let late = findings.drift(trial, step_ns, &early)?;
    findings.batches = [early, late].concat();
    trial.sleeps()?;
    findings.clock(trial, claimed_ns)?;
    findings.roof(trial)?;
    findings.code(trial)
}

/// Nanoseconds of a call, once batches are long enough to show it.
fn warm(trial: &mut Trial<'_>) -> Result<f64, Stopped> {
    let mut iters = 1;
    loop {
        trial.reveal(Content::Mixed)?;
        let ns = trial.run(iters)?;
        if ns * iters as f64 >= BATCH_NS {
            return Ok(ns);
        }
        iters = (iters * 2).max((0.8 * BATCH_NS / ns.max(0.5)) as u64);
    }
}

/// Whether calls take longer once a few values are others than the inputs of the calls before, each by itself.
fn is_slower_changed(trial: &mut Trial<'_>) -> Result<bool, Stopped> {
    const CALLS: usize = 16;
    if !trial.examples.has_mixed() {
        return Ok(false);
    }
    let mut calls = |content: Content| {
        let call = |_| trial.reveal(content).and_then(|()| trial.run(1));
        (0..CALLS).map(call).collect::<Result<Vec<f64>, Stopped>>()
    };
    let (known, changed) = (calls(Content::Untouched)?, calls(Content::Changed)?);
    let calling_ns = calling_ns(trial, CALLING_NS);
    Ok(Compared::new(&changed, &known, 2.0, calling_ns) == Compared::Slower)
}

/// Nanoseconds of a single call that are not the kernel's; `spinning` where the judge waits without a pause.
fn calling_ns(trial: &Trial<'_>, spinning: f64) -> f64 {
    match (trial.spins, trial.is_on_device) {
        (false, _) => PAUSING_NS,
        (true, false) => spinning,
        (true, true) => LAUNCHING_NS,
    }
}

fn quartile(values: &[f64], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile(&sorted, q)
}

/// How times compare that should be about the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compared {
    Same,
    Unclear,
    Slower,
}

impl Compared {
    /// Slower where `slow` usually is more than `factor` above `fast`, and by more than `overhead_ns`; the same within a
    /// third of that.
    fn new(slow: &[f64], fast: &[f64], factor: f64, overhead_ns: f64) -> Self {
        // Other work makes calls slower, never faster: the faster ones tell more.
        let (slow, fast) = (quartile(slow, 0.25), quartile(fast, 0.25));
        let is_above = |factor: f64| slow > factor * fast + overhead_ns;
        match (is_above(factor), is_above(1.0 + (factor - 1.0) / 3.0)) {
            (true, _) => Self::Slower,
            (false, true) => Self::Unclear,
            (false, false) => Self::Same,
        }
    }
}

fn sleep(ns: f64) {
    std::thread::sleep(std::time::Duration::from_nanos(ns as u64));
}

/// Nanoseconds for people.
fn shown(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{ns:.1} ns"),
        ns if ns < 1e6 => format!("{:.2} µs", ns / 1e3),
        ns => format!("{:.2} ms", ns / 1e6),
    }
}

impl Findings {
    fn passed(&mut self, name: &str, value: String) {
        self.checks.push(Check::passed(name, value));
    }

    /// Fails a check that compares times, where no other work explains them.
    fn slower(
        &mut self,
        trial: &Trial<'_>,
        check: &'static str,
        what: &str,
    ) -> Result<(), Stopped> {
        trial.is_alone()?;
        self.suspect(trial, check, what)
    }

    /// Fails a check that no output decides; on a device it warns.
    fn suspect(
        &mut self,
        trial: &Trial<'_>,
        check: &'static str,
        what: &str,
    ) -> Result<(), Stopped> {
        const REMEDY: &str = "what is usual on a device is not known well enough to fail it";
        if !trial.is_on_device {
            return Err(trial.failed(check, what));
        }
        self.checks.push(Check::graded(check, CheckStatus::Warning, what, REMEDY));
        Ok(())
    }

    /// One call on inputs of a draw, whose output is compared with its reference.
    fn compare(&mut self, trial: &mut Trial<'_>, draw: usize) -> Result<(), Stopped> {
        trial.reveal(Content::Drawn(draw))?;
        trial.run(1)?;
        self.compare_output(trial, draw)
    }

    fn compare_output(&mut self, trial: &mut Trial<'_>, draw: usize) -> Result<(), Stopped> {
        trial.examples.write(Content::Scrambled);
        let (output, first_ns) = trial.output()?;
        let drawn = trial.draw(draw);
        self.compared += 1;
        if let Err(refusal) = drawn.judge.accuracy_of(&output) {
            let why = match refusal {
                Refusal::Failed(why) => why,
                other => other.to_string(),
            };
            let what = format!("on inputs of seed {} its output is wrong: {why}", drawn.seed);
            return Err(trial.failed("output", &what));
        }
        let (_, second_ns) = trial.output()?;
        self.deferred.push(first_ns - second_ns);
        self.read.push(second_ns);
        Ok(())
    }

    /// Compares the output of some calls on mixed inputs, which nobody could have known.
    fn compare_mixed(&mut self, trial: &mut Trial<'_>) -> Result<(), Stopped> {
        /// Outputs that are compared, and seconds that references of more than one may take.
        const MOST: u32 = 3;
        const MOST_S: f64 = 0.05;
        if self.mixed >= MOST || self.references_s > MOST_S || trial.rng.bool() {
            return Ok(());
        }
        self.mixed += 1;
        let watch = Stopwatch::start();
        let judge = trial.judge_of_content()?;
        self.references_s += watch.seconds();
        trial.examples.write(Content::Scrambled);
        let (output, _) = trial.output()?;
        self.compared += 1;
        judge.accuracy_of(&output).map(drop).map_err(|refusal| {
            let seeds = trial.seeds();
            trial.failed("output", &format!("on inputs mixed of {seeds} it is wrong: {refusal}"))
        })
    }

    /// Batches of a random number of calls, each on inputs of its own; each second one is one of a draw, and its
    /// output is compared.
    fn batch(&mut self, trial: &mut Trial<'_>, step_ns: f64, rounds: usize) -> Result<(), Stopped> {
        let usual = (BATCH_NS / step_ns).max(1.0);
        for round in 0..rounds {
            let draw = trial.rng.usize(..trial.draws.all.len());
            let is_drawn = round % 2 == 1;
            let content = if is_drawn { Content::Drawn(draw) } else { Content::Mixed };
            let iters = (usual * (0.5 + trial.rng.f64())).max(1.0) as u64;
            self.batches.push(trial.timed(content, iters)?);
            if is_drawn {
                self.compare_output(trial, draw)?;
            }
        }
        Ok(())
    }

    /// Single calls: on the inputs of the call before, on the same written again, and on others.
    fn one_by_one(&mut self, trial: &mut Trial<'_>, step_ns: f64) -> Result<(), Stopped> {
        let [calling_ns, cold_ns] = [CALLING_NS, COLD_NS].map(|it| calling_ns(trial, it));
        let count = (40e6 / (4.0 * step_ns)).clamp(2.0, 16.0) as usize;
        let mut singles = Singles::default();
        let mut suspicions = [0; 2];
        for _ in 0..LOOKS {
            self.singles(trial, count, &mut singles)?;
            let looks = [
                Compared::new(&singles.new, &singles.again, 2.0, calling_ns),
                Compared::new(&singles.same, &self.batches, 1.6, cold_ns),
            ];
            for (suspicions, look) in suspicions.iter_mut().zip(looks) {
                *suspicions += usize::from(look == Compared::Slower);
            }
            if looks == [Compared::Same; 2] || suspicions.contains(&CONFIRMATIONS) {
                break;
            }
        }
        let [remembers, skips] = suspicions.map(|it| it == CONFIRMATIONS);
        let [same, again, new] = [&singles.same, &singles.again, &singles.new].map(|it| median(it));
        let batch = median(&self.batches);
        if remembers {
            let what = format!(
                "on inputs that it has not seen a call takes {}, on those of before {}: it remembers",
                shown(new),
                shown(again)
            );
            self.slower(trial, "cache", &what)?;
        } else if trial.examples.has_mixed() {
            let what = format!("new inputs {}, known ones {}", shown(new), shown(again));
            self.passed("cache", what);
        } else {
            let why = "its inputs are whole numbers, which are not mixed";
            self.checks.push(Check::skipped("cache", why));
        }
        if skips {
            let what = format!(
                "a call by itself takes {}, in a batch {}: it does less where calls follow each other",
                shown(same),
                shown(batch)
            );
            return self.slower(trial, "batches", &what);
        }
        self.passed(
            "batches",
            format!("a call by itself {}, in a batch {}", shown(same), shown(batch)),
        );
        Ok(())
    }

    fn singles(
        &mut self,
        trial: &mut Trial<'_>,
        count: usize,
        singles: &mut Singles,
    ) -> Result<(), Stopped> {
        for _ in 0..count {
            let mut order = [0, 1, 2, 3];
            trial.rng.shuffle(&mut order);
            for kind in order {
                match kind {
                    // Once before, so that it knows them.
                    0 => {
                        trial.reveal(Content::Untouched)?;
                        trial.run(1)?;
                        singles.same.push(trial.timed(Content::Untouched, 1)?);
                    }
                    1 => {
                        trial.reveal(Content::Again)?;
                        trial.run(1)?;
                        singles.again.push(trial.timed(Content::Again, 1)?);
                    }
                    2 => {
                        singles.new.push(trial.timed(Content::Mixed, 1)?);
                        self.compare_mixed(trial)?;
                    }
                    _ => {
                        let draw = trial.rng.usize(..trial.draws.all.len());
                        self.compare(trial, draw)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// All outputs were right; and reading one does no work that belongs to the call.
    fn outputs(&mut self, trial: &Trial<'_>) -> Result<(), Stopped> {
        self.passed("inputs", "left as they are".to_owned());
        self.passed("output", format!("right in {} calls", self.compared));
        let (batch, read) = (median(&self.batches), quartile(&self.read, 0.25));
        let later = quartile(&self.deferred, 0.25);
        let calling_ns = calling_ns(trial, 5e3);
        let output = trial.bytes().1;
        let copied_ns = || output as f64 / copied_per_ns(output);
        let more = read - batch - 10.0 * calling_ns;
        if more > 0.0 && more > 10.0 * copied_ns() {
            let what = format!(
                "a reading of an output takes {}, and a call {}: work is left to `output`",
                shown(read),
                shown(batch)
            );
            return self.slower(trial, "deferred", &what);
        }
        if later > 0.15 * batch + 0.25 * read + calling_ns {
            let what = format!(
                "the first reading of an output takes {} longer than the second one, and a call {}: work is left \
                 to `output`",
                shown(later),
                shown(batch)
            );
            return self.slower(trial, "deferred", &what);
        }
        self.passed("deferred", format!("`output` takes {}, and as much again", shown(read)));
        Ok(())
    }

    /// Whether threads go on when the calls are done. OpenMP's wait for more for a while.
    fn threads(&mut self, trial: &mut Trial<'_>, step_ns: f64) -> Result<(), Stopped> {
        const WINDOW_MS: f64 = 20.0;
        /// Share of a core from which on they work.
        const WORKING: f64 = 0.2;
        let (mut are_working, mut cores) = (Vec::new(), 0.0_f64);
        // Two of three tries decide.
        while are_working.len() < CONFIRMATIONS
            && !matches!(are_working[..], [one, other] if one == other)
        {
            trial.reveal(Content::Mixed)?;
            let (watch, before) = (Stopwatch::start(), trial.process.ran_ns());
            trial.run((5.0 * BATCH_NS / step_ns).max(1.0) as u64)?;
            let ran =
                trial.process.ran_ns().zip(before).map_or(0.0, |(after, before)| after - before);
            cores = cores.max(ran / watch.ns());
            if trial.process.threads() == 1 {
                return self.resting(trial, step_ns, cores, "it has one".to_owned());
            }
            sleep(PATIENCE_MS * 1e6);
            let watch = Stopwatch::start();
            let before = trial.process.others_ns();
            sleep(WINDOW_MS * 1e6);
            let (Some(before), Some(after)) = (before, trial.process.others_ns()) else {
                let why = "this system does not say how long a thread has run";
                self.checks.push(Check::skipped("threads", why));
                return Ok(());
            };
            are_working.push((after - before) / watch.ns() > WORKING);
        }
        if are_working.iter().filter(|it| **it).count() < 2 {
            let what = format!("at rest {PATIENCE_MS} ms after a call");
            return self.resting(trial, step_ns, cores, what);
        }
        let what = format!(
            "{PATIENCE_MS} ms after its calls its threads still take more than {:.0} % of a core: work goes on when \
             the clock has stopped",
            100.0 * WORKING
        );
        self.suspect(trial, "threads", &what)
    }

    /// Whether the kernel's process works on inputs that are written, before it is called: more than while it waits. Short
    /// calls have no time for it.
    fn begins_early(&self, trial: &mut Trial<'_>, step_ns: f64) -> Result<bool, Stopped> {
        const SHORT_NS: f64 = 500e3;
        /// Nanoseconds of work that say nothing.
        const USUAL_NS: f64 = 150e3;
        if trial.is_on_device || step_ns < SHORT_NS {
            return Ok(false);
        }
        let window_ns = (2.0 * step_ns).clamp(2e6, 20e6);
        for _ in 0..CONFIRMATIONS {
            trial.overwrite()?;
            if trial.process.threads() > 1 {
                sleep(PATIENCE_MS * 1e6);
            }
            let mut windows = Vec::new();
            for content in [Content::Untouched, Content::Mixed] {
                let (watch, before) = (Stopwatch::start(), trial.process.ran_ns());
                trial.present(content)?;
                sleep(window_ns);
                let Some((before, after)) = before.zip(trial.process.ran_ns()) else {
                    return Ok(false);
                };
                windows.push((after - before, watch.ns()));
            }
            let [(waiting, short), (working, long)] = windows[..] else { return Ok(false) };
            if working - waiting * long / short < step_ns / 2.0 + USUAL_NS {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Threads rest when a call is over. They should before the next, too; and there is a warning if calls keep more cores
    /// busy than siblings may.
    fn resting(
        &mut self,
        trial: &mut Trial<'_>,
        step_ns: f64,
        cores: f64,
        what: String,
    ) -> Result<(), Stopped> {
        if self.begins_early(trial, step_ns)? {
            let what = "it works on inputs before the call that is to read them";
            return self.suspect(trial, "threads", what);
        }
        let may_have_all = trial.threads >= threads::count(Threads::All);
        if may_have_all || cores <= f64::from(trial.threads) + 0.25 {
            self.passed("threads", what);
            return Ok(());
        }
        let what =
            format!("its calls keep {cores:.1} cores busy, and `threads` is {}", trial.threads);
        let remedy = "`threads: all` in its bench.yaml lets its siblings have as many";
        self.checks.push(Check::graded("threads", CheckStatus::Warning, what, remedy));
        Ok(())
    }

    /// Batches of now, which take no longer than the early ones; what grows does so each time that it is looked at.
    fn drift(
        &mut self,
        trial: &mut Trial<'_>,
        step_ns: f64,
        early: &[f64],
    ) -> Result<Vec<f64>, Stopped> {
        let (mut looks, mut suspicions) = (0, 0);
        loop {
            self.batches.clear();
            self.batch(trial, step_ns, early.len())?;
            let late = std::mem::take(&mut self.batches);
            let compared = Compared::new(&late, early, 1.5, 50.0);
            looks += 1;
            suspicions += usize::from(compared == Compared::Slower);
            let [first, last] = [early, &late].map(|it| shown(median(it)));
            let what = format!("its first batches take {first} a call, its last ones {last}");
            if suspicions == CONFIRMATIONS {
                return self.slower(trial, "drift", &what).map(|()| Vec::new());
            }
            if compared == Compared::Same || looks == LOOKS {
                self.passed("drift", what);
                return Ok(late);
            }
        }
    }

    /// Whether the time that the kernel's process says is one that the judge has seen.
    fn clock(&mut self, trial: &mut Trial<'_>, claimed_ns: f64) -> Result<(), Stopped> {
        /// Other inputs on which a kernel is asked for the time that it claims.
        const OTHERS: usize = 16;
        let factor = if trial.spins { 1.5 } else { 2.0 };
        let judged = quartile(&self.batches, 0.25);
        let what =
            format!("{} in its own process, {} by the judge", shown(claimed_ns), shown(judged));
        let is_claimed = |ns: f64| claimed_ns >= ns / factor - 200.0;
        if is_claimed(judged) {
            self.passed("clock", what);
            return Ok(());
        }
        for _ in 0..OTHERS {
            let others = trial.draws.others().map_err(|it| Stopped::Broken(it.to_string()))?;
            trial.reveal_others(&others)?;
            trial.run(1)?;
            let ns = trial.run(1)?.max(trial.run(1)?);
            if is_claimed(ns) {
                self.varies(format!("{what}, which varies from {} with the inputs", shown(ns)));
                return Ok(());
            }
        }
        self.learnt(trial, judged, is_claimed, &what)
    }

    /// Warns of a time that is shorter on some inputs.
    fn varies(&mut self, what: String) {
        self.checks.push(Check::graded("clock", CheckStatus::Warning, what, INPUTS));
    }

    /// Whether a time that a kernel claims is the one after many calls on the same inputs. A few other values change little
    /// of what a processor has learnt, and all of what a kernel remembers.
    fn learnt(
        &mut self,
        trial: &mut Trial<'_>,
        judged: f64,
        is_claimed: impl Fn(f64) -> bool,
        what: &str,
    ) -> Result<(), Stopped> {
        /// Nanoseconds of calls after which it has learnt.
        const LEARNT_NS: f64 = 100e6;
        /// Times that it is asked: memory that others load is slow for a while.
        const TRIES: usize = 8;
        /// Bytes that lie in memory or a shared cache, whose rate differs by a factor of two between processes.
        const LARGE: usize = 16 << 20;
        let iters = (LEARNT_NS / judged).max(1.0) as u64;
        let (mut fastest, mut suspicions) = (f64::INFINITY, 0);
        for _ in 0..TRIES {
            trial.reveal(Content::Again)?;
            // These fill the caches.
            trial.run(iters)?;
            let learnt = trial.run(iters)?;
            fastest = fastest.min(learnt);
            if !is_claimed(learnt) {
                continue;
            }
            if !is_slower_changed(trial)? {
                // Many calls may have changed what it does.
                self.compare(trial, 0)?;
                let learnt = shown(learnt);
                self.varies(format!("{what}, and {learnt} after {iters} calls on the same inputs"));
                return Ok(());
            }
            suspicions += 1;
            if suspicions == CONFIRMATIONS {
                let what = format!(
                    "after {iters} calls on the same inputs one takes {}, and far longer where a few values are \
                     others: it remembers",
                    shown(learnt)
                );
                return self.slower(trial, "cache", &what);
            }
        }
        let what = format!("{what}, and never less than {}", shown(fastest));
        let (inputs, output) = trial.bytes();
        if suspicions == 0 && inputs + output >= LARGE && is_claimed(fastest / 2.0) {
            self.varies(what);
            return Ok(());
        }
        self.slower(trial, "clock", &format!("a call takes {what}"))
    }

    /// Whether the bytes of inputs and output can be moved in the time of a call. A task may not need all of its inputs, so
    /// that they alone accuse nobody.
    fn roof(&mut self, trial: &Trial<'_>) -> Result<(), Stopped> {
        /// How far above the rate of a copy no kernel is: one that only reads is a few times faster.
        const FACTOR: f64 = 4.0;
        if trial.is_on_device {
            self.checks.push(Check::skipped("roof", "the judge copies nothing on a device"));
            return Ok(());
        }
        let (inputs, output) = trial.bytes();
        let copied = copied_per_ns((inputs + output).min(LARGEST_COPY)) * f64::from(trial.threads);
        let call_ns = quartile(&self.batches, 0.25).max(1.0);
        let rate = |bytes: usize| bytes as f64 / call_ns;
        let what = format!(
            "{:.1} GB/s of inputs and output, {:.1} GB/s of output; a copy moves {copied:.1} GB/s",
            rate(inputs + output),
            rate(output)
        );
        if rate(output) > FACTOR * copied {
            return Err(trial.failed("roof", &format!("impossible: {what}")));
        }
        let is_fast = rate(inputs + output) > FACTOR * copied;
        let status = if is_fast { CheckStatus::Warning } else { CheckStatus::Passed };
        let remedy = "does its task need all of its inputs?";
        self.checks.push(Check::graded("roof", status, what, remedy));
        Ok(())
    }

    /// Whether a function of the process has been replaced in its place.
    fn code(&mut self, trial: &Trial<'_>) -> Result<(), Stopped> {
        match confine::changed_code(&trial.process.pid) {
            Ok(None) => self.passed("code", "as it was loaded".to_owned()),
            Ok(Some((file, kib))) => {
                self.suspect(
                    trial,
                    "code",
                    &format!("{kib} KiB of {file} are not as they were loaded"),
                )?;
            }
            Err(error) => {
                self.checks.push(Check::skipped("code", format!("/proc does not say: {error}")))
            }
        }
        Ok(())
    }

    /// Whether a call on tensors of this size, each between pages that nobody may touch, has the right output.
    pub fn fenced(&mut self, trial: &mut Trial<'_>) -> Result<(), Stopped> {
        self.compare(trial, trial.draws.all.len() - 1)
    }
}

/// Bytes of the largest copy that is made to know a rate.
const LARGEST_COPY: usize = 64 << 20;

/// Bytes that one thread copies in a nanosecond: so many, in the cache that they fit into.
fn copied_per_ns(bytes: usize) -> f64 {
    /// A smaller copy takes no longer.
    const SMALLEST: usize = 4096;
    const TRIES: usize = 5;
    let bytes = bytes.max(SMALLEST);
    let (from, mut to) = (vec![1_u8; bytes], vec![0_u8; bytes]);
    let copies = (LARGEST_COPY / 16 / bytes).max(1);
    let fastest = (0..TRIES).map(|_| {
        let watch = Stopwatch::start();
        for _ in 0..copies {
            to.copy_from_slice(std::hint::black_box(&from));
            std::hint::black_box(&mut to);
        }
        watch.ns()
    });
    (copies * bytes) as f64 / fastest.fold(f64::INFINITY, f64::min)
}

/// Nanoseconds of single calls.
#[derive(Debug, Default)]
struct Singles {
    same: Vec<f64>,
    again: Vec<f64>,
    new: Vec<f64>,
}

/// A failure as the check that it is.
pub fn failed(check: &str, what: String) -> Check {
    const REMEDY: &str = "a kernel does all its work in each call, whatever it has seen before; \
                          `judge: off` measures it as it is, and says so";
    Check::graded(check, CheckStatus::Failed, what, REMEDY)
}
