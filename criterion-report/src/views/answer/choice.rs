//! Chooses among the cases of a group: the recipe that pays, and the fastest implementation of a kernel.

use std::collections::{BTreeSet, HashMap};

use plan::{Device, Mode, Pass};
use statistics::{Ratio, Verdict, quotient, verdict};

use super::{Answer, Beside, Level, Question, Speedups, UNDECIDED, contended, open_if};
use crate::model::caution::apart;
use crate::model::{Entry, Row};
use crate::model::{Field, Figure, fingerprint, gather};
use crate::order::{Order as _, Sorted as _};
use crate::read::Report;
use crate::render::units;
use crate::views::calibration::{BEYOND_LAST, Caches};
use crate::views::reason::Reasons;

/// A case of a group, and how many times faster it is than the group's baseline: as its callers have it, where that differs.
#[derive(Clone, Copy)]
struct Contender<'a> {
    entry: Entry<'a>,
    over_baseline: Ratio,
}

impl<'a> Contender<'a> {
    /// `None` where the two were not compared.
    fn from_entry(entry: &Entry<'a>) -> Option<Self> {
        let over_baseline = match entry.comparison {
            None if entry.row.time.is_ok() => exactly(1.0),
            _ => entry.speedup()?.for_callers(),
        };
        Some(Self { entry: *entry, over_baseline })
    }

    fn is_baseline(&self) -> bool {
        self.entry.comparison.is_none()
    }

    fn verdict(&self) -> Verdict {
        verdict(&self.over_baseline)
    }

    /// Whether it may be as fast as the best of its group, by their intervals.
    fn meets(&self, best: &Self) -> bool {
        self.over_baseline.high >= best.over_baseline.low
    }

    /// How many times faster it is than another of its group; `None` if the two were measured in different circumstances.
    fn over(&self, other: &Self) -> Option<Ratio> {
        let apart = apart(&self.entry.row.record, &other.entry.row.record);
        apart.is_none().then(|| quotient(&self.over_baseline, &other.over_baseline))
    }
}

/// A group at one parameter, the fastest case first.
struct Block<'a> {
    subject: String,
    contenders: Vec<Contender<'a>>,
    /// Why its answer stays open.
    open: Option<String>,
}

fn blocks<'a>(report: &'a Report, modes: &[Mode]) -> Vec<Block<'a>> {
    let entries = report.entries().filter(|entry| modes.contains(&entry.row.record.case.mode));
    let entries = answering(entries.collect());
    let configs: BTreeSet<&str> =
        entries.iter().map(|entry| &*entry.row.record.case.config).sorted_set();
    let several = configs.len() > 1;
    let id = |entry: &Entry<'_>| {
        let id = &entry.row.record.case.id;
        (id.group.clone(), id.parameter.clone())
    };
    let block = |block: Vec<Entry<'a>>| {
        let mut contenders: Vec<_> = block.iter().filter_map(Contender::from_entry).collect();
        contenders.order_by(|a, b| b.over_baseline.ratio.total_cmp(&a.over_baseline.ratio));
        let open = contended(block.iter().map(|it| it.row));
        Block { subject: subject(&block[0], several), contenders, open }
    };
    gather(entries, id).into_iter().map(block).collect()
}

/// The recipe that pays at each shape, or none.
pub(super) fn chosen<'a>(report: &'a Report, reasons: &Reasons<'a>) -> Vec<Answer> {
    let unquantized = unquantized(report);
    let blocks = blocks(report, &[Mode::Inference, Mode::Training]);
    let answer =
        |block: Block<'a>| Some(open_if(block.open.clone(), recipe(block, &unquantized, reasons)?));
    blocks.into_iter().filter_map(answer).collect()
}

