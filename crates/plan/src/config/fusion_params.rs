//! Configs of `benchmark_mode: fusion`: which patterns, how large, and which ways to run them.

use super::node::{Fields, Node};
use super::own_keys::{self, OWN_KEYS, Own};
use super::{at_the_top, compile_key, top};
use crate::catalogue::SizeSet;
use crate::catalogue::fusion::{
    self, FusionShape, FusionVariant, MemoryFormat, Pattern, PatternFamily,
};
use crate::settings::Settings;
use crate::words::{CompileMode, Device, Dtype, UnknownWord};

/// One entry of `fusion_params`.
#[derive(Debug, Clone, PartialEq)]
pub struct FusionParams {
    /// `name`, if given.
    pub name: Option<String>,
    /// Patterns, without repetition.
    pub patterns: Vec<Pattern>,
    /// Sizes with the name of their set; each goes with the patterns of its family.
    pub sizes: Vec<(String, FusionShape)>,
    /// Ways to run them; those that are usual on the device when absent.
    pub variants: Option<Vec<FusionVariant>>,
    /// Modes of `torch.compile`: the unfused operations get a sibling compiled in each.
    pub compile: Vec<CompileMode>,
    /// Dtypes.
    pub dtypes: Vec<Dtype>,
    /// Devices.
    pub devices: Vec<Device>,
    /// How each is measured.
    pub settings: Settings,
}

/// The key of the entries.
pub(super) const KEY: &str = "fusion_params";

const ENTRY_KEYS: &[&str] = &[
    "name",
    "patterns",
    "sizes",
    "variants",
    "dtypes",
    "devices",
    "memory_formats",
    "heads",
    "causal",
];

/// All patterns.
const ALL: &str = "all";

/// Largest dimension, as of a model's shape.
const LARGEST: u64 = 1 << 24;

/// Reads the whole document.
pub(super) fn read(node: &Node<'_>) -> Option<Vec<FusionParams>> {
    let fields = top(node, &[KEY], KEY, &[ENTRY_KEYS, compile_key::KEYS].concat())?;
    let mut own = Own::default();
    own_keys::apply(&fields, &mut own);
    fields.entries(KEY, "pattern", |entry| read_entry(entry, &own))
}

fn read_entry(node: &Node<'_>, outer: &Own) -> Option<FusionParams> {
    let keys = [ENTRY_KEYS, compile_key::KEYS, OWN_KEYS].concat();
    let fields = node.mapping_beside(&keys, &at_the_top(&[]))?;
    let mut own = outer.clone();
    own_keys::apply(&fields, &mut own);
    // All are read before any error ends this, so that each error is reported.
    let patterns = read_patterns(&fields);
    let variants = fields.words("variants");
    let compile = compile_key::read(&fields);
    let dtypes = fields.dtypes("dtypes");
    let devices = fields.words("devices");
    let layouts = fields.words("memory_formats");
    let heads = fields.items("heads", |node| node.integer(1..=LARGEST));
    let causal = fields.items("causal", Node::boolean);
    let name = fields.read("name", Node::string);
    let sizes = read_sizes(&fields, patterns.as_deref());
    if let Some(patterns) = &patterns {
        belong(&fields, patterns);
        existing(&fields, patterns, variants.as_ref().and_then(|it| it.as_deref()));
    }
    let axes = Axes {
        memory_formats: layouts?.unwrap_or_else(|| vec![MemoryFormat::Contiguous]),
        heads: heads?.unwrap_or_else(|| vec![1]),
        causal: causal?.unwrap_or_else(|| vec![false]),
    };
    Some(FusionParams {
        name,
        sizes: axes.spread_all(node, sizes?)?,
        patterns: patterns?,
        variants: variants?,
        compile: compile?,
        dtypes: dtypes?.unwrap_or_else(|| vec![Dtype::Float32]),
        devices: devices?.unwrap_or_else(|| vec![Device::Cpu]),
        settings: own.settings,
    })
}

/// Names of patterns, of families, and `all`.
fn read_patterns(fields: &Fields<'_>) -> Option<Vec<Pattern>> {
    let Some(listed) = fields.items("patterns", pattern_or_family)? else {
        return fields.error(
            "no `patterns`".to_owned(),
            format!("list some: {}, a pattern's own name, or {ALL}", families().join(", ")),
        );
    };
    let mut patterns = Vec::new();
    for pattern in listed.into_iter().flatten() {
        if !patterns.contains(&pattern) {
            patterns.push(pattern);
        }
    }
    Some(patterns)
}

fn families() -> Vec<&'static str> {
    PatternFamily::ALL.iter().map(|family| family.as_str()).collect()
}

fn pattern_or_family(node: &Node<'_>) -> Option<Vec<Pattern>> {
    let text = node.string()?;
    if text == ALL {
        return Some(Pattern::ALL.to_vec());
    }
    if let Ok(family) = text.parse::<PatternFamily>() {
        return Some(Pattern::ALL.iter().copied().filter(|it| it.family() == family).collect());
    }
    match text.parse::<Pattern>() {
        Ok(pattern) => Some(vec![pattern]),
        Err(_) => {
            let patterns = Pattern::ALL.iter().map(|pattern| pattern.as_str());
            let words = patterns.chain(families()).chain([ALL]);
            let unknown = UnknownWord::new("pattern", &text, words);
            node.error(unknown.to_string(), unknown.remedy)
        }
    }
}

