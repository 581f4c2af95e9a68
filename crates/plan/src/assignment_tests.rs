use std::collections::HashMap;

use super::*;

/// Units of one mode with uneven times.
fn units(count: usize) -> Vec<(String, u64)> {
    let time = |index: usize| 1 + fnv1a(index.to_le_bytes()) % 900;
    (0..count)
        .map(|index| (format!("inference/a/linear/cpu/f32-{index}x1x1"), time(index)))
        .collect()
}

fn by_id(units: &[(String, u64)], count: u32) -> HashMap<String, u32> {
    let shards = balanced(units.iter().cloned(), count);
    units.iter().map(|(id, _)| id.clone()).zip(shards).collect()
}

fn loads(units: &[(String, u64)], shards: &[u32], count: u32) -> Vec<u64> {
    let mut loads = vec![0; count as usize];
    for ((_, time), shard) in units.iter().zip(shards) {
        loads[*shard as usize - 1] += time;
    }
    loads
}

#[test]
fn parts_differ_by_the_largest_unit_at_most() {
    for (groups, count) in [(1000, 7), (1000, 256), (100, 1), (5, 16), (0, 3)] {
        let units = units(groups);
        let shards = balanced(units.iter().cloned(), count);
        assert_eq!(shards.len(), groups);
        assert!(shards.iter().all(|shard| (1..=count).contains(shard)), "{shards:?}");
        let loads = loads(&units, &shards, count);
        let largest = units.iter().map(|(_, time)| *time).max().unwrap_or_default();
        let (least, most) = (loads.iter().min().unwrap(), loads.iter().max().unwrap());
        assert!(most - least <= largest, "{groups} in {count}: {loads:?}");
    }
}

#[test]
fn a_worked_example() {
    let units = [("m/a", 5), ("m/b", 4), ("m/c", 3), ("m/d", 3), ("m/e", 3)];
    let units = units.map(|(id, time)| (id.to_owned(), time));
    let shards = balanced(units.iter().cloned(), 2);
    // a | b, then c to b (4 + 3), d to a (5 + 3), e to b (7 + 3).
    assert_eq!(shards[1], shards[2]);
    assert_eq!(shards[0], shards[3]);
    assert_eq!(shards[1], shards[4]);
    assert_ne!(shards[0], shards[1]);
}

#[test]
fn the_order_of_a_config_changes_nothing() {
    let mut units = units(200);
    // Many of equal time.
    units.iter_mut().for_each(|(_, time)| *time %= 7);
    let before = by_id(&units, 9);
    units.reverse();
    assert_eq!(by_id(&units, 9), before);
    units.rotate_left(77);
    assert_eq!(by_id(&units, 9), before);
}

#[test]
fn a_mode_is_divided_whatever_stands_beside_it() {
    let alone = units(50);
    let of_other = |(id, time): &(String, u64)| (id.replacen("inference", "fusion", 1), time + 5);
    let others: Vec<(String, u64)> = alone.iter().map(of_other).collect();
    let together: Vec<(String, u64)> =
        others.iter().zip(&alone).flat_map(|(a, b)| [a.clone(), b.clone()]).collect();
    let (alone, others, together) = (by_id(&alone, 6), by_id(&others, 6), by_id(&together, 6));
    assert!(together.iter().all(|(id, shard)| alone.get(id).or(others.get(id)) == Some(shard)));
    // The largest groups of all modes do not meet in the first part.
    let firsts: std::collections::BTreeSet<u32> =
        ["inference", "training", "fusion", "operators"].map(|mode| spread(mode, 16)).into();
    assert!(firsts.len() > 1, "{firsts:?}");
}

#[test]
fn a_hash_is_stable_and_spreads_shapes() {
    // These are the same in every version: results of one sweep may come from several.
    assert_eq!(hashed("inference/default/linear/cpu/bf16-1x4096x4096", 16), 16);
    for count in [2, 3, 16, 64] {
        let mut found = vec![0_u32; count as usize];
        for m in 0..16 {
            for k in 0..16 {
                for n in 0..16 {
                    let id =
                        format!("inference/a/linear/cpu/bf16-{}x{}x{}", 1 << m, 1 << k, 1 << n);
                    found[hashed(&id, count) as usize - 1] += 1;
                }
            }
        }
        let expected = 4096.0 / f64::from(count);
        // Five standard deviations.
        let limit = 5.0 * (expected * (1.0 - 1.0 / f64::from(count))).sqrt();
        let far = found.iter().filter(|it| (f64::from(**it) - expected).abs() > limit);
        assert_eq!(far.count(), 0, "{count}: {found:?}");
    }
}

#[cfg(feature = "configs")]
mod plans {
    use std::path::Path;

    use super::*;
    use crate::case::Case;
    use crate::config::Config;
    use crate::expand::expand;

    fn plan(text: &str) -> Plan {
        let config = Config::parse(Path::new("sweep.yml"), text).expect("it is right");
        expand(&[config]).expect("it is right")
    }

    fn sweep(recipes: &str, shapes: &str) -> Plan {
        plan(&format!(
            "quantization_config_recipe_names: [{recipes}]\nmodel_params: {{ matrix_shapes: [{{ name: custom, \
             shapes: [{shapes}] }}] }}"
        ))
    }

    const SHAPES: &str = "[1, 64, 64], [16, 64, 64], [64, 64, 64], [1, 4096, 4096], [64, 1024, 1024], [512, 512, 512]";

    fn of_cases(plan: &Plan, count: u32, partition: Partition) -> HashMap<String, u32> {
        let groups = plan.groups.iter().zip(shards(plan, count, partition));
        groups
            .flat_map(|(group, shard)| group.cases.iter().map(move |it| (it.full_id(), shard)))
            .collect()
    }

    #[test]
    fn every_case_is_in_one_part_beside_its_baseline() {
        let plan = sweep("int8wo, int8dq", SHAPES);
        for partition in Partition::ALL {
            let shards = of_cases(&plan, 4, *partition);
            assert_eq!(shards.len(), plan.cases().count());
            for group in &plan.groups {
                let of = |case: &Case| shards[&case.full_id()];
                assert!(group.cases.iter().all(|case| of(case) == of(group.baseline())));
            }
        }
    }

    #[test]
    fn recipes_and_shapes_in_another_order_are_the_same_parts() {
        let mut reversed: Vec<&str> = SHAPES.split_inclusive("], ").collect();
        reversed.reverse();
        let reversed: Vec<&str> = reversed.iter().map(|it| it.trim_end_matches(", ")).collect();
        let reversed = reversed.join(", ");
        for partition in Partition::ALL {
            let there = of_cases(&sweep("int8wo, int8dq", SHAPES), 4, *partition);
            let back = of_cases(&sweep("int8dq, int8wo", &reversed), 4, *partition);
            assert_eq!(there, back, "{partition}");
        }
    }

    #[test]
    fn an_edit_moves_nothing_that_is_hashed() {
        let before = of_cases(&sweep("int8wo", SHAPES), 4, Partition::Hash);
        let after =
            of_cases(&sweep("int8wo, int8dq", &format!("[7, 7, 7], {SHAPES}")), 4, Partition::Hash);
        assert!(after.len() > before.len());
        assert!(before.iter().all(|(id, shard)| after[id] == *shard));
    }
}
