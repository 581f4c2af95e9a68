use std::path::Path;

use plan::{Config, Partition};

use super::*;

fn plan() -> Plan {
    let text = "quantization_config_recipe_names: [int8wo]\nmodel_params: { matrix_shapes: [{ name: custom, \
                shapes: [[1, 8, 8], [2, 8, 8], [3, 8, 8], [4, 8, 8], [5, 8, 8]] }] }";
    let config = Config::parse(Path::new("a.yml"), text).expect("a config");
    plan::expand(&[config]).expect("a plan")
}

fn part(index: u32, partition: Partition) -> ShardSelection {
    let shard = RunShard { index, count: 3, partition, from: "CI_NODE_INDEX".to_owned() };
    ShardSelection { shard, unused: vec![] }
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
    let shard = |index, from: &str| RunShard {
        index,
        count: 16,
        partition: Partition::Balanced,
        from: from.to_owned(),
    };
    let part = ShardSelection { shard: shard(3, "SLURM_ARRAY_TASK_ID"), unused: vec![] };
    assert_eq!(
        describe("inference", &part, (12, 4), (190, 60)),
        "inference: shard 3/16 (SLURM_ARRAY_TASK_ID, balanced): 12 of 190 cases, 4 of 60 groups"
    );
    let part = ShardSelection {
        shard: shard(1, "flag"),
        unused: vec!["CI_NODE_INDEX", "SKYPILOT_JOB_RANK"],
    };
    let line = describe("fusion", &part, (0, 0), (3, 1));
    assert_eq!(
        line,
        "fusion: shard 1/16 (flag, balanced): 0 of 3 cases, 0 of 1 groups; not used: CI_NODE_INDEX, \
         SKYPILOT_JOB_RANK"
    );
}
