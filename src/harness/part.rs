//! The part of a plan that a run has: `--shard`.

use plan::{Plan, RunShard};

use super::args::ShardSelection;

/// Takes from the plan what is in other parts, and says what is left and who chose it. A group that is not in the part
/// keeps its place, without a case.
pub fn keep(target: &str, plan: &mut Plan, part: &ShardSelection) {
    let RunShard { index, count, partition, .. } = part.shard;
    let before = (plan.cases().count(), plan.groups.len());
    let shards = plan::shards(plan, count, partition);
    for (group, shard) in plan.groups.iter_mut().zip(shards) {
        if shard != index {
            group.cases.clear();
        }
    }
    let groups = plan.groups.iter().filter(|group| !group.cases.is_empty()).count();
    eprintln!("{}", describe(target, part, (plan.cases().count(), groups), before));
}

/// The part, who chose it, and what is in it of all cases and groups.
fn describe(
    target: &str,
    part: &ShardSelection,
    (cases, groups): (usize, usize),
    (all_cases, all_groups): (usize, usize),
) -> String {
    let RunShard { index, count, partition, from } = &part.shard;
    let mut text = format!(
        "{target}: shard {index}/{count} ({from}, {partition}): {cases} of {all_cases} cases, {groups} of \
         {all_groups} groups"
    );
    if !part.unused.is_empty() {
        text.push_str(&format!("; not used: {}", part.unused.join(", ")));
    }
    text
}

#[cfg(test)]
#[path = "part_tests.rs"]
mod tests;
