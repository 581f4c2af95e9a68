//! The outputs of a case, against its reference and against each other.

use plan::{Accuracy, Case, KernelTolerances, KernelWork};
use tch::{Kind, TchError, Tensor};

use super::{Distance, Reference};
use crate::inputs;
use crate::refusal::Refusal;

/// Decibels beyond which a record's gate does not go, as those of a config: a tolerance of 0 has
/// infinitely many.
pub const MOST_DB: f64 = 200.0;

/// The demands on the output of a case.
#[derive(Debug)]
pub struct Judge {
    reference: Option<Reference>,
    min_sqnr_db: f64,
    /// The demands of a user's kernel; shipped kernels have the gate alone.
    own: Option<UserTolerances>,
}

/// The tolerances that a user may set.
#[derive(Debug)]
struct UserTolerances {
    tolerances: KernelTolerances,
    precision: &'static str,
}

impl Judge {
    /// The gate of what ships with the library, unless the config sets another.
    pub fn new(case: &Case, reference: Reference, min_sqnr_db: f64) -> Self {
        let min_sqnr_db = case.settings.tolerance.min_sqnr_db.unwrap_or(min_sqnr_db);
        Self { reference: Some(reference), min_sqnr_db, own: None }
    }

    /// The limits of a user's kernel, an element of whose output is a sum of so many `terms` at most.
    ///
    /// # Errors
    /// A reference of another dtype than float64, or with values that are no numbers; none, though a
    /// tolerance is given.
    pub fn user_kernel(
        case: &Case,
        work: &KernelWork,
        reference: Option<Tensor>,
        terms: u64,
    ) -> Result<Self, Refusal> {
        let tolerances = work.tolerances;
        if reference.is_none()
            && !super::is_done()
            && let Some(given) = limit(case, &tolerances)
        {
            return Err(Refusal::Failed(format!(
                "`{given}` is given, and there is no reference to compare its output with: \
                 `reference` has found none; have it return one, or delete `{given}`"
            )));
        }
        let default = super::kernel_min_sqnr_db(case.dtype, terms);
        let configured = case.settings.tolerance.min_sqnr_db.unwrap_or(default);
        let min_sqnr_db = tolerances.relative_error.map_or(configured, decibels);
        let reference = reference.map(float64).transpose()?.map(Reference::whole);
        let own = Some(UserTolerances { tolerances, precision: case.dtype.precision() });
        Ok(Self { reference, min_sqnr_db, own })
    }

    /// The rows that it knows.
    pub fn reference(&self) -> Option<&Reference> {
        self.reference.as_ref()
    }

    /// The accuracy of the output that is furthest from the reference, when all are near enough.
    pub fn accuracy(&self, outputs: &[Tensor]) -> Result<Accuracy, Refusal> {
        let mut worst = None::<Accuracy>;
        for (run, output) in outputs.iter().enumerate() {
            let accuracy = self.accuracy_of(output).map_err(|refusal| match (run, refusal) {
                (1.., Refusal::Failed(what)) => Refusal::Failed(format!(
                    "run {} of {} is wrong and those before it are right: {what}; every call of \
                     `run` must start from the same state",
                    run + 1,
                    outputs.len()
                )),
                (_, refusal) => refusal,
            })?;
            let is_worse = |it: &Accuracy| accuracy.relative_error.0 > it.relative_error.0;
            if worst.as_ref().is_none_or(is_worse) {
                worst = Some(accuracy);
            }
        }
        worst.ok_or_else(|| Refusal::Failed("nothing has run".to_owned()))
    }

    /// Whether an output of much later is right, too; without a reference, whether it is the one that it
    /// has `always` been, where it was the same in every run. With one, three equal runs do not make
    /// a sum over threads differ never.
    pub fn later(
        &self,
        output: &Tensor,
        always: Option<&Tensor>,
        runs: u64,
    ) -> Result<(), Refusal> {
        let drifted = |refusal: Refusal| match refusal {
            Refusal::Failed(what) => Refusal::Failed(format!(
                "the output changed since the check, after {runs} runs: {what}; every call of \
                 `run` must start from the same state"
            )),
            other => other,
        };
        self.accuracy_of(output).map_err(drifted)?;
        let Some(always) = always.filter(|_| self.reference.is_none()) else { return Ok(()) };
        let pair = [always.shallow_clone(), output.shallow_clone()];
        match spread(&pair).map_err(drifted)? {
            0.0 => Ok(()),
            spread => Err(drifted(Refusal::Failed(format!(
                "its first runs agreed, and an element of this output differs by {:.3e}",
                2.0 * spread
            )))),
        }
    }

    /// The accuracy of one output.
    pub fn accuracy_of(&self, output: &Tensor) -> Result<Accuracy, Refusal> {
        let failed = |what: String| Err(Refusal::Failed(what));
        let (broken, all) = (super::nonfinite(output)?, output.numel());
        if all == 0 {
            return failed(format!(
                "its output is empty ({:?}): there is nothing to check",
                output.size()
            ));
        }
        if broken > 0 {
            return failed(format!("{broken} of {all} outputs are NaN or infinite"));
        }
        let Some(reference) = &self.reference else {
            return Ok(Distance::UNKNOWN.accuracy(self.min_sqnr_db, 0));
        };
        let output = reference.select(output)?;
        if output.size() != reference.output().size() {
            let (found, expected) = (output.size(), reference.output().size());
            return failed(format!("its output is {found:?}, and its reference {expected:?}"));
        }
        let distance = Distance::between(reference.output(), &output)?;
        let Some(own) = &self.own else {
            return distance.judge(self.min_sqnr_db, reference.rows());
        };
        let wrong = match distance.relative_error == f64::INFINITY {
            true => own.away_from_nothing(&distance),
            false => {
                let mut wrong = exceeded(&own.tolerances, &distance);
                wrong.extend(own.below_gate(self.min_sqnr_db, &distance));
                wrong
            }
        };
        if !wrong.is_empty() {
            return failed(format!("inaccurate: {}", wrong.join("; ")));
        }
        Ok(distance.accuracy(self.min_sqnr_db, reference.rows()))
    }
}

