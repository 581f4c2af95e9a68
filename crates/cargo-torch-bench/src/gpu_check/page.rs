//! The page for people and the file for programs: all that it takes to mend what failed, and nothing
//! that names the machine or its user.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use super::bench::Taken;
use super::finding::{Finding, Verdict};

/// A step that was taken.
#[derive(Debug)]
pub struct Done {
    pub name: &'static str,
    pub proves: &'static str,
    pub taken: Taken,
    pub took: Duration,
}

impl Done {
    pub fn verdict(&self) -> Verdict {
        Verdict::from_findings(&self.taken.findings)
    }

    fn count(&self, verdict: Verdict) -> usize {
        self.taken.findings.iter().filter(|finding| finding.verdict == verdict).count()
    }

    /// The result in one line.
    pub fn summary(&self) -> String {
        let first = |verdict| self.taken.findings.iter().find(|finding| finding.verdict == verdict);
        match (self.verdict(), &self.taken.findings[..]) {
            (_, []) => "nothing was found".to_owned(),
            (_, [only]) => only.measured.clone(),
            (Verdict::Skipped, [first, ..]) => first.measured.clone(),
            (verdict, all) => {
                let count = |verdict, word| match self.count(verdict) {
                    0 => String::new(),
                    some => format!(", {some} {word}"),
                };
                let mut text = format!(
                    "{} of {} passed{}{}",
                    self.count(Verdict::Passed),
                    all.len(),
                    count(Verdict::Failed, "failed"),
                    count(Verdict::Skipped, "skipped")
                );
                if let (Verdict::Failed, Some(first)) = (verdict, first(Verdict::Failed)) {
                    text += &format!("; first {}: {}", first.name, first.measured);
                }
                text
            }
        }
    }
}

