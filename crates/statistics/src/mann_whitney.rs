//! Whether one of two samples tends to be larger: the rank-sum test of Wilcoxon (1945) and of Mann and
//! Whitney (1947).
//!
//! If both are of one distribution, every way to deal the pooled ranks out to the two sides is as
//! likely as any other, whatever the distribution is. Equal values share their middle rank. With
//! doubled ranks everything is whole, and the number of ways to reach each sum follows by dynamic
//! programming over the ranks: `ways[k][s]` of the first ranks, k of them chosen, with the sum s. The
//! two-sided p is the share of ways whose sum is as far from the expected one as that seen, or
//! farther. It is exact, ties included.
//!
//! Samples of which one has more than [`EXACT`] values are compared by the normal approximation, with
//! the correction of the variance for ties and that for continuity (Hollander and Wolfe,
//! "Nonparametric statistical methods", 1973, chapter 4).

use crate::distribution::normal_tail;

/// Most values of a side for which p is exact.
pub const EXACT: usize = 30;

/// The result of the test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MannWhitney {
    /// Pairs in which the first sample's value is the larger one; equal ones count half.
    pub u: f64,
    /// Two-sided p.
    pub p: f64,
    /// Whether p is of all permutations; else of the normal approximation.
    pub exact: bool,
}

/// Tests two samples in any order of their values; none if one is empty or has a NaN.
pub fn mann_whitney(first: &[f64], second: &[f64]) -> Option<MannWhitney> {
    let both = || first.iter().chain(second);
    if first.is_empty() || second.is_empty() || both().any(|value| value.is_nan()) {
        return None;
    }
    let pooled: Vec<f64> = both().copied().collect();
    let ranks = doubled_ranks(&pooled);
    let sum: usize = ranks[..first.len()].iter().sum();
    let least = first.len() * (first.len() + 1);
    let u = (sum - least) as f64 / 2.0;
    let exact = first.len().max(second.len()) <= EXACT;
    let p = if exact {
        permutations(&ranks, first.len(), sum)
    } else {
        approximation(&ranks, first.len(), u)
    };
    Some(MannWhitney { u, p: p.min(1.0), exact })
}

/// The smallest two-sided p that samples of these sizes can give: 2 over the number of ways to
/// choose the first of all.
pub fn least_p(first: usize, second: usize) -> f64 {
    let ways = (1..=first).fold(1.0, |ways, k| ways * (second + k) as f64 / k as f64);
    (2.0 / ways).min(1.0)
}

/// Twice the rank of each value, from 2; equal values have their middle rank.
pub(crate) fn doubled_ranks(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0; values.len()];
    let mut start = 0;
    while start < order.len() {
        let equal = |&&place: &&usize| values[place] == values[order[start]];
        let end = start + order[start..].iter().take_while(equal).count();
        // Ranks start + 1 to end; twice their mean is the sum of the two.
        order[start..end].iter().for_each(|&place| ranks[place] = start + 1 + end);
        start = end;
    }
    ranks
}

fn permutations(ranks: &[usize], chosen: usize, seen: usize) -> f64 {
    let total: usize = ranks.iter().sum();
    let mut ways = vec![vec![0.0_f64; total + 1]; chosen + 1];
    ways[0][0] = 1.0;
    let mut reached = 0;
    for (known, &rank) in ranks.iter().enumerate() {
        reached += rank;
        for count in (1..=chosen.min(known + 1)).rev() {
            let (fewer, more) = ways.split_at_mut(count);
            let (fewer, more) = (&fewer[count - 1], &mut more[0]);
            (rank..=reached).for_each(|sum| more[sum] += fewer[sum - rank]);
        }
    }
    // Distances from the expected sum, total · chosen / ranks, times the number of ranks.
    let distance = |sum: usize| (sum * ranks.len()).abs_diff(total * chosen);
    let last = &ways[chosen];
    let as_far = last.iter().enumerate().filter(|(sum, _)| distance(*sum) >= distance(seen));
    as_far.map(|(_, ways)| ways).sum::<f64>() / last.iter().sum::<f64>()
}

