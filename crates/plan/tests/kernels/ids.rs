//! Ids of cases, and the hash of what a kernel is made of.

use plan::{MAX_ID, MAX_PART};

use super::expansion::{FIELDS, ids, package, parameters, work};
use super::package::{KERNEL, Package, sibling, with_fields};

#[test]
fn ids_hold_the_values_that_are_given() {
    let fields = "pub whole: i64, pub real: f64, pub flag: bool, pub name: String, \
                  pub list: Vec<f32>, pub r#type: u8";
    for (given, expected) in [
        ("{ whole: -3 }", "f32--3"),
        ("{ real: 1 }", "f32-1"),
        ("{ real: 1.0 }", "f32-1"),
        ("{ real: 100000 }", "f32-1e5"),
        ("{ real: 0.25 }", "f32-0.25"),
        ("{ whole: 100000 }", "f32-100000"),
        ("{ flag: true, name: red_black }", "f32-true-red_black"),
        ("{ list: [] }", "f32-empty"),
        ("{ list: [0.5, 2, 1e-9] }", "f32-0.5x2x1e-9"),
        ("{ type: 7, whole: 1 }", "f32-1-7"),
        ("{ name: 'ij,jk->ik' }", "f32-ij_jk-_ik~"),
        (
            "{ name: a rather long text that does not fit }",
            "f32-a_rather_long_text_that_does_not_fit~",
        ),
    ] {
        let found = parameters(fields, given);
        assert_eq!(found.len(), 1, "{given}");
        let exact = !expected.ends_with('~');
        assert!(
            if exact { found[0] == expected } else { found[0].starts_with(expected) },
            "{given}: {} is not {expected}",
            found[0]
        );
    }
    let texts = "{ name: ['ij,jk->ik', 'ij;jk->ik', ij_jk-_ik] }";
    let mut found = parameters(fields, texts);
    found.sort();
    found.dedup();
    assert_eq!(found.len(), 3, "what is not plain is told apart by its hash: {found:?}");
}

#[test]
fn the_order_of_files_and_keys_changes_no_id() {
    let size = "problem_size: { max_iterations: 5, grid_size: [1, 2, 3] }\n";
    let (a, b) = ("precisions: [fp32]\n", "seed: 5\n");
    let one = package(FIELDS, &format!("{size}{a}{b}")).plan();
    let reordered = "problem_size: { grid_size: [1, 2, 3], max_iterations: 5 }\n";
    let two = package(FIELDS, &format!("{b}{a}{reordered}")).plan();
    assert_eq!(ids(&one), ids(&two));
}

#[test]
fn ids_stay_inside_criterions_limits() {
    let numbers: Vec<String> = (0..30).map(|it| format!("f{it}: 123456")).collect();
    let fields: Vec<String> = (0..30).map(|it| format!("pub f{it}: u64")).collect();
    let text = with_fields(&fields.join(", "));
    let bench = format!("problem_size: {{ {} }}", numbers.join(", "));
    let package = Package::new(&[
        ("pressure_poisson/kernel.rs", &text),
        ("pressure_poisson/a_rather_long_name_of_an_implementation.rs", &sibling(&text)),
        ("pressure_poisson/bench.yaml", &bench),
    ]);
    let plan = package.plan();
    assert_eq!(plan.cases().count(), 2);
    for case in plan.cases() {
        assert!(case.full_id().len() <= MAX_ID, "{}", case.full_id());
        assert!(case.id.group.len() <= MAX_PART && case.id.parameter.len() <= MAX_PART);
        assert_eq!(work(case).problem_size.len(), 30);
    }
    let folder = "a_name_that_is_longer_than_anything_that_criterion_makes_a_folder_of";
    let package = Package::new(&[(&format!("{folder}/kernel.rs"), KERNEL)]);
    insta::assert_snapshot!(package.errors());
}

#[test]
fn the_hash_changes_with_everything_that_a_kernel_is_made_of() {
    let text = with_fields("pub n: usize");
    let other = sibling(&text);
    let files = [
        ("a/kernel.rs", text.as_str()),
        ("a/other.rs", other.as_str()),
        ("a/_helper.rs", "fn help() {}"),
        ("a/step.cu", "__global__ void step() {}"),
        ("a/bench.yaml", "seed: 1"),
        ("alone.rs", KERNEL),
        ("beside.rs", KERNEL),
    ];
    let hashes = |package: &Package, rest: &str| -> Vec<String> {
        let plan = package.plan_with(rest);
        let mut hashes: Vec<String> = plan.cases().map(|case| case.config_hash.clone()).collect();
        assert_eq!(hashes.len(), 4);
        assert!(hashes.iter().all(|hash| hash.len() == 16), "{hashes:?}");
        hashes.dedup();
        assert_eq!(hashes.len(), 3, "files of one folder have one: {hashes:?}");
        hashes
    };
    let first = hashes(&Package::new(&files), "");
    assert_eq!(first, hashes(&Package::new(&files), ""), "wherever the package is");
    for (file, text) in files {
        let package = Package::new(&files);
        // A comment in each of the languages.
        let comment = if file.ends_with("yaml") { "# one" } else { "// one" };
        package.write(&format!("benches/kernels/{file}"), format!("{text}\n{comment}\n"));
        let second = hashes(&package, "");
        let changed: Vec<bool> = first.iter().zip(&second).map(|(one, two)| one != two).collect();
        let expected = ["a/", "alone", "beside"].map(|kernel| file.starts_with(kernel));
        let mut expected = expected.to_vec();
        // In the order of the plan: files before folders.
        expected.rotate_left(1);
        assert_eq!(changed, expected, "{file}");
    }
    let other = hashes(&Package::new(&files), "seed: 2");
    assert!(first.iter().zip(&other).all(|(one, two)| one != two));
}