/// A whole run.
#[derive(Debug)]
pub struct Page {
    pub quick: bool,
    /// Versions and names, in the order in which they are shown.
    pub facts: Vec<(&'static str, String)>,
    pub steps: Vec<Done>,
    /// Folders, the user and the host, each with its replacement.
    pub private: Vec<(String, &'static str)>,
}

/// Lines of a failed step's log on the page. The file has more.
const LINES: usize = 30;
const LINES_OF_FILE: usize = 400;

/// The content of gpu-check.json.
#[derive(Serialize)]
struct File {
    version: u32,
    quick: bool,
    outcome: String,
    facts: BTreeMap<&'static str, String>,
    steps: Vec<FileStep>,
}

#[derive(Serialize)]
struct FileStep {
    name: &'static str,
    proves: &'static str,
    verdict: Verdict,
    seconds: f64,
    findings: Vec<Finding>,
    log: String,
}

impl Page {
    /// `5 of 20 steps passed, 1 failed, 14 skipped`.
    pub fn outcome(&self) -> String {
        let count = |verdict| self.steps.iter().filter(|step| step.verdict() == verdict).count();
        let [passed, failed, skipped] =
            [Verdict::Passed, Verdict::Failed, Verdict::Skipped].map(count);
        format!("{passed} of {} steps passed, {failed} failed, {skipped} skipped", self.steps.len())
    }

    pub fn has_failed(&self) -> bool {
        self.steps.iter().any(|step| step.verdict() == Verdict::Failed)
    }

    pub fn markdown(&self) -> String {
        let kind = if self.quick { " --quick" } else { "" };
        let mut text = format!("# gpu-check{kind}: {}\n\n| | |\n|---|---|\n", self.outcome());
        for (name, value) in &self.facts {
            text += &format!("| {name} | {} |\n", cell(value));
        }
        text +=
            "\n| step | verdict | took | found | proves, once it passes |\n|---|---|--:|---|---|\n";
        for step in &self.steps {
            let verdict = match step.verdict() {
                Verdict::Failed => "**failed**",
                verdict => verdict.as_str(),
            };
            let Done { name, proves, .. } = step;
            let (seconds, found) = (step.took.as_secs_f64(), cell(&step.summary()));
            text += &format!("| {name} | {verdict} | {seconds:.1} s | {found} | {proves} |\n");
        }
        let failed = self.steps.iter().filter(|step| step.verdict() == Verdict::Failed);
        failed.for_each(|step| step.details(&mut text));
        let skips = |step: &&Done| step.verdict() != Verdict::Skipped;
        self.steps.iter().filter(skips).for_each(|step| step.skips(&mut text));
        self.steps.iter().for_each(|step| step.values(&mut text));
        self.scrubbed(text)
    }

    pub fn json(&self) -> String {
        let step = |step: &Done| FileStep {
            name: step.name,
            proves: step.proves,
            verdict: step.verdict(),
            seconds: (step.took.as_secs_f64() * 10.0).round() / 10.0,
            findings: step.taken.findings.clone(),
            log: end(&step.taken.log, LINES_OF_FILE),
        };
        let file = File {
            version: 1,
            quick: self.quick,
            outcome: self.outcome(),
            facts: self.facts.iter().cloned().collect(),
            steps: self.steps.iter().map(step).collect(),
        };
        let text = serde_json::to_string_pretty(&file).expect("every key is text");
        self.scrubbed(text + "\n")
    }

    /// The text without the private words.
    pub fn scrubbed(&self, text: String) -> String {
        self.private.iter().fold(text, |text, (secret, instead)| replaced(&text, secret, instead))
    }
}

impl Done {
    /// The failed findings, with the end of the log.
    fn details(&self, text: &mut String) {
        *text += &format!("\n## {}: failed\n\n", self.name);
        table(text, self.taken.findings.iter().filter(|it| it.verdict == Verdict::Failed));
        let log = end(&self.taken.log, LINES);
        if !log.is_empty() {
            *text += &format!("\n```text\n{}\n```\n", log.replace("```", "'''"));
        }
    }

    /// Reasons of what was skipped in a step that was not, each once.
    fn skips(&self, text: &mut String) {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for finding in self.taken.findings.iter().filter(|it| it.verdict == Verdict::Skipped) {
            match reasons.iter_mut().find(|(reason, _)| *reason == finding.measured) {
                Some((_, names)) => names.push(&finding.name),
                None => reasons.push((&finding.measured, vec![&finding.name])),
            }
        }
        if reasons.is_empty() {
            return;
        }
        *text += &format!("\n## {}: skipped\n\n", self.name);
        for (reason, names) in reasons {
            let more = match names.len() - 1 {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            *text += &format!("- {}{more}: {}\n", names[0], cell(reason));
        }
    }

    /// The values of findings other than cases, whose values are in the file.
    fn values(&self, text: &mut String) {
        let own = |it: &&Finding| it.record.is_none() && it.verdict == Verdict::Passed;
        if self.taken.findings.iter().any(|finding| own(&finding)) {
            *text += &format!("\n## {}: values\n\n", self.name);
            table(text, self.taken.findings.iter().filter(own));
        }
    }
}

fn table<'f>(text: &mut String, findings: impl Iterator<Item = &'f Finding>) {
    *text += "| what | found | expected |\n|---|---|---|\n";
    for Finding { name, measured, expected, .. } in findings {
        let [name, measured, expected] = [name, measured, expected].map(|it| cell(it));
        *text += &format!("| {name} | {measured} | {expected} |\n");
    }
}

/// A cell of a table is one line, and `|` ends it.
fn cell(text: &str) -> String {
    text.trim().replace('|', "\\|").lines().collect::<Vec<_>>().join("<br>")
}

fn end(log: &str, lines: usize) -> String {
    let all: Vec<&str> = log.trim_end().lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

/// Replaces a path or a name, but no part of a longer word: a host that is called `h` is no letter.
fn replaced(text: &str, secret: &str, instead: &str) -> String {
    let word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(secret).filter(|_| !secret.is_empty()) {
        let (before, after) = (&rest[..at], &rest[at + secret.len()..]);
        // In JSON a line begins behind `\n`, and that `n` is no part of a word.
        let joined =
            before.ends_with(word) && !["\\n", "\\t"].iter().any(|it| before.ends_with(it));
        let whole = !(after.starts_with(word) || joined && secret.starts_with(word));
        out += before;
        out += if whole { instead } else { secret };
        rest = after;
    }
    out + rest
}

/// The private words of this machine. The longest come first, as a folder may lie in another.
pub fn private(
    folders: &[(PathBuf, &'static str)],
    names: &[(String, &'static str)],
) -> Vec<(String, &'static str)> {
    let folders = folders.iter().map(|(folder, instead)| (folder.display().to_string(), *instead));
    let mut all: Vec<_> = folders.chain(names.iter().cloned()).collect();
    // The root of the file system and an empty name hide nothing.
    all.retain(|(secret, _)| secret.len() > 1);
    all.sort_by_key(|(secret, _)| std::cmp::Reverse(secret.len()));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_private_goes_and_other_words_stay() {
        let names = [("gpu".to_owned(), "HOST"), ("me".to_owned(), "USER")];
        let folders = [("/home/me".into(), "~"), ("/home/me/clone".into(), ".")];
        let page =
            Page { quick: false, facts: vec![], steps: vec![], private: private(&folders, &names) };
        let text =
            "/home/me/clone/x.rs, /home/me/y, /home/melon, gpu: gpu-check, memory by me\\nme";
        let expected = "./x.rs, ~/y, /home/melon, HOST: gpu-check, memory by USER\\nUSER";
        assert_eq!(page.scrubbed(text.to_owned()), expected);
    }

    #[test]
    fn a_cell_is_one_line_and_a_log_ends_with_its_end() {
        assert_eq!(cell(" a | b\nc "), "a \\| b<br>c");
        assert_eq!(end("1\n2\n3\n", 2), "2\n3");
        assert_eq!(end("", 2), "");
    }
}
