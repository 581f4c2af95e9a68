//! The stored weights of a model's layers.

use std::collections::BTreeMap;
use std::path::Path;

use plan::Dtype;
use plan::recommendation::{LinearLayers, ModelLayers, Module, StoredWeight};

use super::safetensors::{self, Tensor};
use crate::error::{Error, Result};

/// The dtypes that are read, by their words in safetensors.
const DTYPES: [(&str, Dtype); 3] =
    [("BF16", Dtype::BFloat16), ("F16", Dtype::Float16), ("F32", Dtype::Float32)];
/// Names of the embedding, whose weight a tied layer has.
const EMBEDDINGS: [&str; 3] = ["embed_tokens.weight", "wte.weight", "word_embeddings.weight"];

const REMEDY: &str = "name the folder of the weights that the model file describes";

/// The weights in `folder` of the first, middle and last layer of each name.
pub fn find(folder: &Path, model: &ModelLayers) -> Result<Vec<StoredWeight>> {
    let stored = safetensors::tensors(folder)?;
    let mut found = Vec::new();
    for layers in &model.layers {
        let tensors = tensors_of(layers, &stored, folder)?;
        let weights = tensors.iter().map(|(name, it)| weight(name, it, layers));
        let weights: Vec<StoredWeight> = weights.collect::<Result<_>>()?;
        let mut places = vec![0, weights.len() / 2, weights.len() - 1];
        places.dedup();
        found.extend(places.into_iter().map(|place| weights[place].clone()));
    }
    Ok(found)
}

type Named<'a> = (&'a String, &'a Tensor);

/// The tensors of all layers of a name, in their order. Published weights may have another path before the blocks.
fn tensors_of<'a>(
    layers: &LinearLayers,
    stored: &'a BTreeMap<String, Tensor>,
    folder: &Path,
) -> Result<Vec<Named<'a>>> {
    let LinearLayers { fqn, count, module, .. } = layers;
    let blocks = fqn.split_once(".*").and_then(|(before, _)| before.rfind('.'));
    let (path, name) = blocks.map_or(("", &**fqn), |dot| (&fqn[..dot], &fqn[dot + 1..]));
    let mut by_path: BTreeMap<String, BTreeMap<Vec<u64>, Named<'_>>> = BTreeMap::new();
    for named in stored {
        let end = named.0.strip_suffix(".weight").and_then(|it| ends(it, name));
        if let Some((path, numbers)) = end {
            by_path.entry(path).or_default().insert(numbers, named);
        }
    }
    let found: usize = by_path.values().map(BTreeMap::len).sum();
    by_path.retain(|_, it| it.len() as u64 == *count);
    let only = if by_path.len() == 1 { by_path.keys().next().cloned() } else { None };
    let own = by_path.remove(path).or_else(|| by_path.remove(&only?));
    let is_embedding = |(name, _): &Named<'_>| EMBEDDINGS.iter().any(|it| name.ends_with(it));
    let tied = || stored.iter().find(is_embedding).filter(|_| *module == Module::Tied);
    let own = own.map(|it| it.into_values().collect()).or_else(|| Some(vec![tied()?]));
    own.ok_or_else(|| {
        let what = format!("{found} tensors are named {fqn}.weight, and the model has {count}");
        Error::usage(format!("{}: {what}", folder.display())).remedy(REMEDY)
    })
}

/// The path before `end`, and the numbers in the place of its `*`, if the name ends so.
fn ends(name: &str, end: &str) -> Option<(String, Vec<u64>)> {
    let [name, end]: [Vec<&str>; 2] = [name, end].map(|it| it.split('.').collect());
    let (path, name) = name.split_at(name.len().checked_sub(end.len())?);
    let pairs = || name.iter().zip(&end);
    let numbers = pairs().filter(|(_, end)| **end == "*").map(|(own, _)| own.parse().ok());
    let numbers = numbers.collect::<Option<Vec<u64>>>()?;
    pairs().all(|(own, end)| own == end || *end == "*").then(|| (path.join("."), numbers))
}

