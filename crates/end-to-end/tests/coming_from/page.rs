//! The rows of a page.

use std::path::PathBuf;

/// One line of a table whose first column is headed "Promise".
pub struct Row {
    /// The other tool's promise: its command, key or sentence.
    pub promise: String,
    /// Our counterpart.
    pub ours: String,
    /// Empty where nothing differs; "no, because …" where it is refused.
    pub differs: String,
}

impl Row {
    /// The row of the page with that promise.
    ///
    /// # Panics
    ///
    /// If the page has none.
    pub fn new(page: &str, promise: &str) -> Self {
        let found = read(page).into_iter().find(|row| row.promise == promise);
        found.unwrap_or_else(|| panic!("coming-from/{page}.md has no row `{promise}`"))
    }

    /// The texts in backticks of our cell: commands, keys, files.
    pub fn code(&self) -> Vec<&str> {
        self.ours.split('`').skip(1).step_by(2).collect()
    }

    /// Why it is refused.
    ///
    /// # Panics
    ///
    /// If the row does not say that it is.
    pub fn refusal(&self) -> &str {
        let reason = self.differs.strip_prefix("no, because ");
        reason.unwrap_or_else(|| panic!("`{}` is not refused: {}", self.promise, self.differs))
    }
}

/// All rows of `docs/book/src/coming-from/<page>.md`.
pub fn read(page: &str) -> Vec<Row> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/book/src/coming-from");
    let file = folder.join(page).with_extension("md");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file:?}: {error}"));
    let mut rows = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let cells: Vec<String> = cells(line);
        match cells.as_slice() {
            [] => inside = false,
            [first, ..] if first == "Promise" => inside = true,
            [first, ..] if first.starts_with("---") => {}
            [promise, ours, differs] if inside => rows.push(Row {
                promise: promise.clone(),
                ours: ours.clone(),
                differs: differs.clone(),
            }),
            _ => assert!(!inside, "{file:?}: a row has three cells: {line}"),
        }
    }
    rows
}

/// The cells of a line `| a | b |`; `\|` is a bar in a cell. Empty for lines outside tables.
fn cells(line: &str) -> Vec<String> {
    let Some(line) = line.trim().strip_prefix('|').and_then(|line| line.strip_suffix('|')) else {
        return Vec::new();
    };
    let line = line.replace("\\|", "\u{1}");
    line.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect()
}

/// Fails if a row of the page has no test, or a test no row.
pub fn compare(page: &str, tested: &[&str]) {
    let rows: Vec<String> = read(page).into_iter().map(|row| row.promise).collect();
    let untested: Vec<_> = rows.iter().filter(|row| !tested.contains(&row.as_str())).collect();
    let unwritten: Vec<_> = tested.iter().filter(|it| !rows.iter().any(|row| row == *it)).collect();
    assert!(untested.is_empty(), "rows of {page}.md without a test: {untested:#?}");
    assert!(unwritten.is_empty(), "tests without a row of {page}.md: {unwritten:#?}");
    let mut sorted = rows.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!(sorted.len(), rows.len(), "{page}.md has a row twice");
    for row in read(page) {
        assert!(!row.ours.is_empty() || row.differs.starts_with("no, because "), "{}", row.promise);
    }
}

/// `rows! { "page"; "promise" => function, … }`: a test for each row, named as its function, which takes
/// the [`Row`]; and one that compares the list with the page.
macro_rules! rows {
    ($page:literal; $($promise:literal => $test:ident),+ $(,)?) => {
        mod row {
            $(#[test]
            fn $test() {
                super::$test(&crate::page::Row::new($page, $promise));
            })+
        }

        #[test]
        fn every_row_has_its_test() {
            crate::page::compare($page, &[$($promise),+]);
        }
    };
}
pub(crate) use rows;
