//! `summary.md`, for people: it has to fit the comment of a pull request, 65 536 characters, so that
//! tables are cut at a number of lines, which they say.

mod environment;
mod findings;
mod leaderboard;
mod recommendations;
mod regressions;
mod resources;
mod totals;
mod trends;

use super::Document;
use crate::visible;

pub use regressions::{file as regressions, numbers};

/// The file.
pub fn summary(document: &Document<'_>) -> String {
    let Document { report, results, changes, trends } = *document;
    let mut sections = vec![
        ("Environment", environment::section(report, results)),
        ("Summary", totals::section(results)),
        ("Performance Leaderboard", leaderboard::section(results)),
        ("Resource Usage", resources::section(results)),
        ("Key Findings", findings::section(results)),
        ("Recommendations", recommendations::section(report, results)),
    ];
    sections.extend(changes.map(|changes| ("Regressions", regressions::section(changes))));
    sections.extend(trends.map(|trends| ("Trends", trends::section(trends))));
    let mut out = "# Kernel benchmarks\n".to_owned();
    for (title, text) in sections {
        out.push_str(&format!("\n## {title}\n\n{}\n", text.trim_end()));
    }
    visible::lines(&out).into_owned()
}
