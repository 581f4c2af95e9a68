use super::*;

/// Parses `--shard TEXT` with these environment variables.
fn found(text: &str, variables: &[(&str, &str)]) -> Result<FoundShard, String> {
    let read = |name: &str| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
    };
    text.parse::<AskedShard>()?.find(read)
}

fn shard(text: &str, variables: &[(&str, &str)]) -> (String, &'static str) {
    let found = found(text, variables).expect(text);
    (found.shard.to_string(), found.from)
}

const SLURM: [(&str, &str); 4] = [
    ("SLURM_ARRAY_TASK_ID", "9"),
    ("SLURM_ARRAY_TASK_MIN", "7"),
    ("SLURM_ARRAY_TASK_COUNT", "16"),
    ("SLURM_ARRAY_TASK_STEP", "1"),
];
const KUBERNETES: [(&str, &str); 1] = [("JOB_COMPLETION_INDEX", "2")];
const GITLAB: [(&str, &str); 2] = [("CI_NODE_INDEX", "3"), ("CI_NODE_TOTAL", "16")];
const SKYPILOT: [(&str, &str); 2] = [("SKYPILOT_JOB_RANK", "2"), ("SKYPILOT_NUM_JOBS", "16")];

#[test]
fn a_flag_wins_over_all_variables() {
    assert_eq!(shard("4/5", &SLURM), ("4/5".to_owned(), "flag"));
    assert_eq!(shard("1/1", &[]), ("1/1".to_owned(), "flag"));
}

#[test]
fn each_scheduler_counts_in_its_own_way() {
    for (text, variables, from) in [
        ("auto", &SLURM[..], "SLURM_ARRAY_TASK_ID"),
        ("auto", &SLURM[..3], "SLURM_ARRAY_TASK_ID"),
        ("auto/16", &SLURM, "SLURM_ARRAY_TASK_ID"),
        ("auto/16", &SLURM[..2], "SLURM_ARRAY_TASK_ID"),
        ("auto/16", &KUBERNETES, "JOB_COMPLETION_INDEX"),
        ("auto", &GITLAB, "CI_NODE_INDEX"),
        ("auto/16", &GITLAB, "CI_NODE_INDEX"),
        ("auto", &SKYPILOT, "SKYPILOT_JOB_RANK"),
        ("auto/16", &SKYPILOT[..1], "SKYPILOT_JOB_RANK"),
    ] {
        assert_eq!(shard(text, variables), ("3/16".to_owned(), from), "{variables:?}");
    }
}

#[test]
fn of_several_schedulers_the_first_is_used_and_the_others_are_named() {
    let all = [&SKYPILOT[..], &GITLAB, &KUBERNETES, &SLURM].concat();
    let found = found("auto", &all).expect("SLURM's");
    assert_eq!((found.shard.to_string().as_str(), found.from), ("3/16", "SLURM_ARRAY_TASK_ID"));
    assert_eq!(found.unused, ["JOB_COMPLETION_INDEX", "CI_NODE_INDEX", "SKYPILOT_JOB_RANK"]);
}

#[test]
fn what_cannot_be_meant_is_told_with_its_remedy() {
    let with = |name: &'static str, value: &'static str, of: &[(&'static str, &'static str)]| {
        let mut variables = vec![(name, value)];
        variables.extend(of.iter().filter(|(known, _)| *known != name));
        variables
    };
    for (text, variables, what, remedy) in [
        ("3", vec![], "such as 3/16", "`auto`"),
        ("", vec![], "such as 3/16", "`auto/16`"),
        ("a/b", vec![], "such as 3/16", "`auto`"),
        ("-1/4", vec![], "such as 3/16", "`auto`"),
        ("1/2/3", vec![], "such as 3/16", "give"),
        ("auto/", vec![], "such as 3/16", "`auto/16`"),
        ("0/4", vec![], "no shard 0 of 4", "from 1"),
        ("5/4", vec![], "no shard 5 of 4", "from 1"),
        ("1/0", vec![], "1 to 1000000 shards, not 0", "1 to"),
        ("auto/0", vec![], "not 0", "1 to"),
        ("1/4294967296", vec![], "such as 3/16", "give"),
        ("auto", vec![], "SLURM_ARRAY_TASK_ID, JOB_COMPLETION_INDEX", "--shard 1/4"),
        ("auto", KUBERNETES.to_vec(), "without a total", "--shard auto/16"),
        ("auto", SLURM[..2].to_vec(), "SLURM_ARRAY_TASK_COUNT is not", "--shard auto/16"),
        ("auto", SLURM[..1].to_vec(), "SLURM_ARRAY_TASK_MIN is not set", "--shard 1/4"),
        ("auto", with("SLURM_ARRAY_TASK_STEP", "2", &SLURM), "STEP is not 1", "1-16"),
        ("auto", with("SLURM_ARRAY_TASK_ID", "6", &SLURM), "is 6", "--shard 1/16"),
        ("auto", with("SLURM_ARRAY_TASK_ID", "23", &SLURM), "none of 16 from 7 on", "gaps"),
        ("auto", with("CI_NODE_INDEX", "0", &GITLAB), "none of 16 from 1 on", "gaps"),
        ("auto", with("CI_NODE_INDEX", "x", &GITLAB), "`x`, which is no whole number", "--shard"),
        ("auto/2", KUBERNETES.to_vec(), "is 2, which is none of 2 from 0 on", "--shard 1/2"),
        ("auto/8", SLURM.to_vec(), "COUNT is 16 and --shard says 8", "--shard 1/8"),
        ("auto/8", SKYPILOT.to_vec(), "SKYPILOT_NUM_JOBS is 16", "--shard 1/8"),
    ] {
        let error = found(text, &variables).expect_err(text);
        assert!(error.contains(what) && error.contains(remedy), "{text} {variables:?}: {error}");
    }
}

#[test]
fn a_shard_of_a_run_comes_back_as_it_was() {
    let partition = Partition::Hash;
    let shard = RunShard { index: 3, count: 16, partition, from: "CI_NODE_INDEX".to_owned() };
    let text = serde_json::to_string(&shard).expect("JSON");
    assert_eq!(text, r#"{"index":3,"count":16,"partition":"hash","from":"CI_NODE_INDEX"}"#);
    assert_eq!(serde_json::from_str::<RunShard>(&text).expect("it is read"), shard);
}
