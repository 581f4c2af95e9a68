//! The files that are kernels, and their names.

use plan::Work;

use super::package::{KERNEL, Package, sibling};

/// Name, implementation and file of each case.
fn found(package: &Package, rest: &str) -> Vec<String> {
    let plan = package.plan_with(rest);
    let row = |work: &Work| {
        let work = work.kernel().expect("a kernel");
        format!("{} {} {}", work.kernel, work.implementation, work.file)
    };
    plan.cases().map(|case| row(&case.work)).collect()
}

#[test]
fn a_kernel_has_its_folders_or_its_files_name() {
    let other = sibling(KERNEL);
    let package = Package::new(&[
        ("zeta.rs", KERNEL),
        ("solver/kernel.rs", KERNEL),
        ("solver/sor.rs", &other),
        ("solver/fast.rs", &other),
        ("deep/er/two.rs", KERNEL),
        ("deep/er/one.rs", KERNEL),
        ("deep/er/notes.txt", "no kernel"),
    ]);
    let root = "benches/kernels";
    assert_eq!(
        found(&package, ""),
        [
            format!("zeta kernel {root}/zeta.rs"),
            format!("one kernel {root}/deep/er/one.rs"),
            format!("two kernel {root}/deep/er/two.rs"),
            format!("solver kernel {root}/solver/kernel.rs"),
            format!("solver fast {root}/solver/fast.rs"),
            format!("solver sor {root}/solver/sor.rs"),
        ]
    );
}

#[test]
fn helpers_and_tests_are_no_kernels() {
    let helper = "this is not even Rust";
    let package = Package::new(&[
        ("one.rs", KERNEL),
        ("_grid.rs", helper),
        ("test_one.rs", helper),
        ("_grids/two.rs", helper),
        ("test_data/three.rs", helper),
        (".cache/four.rs", helper),
        (".#one.rs", helper),
    ]);
    assert_eq!(found(&package, ""), ["one kernel benches/kernels/one.rs"]);
}

#[test]
fn roots_are_the_configs_and_each_file_counts_once() {
    let package = Package::new(&[("one.rs", KERNEL)]);
    package.write("src/kernels/two/kernel.rs", KERNEL);
    assert_eq!(
        found(&package, "kernel_paths: [src/kernels, benches/kernels, src]"),
        ["two kernel src/kernels/two/kernel.rs", "one kernel benches/kernels/one.rs"]
    );
    assert_eq!(
        found(&package, "kernel_paths: [src]"),
        ["two kernel src/kernels/two/kernel.rs"],
        "the usual folder only where none is named"
    );
    let outside = package.path("src/../src/kernels").display().to_string();
    assert_eq!(found(&package, &format!("kernel_paths: ['{outside}']")).len(), 1);
}

#[test]
fn the_folders_of_quasim_are_searched_and_other_code_in_them_is_passed_over() {
    let package = Package::new(&[("own.rs", KERNEL)]);
    let roots: Vec<&str> = plan::usual_kernel_roots().collect();
    assert_eq!(
        roots,
        [
            "benches/kernels",
            "kernels",
            "src/kernels",
            "quasim/kernels",
            "integrations/kernels",
            "autonomous_systems_platform/services/backend/quasim/kernels",
        ]
    );
    for (index, root) in roots.iter().enumerate().skip(1) {
        package.write(&format!("{root}/found_{index}/kernel.rs"), KERNEL);
    }
    package.write("src/kernels/mod.rs", "pub mod found_2;");
    package.write("src/kernels/a b.rs", "fn helper() {}");
    package.write("kernels/bench.yaml", "precisions: [fp64]\n");
    let mut expected = vec!["own kernel benches/kernels/own.rs".to_owned()];
    for (index, root) in roots.iter().enumerate().skip(1) {
        expected.push(format!("found_{index} kernel {root}/found_{index}/kernel.rs"));
    }
    assert_eq!(found(&package, ""), expected);
    let suite = package.config("").expect("fine").suite;
    let plan::Suite::Kernels(suite) = suite else { panic!("of kernels") };
    let passed = ["src/kernels/a b.rs", "src/kernels/mod.rs"].map(|file| package.path(file));
    assert_eq!(suite.passed_over, passed);
    // Where a config names the folder, whatever lies in it has to be a kernel.
    assert!(package.config("kernel_paths: [src/kernels]").is_err());
}