impl UserTolerances {
    /// The violations beside a reference of zeros, where only absolute tolerances decide.
    fn away_from_nothing(&self, distance: &Distance) -> Vec<String> {
        let absolute = KernelTolerances { relative_error: None, ..self.tolerances };
        if absolute != KernelTolerances::default() {
            return exceeded(&absolute, distance);
        }
        let Distance { rmse, max_abs_error, .. } = distance;
        vec![format!(
            "its reference is 0 everywhere, so that no relative error exists; give \
             `tolerances.max_error` (its largest error is {max_abs_error:.3e}) or \
             `tolerances.rmse` (it is {rmse:.3e})"
        )]
    }

    /// The dtype's gate, where no `relative_error` takes its place.
    fn below_gate(&self, min_sqnr_db: f64, distance: &Distance) -> Option<String> {
        let Distance { sqnr_db, relative_error, .. } = distance;
        // A ratio that is no number must not pass, hence the question put this way round.
        if self.tolerances.relative_error.is_some() || *sqnr_db >= min_sqnr_db {
            return None;
        }
        Some(format!(
            "{sqnr_db:.1} dB signal-to-noise ratio is below the gate of {min_sqnr_db:.1} dB of {} \
             (relative error {relative_error:.3e}); if it is good enough, give \
             `tolerances.relative_error`",
            self.precision
        ))
    }
}

/// The name of a limit that the user has set.
fn limit(case: &Case, tolerances: &KernelTolerances) -> Option<&'static str> {
    let KernelTolerances { rmse, relative_error, max_error } = tolerances;
    [
        ("tolerances.rmse", rmse),
        ("tolerances.relative_error", relative_error),
        ("tolerances.max_error", max_error),
        ("min_sqnr_db", &case.settings.tolerance.min_sqnr_db),
    ]
    .into_iter()
    .find_map(|(name, limit)| limit.map(|_| name))
}

/// A relative error as a gate.
fn decibels(relative_error: f64) -> f64 {
    (-20.0 * relative_error.log10()).min(MOST_DB)
}

/// On the host, if it is what a reference has to be.
fn float64(reference: Tensor) -> Result<Tensor, Refusal> {
    let kind = reference.f_kind()?;
    if kind != Kind::Double {
        return Err(Refusal::Failed(format!("its reference is {kind:?}, and has to be float64")));
    }
    let reference = reference.f_to_device(tch::Device::Cpu)?;
    let (broken, all) = (super::nonfinite(&reference)?, reference.numel());
    if all == 0 {
        return Err(Refusal::Failed(
            "its reference is empty: there is nothing to check".to_owned(),
        ));
    }
    if broken > 0 {
        let what = format!("{broken} of the {all} values of its reference are NaN or infinite");
        return Err(Refusal::Failed(what));
    }
    Ok(reference)
}

/// The tolerances that a distance exceeds, with limit and value.
fn exceeded(tolerances: &KernelTolerances, distance: &Distance) -> Vec<String> {
    let KernelTolerances { rmse, relative_error, max_error } = *tolerances;
    let of = |name: &str, limit: Option<f64>, found: f64| {
        let limit = limit?;
        // NaN must not pass.
        let passes = found <= limit;
        (!passes).then(|| format!("`{name}` is {found:.3e}, above its tolerance of {limit:e}"))
    };
    [
        of("rmse", rmse, distance.rmse),
        of("relative_error", relative_error, distance.relative_error),
        of("max_error", max_error, distance.max_abs_error),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The largest standard deviation (population) of an element over these outputs.
pub fn spread(outputs: &[Tensor]) -> Result<f64, Refusal> {
    let [first, others @ ..] = outputs else { return Ok(0.0) };
    if let Some(other) = others.iter().find(|other| other.size() != first.size()) {
        let (first, other) = (first.size(), other.size());
        let what = format!("its output is {first:?} in one run and {other:?} in another");
        return Err(Refusal::Failed(what));
    }
    // n²σ² is the sum of the squared differences of all pairs: equal bits are exactly 0.
    let mut largest = 0.0_f64;
    let mut blocks: Vec<_> = outputs.iter().map(super::blocks).collect::<Result<_, _>>()?;
    loop {
        let block: Option<Vec<_>> = blocks.iter_mut().map(Iterator::next).collect();
        let Some(block) = block else { break };
        let block: Vec<Tensor> =
            block.into_iter().map(|it| inputs::float64(&it?)).collect::<Result<_, TchError>>()?;
        let mut squares = block[0].f_zeros_like()?;
        for (at, one) in block.iter().enumerate() {
            for other in &block[at + 1..] {
                squares = squares.f_add(&one.f_sub(other)?.f_square()?)?;
            }
        }
        largest = largest.max(squares.f_max()?.f_double_value(&[])?);
    }
    Ok(largest.sqrt() / outputs.len() as f64)
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
