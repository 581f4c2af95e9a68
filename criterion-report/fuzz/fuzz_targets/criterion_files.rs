//! Criterion's three files, a line each: what is accepted is a time, and comes back as it was.
#![no_main]

use criterion_report::model::{Benchmark, CriterionResult, Estimates, Samples};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut lines = data.split(|byte| *byte == b'\n');
    let mut line = || lines.next().unwrap_or_default();
    let (benchmark, estimates, samples) = (line(), line(), line());
    let Ok(benchmark) = serde_json::from_slice::<Benchmark>(benchmark) else { return };
    let Ok(estimates) = serde_json::from_slice::<Estimates>(estimates) else { return };
    let Ok(samples) = serde_json::from_slice::<Samples>(samples) else { return };
    let result = CriterionResult { benchmark, estimates, samples };
    if result.check().is_err() {
        return;
    }

    let time = result.time();
    for ns in [time.median_ns, time.mean_ns, time.fastest_ns, time.slowest_ns] {
        assert!(ns > 0.0 && ns.is_finite(), "{ns} ns");
    }
    assert!(time.std_dev_ns >= 0.0 && time.std_dev_ns.is_finite());
    assert!(time.fastest_ns <= time.slowest_ns);
    assert!(result.samples.sorted_steps_ns().is_sorted());
    let sampled = result.sample_median_ns();
    assert!(sampled > 0.0 && sampled.is_finite(), "{sampled} ns");
    result.is_of_its_samples();
    result.last_sample();

    let CriterionResult { benchmark, estimates, samples } = result;
    let text = serde_json::to_string(&(&benchmark, &estimates, &samples)).expect("serialises");
    let again: (Benchmark, Estimates, Samples) = serde_json::from_str(&text).expect("our own");
    assert_eq!(again, (benchmark, estimates, samples));
});
