//! The `config.json` of a model: its family, and the numbers that its keys give.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::error::ArchitectureError;
use super::families::{DEFAULTS, FAMILIES, MULTIMODAL};
use super::family::{Family, Formula, Head, Place};
use crate::recommendation::Rows;

/// The largest size that is read: no published model comes near.
const LARGEST: u64 = 1 << 24;
/// Models of several media, whose language model stands under `text_config`.
const WITH_TEXT: [&str; 4] = ["gemma3", "llava", "llava_next", "mistral3"];
/// Keys that are true or false.
const FLAGS: [&str; 5] =
    ["attention_bias", "mlp_bias", "qk_layernorm", "qkv_bias", "tie_word_embeddings"];

type Result<T> = std::result::Result<T, ArchitectureError>;

/// A config whose family is known.
pub(super) struct Config<'a> {
    file: &'a str,
    keys: Map<String, Value>,
    architectures: Value,
    /// `text_config.`, or nothing.
    path: &'static str,
    pub(super) family: &'static Family,
}

impl<'a> Config<'a> {
    pub(super) fn read(text: &str, file: &'a str) -> Result<Self> {
        let fail = |key: &str, message: String, remedy: &str| {
            ArchitectureError::new(file, key.to_owned(), message, remedy)
        };
        let mut keys: Map<String, Value> = serde_json::from_str(text).map_err(|error| {
            let remedy = "give the config.json of a Hugging Face model";
            fail("", format!("it is not a JSON object: {error}"), remedy)
        })?;
        let mut path = "";
        let architectures = keys.remove("architectures").unwrap_or_default();
        if WITH_TEXT.iter().any(|it| keys.get("model_type").is_some_and(|found| found == it)) {
            path = "text_config.";
            let Some(Value::Object(text)) = keys.remove("text_config") else {
                let message = "no object".to_owned();
                return Err(fail("text_config", message, "add the config of the language model"));
            };
            keys = text;
        }
        let model_type = keys.get("model_type").unwrap_or(&Value::Null);
        let family = FAMILIES.iter().find(|it| model_type == it.model_type).ok_or_else(|| {
            let known: Vec<_> = FAMILIES.iter().map(|it| it.model_type).chain(WITH_TEXT).collect();
            let known = known.join(", ");
            let remedy = format!("use one of {known}; or list the model's layers in a YAML file");
            fail(&format!("{path}model_type"), format!("{model_type} is not known"), &remedy)
        })?;
        Ok(Self { file, keys, architectures, path, family })
    }

    fn error(&self, key: &str, message: String, remedy: &str) -> ArchitectureError {
        ArchitectureError::new(self.file, format!("{}{key}", self.path), message, remedy)
    }

    /// The head of the class that stands first in `architectures`.
    pub(super) fn head(&self) -> Result<&'static Head> {
        let class = self.architectures[0].as_str().unwrap_or_default();
        let heads = || {
            let is_here = |it: &&Head| (it.class == MULTIMODAL) != self.path.is_empty();
            self.family.heads.iter().filter(is_here)
        };
        // BertLMHeadModel is not the bare model.
        let fits = |it: &&Head| {
            class.ends_with(it.class) && !(it.class == "Model" && class.contains("Head"))
        };
        heads().find(fits).ok_or_else(|| {
            let known: Vec<_> = heads().map(|it| format!("…{}", it.class)).collect();
            let remedy = format!("name a class first that ends in {}", known.join(", "));
            let message = format!("it is {}", self.architectures);
            ArchitectureError::new(self.file, "architectures".to_owned(), message, &remedy)
        })
    }

    /// The number that a formula gives, at most `u64::MAX`.
    pub(super) fn number(&self, formula: Formula) -> Result<u64> {
        let mut sum = 0_u64;
        for term in formula.split(" + ") {
            let mut product = 1_u64;
            for factor in term.split('*') {
                let (of, by) = factor.split_once('/').unwrap_or((factor, "1"));
                let (number, divisor) = (self.value(of)?, self.value(by)?);
                if !number.is_multiple_of(divisor) {
                    let message = format!("{number} is not a multiple of {by}, {divisor}");
                    return Err(self.error(of, message, "correct one of the two"));
                }
                product = product.saturating_mul(number / divisor);
            }
            sum = sum.saturating_add(product);
        }
        Ok(sum)
    }

    /// A number that is written out, the value of a key, or its default.
    fn value(&self, key: &'static str) -> Result<u64> {
        if let Ok(number) = key.parse() {
            return Ok(number);
        }
        let default = |defaults: &'static str| {
            let mut defaults = defaults.split(' ').filter_map(|it| it.split_once('='));
            defaults.find_map(|(of, formula)| (of == key).then_some(formula))
        };
        let labels = || self.keys.get("id2label")?.as_object().map(|it| Value::from(it.len()));
        let value = self.keys.get(key).cloned();
        let value = if key == "num_labels" { value.or_else(labels) } else { value };
        let is_flag = FLAGS.contains(&key);
        match value {
            None | Some(Value::Null) => {
                let own = if value.is_none() { default(self.family.defaults) } else { None };
                let remedy = || format!("add it: every {} model has it", self.family.model_type);
                let formula = own.or_else(|| default(DEFAULTS));
                self.number(
                    formula.ok_or_else(|| self.error(key, "missing".to_owned(), &remedy()))?,
                )
            }
            Some(Value::Bool(flag)) if is_flag => Ok(u64::from(flag)),
            Some(value) => {
                let number = value.as_u64().filter(|it| !is_flag && (1..=LARGEST).contains(it));
                let whole = format!("write a whole number from 1 to {LARGEST}");
                let remedy = if is_flag { "write true or false" } else { &whole };
                number.ok_or_else(|| self.error(key, format!("it is {value}"), remedy))
            }
        }
    }

    /// How many modules have the place, and their rows.
    pub(super) fn count(&self, place: Place) -> Result<(u64, Rows)> {
        let blocks = self.number("num_hidden_layers")?;
        Ok(match place {
            Place::Block => (blocks, Rows::Tokens),
            Place::DenseBlock => (blocks - self.sparse(blocks)?, Rows::Tokens),
            Place::SparseBlock => (self.sparse(blocks)?, Rows::Tokens),
            Place::Expert => {
                let key = "num_experts_per_tok";
                let (experts, chosen) = (self.number("num_experts")?, self.number(key)?);
                if chosen > experts {
                    let message = format!("{chosen} is more than the {experts} experts");
                    return Err(self.error(key, message, "correct one of the two"));
                }
                (self.sparse(blocks)?.saturating_mul(experts), Rows::Routed { experts, chosen })
            }
            Place::Head => (1, Rows::LastToken),
            Place::HeadOfTokens => (1, Rows::Tokens),
        })
    }

    /// Blocks with experts: those that `decoder_sparse_step` counts and `mlp_only_layers` does not list.
    fn sparse(&self, blocks: u64) -> Result<u64> {
        let (key, step) = ("mlp_only_layers", self.number("decoder_sparse_step")?);
        let dense: BTreeSet<u64> = match self.keys.get(key) {
            None | Some(Value::Null) => BTreeSet::new(),
            Some(list) => serde_json::from_value(list.clone()).map_err(|error| {
                self.error(key, error.to_string(), "list numbers of blocks, counted from 0")
            })?,
        };
        let is_sparse = |block: &&u64| **block < blocks && (**block + 1).is_multiple_of(step);
        Ok(blocks / step - dense.iter().filter(is_sparse).count() as u64)
    }
}
