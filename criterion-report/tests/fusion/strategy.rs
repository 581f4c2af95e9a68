//! Whether to fuse.

use super::*;

#[test]
fn the_strategy_follows_from_the_intervals() {
    let report = report("");
    let linear = advice(&report, Pattern::LinearBiasRelu);
    // In place is better still, but fuses nothing.
    assert_eq!((linear.advice, linear.best), (Advice::Conditional, Some(FusionVariant::Fused)));
    assert_eq!(advice_for(&linear, FusionVariant::Inplace), Advice::Faster);
    assert_eq!(advice_for(&linear, FusionVariant::Addmm), Advice::Indifferent);
    assert_eq!(advice_for(&linear, FusionVariant::Mkldnn), Advice::Inconclusive);
    assert_eq!(advice_for(&linear, FusionVariant::TorchScript), Advice::Inconclusive);

    let document = document(&report);
    let strategy = document["strategy"].as_array().expect("a list");
    assert_eq!(strategy.len(), 3, "one for each pattern on each device");
    let absent = &strategy[2];
    assert_eq!((&absent["device"], &absent["processor"]), (&"cuda".into(), &Value::Null));
    assert_eq!(
        (&absent["advice"], &absent["best_variant"]),
        (&"inconclusive".into(), &Value::Null)
    );
    assert_eq!(strategy[0]["fusion_pattern"], "Linear_Bias_ReLU");
    assert_eq!(strategy[0]["advice"], "fuse conditionally");
    let fused = &strategy[0]["variants"][0];
    assert_eq!((&fused["cases"], &fused["cases_with_speedup"]), (&3.into(), &3.into()));
    assert_eq!(fused["gaining"][0]["size"], "128x512x512");
    assert_eq!(fused["losing"][0]["dtype"], "torch.bfloat16");
    assert_eq!(fused["lowest"]["speedup_factor"], 0.897);
    assert_eq!(fused["highest"]["speedup_high"], 1.236);
}
