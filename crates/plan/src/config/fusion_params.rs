//! Configs of `benchmark_mode: fusion`: which patterns, how large, and which ways to run them.

use super::LARGEST;
use super::entry::{self, DeviceDtype, Entry, Listed, Reading, Subject};
use super::node::{Fields, Node};
use crate::catalogue::SizeSet;
use crate::catalogue::pattern::{
    self, FusionShape, FusionVariant, FusionWork, MemoryFormat, Pattern, PatternFamily,
};
use crate::words::{CompileMode, Device, without_repetition};
use crate::work::Work;

/// One entry of `fusion_params`. Each size goes with the patterns of its family.
pub type FusionParams = Entry<Pattern, FusionShape, FusionVariant>;

const ALL: &str = "all";

impl Subject for Pattern {
    type Size = FusionShape;
    type Way = FusionVariant;

    fn takes(self, size: &FusionShape) -> bool {
        self.takes(*size)
    }

    fn size_text(self, _group: &str, size: &FusionShape) -> String {
        size.to_string()
    }

    fn ways(self, listed: Option<&[FusionVariant]>, device: Device) -> Vec<FusionVariant> {
        let wanted = |it: &FusionVariant| match listed {
            Some(listed) => listed.contains(it) || *it == FusionVariant::Unfused,
            None => it.is_usual(device),
        };
        self.variants().iter().copied().filter(wanted).collect()
    }

    /// The other variants are a compiler's work done by hand: compiling one library call gives the same
    /// call.
    fn is_compiled(way: FusionVariant) -> bool {
        way == FusionVariant::Unfused
    }

    fn work(
        self,
        size: &FusionShape,
        variant: FusionVariant,
        compile: Option<CompileMode>,
        _place: DeviceDtype,
    ) -> Work {
        Work::Fusion(FusionWork { pattern: self, variant, compile, size: *size })
    }
}

impl Listed for Pattern {
    const KEY: &'static str = "fusion_params";
    const WORDS_KEY: &'static str = "patterns";
    const WHAT: &'static str = "pattern";
    const KEYS: &'static [&'static str] = &[
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
    const IS_COMPILED: bool = true;
    const LISTS_THREADS: bool = false;

    fn missing() -> String {
        let families: Vec<&str> = PatternFamily::ALL.iter().map(|it| it.as_str()).collect();
        format!("list some: {}, a pattern's own name, or {ALL}", families.join(", "))
    }

    fn groups() -> Vec<(&'static str, Vec<Self>)> {
        let members = |family: &PatternFamily| {
            Self::ALL.iter().copied().filter(|it| it.family() == *family).collect()
        };
        let families = PatternFamily::ALL.iter().map(|it| (it.as_str(), members(it)));
        families.chain([(ALL, Self::ALL.to_vec())]).collect()
    }

    /// A key that none of the patterns has a use for is a mistake.
    fn judged(fields: &Fields<'_>, kernels: Vec<Self>) -> Option<Vec<Self>> {
        let used = |family| kernels.iter().any(|pattern| pattern.family() == family);
        let masked = kernels.iter().any(|pattern| pattern.has_mask());
        for (key, has_a_use, whose) in [
            ("memory_formats", used(PatternFamily::Conv), "a pattern of the family `conv`"),
            ("heads", used(PatternFamily::Attention), "a pattern of the family `attention`"),
            ("causal", masked, "`qk_softmax` or `full_attention`"),
        ] {
            if let (Some(node), false) = (fields.get(key), has_a_use) {
                let message = format!("none of the entry's patterns uses `{key}`");
                node.report(message, format!("list {whose}, or delete the key"));
            }
        }
        Some(kernels)
    }

    fn sizes(entry: &Reading<'_, Self>) -> Option<Vec<(String, FusionShape)>> {
        let &Reading { fields, kernels, .. } = entry;
        let memory_formats = fields.words("memory_formats");
        let heads = fields.items("heads", |node| node.integer(1..=LARGEST));
        let causal = fields.items("causal", Node::boolean);
        let sizes = read_sizes(fields, kernels);
        let axes = Axes {
            memory_formats: memory_formats?.unwrap_or_else(|| vec![MemoryFormat::Contiguous]),
            heads: heads?.unwrap_or_else(|| vec![1]),
            causal: causal?.unwrap_or_else(|| vec![false]),
        };
        axes.spread_all(fields, sizes?)
    }

    fn listed_ways(entry: &Reading<'_, Self>) -> Option<Option<Vec<FusionVariant>>> {
        entry::read_ways(entry, ("variants", "variant"), Self::variants)
    }
}

/// Axes that each size is combined with.
struct Axes {
    memory_formats: Vec<MemoryFormat>,
    heads: Vec<u64>,
    causal: Vec<bool>,
}

impl Axes {
    /// All of `sizes`, with the names of their sets; `None` where they are too many.
    fn spread_all(
        &self,
        fields: &Fields<'_>,
        sizes: Vec<(String, FusionShape)>,
    ) -> Option<Vec<(String, FusionShape)>> {
        let count = |(_, size): &(String, FusionShape)| match size {
            FusionShape::Linear { .. } => 1,
            FusionShape::Conv { .. } => self.memory_formats.len(),
            FusionShape::Attention { .. } => self.heads.len().saturating_mul(self.causal.len()),
        };
        if !fields.has_room(sizes.iter().map(count).fold(0, usize::saturating_add)) {
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

/// `full`, `quick`, or lists of numbers; upstream's full sizes when absent. If no pattern is known,
/// only sizes that are wrong for every family are an error.
fn read_sizes(
    fields: &Fields<'_>,
    patterns: Option<&[Pattern]>,
) -> Option<Vec<(String, FusionShape)>> {
    let families =
        without_repetition(patterns.into_iter().flatten().map(|pattern| pattern.family()));
    let node = fields.get("sizes");
    let set = match &node {
        None => Some(SizeSet::Full),
        Some(node) if node.as_text().is_some() => Some(node.word()?),
        Some(_) => None,
    };
    let sizes: Vec<(String, FusionShape)> = match (set, node, families.as_slice()) {
        (Some(set), ..) => families
            .iter()
            .flat_map(|&family| pattern::sizes(family, set))
            .map(|size| (set.to_string(), size))
            .collect(),
        (None, Some(node), &[]) => {
            for item in node.list()? {
                read_numbers(&item);
            }
            return None;
        }
        (None, Some(node), &[family]) => {
            let read = node.read_each(|item| read_size(item, family))?;
            let sizes = read.into_iter().collect::<Option<Vec<_>>>()?;
            if sizes.is_empty() {
                return node.error("no size".to_owned(), "list at least one, or delete the key");
            }
            sizes.into_iter().map(|size| ("custom".to_owned(), size)).collect()
        }
        (None, node, _) => {
            let message = "your own sizes fit patterns of one family only".to_owned();
            return node?.error(message, "write `full` or `quick`, or one entry for each family");
        }
    };
    Some(sizes)
}

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
        let message = format!("{} numbers are not a size of the family `{family}`", numbers.len());
        node.error(message, format!("write {}", family.numbers()))
    })
}
