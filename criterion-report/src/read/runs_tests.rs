use super::*;

fn run(run_id: &str, warnings: &[&str]) -> Run {
    let manifest = RunManifest {
        version: RunManifest::VERSION,
        run_id: run_id.to_owned(),
        target: "inference".to_owned(),
        baseline: None,
        started: 0,
        finished: None,
        args: Vec::new(),
        filter: None,
        exact: false,
        shard: None,
        merged: false,
        checks: Vec::new(),
        warnings: warnings.iter().map(|&text| text.to_owned()).collect(),
        selected: Vec::new(),
        resumed: Vec::new(),
        outcomes: BTreeMap::new(),
    };
    Run { manifest, running: None, in_progress: false }
}

/// A run of the cases `selected` that is through, or ended in the case `running`.
fn run_of(run_id: &str, selected: &[&str], running: Option<&str>) -> Run {
    let mut run = run(run_id, &[]);
    run.manifest.selected = selected.iter().map(|&id| id.to_owned()).collect();
    run.manifest.finished = running.is_none().then_some(0);
    run.running = running.map(str::to_owned);
    run
}

fn order(runs: &[Run], written: &[(&str, &str)]) -> Vec<String> {
    let ordered = in_order(runs.to_vec(), &written.iter().copied().collect());
    ordered.into_iter().map(|run| run.manifest.run_id).collect()
}

#[test]
fn what_was_replaced_came_before_whatever_the_clock_said() {
    // The clock was set back before 1 and 2.
    let runs = [
        run_of("1", &["a", "b"], None),
        run_of("2", &["b"], None),
        run_of("9", &["a", "b", "c"], None),
    ];
    assert_eq!(order(&runs, &[("a", "1"), ("b", "2"), ("c", "9")]), ["9", "1", "2"]);
    // Nothing is known, or what is known contradicts itself.
    assert_eq!(order(&runs, &[]), ["1", "2", "9"]);
    assert_eq!(order(&runs, &[("a", "9"), ("b", "1")]).len(), 3);
}

#[test]
fn a_crashed_run_has_left_records_of_the_cases_before_its_last() {
    let runs = [run_of("1", &["a", "b"], None), run_of("2", &["a", "b"], Some("b"))];
    let crashed_last = [("a", "2"), ("b", "1")];
    assert_eq!(order(&runs, &crashed_last), ["1", "2"]);
    let [whole, crashed] = runs;
    assert_eq!(order(&[crashed.clone(), whole.clone()], &crashed_last), ["1", "2"]);
    assert_eq!(order(&[whole, crashed], &[("a", "1"), ("b", "1")]), ["2", "1"]);
}

#[test]
fn a_resumed_case_was_measured_before() {
    let mut runs = [run_of("1", &["a", "b"], Some("b")), run_of("2", &["a", "b"], None)];
    runs[1].manifest.resumed = vec!["a".to_owned()];
    assert_eq!(order(&runs, &[("a", "1"), ("b", "2")]), ["1", "2"]);
    // It ended in `b`: nothing is wrong with `a`.
    (runs[1].manifest.finished, runs[1].running) = (None, Some("b".to_owned()));
    assert!(runs[1].recorded().is_empty());
    let runs = Runs::from(runs.to_vec());
    let missing = runs.unreached(&mut [], &HashSet::new(), &HashMap::new());
    let missing: Vec<(&str, &str)> =
        missing.iter().map(|it| (it.full_id.as_str(), it.reason.as_str())).collect();
    assert_eq!(
        missing,
        [
            ("a", "run 1 ended before it reached this case"),
            ("b", "run 2 ended while this case was running")
        ]
    );
    assert!(!runs.is_earlier("a"));
}

#[test]
fn the_run_in_progress_is_the_last() {
    let mut runs = [run_of("1", &["a"], Some("a")), run_of("2", &["a"], None)];
    assert_eq!(order(&runs, &[("a", "2")]), ["1", "2"]);
    runs[0].in_progress = true;
    assert_eq!(order(&runs, &[("a", "2")]), ["2", "1"]);
    let reason = |cut_off, other| runs[0].without("a", cut_off, other).expect("a reason");
    assert_eq!(reason(false, true), "run 1 is in progress, at this case");
    let reason = runs[0].without("b", false, false).expect("a reason");
    assert_eq!(reason, "run 1 is in progress and has not reached this case yet");
    assert_eq!(runs[1].without("a", false, true), None);
    let reason = runs[1].without("a", false, false).expect("a reason");
    assert_eq!(reason, "run 2 ended, and there is no record of this case any more");
}

