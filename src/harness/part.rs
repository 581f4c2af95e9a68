//! The part of a plan that a run has: `--shard`.

use plan::{Plan, RunShard};

use super::args::Part;

/// Takes from the plan what is in other parts, and says what is left and who chose it. A group that is not in the part
/// keeps its place, without a case.
pub fn keep(target: &str, plan: &mut Plan, part: &Part) {
    let RunShard { index, count, partition, .. } = part.shard;
    let before = (plan.cases().count(), plan.groups.len());
    let shards = plan::shards(plan, count, partition);
    for (group, shard) in plan.groups.iter_mut().zip(shards) {
        if shard != index {
            group.cases.clear();
        }
    }
    let groups = plan.groups.iter().filter(|group| !group.cases.is_empty()).count();
    eprintln!("{target}: {}", said(part, (plan.cases().count(), groups), before));
}

/// `shard 3/16 (SLURM_ARRAY_TASK_ID, balanced): 12 of 190 cases, 4 of 60 groups`
fn said(part: &Part, (cases, groups): (usize, usize), (all, all_groups): (usize, usize)) -> String {
    let RunShard { index, count, partition, from } = &part.shard;
    let mut text = format!(
        "shard {index}/{count} ({from}, {partition}): {cases} of {all} cases, {groups} of {all_groups} groups"
    );
    if !part.unused.is_empty() {
        text.push_str(&format!("; not used: {}", part.unused.join(", ")));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use plan::{Config, Partition};

    use super::*;

    fn plan() -> Plan {
        let text = "quantization_config_recipe_names: [int8wo]\nmodel_params: { matrix_shapes: [{ name: custom, \
                    shapes: [[1, 8, 8], [2, 8, 8], [3, 8, 8], [4, 8, 8], [5, 8, 8]] }] }";
        let config = Config::parse(Path::new("a.yml"), text).expect("a config");
        plan::expand(&[config]).expect("a plan")
    }

    fn part(index: u32, partition: Partition) -> Part {
        let shard = RunShard { index, count: 3, partition, from: "CI_NODE_INDEX".to_owned() };
        Part { shard, unused: vec!["SKYPILOT_JOB_RANK"] }
    }

    #[test]
    fn parts_are_the_whole_and_groups_keep_their_places() {
        for partition in Partition::ALL {
            let mut ids = vec![];
            for index in 1..=3 {
                let mut rest = plan();
                keep("inference", &mut rest, &part(index, *partition));
                assert_eq!(rest.groups.len(), plan().groups.len());
                for (group, whole) in rest.groups.iter().zip(plan().groups) {
                    assert!(group.cases.is_empty() || group.cases == whole.cases);
                }
                ids.extend(rest.cases().map(plan::Case::full_id));
            }
            let mut whole: Vec<String> = plan().cases().map(plan::Case::full_id).collect();
            ids.sort();
            whole.sort();
            assert_eq!(ids, whole, "{partition}");
        }
    }

    #[test]
    fn the_line_names_the_part_and_the_variable() {
        assert_eq!(
            said(&part(2, Partition::Hash), (12, 4), (190, 60)),
            "shard 2/3 (CI_NODE_INDEX, hash): 12 of 190 cases, 4 of 60 groups; not used: SKYPILOT_JOB_RANK"
        );
    }
}
