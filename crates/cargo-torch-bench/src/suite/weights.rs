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

type Named<'a> = (&'a str, &'a Tensor);

/// The tensors of all layers of a name, in their order. Published weights may have another path before the blocks.
fn tensors_of<'a>(
    layers: &LinearLayers,
    stored: &'a BTreeMap<String, Tensor>,
    folder: &Path,
) -> Result<Vec<Named<'a>>> {
    let fqn = &layers.fqn;
    let blocks = fqn.split_once(".*").and_then(|(before, _)| before.rfind('.'));
    let (path, name) = blocks.map_or(("", &**fqn), |dot| fqn.split_at(dot + 1));
    let mut by_path: BTreeMap<&str, BTreeMap<Vec<u64>, Named<'_>>> = BTreeMap::new();
    for (own, tensor) in stored {
        if let Some((path, numbers)) = own.strip_suffix(".weight").and_then(|it| ends(it, name)) {
            by_path.entry(path).or_default().insert(numbers, (own, tensor));
        }
    }
    let fits = |it: &BTreeMap<_, _>| it.len() as u64 == layers.count;
    let exact = by_path.remove(path);
    let mut others: Vec<_> = by_path.into_values().filter(fits).collect();
    let found = exact.or_else(|| if others.len() == 1 { others.pop() } else { None });
    let found: Vec<Named<'_>> = found.unwrap_or_default().into_values().collect();
    if found.len() as u64 == layers.count {
        return Ok(found);
    }
    let is_embedding = |(name, _): &Named<'_>| EMBEDDINGS.iter().any(|it| name.ends_with(it));
    let mut embeddings = stored.iter().map(|(name, it)| (&**name, it)).filter(is_embedding);
    if let (Module::Tied, Some(embedding)) = (layers.module, embeddings.next()) {
        return Ok(vec![embedding]);
    }
    let what =
        format!("{}: {} of {} tensors {fqn}.weight", folder.display(), found.len(), layers.count);
    Err(Error::usage(what)
        .remedy("name the folder of the weights that the model file describes")
        .remedy("or list its layers in a YAML file, by the names of the tensors"))
}

/// The path before `end` and the numbers in the place of its `*`, if the name ends so.
fn ends<'a>(name: &'a str, end: &str) -> Option<(&'a str, Vec<u64>)> {
    let (mut rest, mut numbers) = (name, Vec::new());
    for part in end.rsplit('.') {
        let (before, own) =
            rest.rfind('.').map_or(("", rest), |dot| (&rest[..dot], &rest[dot + 1..]));
        match part {
            "*" => numbers.push(own.parse().ok()?),
            _ if part == own => {}
            _ => return None,
        }
        rest = before;
    }
    numbers.reverse();
    let path = if rest.is_empty() { rest } else { &name[..rest.len() + 1] };
    Some((path, numbers))
}

fn weight(name: &str, tensor: &Tensor, layers: &LinearLayers) -> Result<StoredWeight> {
    let wrong = |what: String, remedy: &str| {
        let place = format!("{}: {name}", tensor.file.display());
        Err(Error::usage(format!("{place}: {what}")).remedy(remedy))
    };
    let &LinearLayers { n, k, module, .. } = layers;
    let transposed = module == Module::Conv1d;
    let expected = if transposed { [k, n] } else { [n, k] };
    if tensor.shape != expected {
        let what = format!("its shape is {:?}, and {} has {expected:?}", tensor.shape, layers.fqn);
        return wrong(what, "name the folder of the weights that the model file describes");
    }
    let Some((_, dtype)) = DTYPES.iter().find(|(word, _)| *word == tensor.dtype) else {
        let known = DTYPES.map(|(word, _)| word).join(", ");
        return wrong(format!("its dtype is {}", tensor.dtype), &format!("use weights in {known}"));
    };
    let bytes = n.saturating_mul(k).saturating_mul(dtype.bytes());
    if tensor.bytes != bytes {
        let what =
            format!("it has {} bytes, and {expected:?} in {dtype} has {bytes}", tensor.bytes);
        return wrong(what, "download the file again");
    }
    let (file, tensor, start) = (tensor.file.clone(), name.to_owned(), tensor.start);
    Ok(StoredWeight { file, tensor, dtype: *dtype, start, n, k, transposed })
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
        find(folder.path(), &ModelLayers { name, family, layers: vec![of], other_parameters: 0 })
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
        assert!(missing.what().ends_with(": 0 of 1 tensors lm_head.weight"), "{missing}");
    }

    #[test]
    fn other_tensors_are_errors() {
        let shape: &[u64] = &[8, 4];
        let head = || layers("lm_head", [8, 4, 1], Module::Linear);
        for (tensor, said) in [
            (
                ("lm_head.weight", "F32", &[4, 8][..], 4),
                "its shape is [4, 8], and lm_head has [8, 4]",
            ),
            (("lm_head.weight", "F8_E4M3", shape, 1), "its dtype is F8_E4M3"),
            (
                ("lm_head.weight", "BF16", shape, 4),
                "128 bytes, and [8, 4] in torch.bfloat16 has 64",
            ),
        ] {
            let error = found(&[tensor], head()).expect_err(said);
            assert!(error.what().contains("model.safetensors: lm_head.weight: "), "{error}");
            assert!(error.what().contains(said), "{error}");
            assert_eq!(error.exit_code(), 2);
        }
    }
}