#[test]
fn a_function_of_another_name_is_found_by_it() {
    let function = KERNEL_FUNCTION.replace("run_benchmark", "solve");
    let package = Package::new(&[("mine.rs", &function)]);
    assert!(package.config("").is_err(), "nothing says that `solve` is to be timed");
    package.write("benches/kernels/bench.yaml", "function_name: solve\n");
    assert_eq!(found(&package, ""), ["mine kernel benches/kernels/mine.rs"]);
}

const KERNEL_FUNCTION: &str = "pub struct ProblemSize;\npub fn run_benchmark(size: &ProblemSize) -> \
                               Result<f32, Refusal> { Ok(0.0) }\n";

#[test]
fn no_folder_is_no_kernel_unless_it_is_named() {
    let package = Package::new(&[]);
    std::fs::remove_dir_all(package.path("benches")).expect("removed");
    assert_eq!(found(&package, ""), [""; 0]);
    insta::assert_snapshot!(package.errors_with("kernel_paths: [benches/kernels]"));
}

#[test]
fn two_of_one_name_are_an_error_that_names_both() {
    let package = Package::new(&[
        ("solver.rs", KERNEL),
        ("a/solver/kernel.rs", KERNEL),
        ("b/Solver.rs", KERNEL),
    ]);
    insta::assert_snapshot!(package.errors());
}

#[test]
fn what_would_be_lost_in_silence_is_an_error() {
    let package = Package::new(&[
        ("one.rs", KERNEL),
        ("bench.yml", "precisions: [fp64]"),
        ("no_kernel/bench.yaml", "precisions: [fp64]"),
        ("a b/kernel.rs", KERNEL),
        ("größe.rs", KERNEL),
    ]);
    insta::assert_snapshot!(package.errors());
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_their_loops_end() {
    use std::os::unix::fs::symlink;
    let package = Package::new(&[("one/kernel.rs", KERNEL)]);
    package.write("elsewhere/two/kernel.rs", KERNEL);
    let link = |to: &str, from: &str| {
        symlink(package.path(to), package.path(from)).expect("a link");
    };
    link("benches/kernels", "benches/kernels/one/back");
    link("benches/kernels/one", "benches/kernels/one/self");
    link("elsewhere", "benches/kernels/linked");
    assert_eq!(
        found(&package, ""),
        [
            "two kernel benches/kernels/linked/two/kernel.rs",
            "one kernel benches/kernels/one/kernel.rs"
        ]
    );
    link("nowhere.rs", "benches/kernels/gone.rs");
    insta::assert_snapshot!(package.errors());
}

#[cfg(unix)]
#[test]
fn a_name_that_is_no_text_is_an_error() {
    use std::os::unix::ffi::OsStrExt;
    let package = Package::new(&[("one.rs", KERNEL)]);
    let name = std::ffi::OsStr::from_bytes(b"benches/kernels/\xff.rs");
    let file = package.path("").join(name);
    // Some file systems refuse such names themselves.
    if std::fs::write(file, KERNEL).is_ok() {
        insta::assert_snapshot!(package.errors());
    }
}

#[cfg(unix)]
#[test]
fn a_folder_is_called_as_it_is_where_it_is_found() {
    let package = Package::new(&[]);
    package.write("elsewhere/hidden/kernel.rs", KERNEL);
    let link = package.path("benches/kernels/visible");
    std::os::unix::fs::symlink(package.path("elsewhere/hidden"), link).expect("made");
    let ids: Vec<String> = package.plan().cases().map(plan::Case::full_id).collect();
    assert_eq!(ids, ["kernels/test/visible/cpu/kernel/f32-default"]);
    package.write("kernel.rs", KERNEL);
    let plan = package.plan_with("kernel_paths: [elsewhere/..]\n");
    let root = package.path("");
    let name = root.file_name().expect("it has one").to_str().expect("plain");
    assert!(plan.cases().any(|case| case.full_id().starts_with(&format!("kernels/test/{name}/"))));
}