/// A key that none of the patterns has a use for is a mistake.
fn belong(fields: &Fields<'_>, patterns: &[Pattern]) {
    let used = |family| patterns.iter().any(|pattern| pattern.family() == family);
    let masked = patterns.iter().any(|pattern| pattern.has_mask());
    for (key, has_a_use, whose) in [
        ("memory_formats", used(PatternFamily::Conv), "a pattern of the family `conv`"),
        ("heads", used(PatternFamily::Attention), "a pattern of the family `attention`"),
        ("causal", masked, "`qk_softmax` or `full_attention`"),
    ] {
        if let (Some(node), false) = (fields.get(key), has_a_use) {
            let message = format!("none of the entry's patterns has a use for `{key}`");
            node.report(message, format!("list {whose}, or delete the key"));
        }
    }
}

/// A variant that none of the patterns has is a mistake, too.
fn existing(fields: &Fields<'_>, patterns: &[Pattern], variants: Option<&[FusionVariant]>) {
    for variant in variants.into_iter().flatten() {
        if patterns.iter().any(|pattern| pattern.variants().contains(variant)) {
            continue;
        }
        let mut has: Vec<&str> = Vec::new();
        for variant in patterns.iter().flat_map(|pattern| pattern.variants()) {
            if !has.contains(&variant.as_str()) {
                has.push(variant.as_str());
            }
        }
        if let Some(node) = fields.get("variants") {
            let message = format!("none of the entry's patterns has the variant `{variant}`");
            node.report(message, format!("they have: {}", has.join(", ")));
        }
    }
}

/// What each size is combined with.
struct Axes {
    memory_formats: Vec<MemoryFormat>,
    heads: Vec<u64>,
    causal: Vec<bool>,
}

impl Axes {
    /// All of `sizes`, with the names of their sets; `None` where they are too many.
    fn spread_all(
        &self,
        node: &Node<'_>,
        sizes: Vec<(String, FusionShape)>,
    ) -> Option<Vec<(String, FusionShape)>> {
        let count = |(_, size): &(String, FusionShape)| match size {
            FusionShape::Linear { .. } => 1,
            FusionShape::Conv { .. } => self.memory_formats.len(),
            FusionShape::Attention { .. } => self.heads.len().saturating_mul(self.causal.len()),
        };
        if !node.has_room(sizes.iter().map(count).fold(0, usize::saturating_add)) {
            return None;
        }
        let spread = |(name, size): (String, FusionShape)| {
            self.spread(size).into_iter().map(move |size| (name.clone(), size))
        };
        Some(sizes.into_iter().flat_map(spread).collect())
    }

    /// `size` with every combination that its family has.
    fn spread(&self, size: FusionShape) -> Vec<FusionShape> {
        match size {
            FusionShape::Linear { .. } => vec![size],
            FusionShape::Conv { b, i, o, s, .. } => {
                let with = |&memory_format| FusionShape::Conv { b, i, o, s, memory_format };
                self.memory_formats.iter().map(with).collect()
            }
            FusionShape::Attention { b, s, d, .. } => self
                .heads
                .iter()
                .flat_map(|&heads| self.causal.iter().map(move |&causal| (heads, causal)))
                .map(|(heads, causal)| FusionShape::Attention { b, s, d, heads, causal })
                .collect(),
        }
    }
}

/// `full`, `quick`, or lists of numbers; upstream's full sizes when absent. Of unknown patterns only
/// what is wrong for every family is an error.
fn read_sizes(
    fields: &Fields<'_>,
    patterns: Option<&[Pattern]>,
) -> Option<Vec<(String, FusionShape)>> {
    let mut families: Vec<PatternFamily> = Vec::new();
    for family in patterns.into_iter().flatten().map(|pattern| pattern.family()) {
        if !families.contains(&family) {
            families.push(family);
        }
    }
    let node = fields.get("sizes");
    let set = match &node {
        None => Some(SizeSet::Full),
        Some(node) if node.as_text().is_some() => Some(node.word()?),
        Some(_) => None,
    };
    let sizes: Vec<(String, FusionShape)> = match (set, node, families.as_slice()) {
        (Some(set), ..) => families
            .iter()
            .flat_map(|&family| fusion::sizes(family, set))
            .map(|size| (set.to_string(), size))
            .collect(),
        (None, Some(node), &[]) => {
            for item in node.list()? {
                read_numbers(&item);
            }
            return None;
        }
        (None, Some(node), &[family]) => {
            let read = node.each(|item| read_size(item, family))?;
            let sizes = read.into_iter().collect::<Option<Vec<_>>>()?;
            if sizes.is_empty() {
                return node.error("no size".to_owned(), "list at least one, or delete the key");
            }
            sizes.into_iter().map(|size| ("custom".to_owned(), size)).collect()
        }
        (None, node, _) => {
            let message = "sizes of one's own fit patterns of one family only".to_owned();
            return node?.error(message, "write `full` or `quick`, or one entry for each family");
        }
    };
    Some(sizes)
}

/// The dimensions of a size.
fn read_numbers(node: &Node<'_>) -> Option<Vec<u64>> {
    if !node.is_list() {
        let example = "each size in brackets, e.g. `[[64, 64, 64], [128, 128, 128]]`";
        return node.wrong_type("a size", example);
    }
    let items = node.list()?;
    let numbers: Vec<_> = items.iter().map(|item| item.integer(1..=LARGEST)).collect();
    numbers.into_iter().collect()
}

fn read_size(node: &Node<'_>, family: PatternFamily) -> Option<FusionShape> {
    let numbers = read_numbers(node)?;
    family.shape(&numbers).or_else(|| {
        let message = format!("{} numbers are no size of the family `{family}`", numbers.len());
        node.error(message, format!("write {}", family.numbers()))
    })
}