fn recipe<'a>(
    Block { subject, contenders, .. }: Block<'a>,
    elsewhere: &Unquantized<'a>,
    reasons: &Reasons<'a>,
) -> Option<Answer> {
    let candidates = || contenders.iter().filter(|it| !it.is_baseline());
    let best = candidates().next()?;
    let speedup = best.entry.speedup()?;
    let is_unquantized = |it: &&Contender<'_>| it.entry.row.is_unquantized();
    // One that may be as fast as the best is one to be held against, too.
    let fastest = candidates().find(is_unquantized);
    let fastest = fastest.filter(|it| it.verdict() == Verdict::Faster || it.meets(best));
    let recipe = contenders.iter().find(|it| !is_unquantized(it)).map(|it| Beside {
        variant: it.entry.variant(),
        by_times: false,
        speedup: it.over_baseline.into(),
    });
    let elsewhere = elsewhere.fastest(best, &contenders);
    if let Some((name, gain)) = elsewhere.as_ref().filter(|(_, it)| *it > best.over_baseline.ratio)
    {
        return Some(Answer {
            question: Question::Recipes,
            subject,
            answer: name.clone(),
            variant: name.clone(),
            pays: Some(true),
            by_times: true,
            speedup: Some(exactly(*gain).into()),
            recipe,
            ..Answer::default()
        });
    }
    let beside = match fastest {
        Some(it) if it.entry.row.full_id() == best.entry.row.full_id() => None,
        Some(it) => best.over(it).map(|ratio| (it.entry.variant(), false, ratio)),
        // The case's speed-up by pairs over that of the other by times.
        None => {
            elsewhere.map(|(name, gain)| (name, true, exactly(best.over_baseline.ratio / gain)))
        }
    };
    let unquantized = beside.map(|(variant, by_times, ratio)| Beside {
        variant,
        by_times,
        speedup: ratio.into(),
    });
    let level = candidates()
        .skip(1)
        .filter(|_| best.verdict() == Verdict::Faster)
        .filter(|it| it.verdict() == Verdict::Faster && it.meets(best));
    let answer = match best.verdict() {
        Verdict::Faster => best.entry.variant(),
        Verdict::Inconclusive => UNDECIDED.to_owned(),
        Verdict::Slower | Verdict::Same => "none".to_owned(),
    };
    Some(Answer {
        question: Question::Recipes,
        subject,
        answer,
        variant: best.entry.variant(),
        pays: match best.verdict() {
            Verdict::Faster => Some(true),
            Verdict::Slower => Some(false),
            Verdict::Same | Verdict::Inconclusive => None,
        },
        speedup: Speedups::from_speedups(&[*speedup]),
        as_called: speedup.differs_as_called(),
        weights_reduction: best.entry.comparison.and_then(|it| it.weights_reduction),
        sqnr_db: sqnr(&best.entry),
        level: level
            .map(|it| Level { variant: it.entry.variant(), sqnr_db: sqnr(&it.entry) })
            .collect(),
        unquantized,
        recipe: recipe.filter(|_| best.entry.row.is_unquantized()),
        why: reasons.among([best.entry].into_iter()),
        ..Answer::default()
    })
}

/// The unquantized models of a report, by all that two dtypes have in common.
struct Unquantized<'a>(HashMap<UnquantizedKey, Vec<&'a Row>>);

/// Model and shape, device, threads, machine.
type UnquantizedKey = (String, &'static str, u32, String);

fn unquantized(report: &Report) -> Unquantized<'_> {
    let mut rows: HashMap<UnquantizedKey, Vec<&Row>> = HashMap::new();
    for row in report.entries().map(|entry| entry.row) {
        // One that is a sibling in another dtype has pairs.
        let is_meant =
            row.is_unquantized() && row.variant().is_some_and(|variant| variant.dtype.is_none());
        if let Some(key) = unquantized_key(row).filter(|_| is_meant) {
            rows.entry(key).or_default().push(row);
        }
    }
    Unquantized(rows)
}

fn unquantized_key(row: &Row) -> Option<UnquantizedKey> {
    let case = &row.record.case;
    let work = case.work.model()?;
    let pass = work.pass.map(|pass| pass.to_string()).unwrap_or_default();
    let what = format!("{} {} {pass}", work.model, work.shape);
    let threads = row.record.environment.torch.threads;
    Some((what, case.device.as_str(), threads, fingerprint(&row.record)))
}

impl Unquantized<'_> {
    /// The fastest one at a case's shape in another dtype than its group's, or run in another way than any of `group`, if it is
    /// faster than the case's own baseline: its name, and how many times faster. The two were not measured in turn, so that
    /// their times are compared.
    fn fastest(&self, of: &Contender<'_>, group: &[Contender<'_>]) -> Option<(String, f64)> {
        let own = of.entry.baseline?.called_ns()?;
        let rows = self.0.get(&unquantized_key(of.entry.row)?)?;
        let what = |row: &Row| (row.record.case.dtype, row.record.case.variant());
        let known: Vec<_> = group.iter().map(|it| what(it.entry.row)).collect();
        let others = rows.iter().filter(|row| !known.contains(&what(row)));
        let timed = others.filter_map(|row| Some((row, own / row.called_ns()?)));
        let (row, gain) =
            timed.max_by(|(_, a), (_, b)| a.total_cmp(b)).filter(|(_, gain)| *gain > 1.0)?;
        let case = &row.record.case;
        let name = match row.is_baseline() {
            true => case.dtype.plain().to_owned(),
            false if case.dtype == of.entry.row.record.case.dtype => case.variant(),
            false => format!("{} in {}", case.variant(), case.dtype.plain()),
        };
        Some((name, gain))
    }
}

/// A ratio without an interval.
const fn exactly(ratio: f64) -> Ratio {
    Ratio { ratio, low: ratio, high: ratio }
}