fn weight(name: &str, tensor: &Tensor, layers: &LinearLayers) -> Result<StoredWeight> {
    let &LinearLayers { n, k, module, .. } = layers;
    let Tensor { file, dtype: word, shape, bytes: [start, end] } = tensor;
    let (transposed, bytes) = (module == Module::Conv1d, end - start);
    let expected = if transposed { [k, n] } else { [n, k] };
    let fits = |dtype: Dtype| bytes == n.saturating_mul(k).saturating_mul(dtype.bytes());
    let mut dtypes = DTYPES.iter().filter(|(known, dtype)| known == word && fits(*dtype));
    match dtypes.next().filter(|_| *shape == expected) {
        Some(&(_, dtype)) => {
            let (file, tensor) = (file.clone(), name.to_owned());
            Ok(StoredWeight { file, tensor, dtype, start: *start, n, k, transposed })
        }
        None => {
            let found = format!("{}: {name}: {word} {shape:?} in {bytes} bytes", file.display());
            let expected = format!("{} has {expected:?} in BF16, F16 or F32", layers.fqn);
            Err(Error::usage(format!("{found}, and {expected}")).remedy(REMEDY))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use plan::recommendation::Rows;

    use super::*;
    use crate::suite::safetensors::tests::file;

    fn layers(fqn: &str, [n, k, count]: [u64; 3], module: Module) -> LinearLayers {
        let (fqn, group) = (fqn.to_owned(), String::new());
        LinearLayers { fqn, n, k, count, group, rows: Rows::Tokens, module }
    }

    fn found(tensors: &[(&str, &str, &[u64], u64)], of: LinearLayers) -> Result<Vec<StoredWeight>> {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("model.safetensors"), file(tensors)).expect("written");
        let (name, family) = (String::new(), String::new());
        let model =
            ModelLayers { name, family, layers: vec![of], other_parameters: 0, attention: None };
        find(folder.path(), &model)
    }

    fn names(found: Result<Vec<StoredWeight>>) -> Vec<String> {
        found.expect("they are found").into_iter().map(|it| it.tensor).collect()
    }

    #[test]
    fn the_first_the_middle_and_the_last_of_a_name() {
        let all: Vec<String> = (0..12).map(|it| format!("model.layers.{it}.up.weight")).collect();
        let shape: &[u64] = &[8, 4];
        let mut tensors: Vec<_> = all.iter().map(|it| (&**it, "BF16", shape, 2)).collect();
        tensors.push(("vision.layers.0.up.weight", "BF16", &[2, 2], 2));
        let up = |path: &str| layers(&format!("{path}layers.*.up"), [8, 4, 12], Module::Linear);
        let expected = [0, 6, 11].map(|it| all[it].clone());
        assert_eq!(names(found(&tensors, up("model."))), expected);
        // Another path, of which the file has as many layers.
        assert_eq!(names(found(&tensors, up("model.language_model."))), expected);
        let weight = &found(&tensors, up("")).expect("they are found")[0];
        assert_eq!((weight.n, weight.k, weight.dtype), (8, 4, Dtype::BFloat16));
        let expert: &[(&str, &str, &[u64], u64)] = &[
            ("m.layers.0.experts.1.w", "F32", &[1], 4),
            ("m.layers.0.experts.1.w.weight", "F16", shape, 2),
        ];
        let experts = layers("m.layers.*.experts.*.w", [8, 4, 1], Module::Mixture);
        assert_eq!(names(found(expert, experts)), ["m.layers.0.experts.1.w.weight"]);
    }

    #[test]
    fn other_forms_of_a_weight() {
        let conv1d: &[(&str, &str, &[u64], u64)] = &[("h.0.c_fc.weight", "F32", &[4, 8], 4)];
        let of = layers("transformer.h.*.c_fc", [8, 4, 1], Module::Conv1d);
        assert!(found(conv1d, of).expect("it is found")[0].transposed);
        let tied: &[(&str, &str, &[u64], u64)] =
            &[("model.embed_tokens.weight", "F32", &[8, 4], 4)];
        let head = |module| layers("lm_head", [8, 4, 1], module);
        assert_eq!(names(found(tied, head(Module::Tied))), ["model.embed_tokens.weight"]);
        let missing = found(tied, head(Module::Linear)).expect_err("it has a weight of its own");
        let said = ": 0 tensors are named lm_head.weight, and the model has 1";
        assert!(missing.what().ends_with(said), "{missing}");
    }

    #[test]
    fn other_tensors_are_errors() {
        let shape: &[u64] = &[8, 4];
        let head = || layers("lm_head", [8, 4, 1], Module::Linear);
        for (tensor, said) in [
            (
                ("lm_head.weight", "F32", &[4, 8][..], 4),
                "F32 [4, 8] in 128 bytes, and lm_head has [8, 4]",
            ),
            (
                ("lm_head.weight", "F8_E4M3", shape, 1),
                "F8_E4M3 [8, 4] in 32 bytes, and lm_head has",
            ),
            (
                ("lm_head.weight", "BF16", shape, 4),
                "BF16 [8, 4] in 128 bytes, and lm_head has [8, 4] in BF16",
            ),
        ] {
            let error = found(&[tensor], head()).expect_err(said);
            assert!(error.what().contains("model.safetensors: lm_head.weight: "), "{error}");
            assert!(error.what().contains(said), "{error}");
            assert_eq!(error.exit_code(), 2);
        }
    }
}
