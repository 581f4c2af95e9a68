//! A recipe for each linear layer of a model.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use super::closed::UnknownWord;
use super::user::UserWord;
use super::{Dtype, Mode, Recipe};

/// The recipes of a model's linear layers, in the order of their names. A layer without one stays as it is.
///
/// The list of each word is kept for good, once: there are no more than configs and records name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LayerRecipes(&'static [LayerRecipe]);

/// The recipe of one layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LayerRecipe {
    /// Name of the layer.
    pub layer: UserWord,
    /// Its recipe, which is built in.
    pub recipe: Recipe,
    /// Whether libtorch's packed op runs it.
    pub packed: bool,
    /// The dtype that the layer runs in, where it is another one than the model's: its input is converted to it, and its
    /// output from it.
    pub dtype: Option<Dtype>,
}

impl LayerRecipes {
    pub(super) const FAMILY: &'static str = "per_layer";
    pub(super) const GRAMMAR: &'static str =
        "per_layer-LAYER=RECIPE,LAYER=RECIPE…, also RECIPE+packed and baseline+DTYPE";

    /// The recipes of the text behind the name of the family.
    pub(super) fn parse(word: &str, text: &str) -> Result<Self, UnknownWord> {
        static LISTS: Mutex<BTreeMap<Vec<LayerRecipe>, LayerRecipes>> = Mutex::new(BTreeMap::new());
        let wrong = |remedy| UnknownWord { what: "recipe", found: word.to_owned(), remedy };
        let mut list: Vec<LayerRecipe> = Vec::new();
        for part in text.split(',') {
            let own = LayerRecipe::parse(part).map_err(wrong)?;
            if list.iter().any(|it| it.layer == own.layer) {
                return Err(wrong(format!("`{}` is named twice: name it once", own.layer)));
            }
            list.push(own);
        }
        list.sort();
        let mut lists = LISTS.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = |list: &Vec<LayerRecipe>| Self(Box::leak(list.clone().into_boxed_slice()));
        Ok(*lists.entry(list).or_insert_with_key(kept))
    }

    /// The layers that are named.
    pub const fn named(self) -> &'static [LayerRecipe] {
        self.0
    }
}

impl LayerRecipe {
    fn parse(text: &str) -> Result<Self, String> {
        let grammar = || format!("this family is written {}", LayerRecipes::GRAMMAR);
        let (layer, own) = text.split_once('=').ok_or_else(grammar)?;
        let layer = UserWord::new(layer).ok_or_else(grammar)?;
        let (word, form) = own.split_once('+').map_or((own, None), |(a, b)| (a, Some(b)));
        let is_nested = word.split('-').next() == Some(LayerRecipes::FAMILY);
        let recipe: Recipe = match word.parse() {
            Ok(recipe) if !is_nested => recipe,
            Ok(_) => return Err(grammar()),
            Err(UnknownWord { remedy, .. }) => {
                return Err(format!("`{word}` of `{layer}`: {remedy}"));
            }
        };
        let (packed, dtype) = match form {
            None => (false, None),
            Some("packed") if recipe.has_packed() => (true, None),
            Some(dtype) if recipe == Recipe::Baseline => {
                let dtype = Dtype::among(Dtype::ALL, dtype);
                (false, Some(dtype.map_err(|it| format!("`{layer}`: {}", it.remedy))?))
            }
            Some(form) => return Err(format!("`{layer}`: `{word}` has no form `+{form}`")),
        };
        if !recipe.takes(Mode::Inference) {
            return Err(format!("`{layer}`: `{recipe}` is a recipe of training"));
        }
        Ok(Self { layer, recipe, packed, dtype })
    }
}

impl fmt::Display for LayerRecipes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, it) in self.0.iter().enumerate() {
            let before = if place == 0 { Self::FAMILY } else { "" };
            let separator = if place == 0 { '-' } else { ',' };
            write!(f, "{before}{separator}{}={}", it.layer, it.recipe)?;
            if let Some(dtype) = it.dtype {
                write!(f, "+{}", dtype.plain())?;
            }
            if it.packed {
                f.write_str("+packed")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variant::Variant;

    #[test]
    fn the_order_of_layers_makes_no_other_recipe() {
        let parsed =
            |text: &str| text.parse::<Recipe>().unwrap_or_else(|it| panic!("{it}: {}", it.remedy));
        let word = "per_layer-down_proj=baseline+float32,q_proj=int8wo+packed,up_proj=int4wo-64";
        let recipe = parsed(word);
        assert_eq!(recipe.to_string(), word);
        let other = "per_layer-up_proj=int4wo-64,q_proj=int8wo+packed,down_proj=baseline+float32";
        assert_eq!(parsed(other), recipe);
        let json = serde_json::to_string(&recipe).expect("a word");
        assert_eq!(serde_json::from_str::<Recipe>(&json).expect("a recipe"), recipe);
        let eager = Variant::eager(recipe);
        let packed = Variant { packed: true, ..Variant::eager(Recipe::INT8WO) };
        assert_eq!(eager.of_layer("q_proj"), packed);
        assert_eq!(eager.of_layer("down_proj").dtype, Some(Dtype::Float32));
        assert_eq!(eager.of_layer("k_proj"), Variant::BASELINE);
        assert_eq!(packed.of_layer("q_proj"), packed);
    }

    #[test]
    fn wrong_parts_are_named() {
        for (text, remedy) in [
            ("per_layer", "this family is written per_layer-LAYER=RECIPE"),
            ("per_layer-", "this family is written per_layer-LAYER=RECIPE"),
            ("per_layer-fc", "this family is written per_layer-LAYER=RECIPE"),
            ("per_layer-fc=int8w0", "`int8w0` of `fc`: did you mean `int8wo`?"),
            ("per_layer-fc=int4wo-48", "`int4wo-48` of `fc`: this family is written int4wo-"),
            ("per_layer-fc=int8wo,fc=int8dq", "`fc` is named twice"),
            ("per_layer-fc=int8dq+packed", "`int8dq` has no form `+packed`"),
            ("per_layer-fc=baseline+int4", "`fc`: use one of"),
            ("per_layer-fc=float8-rowwise", "`float8-rowwise` is a recipe of training"),
            ("per_layer-fc=per_layer-fc=int8wo", "this family is written per_layer-LAYER=RECIPE"),
        ] {
            let error = text.parse::<Recipe>().expect_err(text);
            assert!(error.remedy.contains(remedy), "{text}: {}", error.remedy);
        }
    }
}