/// The fastest implementation of each of a user's kernels, and its margin over the next one.
pub(super) fn fastest<'a>(report: &'a Report, reasons: &Reasons<'a>) -> Vec<Answer> {
    let most = |is_cpu| {
        let probes = report.entries().map(|it| it.row).filter(|it| {
            let case = &it.record.case;
            case.mode == Mode::Calibration && (case.device == Device::Cpu) == is_cpu
        });
        probes.filter_map(Row::gb_per_s).reduce(f64::max)
    };
    let [on_cpu, on_gpu] = [true, false].map(most);
    let answer = |Block { subject, contenders, open }: Block<'a>| {
        let [first, second, ..] = contenders[..] else { return None };
        let margin = first.over(&second)?;
        let is_decided = verdict(&margin) == Verdict::Faster;
        let is_cpu = first.entry.row.record.case.device == Device::Cpu;
        Some(open_if(
            open.or_else(|| impossible(first.entry.row, if is_cpu { on_cpu } else { on_gpu })),
            Answer {
                question: Question::Kernels,
                subject,
                answer: if is_decided { first.entry.variant() } else { UNDECIDED.to_owned() },
                variant: first.entry.variant(),
                // That the reference of a kernel is the fastest is no bad news.
                pays: (is_decided && !first.is_baseline()).then_some(true),
                speedup: Some(margin.into()),
                over: Some(second.entry.variant()),
                why: reasons.among([first.entry].into_iter()),
                ..Answer::default()
            },
        ))
    };
    blocks(report, &[Mode::Kernels]).into_iter().filter_map(answer).collect()
}

/// GB/s that no CPU moves: two vectors of 64 bytes read and one written in each of 5·10⁹ cycles a second.
const CPU_GB_PER_S: f64 = 960.0;
/// GB/s that no GPU moves within its chip.
const GPU_GB_PER_S: f64 = 2e5;

/// Says that a kernel would move more bytes than memory moves: it leaves work out, or has done it elsewhere. `measured` is
/// the most GB/s of the machine's own probes; of what lies in caches only what no chip can do is refused.
fn impossible(row: &Row, measured: Option<f64>) -> Option<String> {
    let (rate, bytes) = (row.gb_per_s()?, row.moved_bytes()?);
    let host = &row.record.environment.host;
    let last = Caches::new(&host.caches, host.cpus).last(host.cpus);
    let is_beyond = last.is_some_and(|last| bytes > last.saturating_mul(BEYOND_LAST));
    let most = match row.record.case.device {
        Device::Cpu => CPU_GB_PER_S * f64::from(host.cpus.max(1)),
        _ => GPU_GB_PER_S,
    };
    let most = measured.filter(|_| is_beyond).map_or(most, |measured| most.min(2.0 * measured));
    (rate > most).then(|| {
        let rate = units::significant(rate, 2);
        format!(
            "{} would move {rate} GB/s, which no memory does: it leaves work out",
            row.record.case.variant()
        )
    })
}

/// The passes that say whether a recipe pays in training: the first that a model was measured in.
const ANSWERING: [Pass; 3] = [Pass::ForwardBackward, Pass::StepSgd, Pass::StepAdamw];

/// The entries without those of passes that answer nothing by themselves: of a training step one pass
/// answers for all.
fn answering(entries: Vec<Entry<'_>>) -> Vec<Entry<'_>> {
    let rank = |entry: &Entry<'_>| {
        let pass = entry.row.pass();
        pass.map(|pass| ANSWERING.iter().position(|it| *it == pass).unwrap_or(ANSWERING.len()))
    };
    let model = |entry: &Entry<'_>| {
        let case = &entry.row.record.case;
        let model = case.work.model().map(|work| work.model.to_string());
        (case.config.clone(), model, case.device.as_str(), case.id.parameter.clone())
    };
    let mut first: HashMap<_, usize> = HashMap::new();
    for entry in &entries {
        if let Some(rank) = rank(entry) {
            first.entry(model(entry)).and_modify(|it| *it = rank.min(*it)).or_insert(rank);
        }
    }
    let answers = |entry: &Entry<'_>| {
        rank(entry).is_none_or(|rank| rank < ANSWERING.len() && first[&model(entry)] == rank)
    };
    entries.into_iter().filter(answers).collect()
}

/// A recipe's; infinite if it changes nothing.
fn sqnr(entry: &Entry<'_>) -> Option<f64> {
    const SQNR: &Field = Field::known("sqnr");
    let Figure { value, .. } = SQNR.figure(entry)?;
    (entry.row.variant().is_some() && value.is_finite()).then_some(value)
}

/// `linear bf16 1x4096x4096`, behind the config where there are several.
fn subject(entry: &Entry<'_>, several_configs: bool) -> String {
    let id = &entry.row.record.case.id;
    let mut parts = id.group.split('/');
    let config = parts.nth(1).filter(|_| several_configs);
    let workload = parts.next();
    let device = parts.next().filter(|device| *device != "cpu");
    let parameter = id.parameter.replacen('-', " ", 1);
    let words = [config, workload, Some(&*parameter), device];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}
