//! The few things that Markdown is made of.

use crate::write::Align;

/// What stands in the place of an absent value.
pub const ABSENT: &str = "–";

/// A table; nothing without rows.
pub fn table(columns: &[(&str, Align)], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let rule = columns.iter().map(|(_, align)| match align {
        Align::Left => "---".to_owned(),
        Align::Right => "---:".to_owned(),
    });
    let mut out = line(columns.iter().map(|(name, _)| (*name).to_owned()).collect());
    out.push_str(&line(rule.collect()));
    for row in rows {
        out.push_str(&line(row.iter().map(|cell| plain(cell)).collect()));
    }
    out
}

/// Text that no cell and no list item breaks at.
pub fn plain(text: &str) -> String {
    text.replace('|', "\\|").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The same of a reason, which may be a compiler's whole output: its beginning.
pub fn reason(text: &str) -> String {
    const MOST: usize = 200;
    let text = plain(text);
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Text as code.
pub fn code(text: &str) -> String {
    format!("`{}`", text.replace('`', "'"))
}

/// A value, or what stands for none.
pub fn or_absent(value: Option<String>) -> String {
    value.unwrap_or_else(|| ABSENT.to_owned())
}

/// The first of several items, each on a line of its own, and how many more there are.
pub fn list(items: impl ExactSizeIterator<Item = String>, most: usize, where_all: &str) -> String {
    let more = items.len().saturating_sub(most);
    let mut out: String = items.take(most).map(|item| format!("  - {item}\n")).collect();
    if more > 0 {
        out.push_str(&format!("  - and {more} more, in {where_all}\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stay_in_their_cell() {
        let rows = [vec!["a|b\nc".to_owned(), "1".to_owned()]];
        let text = table(&[("x", Align::Left), ("y", Align::Right)], &rows);
        assert_eq!(text, "| x | y |\n| --- | ---: |\n| a\\|b c | 1 |\n");
        assert_eq!(table(&[("x", Align::Left)], &[]), "");
    }

    #[test]
    fn long_reasons_are_cut() {
        let text = reason(&"ä ".repeat(300));
        assert_eq!(text.chars().count(), 201);
        assert!(text.ends_with("ä …") || text.ends_with("ä…"), "{text}");
        assert_eq!(reason("short"), "short");
    }

    #[test]
    fn long_lists_say_how_long() {
        let items = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(list(items.clone().into_iter(), 3, "x.json"), "  - a\n  - b\n  - c\n");
        assert_eq!(list(items.into_iter(), 1, "x.json"), "  - a\n  - and 2 more, in x.json\n");
    }
}
