//! The order of launches.

/// One process that measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// Index of the side that is measured.
    pub side: usize,
    /// Number of the side's launch, from 1.
    pub number: u64,
}

/// `launches` of each side, in turn: of two A B, B A, A B and so on, so that a machine that grows
/// slower or faster from launch to launch does so for both alike.
pub fn alternating(sides: usize, launches: u64) -> Vec<Launch> {
    let round = |number: u64| {
        let forth = (0..sides).collect::<Vec<_>>();
        let back = forth.iter().rev().copied().collect();
        let order = if number % 2 == 1 { forth } else { back };
        order.into_iter().map(move |side| Launch { side, number })
    };
    (1..=launches).flat_map(round).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_take_turns_and_so_do_their_turns() {
        let order = |sides, launches| {
            let order = alternating(sides, launches).into_iter();
            let words = order.map(|it| format!("{}{}", ["A", "B"][it.side], it.number));
            words.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(order(1, 3), "A1 A2 A3");
        assert_eq!(order(2, 1), "A1 B1");
        assert_eq!(order(2, 4), "A1 B1 B2 A2 A3 B3 B4 A4");
    }

    /// This is what the order is for: with an even number of launches, both sides' moments are equally late.
    #[test]
    fn a_steady_drift_weighs_on_both_sides_alike() {
        for launches in [2, 4, 8] {
            let moments = |side| -> usize {
                let order = alternating(2, launches);
                let moments = order.iter().enumerate().filter(|(_, it)| it.side == side);
                moments.map(|(moment, _)| moment).sum()
            };
            assert_eq!(moments(0), moments(1), "{launches}");
        }
    }
}
