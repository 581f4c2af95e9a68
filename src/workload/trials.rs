//! The gates of an operator's implementation: small inputs of every kind, judged value by value.

use plan::{Gate, Stat};

use super::Refusal;
use crate::inputs::{self, Inputs};
use crate::operators::{self, Site, Tolerance, Trial};
use crate::step::Step;
use crate::verify::{Values, Worst};

/// What makes an implementation: [`operators::build`], or a test's own.
pub(super) type Build<'a> = &'a dyn Fn(&Site, Inputs) -> Result<Step, Refusal>;

/// Tries the site's implementation on every kind of small inputs.
///
/// # Errors
/// Failed, with inputs, size and value of the first gate that is not passed; what the implementation
/// refuses.
pub(super) fn pass(site: &Site, seed: i64, build: Build) -> Result<Vec<Gate>, Refusal> {
    operators::trials(site).iter().map(|trial| gate(trial, seed, build)).collect()
}

fn gate(trial: &Trial, seed: i64, build: Build) -> Result<Gate, Refusal> {
    let worst = worst(trial, seed, build)?;
    let (inputs, size) = (trial.name(), trial.site.work.size);
    // A ratio that is no number must not pass, hence the question put this way round.
    if worst.ratio <= 1.0 {
        let size = vec![size.batch_size, size.sequence_length, size.tensor_dimension];
        return Ok(Gate { inputs, size, worst: Stat(worst.ratio) });
    }
    let Worst { index, output, reference, allowed, .. } = worst;
    Err(Refusal::Failed(format!(
        "inaccurate: of {inputs} inputs of {size}, the output at {index:?} is {output:e} instead of \
         {reference:e}; the error may be {allowed:.3e}"
    )))
}

/// The worst value of the output on these inputs.
fn worst(trial: &Trial, seed: i64, build: Build) -> Result<Worst, Refusal> {
    let site = &trial.site;
    let inputs = {
        let _drawing = inputs::seeded(seed);
        trial.draw()?
    };
    let in_float64 = inputs.all_in_float64()?;
    let output = tch::no_grad(|| build(site, inputs)?.run().map_err(Refusal::from))?;
    let reference = tch::no_grad(|| operators::composed(site.work.operator, &in_float64))?;
    let Tolerance { allowed, largest, infinity_may_be_nan } =
        Tolerance::new(site, &in_float64, &reference)?;
    let values = Values { reference: &reference, allowed: &allowed, largest, infinity_may_be_nan };
    Ok(values.worst(&output)?)
}

#[cfg(test)]
mod calibration {
    use super::*;
    use plan::{Dtype, Implementation, Operator, OperatorShape, OperatorWork};
    use std::collections::BTreeMap;

    pub fn site(
        operator: Operator,
        implementation: Implementation,
        dtype: Dtype,
        size: [u64; 3],
    ) -> Site {
        let [batch_size, sequence_length, tensor_dimension] = size;
        let size = OperatorShape { batch_size, sequence_length, tensor_dimension };
        let work = OperatorWork { operator, implementation, size, max_elements: u64::MAX };
        Site { work, dtype, device: plan::Device::Cpu, place: tch::Device::Cpu }
    }

    #[test]
    #[ignore]
    fn table() {
        let only = std::env::var("ONLY").unwrap_or_default();
        let seeds: i64 = std::env::var("SEEDS").map_or(3, |s| s.parse().unwrap());
        for &operator in Operator::ALL {
            if !only.is_empty() && !only.split(',').any(|o| o == operator.as_str()) {
                continue;
            }
            for implementation in
                [Implementation::Aten, Implementation::AtenOut, Implementation::AtenComposed]
            {
                if !operator.implementations().contains(&implementation) {
                    continue;
                }
                for &dtype in Dtype::ALL {
                    let mut by: BTreeMap<String, (f64, String)> = BTreeMap::new();
                    for dim in [1, 2, 5, 33, 64, 256, 768, 4096, 50000] {
                        for seed in 0..seeds {
                            for trial in operators::trials(&site(
                                operator,
                                implementation,
                                dtype,
                                [1, 1, dim],
                            )) {
                                let it = worst(&trial, seed, &operators::build).unwrap();
                                let name = trial.name().replace(", padded rows", "");
                                let best = by.entry(name).or_insert((-1.0, String::new()));
                                if it.ratio > best.0 {
                                    *best = (
                                        it.ratio,
                                        format!(
                                            "{} {:?} {:?} {:e} {:e} {:e}",
                                            trial.site.work.size,
                                            trial.name(),
                                            it.index,
                                            it.output,
                                            it.reference,
                                            it.allowed
                                        ),
                                    );
                                }
                            }
                        }
                    }
                    let short: Vec<String> =
                        by.iter().map(|(k, v)| format!("{k} {:.2}", v.0)).collect();
                    println!("{operator} {implementation} {}: {}", dtype.short(), short.join(" "));
                    for (k, v) in by {
                        if v.0 > 1.0 {
                            println!("     !! {k} {v:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    #[ignore]
    fn time() {
        for &operator in Operator::ALL {
            for dim in [64, 768, 4096, 50000] {
                let site = site(operator, Implementation::Aten, Dtype::Float32, [1, 1, dim]);
                let start = std::time::Instant::now();
                let all = operators::trials(&site);
                for t in &all {
                    let _ = worst(t, 1, &operators::build).unwrap();
                }
                println!("{operator} {dim}: {} trials {:?}", all.len(), start.elapsed());
            }
        }
    }
}
