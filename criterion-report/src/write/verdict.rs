//! How a verdict looks, wherever it stands: one paint for each of its words.

use statistics::{Band, Benefit};

use super::table::Paint;
use crate::model::Advice;

/// Of what a speed-up is worth.
pub fn of_benefit(benefit: Benefit) -> Paint {
    match benefit {
        Benefit::Of(Band::Strong | Band::Moderate) => Paint::Good,
        Benefit::Of(Band::Minimal) => Paint::Plain,
        Benefit::Of(Band::Slower) => Paint::Bad,
        Benefit::Inconclusive { .. } => Paint::Warn,
    }
}

/// Of what to do with a variant or a pattern.
pub const fn of_advice(advice: Advice) -> Paint {
    match advice {
        Advice::Fuse => Paint::Good,
        Advice::Indifferent => Paint::Plain,
        Advice::Avoid => Paint::Bad,
        Advice::Conditional | Advice::Inconclusive => Paint::Warn,
    }
}

/// Of an advice by its word, as a file has it; plain where this program has no such word.
pub fn of_advice_word(word: &str) -> Paint {
    Advice::of_word(word).map_or(Paint::Plain, of_advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_has_the_paint_of_its_advice() {
        for advice in Advice::ALL {
            for word in [advice.word(), advice.word_of_speed()] {
                assert_eq!(of_advice_word(word), of_advice(advice), "{word}");
            }
        }
        assert_eq!(of_advice_word("melt"), Paint::Plain);
    }
}
