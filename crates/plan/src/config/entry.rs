//! The entries of configs; and the one reader of those that list operators, patterns or probes by their
//! words.

use std::fmt::Display;
use std::path::Path;

use super::node::{Fields, Node};
use super::own_keys::{self, CommonSettings, OWN_KEYS};
use super::{at_the_top, compile_key, top};
use crate::diagnostic::Diagnostic;
use crate::settings::{Profiling, Settings};
use crate::words::closed::Word;
use crate::words::{CompileMode, Device, Dtype, UnknownWord, without_repetition};
use crate::work::Work;

/// One entry. Each kernel, or model, at each size, in each dtype, on each device, in each of its ways is a case.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry<Kernel, Size, Way> {
    /// `name`, if given.
    pub name: Option<String>,
    /// Models, operators, patterns or probes, without repetition.
    pub kernels: Vec<Kernel>,
    /// Sizes with the name of their set.
    pub sizes: Vec<(String, Size)>,
    /// The variants, implementations or threads that are listed; the usual ones if absent.
    pub ways: Option<Vec<Way>>,
    /// Modes of `torch.compile`, in each of which a way that can be compiled has a sibling.
    pub compile: Vec<CompileMode>,
    /// Dtypes.
    pub dtypes: Vec<Dtype>,
    /// Devices.
    pub devices: Vec<Device>,
    /// Traces asked for.
    pub profiling: Profiling,
    /// How each is measured.
    pub settings: Settings,
}

/// An entry whose words have been read.
pub(crate) struct Reading<'e, K> {
    pub(super) fields: &'e Fields<'e>,
    pub(super) own: &'e CommonSettings,
    /// `None` where the words were wrong.
    pub(super) kernels: Option<&'e [K]>,
}

pub(crate) type EntryOf<S> = Entry<S, <S as Subject>::Size, <S as Subject>::Way>;

/// The device and the precision of a case.
#[derive(Clone, Copy)]
pub(crate) struct DeviceDtype {
    pub(crate) device: Device,
    pub(crate) dtype: Dtype,
}

/// A subject of entries: a model, an operator, a pattern, a probe or a user's kernel. Ids call it by its
/// `Display`.
pub(crate) trait Subject: Copy + Display {
    type Size;
    /// The difference between siblings, beside compilation.
    type Way: Copy;

    /// Whether the size, which an entry lists for all of its subjects, is one of this.
    fn takes(self, _size: &Self::Size) -> bool {
        true
    }

    /// The part of an id of `group` that says the size.
    fn size_text(self, group: &str, size: &Self::Size) -> String;

    /// The listed ways that it has, or the usual ones; the baseline comes first.
    fn ways(self, listed: Option<&[Self::Way]>, device: Device) -> Vec<Self::Way>;

    /// Whether a compiler's versions follow behind the way.
    fn is_compiled(_way: Self::Way) -> bool {
        false
    }

    fn work(
        self,
        size: &Self::Size,
        way: Self::Way,
        compile: Option<CompileMode>,
        place: DeviceDtype,
    ) -> Work;

    fn settings(_way: Self::Way, settings: &Settings) -> Settings {
        settings.clone()
    }

    /// [`Config::hash`](super::Config::hash), and a hash of what else it is made of.
    fn config_hash(self, config: &str) -> String {
        config.to_owned()
    }

    /// Why there can be no cases of it in `group`, which is of the file `config`.
    fn refusal(self, _group: &str, _config: &Path) -> Option<Diagnostic> {
        None
    }
}