fn approximation(ranks: &[usize], first: usize, u: f64) -> f64 {
    let all = ranks.len() as f64;
    let (one, other) = (first as f64, all - first as f64);
    let mut sorted = ranks.to_vec();
    sorted.sort_unstable();
    let ties: f64 = sorted
        .chunk_by(|a, b| a == b)
        .map(|equal| equal.len() as f64)
        .map(|count| count.powi(3) - count)
        .sum();
    let variance = one * other / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    let distance = ((u - one * other / 2.0).abs() - 0.5).max(0.0);
    2.0 * normal_tail(distance / variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(first: &[f64], second: &[f64]) -> f64 {
        mann_whitney(first, second).expect("values on both sides").p
    }

    fn close(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 1e-9, "{value} is not {expected}");
    }

    fn numbers(from: u32, to: u32) -> Vec<f64> {
        (from..to).map(f64::from).collect()
    }

    #[test]
    fn the_smallest_p_of_each_size() {
        for (size, ways) in [(3, 20.0), (4, 70.0), (5, 252.0), (6, 924.0), (8, 12_870.0)] {
            let separate = p(&numbers(0, size), &numbers(size, 2 * size));
            close(separate, 2.0 / ways);
            close(least_p(size as usize, size as usize), 2.0 / ways);
        }
        close(least_p(3, 5), 2.0 / 56.0);
        close(p(&numbers(0, 3), &numbers(3, 8)), 2.0 / 56.0);
        assert_eq!(least_p(1, 1), 1.0);
    }

    #[test]
    fn a_worked_example() {
        // Ranks of the first: 1, 2, 4, sum 7, u = 7 − 6 = 1. Of the 20 sums two are as low (6, 7)
        // and two as high (15, 14).
        let test = mann_whitney(&[1.0, 2.0, 4.0], &[3.0, 5.0, 6.0]).expect("values");
        assert_eq!((test.u, test.exact), (1.0, true));
        close(test.p, 0.2);
    }

    #[test]
    fn ties_have_their_own_distribution() {
        // Doubled ranks 3 3 7 7: of the six sums of two, one is 6, one 14 and four 10.
        close(p(&[1.0, 1.0], &[2.0, 2.0]), 2.0 / 6.0);
        // One tie over both sides: ranks 1, 2.5 against 2.5, 4. Sums of two: 3.5, 3.5, 5, 5, 6.5, 6.5.
        close(p(&[1.0, 2.0], &[2.0, 3.0]), 4.0 / 6.0);
        close(p(&[5.0; 4], &[5.0; 6]), 1.0);
    }

    #[test]
    fn all_permutations_agree_with_counting_them_one_by_one() {
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..40 {
            let (first, second) = (random.usize(1..6), random.usize(1..6));
            // Few distinct values: ties.
            let values: Vec<f64> =
                (0..first + second).map(|_| f64::from(random.u8(0..7))).collect();
            let ranks = doubled_ranks(&values);
            let mean = ranks.iter().sum::<usize>() as f64 * first as f64 / ranks.len() as f64;
            let far = |sum: usize| (sum as f64 - mean).abs();
            let seen = far(ranks[..first].iter().sum());
            let (mut ways, mut as_far) = (0, 0);
            for choice in 0_u32..1 << ranks.len() {
                if choice.count_ones() as usize == first {
                    let chosen = (0..ranks.len()).filter(|place| choice >> place & 1 == 1);
                    ways += 1;
                    as_far += u32::from(far(chosen.map(|place| ranks[place]).sum()) >= seen - 1e-9);
                }
            }
            close(p(&values[..first], &values[first..]), f64::from(as_far) / f64::from(ways));
        }
    }

    #[test]
    fn exchanging_the_sides_and_the_unit_change_nothing() {
        let (a, b) = ([1.0, 4.0, 4.0, 9.0], [2.0, 4.0, 7.0, 11.0, 30.0]);
        close(p(&a, &b), p(&b, &a));
        close(p(&a, &b), p(&a.map(|value| 10.0 * value.powi(3)), &b.map(|it| 10.0 * it.powi(3))));
        let us = mann_whitney(&a, &b).expect("values").u + mann_whitney(&b, &a).expect("values").u;
        assert_eq!(us, 20.0);
    }

    #[test]
    fn large_samples_are_approximated_and_meet_the_exact_ones() {
        let random = |count: usize, seed: u64, shift: f64| -> Vec<f64> {
            let mut random = fastrand::Rng::with_seed(seed);
            (0..count).map(|_| (20.0 * random.f64()).round() + shift).collect()
        };
        for shift in [0.0, 1.0, 3.0] {
            let (a, b) = (random(30, 1, 0.0), random(30, 2, shift));
            let exact = mann_whitney(&a, &b).expect("values");
            let ranks = doubled_ranks(&[a.clone(), b.clone()].concat());
            let near = approximation(&ranks, 30, exact.u);
            assert!(exact.exact && (near / exact.p - 1.0).abs() < 0.08, "{near} {}", exact.p);
        }
        assert!(!mann_whitney(&random(31, 1, 0.0), &random(4, 2, 0.0)).expect("values").exact);
        assert_eq!(p(&[1.0; 40], &[1.0; 40]), 1.0);
    }

    #[test]
    fn nothing_to_rank_gives_nothing() {
        assert_eq!(mann_whitney(&[], &[1.0]), None);
        assert_eq!(mann_whitney(&[1.0], &[f64::NAN]), None);
    }
}