#[test]
fn a_bench_target_of_several_modes_has_one_latest_run() {
    let of = |run_id: &str, target: &str, selected: &[&str]| {
        let mut run = run_of(run_id, selected, None);
        run.manifest.target = target.to_owned();
        run
    };
    let (linear, gemv) = ("inference/a/linear/cpu/int8wo/f32-1", "kernels/a/gemv/cpu/kernel/f32-1");
    let runs = Runs::from(vec![
        of("1", "torch", &[linear, gemv]),
        of("2", "fusion", &["fusion/a/x"]),
        of("3", "torch", &[gemv]),
    ]);
    let latest = |mode: &str| runs.latest(mode).map(|run| run.run_id);
    assert_eq!(latest("inference").as_deref(), Some("3"), "it did not select what is of this mode");
    assert_eq!(
        [latest("kernels"), latest("fusion"), latest("operators")]
            .each_ref()
            .map(|it| it.as_deref()),
        [Some("3"), Some("2"), None]
    );
    assert!(runs.is_earlier(linear) && !runs.is_earlier(gemv));
    assert!(runs.is_earlier("inference/gone/linear/cpu/int8wo/f32-1"));
    assert!(!runs.is_earlier("operators/a/gelu/cpu/aten/f32-1"), "no run of it is known");
}

#[test]
fn of_each_kind_of_warning_the_latest_runs_is_said() {
    let runs = Runs::from(vec![
        run("1", &["26 % of the slices took longer", "governor is `powersave`"]),
        run("2", &["governor is `schedutil`", "17 % of the slices took longer"]),
        run("3", &["9 % of the slices took longer"]),
    ]);
    assert_eq!(
        runs.warnings(&HashSet::from(["1", "2"])),
        ["17 % of the slices took longer", "governor is `powersave`", "governor is `schedutil`"]
    );
}

#[test]
fn of_each_check_the_worst_answer_is_kept() {
    let with = |run_id: &str, checks: Vec<Check>| {
        let mut run = run(run_id, &[]);
        run.manifest.checks = checks;
        run
    };
    let load = |status| Check::graded("load", status, status.as_str(), "stop it");
    let runs = Runs::from(vec![
        with("1", vec![Check::passed("turbo", "off"), load(CheckStatus::Failed)]),
        with("2", vec![Check::passed("turbo", "still off"), load(CheckStatus::Warning)]),
        with("3", vec![Check::graded("turbo", CheckStatus::Failed, "on", "switch it off")]),
    ]);
    assert_eq!(
        runs.checks(&HashSet::from(["1", "2"])),
        [Check::passed("turbo", "still off"), load(CheckStatus::Failed)]
    );
    assert_eq!(runs.checks(&HashSet::from(["3"]))[0].value, "on");
}

#[test]
fn the_parts_of_a_plan_are_one_run_of_it() {
    let of = |run_id: &str, index: u32, count: u32, selected: &[&str]| {
        let mut run = run_of(run_id, selected, None);
        let (partition, from) = ("balanced", "flag");
        let shard = serde_json::json!({
            "index": index, "count": count, "partition": partition, "from": from
        });
        run.manifest.shard = Some(serde_json::from_value(shard).expect("a shard"));
        run
    };
    let runs = Runs::from(vec![
        of("1", 1, 3, &["inference/of three parts"]),
        of("2", 1, 2, &["inference/a", "inference/gone"]),
        of("3", 2, 2, &["inference/b"]),
        of("4", 1, 2, &["inference/a"]),
    ]);
    assert!(!runs.is_earlier("inference/a") && !runs.is_earlier("inference/b"));
    assert!(runs.is_earlier("inference/gone"), "the same part was run again without it");
    assert!(runs.is_earlier("inference/of three parts"), "another division is another run");
    let latest = runs.latest("inference").expect("a run");
    assert_eq!(latest.run_id, "4");
    assert_eq!(latest.selected, ["inference/a", "inference/b"]);
}

#[test]
fn merged_results_are_those_of_the_whole_plan() {
    let mut merged =
        run_of("merged-inference", &["inference/a", "inference/b", "inference/c"], None);
    merged.manifest.merged = true;
    let ended_early = run_of("2", &["inference/a"], Some("inference/a"));
    let runs = vec![run_of("1", &["inference/a"], None), ended_early, merged];
    let written = HashMap::from([("inference/a", "1"), ("inference/b", "3")]);
    let runs = Runs::from(in_order(runs, &written));
    assert_eq!(runs.all().last().map(|run| &*run.manifest.run_id), Some("merged-inference"));
    assert!(["inference/a", "inference/b"].iter().all(|id| !runs.is_earlier(id)));
    let none = (HashSet::new(), HashMap::new());
    let missing = runs.unreached(&mut [], &none.0, &none.1);
    let ids: Vec<&str> = missing.iter().map(|it| &*it.full_id).collect();
    assert_eq!(ids, ["inference/a", "inference/b", "inference/c"], "no row is given here");
    assert!(missing.iter().all(|it| it.reason == NOT_MERGED));
    let last = &runs.all()[2];
    assert_eq!(last.without("inference/a", false, true), None, "the merged record counts");
}
