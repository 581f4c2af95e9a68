//! Workloads of our own under the real harness and the real criterion: cases that go wrong, pairs, threads.
//!
//! Criterion reads the arguments of its process, so each run is a child process: this program, with
//! `--bench`, as the suite that a variable names. So libtest cannot have its `main`.

mod adversity;
mod lost_bias;
mod outcomes;
mod pairs;
mod profiles;
mod program;
mod shards;
mod threads;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use program::Suite;

const SUITES: [&Suite; 5] =
    [&outcomes::SUITE, &pairs::SUITE, &profiles::SUITE, &shards::SUITE, &threads::SUITE];

/// The functions, each under its path.
macro_rules! tests {
    ($($module:ident: $($name:ident),+;)+) => {
        &[$($((concat!(stringify!($module), "::", stringify!($name)), $module::$name)),+),+]
    };
}

const TESTS: &[(&str, fn())] = tests! {
    outcomes: every_case_ends_in_one_written_outcome_and_the_run_goes_on,
        test_mode_runs_every_case_once_and_saves_nothing,
        a_filter_prepares_what_it_selects_and_nothing_else,
        a_crash_has_a_name,
        a_wrong_variant_has_no_time_and_no_speedup;
    adversity: output_that_cannot_be_written_changes_nothing,
        output_is_whole_and_in_order,
        two_runs_in_one_folder_take_turns,
        what_cannot_be_stored_ends_the_run,
        a_slow_case_ends_at_its_time_limit;
    pairs: a_candidate_is_paired_with_its_baseline,
        a_candidate_alone_is_paired_too,
        a_candidate_without_a_pair_says_why,
        a_pair_is_looked_at_again,
        a_pair_keeps_its_first_look_if_a_later_one_dies,
        a_budget_gives_looks_until_all_is_decided,
        a_budget_below_the_least_measures_nothing,
        a_test_pairs_nothing;
    profiles: a_profile_is_in_the_record_and_what_dies_takes_nothing_with_it,
        nothing_is_profiled_unless_asked_for,
        a_later_profile_replaces_all_files_of_an_earlier_one,
        results_that_are_not_kept_are_not_profiled,
        a_run_that_goes_on_makes_the_profiles_that_are_lacking;
    shards: three_parts_are_the_whole,
        a_part_is_recorded_with_its_origin,
        a_wrong_part_runs_nothing,
        a_part_that_was_cut_off_is_continued,
        a_case_whose_result_is_not_whole_is_measured_again,
        a_damaged_baseline_is_none,
        a_line_for_bencher_is_whole,
        what_was_measured_otherwise_is_measured_again,
        a_part_that_the_machine_failed_is_worth_another_try;
    threads: each_sibling_runs_on_its_own_threads_and_its_record_says_so,
        a_baseline_prepared_for_its_candidate_leaves_the_candidates_threads,
        threads_that_openmp_withholds_are_not_recorded,
        threads_are_the_candidates_where_its_baseline_fails_beside_it;
};

fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == "--bench") {
        return Suite::chosen(&SUITES).bench();
    }
    let test = |(name, test): &(&str, fn())| {
        let test = *test;
        Trial::test(*name, move || {
            test();
            Ok(())
        })
    };
    libtest_mimic::run(&Arguments::from_args(), TESTS.iter().map(test).collect()).exit_code()
}
