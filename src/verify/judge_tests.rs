use super::*;

fn judge(tolerances: KernelTolerances, reference: Option<&[f64]>) -> Judge {
    Judge {
        reference: reference.map(|it| Reference::whole(Tensor::from_slice(it))),
        min_sqnr_db: tolerances.relative_error.map_or(60.0, decibels),
        own: Some(UserTolerances { tolerances, precision: "fp32" }),
    }
}

fn message(refusal: Refusal) -> String {
    let Refusal::Failed(text) = refusal else { panic!("{refusal:?}") };
    text
}

#[test]
fn each_tolerance_is_enforced_by_its_own_name_limit_and_value() {
    // ‖(3, 4)‖ = 5, error (0, 0.5): 0.5 at most, a tenth, √(0.125).
    let output = Tensor::from_slice(&[3.0, 4.5]);
    let none = KernelTolerances::default();
    let wide = Some(1.0);
    for (name, tolerances, limits, value) in [
        (
            "rmse",
            KernelTolerances { rmse: Some(0.35), relative_error: wide, ..none },
            "3.5e-1",
            "3.536e-1",
        ),
        (
            "relative_error",
            KernelTolerances { relative_error: Some(0.099), ..none },
            "9.9e-2",
            "1.000e-1",
        ),
        (
            "max_error",
            KernelTolerances { max_error: Some(0.49), relative_error: wide, ..none },
            "4.9e-1",
            "5.000e-1",
        ),
    ] {
        let judge = judge(tolerances, Some(&[3.0, 4.0]));
        let text = message(judge.accuracy(&[output.shallow_clone()]).unwrap_err());
        let others = ["rmse", "relative_error", "max_error"].iter().filter(|it| **it != name);
        assert!(others.clone().all(|other| !text.contains(other)), "{text}");
        for part in [&format!("`{name}`"), limits, value] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    let all =
        KernelTolerances { rmse: Some(0.36), relative_error: Some(0.1), max_error: Some(0.5) };
    let accuracy = judge(all, Some(&[3.0, 4.0])).accuracy(&[output]).unwrap();
    assert!((accuracy.sqnr_db.0 - 20.0).abs() < 1e-9 && (accuracy.min_sqnr_db - 20.0).abs() < 1e-9);
    assert_eq!((accuracy.max_abs_error.0, accuracy.rows_checked), (0.5, 2));
    assert!((accuracy.rmse.unwrap().0 - 0.125_f64.sqrt()).abs() < 1e-15);
}

#[test]
fn without_a_relative_error_the_gate_of_the_dtype_holds() {
    let reference = [1.0, 1.0];
    let of = |tolerances, error: f64| {
        judge(tolerances, Some(&reference)).accuracy(&[Tensor::from_slice(&[1.0, 1.0 + error])])
    };
    let loose = KernelTolerances { max_error: Some(1.0), ..KernelTolerances::default() };
    assert!(of(loose, 1e-3).is_ok(), "63 dB");
    let text = message(of(loose, 2e-3).unwrap_err());
    assert!(text.contains("60.0 dB of fp32") && text.contains("relative_error"), "{text}");
    let relative = KernelTolerances { relative_error: Some(0.01), ..loose };
    assert!(of(relative, 2e-3).is_ok());
}

#[test]
fn a_tolerance_of_nothing_wants_equality() {
    let equal = KernelTolerances { relative_error: Some(0.0), ..KernelTolerances::default() };
    let judge = judge(equal, Some(&[1.0, 2.0]));
    let accuracy = judge.accuracy(&[Tensor::from_slice(&[1.0, 2.0])]).unwrap();
    assert_eq!((accuracy.min_sqnr_db, accuracy.sqnr_db.0), (MOST_DB, f64::INFINITY));
    assert!(judge.accuracy(&[Tensor::from_slice(&[1.0, 2.0 + 1e-15])]).is_err());
}

#[test]
fn what_is_no_number_fails_whatever_is_allowed() {
    let anything =
        KernelTolerances { rmse: Some(f64::MAX), relative_error: Some(f64::MAX), max_error: None };
    for wrong in [f64::NAN, f64::INFINITY] {
        for reference in [None, Some(&[1.0, 2.0][..])] {
            let text = judge(anything, reference).accuracy(&[Tensor::from_slice(&[1.0, wrong])]);
            assert!(message(text.unwrap_err()).contains("1 of 2 outputs are NaN or infinite"));
        }
    }
}

#[test]
fn without_a_reference_nothing_is_known() {
    let accuracy =
        judge(KernelTolerances::default(), None).accuracy(&[Tensor::from_slice(&[1.0])]).unwrap();
    assert!(accuracy.sqnr_db.0.is_nan() && accuracy.rmse.unwrap().0.is_nan());
    assert_eq!(accuracy.rows_checked, 0);
}

#[test]
fn another_size_than_the_references_is_said() {
    let judge = judge(KernelTolerances::default(), Some(&[1.0, 2.0]));
    let text = message(judge.accuracy(&[Tensor::from_slice(&[1.0, 2.0, 3.0])]).unwrap_err());
    assert!(text.contains("[3]") && text.contains("[2]"), "{text}");
}

#[test]
fn a_run_that_starts_from_what_the_one_before_has_left_is_found() {
    let judge = judge(KernelTolerances::default(), Some(&[1.0, 2.0]));
    let outputs = [1.0, 1.0, 1.5].map(|factor| Tensor::from_slice(&[factor, 2.0 * factor]));
    let text = message(judge.accuracy(&outputs).unwrap_err());
    assert!(text.starts_with("run 3 of 3 is wrong") && text.contains("-"), "{text}");
}

#[test]
fn a_reference_is_float64_and_of_numbers() {
    let text = message(float64(Tensor::from_slice(&[1.0_f32])).unwrap_err());
    assert!(text.contains("Float") && text.contains("float64"), "{text}");
    assert!(float64(Tensor::from_slice(&[1.0, f64::NAN])).is_err());
    assert!(message(float64(Tensor::from_slice::<f64>(&[])).unwrap_err()).contains("empty"));
}

#[test]
fn the_spread_is_the_populations_largest() {
    let outputs = |values: [[f64; 2]; 3]| values.map(|it| Tensor::from_slice(&it));
    // Values 1, 2, 6: mean 3, variance (4 + 1 + 9) / 3.
    let found = spread(&outputs([[1.0, 5.0], [2.0, 5.0], [6.0, 5.0]])).unwrap();
    assert!((found - (14.0_f64 / 3.0).sqrt()).abs() < 1e-12, "{found}");
    // A mean of three of these would be rounded.
    assert_eq!(spread(&outputs([[0.1, 1e300]; 3])), Ok(0.0));
    let sizes = [Tensor::from_slice(&[1.0]), Tensor::from_slice(&[1.0, 2.0])];
    assert!(message(spread(&sizes).unwrap_err()).contains("[2]"));
}

#[test]
fn beside_zeros_absolute_tolerances_decide() {
    let none = KernelTolerances::default();
    let of = |tolerances, output: [f64; 2]| {
        judge(tolerances, Some(&[0.0, 0.0])).accuracy(&[Tensor::from_slice(&output)])
    };
    assert!(of(none, [0.0, 0.0]).is_ok(), "equal");
    for no_absolute in [none, KernelTolerances { relative_error: Some(0.5), ..none }] {
        let text = message(of(no_absolute, [0.0, 1e-9]).unwrap_err());
        assert!(text.contains("0 everywhere") && text.contains("`tolerances.max_error`"), "{text}");
        assert!(text.contains("`tolerances.rmse`") && text.contains("1.000e-9"), "{text}");
    }
    let max_error = KernelTolerances { max_error: Some(1e-8), relative_error: Some(0.5), ..none };
    assert_eq!(of(max_error, [0.0, 1e-9]).unwrap().max_abs_error.0, 1e-9);
    let text = message(of(max_error, [0.0, 1e-7]).unwrap_err());
    assert!(text.contains("`max_error` is 1.000e-7, above its tolerance of 1e-8"), "{text}");
    let rmse = KernelTolerances { rmse: Some(1e-8), ..none };
    assert!(of(rmse, [0.0, 1e-9]).is_ok() && of(rmse, [0.0, 1e-7]).is_err());
}

#[test]
fn an_absolute_tolerance_of_nothing_wants_equality() {
    for nothing in [
        KernelTolerances { max_error: Some(0.0), ..KernelTolerances::default() },
        KernelTolerances { rmse: Some(0.0), ..KernelTolerances::default() },
    ] {
        let of = |output| judge(nothing, Some(&[1.0])).accuracy(&[Tensor::from_slice(&[output])]);
        assert!(of(1.0).is_ok() && of(1.0 + 1e-15).is_err());
    }
}

#[test]
fn an_empty_output_fails_by_name() {
    for reference in [None, Some(&[1.0][..])] {
        let output = Tensor::from_slice::<f64>(&[]);
        let text =
            message(judge(KernelTolerances::default(), reference).accuracy(&[output]).unwrap_err());
        assert!(text.starts_with("its output is empty ([0])"), "{text}");
    }
}