/// A kind of kernel that entries list by words.
pub(crate) trait Listed: Subject + Word {
    const KEY: &'static str;
    /// The key of an entry's words.
    const WORDS_KEY: &'static str;
    /// One of the things that an entry lists, in messages.
    const WHAT: &'static str;
    /// The keys of an entry, besides those of compilation and our own.
    const KEYS: &'static [&'static str];
    const IS_COMPILED: bool;
    const LISTS_THREADS: bool;

    /// The remedy for an entry without words.
    fn missing() -> String;

    /// Words that stand for several kernels.
    fn groups() -> Vec<(&'static str, Vec<Self>)>;

    /// The remedy for an unknown word that is known elsewhere.
    fn remedy(_unknown: &str) -> Option<String> {
        None
    }

    /// Judges what is listed together; `None` after an error with which nothing else can be read.
    fn judged(_fields: &Fields<'_>, kernels: Vec<Self>) -> Option<Vec<Self>> {
        Some(kernels)
    }

    /// The sizes of the entry. Where the words were wrong, only what is wrong for any kernel is an error.
    fn sizes(entry: &Reading<'_, Self>) -> Option<Vec<(String, Self::Size)>>;

    fn listed_ways(entry: &Reading<'_, Self>) -> Option<Option<Vec<Self::Way>>>;
}

pub(super) fn read<K: Listed>(node: &Node<'_>) -> Option<Vec<EntryOf<K>>> {
    let fields = top(node, &[K::KEY], K::KEY, &keys::<K>())?;
    let mut own = CommonSettings::new(K::LISTS_THREADS);
    own_keys::apply(&fields, &mut own);
    fields.entries(K::KEY, K::WHAT, |entry| read_entry(entry, &own))
}

fn keys<K: Listed>() -> Vec<&'static str> {
    let compile = if K::IS_COMPILED { compile_key::KEYS } else { &[] };
    [K::KEYS, compile].concat()
}

fn read_entry<K: Listed>(node: &Node<'_>, outer: &CommonSettings) -> Option<EntryOf<K>> {
    let keys = [&keys::<K>(), OWN_KEYS].concat();
    let fields = node.mapping_beside(&keys, &at_the_top(&[]))?;
    let mut own = outer.clone();
    own_keys::apply(&fields, &mut own);
    // All are read before any error ends this, so that each error is reported.
    let kernels: Option<Vec<K>> = read_words(&fields);
    let entry = Reading { fields: &fields, own: &own, kernels: kernels.as_deref() };
    let ways = K::listed_ways(&entry);
    let compile = if K::IS_COMPILED { compile_key::read(&fields) } else { Some(Vec::new()) };
    let dtypes = fields.dtypes("dtypes");
    let devices = fields.words_by("devices", Device::of_other_modes);
    let name = fields.read("name", Node::string);
    let sizes = K::sizes(&entry);
    Some(Entry {
        name,
        kernels: kernels?,
        sizes: sizes?,
        ways: ways?,
        compile: compile?,
        dtypes: dtypes?.unwrap_or_else(|| vec![Dtype::Float32]),
        devices: devices?.unwrap_or_else(|| vec![Device::Cpu]),
        profiling: Profiling::default(),
        settings: own.settings,
    })
}

fn read_words<K: Listed>(fields: &Fields<'_>) -> Option<Vec<K>> {
    let Some(listed) = fields.items(K::WORDS_KEY, read_word)? else {
        return fields.error(format!("no `{}`", K::WORDS_KEY), K::missing());
    };
    K::judged(fields, without_repetition(listed.into_iter().flatten()))
}

/// A word, or one that stands for several.
fn read_word<K: Listed>(node: &Node<'_>) -> Option<Vec<K>> {
    let text = node.string()?;
    let groups = K::groups();
    if let Some((_, kernels)) = groups.iter().find(|(word, _)| *word == text) {
        return Some(kernels.clone());
    }
    if let Ok(kernel) = text.parse() {
        return Some(vec![kernel]);
    }
    let words = K::EVERY.iter().map(|kernel| kernel.text());
    let unknown =
        UnknownWord::new(K::WHAT, &text, words.chain(groups.iter().map(|(word, _)| *word)));
    let remedy = K::remedy(&text).unwrap_or_else(|| unknown.remedy.clone());
    node.error(unknown.to_string(), remedy)
}

/// The words under `key`; one that none of the kernels has is a mistake.
pub(super) fn read_ways<K: Listed, W: Word>(
    &Reading { fields, kernels, .. }: &Reading<'_, K>,
    (key, what): (&str, &str),
    ways: impl Fn(K) -> &'static [W],
) -> Option<Option<Vec<W>>> {
    let listed = fields.words(key)?;
    if let (Some(kernels), Some(listed), Some(node)) = (kernels, &listed, fields.get(key)) {
        let has = without_repetition(kernels.iter().flat_map(|kernel| ways(*kernel)));
        let words: Vec<&str> = has.iter().map(|way| way.text()).collect();
        for way in listed.iter().filter(|way| !has.contains(way)) {
            let message = format!("none of the entry's {} has the {what} `{way}`", K::WORDS_KEY);
            node.report(message, format!("they have: {}", words.join(", ")));
        }
    }
    Some(listed)
}
