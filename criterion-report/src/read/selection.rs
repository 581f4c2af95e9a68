//! The selection of a report's cases.

use plan::Mode;
use regex::Regex;

/// Selects the cases that a report shows. The others still serve as baselines, except for cases of
/// other modes, which are not even read unless they are asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Selection<'a> {
    /// Cases of these modes; of all modes if absent.
    pub modes: Option<&'a [Mode]>,
    /// Besides those, the cases of these modes are read and not shown.
    pub beside: &'a [Mode],
    /// Cases whose id matches.
    pub filter: Option<&'a Regex>,
    /// Criterion's samples and estimates are not kept: nobody asks a row for more than its time.
    pub only_times: bool,
    /// Only cases that the latest run of their bench target selected.
    pub latest: bool,
}

impl Selection<'_> {
    /// Whether cases of the mode are read at all.
    pub fn reads(&self, mode: Mode) -> bool {
        self.has_mode(mode.as_str()) || is_among(mode.as_str(), self.beside)
    }

    pub(crate) fn has_mode(&self, mode: &str) -> bool {
        self.modes.is_none_or(|modes| is_among(mode, modes))
    }

    /// Whether the case of this id is asked for, as far as an id tells: its mode is the first part,
    /// which it starts with.
    pub fn names(&self, full_id: &str) -> bool {
        self.has_mode(plan::mode_of(full_id))
            && self.filter.is_none_or(|filter| filter.is_match(full_id))
    }
}

fn is_among(mode: &str, modes: &[Mode]) -> bool {
    modes.iter().any(|known| known.as_str() == mode)
}
