//! Messages about merged results.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::cases::{MergedCases, RULE, Source};
use super::planned::Plan;
use super::results::{Host, Results};
use super::shards::Shards;
use crate::render::units;
use crate::visible;

pub struct MergeSummary<'r> {
    pub plan: &'r Plan,
    pub results: &'r [Results],
    pub shards: &'r Shards,
    pub chosen: &'r MergedCases<'r>,
    pub output: &'r Path,
}

impl MergeSummary<'_> {
    /// The merged folders, and every skipped record.
    pub fn summary(&self) -> String {
        let folders = self.results.iter().filter(|it| !it.is_machine).count();
        let mut out = format!(
            "merged {} of {} from {} into {}\n",
            self.chosen.rows.len(),
            units::count(self.plan.cases.len(), "planned case"),
            units::count(folders, "folder"),
            visible::line(&self.output.display().to_string()),
        );
        self.outcomes(&mut out);
        self.divisions(&mut out);
        self.machines(&mut out);
        self.chosen.mixed.iter().for_each(|text| line(&mut out, "mixed", text));
        self.dropped(&mut out);
        self.foreign(&mut out);
        out
    }

    fn outcomes(&self, out: &mut String) {
        let mut outcomes: BTreeMap<&str, usize> = BTreeMap::new();
        for (_, found) in &self.chosen.rows {
            *outcomes.entry(found.status).or_default() += 1;
        }
        let outcomes: Vec<String> =
            outcomes.into_iter().map(|(status, cases)| format!("{cases} {status}")).collect();
        if !outcomes.is_empty() {
            line(out, "outcomes", &outcomes.join(", "));
        }
    }

    fn divisions(&self, out: &mut String) {
        for (division, found) in &self.shards.0 {
            let (target, count, partition) =
                (&division.target, division.count, &division.partition);
            let found = found.iter().filter(|index| (1..=count).contains(*index)).count();
            line(out, "shards", &format!("{found} of {count} of `{target}`, {partition}"));
        }
        if !self.chosen.missing.is_empty() {
            return;
        }
        for (division, missing) in self.shards.missing() {
            let (word, verb) = if missing.is_one() { ("shard", "has") } else { ("shards", "have") };
            let count = division.count;
            let text =
                format!("{word} {missing} of {count} left nothing and {verb} no missing case");
            line(out, "", &text);
        }
    }

    /// The machines of the cases, and whose calibration is kept for each.
    fn machines(&self, out: &mut String) {
        let mut machines: BTreeMap<&str, (usize, BTreeSet<&Host>)> = BTreeMap::new();
        for (_, found) in &self.chosen.rows {
            machines.entry(&found.host.machine).or_default().0 += 1;
        }
        for &host in self.chosen.calibrations.keys() {
            machines.entry(&host.machine).or_default().1.insert(host);
        }
        for (machine, (cases, calibrated)) in machines {
            let cases = units::count(cases, "case");
            let calibrated: Vec<String> = calibrated
                .iter()
                .map(|host| {
                    let probes = units::count(self.chosen.calibrations[host].len(), "case");
                    format!("{} ({probes})", host.hostname)
                })
                .collect();
            let calibrated = match &calibrated[..] {
                [] => "no calibration".to_owned(),
                some => format!("calibration of {}", some.join(", ")),
            };
            line(out, "machine", &format!("{machine}: {cases}; {calibrated}"));
        }
    }

    fn dropped(&self, out: &mut String) {
        if self.chosen.dropped.is_empty() {
            return;
        }
        let cases = units::count(self.chosen.dropped.len(), "case");
        line(out, "dropped", &format!("{cases} had several records; kept: {RULE}"));
        for (kept, others) in &self.chosen.dropped {
            line(out, "", &kept.1.full_id);
            line(out, "", &format!("  kept    {}", self.source(kept)));
            for other in others {
                let same = if other.1.line == kept.1.line { ", the same record" } else { "" };
                line(out, "", &format!("  dropped {}{same}", self.source(other)));
            }
        }
    }

    fn foreign(&self, out: &mut String) {
        let foreign = &self.chosen.foreign;
        if foreign.is_empty() {
            return;
        }
        let records = units::count(foreign.len(), "record");
        line(out, "unplanned", &format!("{records} of cases that the plan does not have, skipped"));
        for source in foreign {
            let folder = self.results[source.0].folder.display();
            line(out, "", &format!("{} ({folder})", source.1.full_id));
        }
    }

    /// `measured 2026-11-20T13:40:00Z in results/1, run 20261120T134000Z-4242`.
    fn source(&self, (place, found): &Source<'_>) -> String {
        format!(
            "{} {} in {}, run {}",
            found.status,
            units::rfc3339(found.timestamp),
            self.results[*place].folder.display(),
            found.run_id
        )
    }

    /// The planned cases without a record by their reasons, and the shards that left nothing.
    pub fn missing(&self) -> Option<String> {
        let missing = &self.chosen.missing;
        if missing.is_empty() {
            return None;
        }
        let (all, verb) = (self.plan.cases.len(), if missing.len() == 1 { "is" } else { "are" });
        let mut out = format!(
            "merge: {} of {} {verb} missing\n",
            missing.len(),
            units::count(all, "planned case")
        );
        for (division, missing) in self.shards.missing() {
            let word = if missing.is_one() { "shard" } else { "shards" };
            let (count, target) = (division.count, &division.target);
            let text = format!("{word} {missing} of {count} of `{target}` left no results");
            out.push_str(&format!("  {}\n", visible::line(&text)));
        }
        by_reason(&mut out, missing.iter().map(|(id, reason)| (*id, reason.as_str())));
        Some(out)
    }

    /// The merged cases that were measured and whose times cannot be used, by the reasons.
    pub fn without_time(&self) -> Option<String> {
        let sources = self.chosen.rows.iter().chain(self.chosen.calibrations.values().flatten());
        let lost: BTreeSet<(&str, &str)> = sources
            .filter_map(|(_, it)| Some((&*it.full_id, it.time.as_ref()?.as_ref().err()?.as_str())))
            .collect();
        let mut out = match lost.len() {
            0 => return None,
            1 => "merge: 1 measured case has no usable time\n".to_owned(),
            cases => format!("merge: {cases} measured cases have no usable time\n"),
        };
        by_reason(&mut out, lost);
        Some(out)
    }
}

fn by_reason<'r>(out: &mut String, cases: impl IntoIterator<Item = (&'r str, &'r str)>) {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (id, reason) in cases {
        by_reason.entry(reason).or_default().push(id);
    }
    for (reason, ids) in by_reason {
        let cases = units::count(ids.len(), "case");
        out.push_str(&format!("  {}: {cases}\n", visible::line(reason)));
        out.extend(ids.iter().map(|id| format!("    {}\n", visible::line(id))));
    }
}

/// A line behind its label.
fn line(out: &mut String, label: &str, text: &str) {
    let text = format!("{label:11}{}", visible::line(text));
    out.push_str(text.trim_end());
    out.push('\n');
}
