//! The accuracy of a linear layer with weights of a real model.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use plan::recommendation::{StoredWeight, WEIGHTS};
use plan::results::variable;
use plan::{Accuracy, Case, ModelKind, ModelWork, TensorAccuracy};
use tch::{Device, Tensor};

use super::Refusal;
use crate::models::{self, Parameters};
use crate::verify::{Distance, Reference};
use crate::{inputs, recipes};

/// The weights of the case's shape among those that [`WEIGHTS`] lists; none where they are pruned first.
pub(super) fn listed(work: &ModelWork) -> Result<Vec<StoredWeight>, Refusal> {
    let is_linear = work.model == ModelKind::Linear && work.variant.sparsity.is_none();
    match variable(WEIGHTS).filter(|_| is_linear) {
        Some(file) => listed_in(Path::new(&file), work),
        None => Ok(Vec::new()),
    }
}

fn listed_in(file: &Path, work: &ModelWork) -> Result<Vec<StoredWeight>, Refusal> {
    let read = fs::read(file).and_then(|text| Ok(serde_json::from_slice(&text)?));
    let mut all: Vec<StoredWeight> = read.map_err(|error| {
        Refusal::Failed(format!("{WEIGHTS}: {}: {error}; unset it", file.display()))
    })?;
    all.retain(|it| (it.n, it.k) == (work.shape.n, work.shape.k));
    Ok(all)
}

/// The accuracy of the recipe on each of these weights, one at a time; of the worst before all. No gate is applied: what it
/// loses on them is no fault of its arithmetic. None without weights.
pub(super) fn accuracy(
    case: &Case,
    work: &ModelWork,
    weights: &[StoredWeight],
    input: &Tensor,
    min_sqnr_db: f64,
) -> Result<Option<Accuracy>, Refusal> {
    let (mut worst, mut tensors) = (None::<Accuracy>, Vec::new());
    for stored in weights {
        let weight = read(stored, input.device())?.f_to_kind(inputs::kind(case.dtype))?;
        let mut parameters = Parameters::default();
        for linear in models::sizes(work.model, work.shape)?.linears {
            parameters.insert(&format!("{}.weight", linear.name), weight.shallow_clone());
        }
        let reference = Reference::of_model(work, &parameters, input)?;
        let model = models::build(work.model, parameters, &mut |name, weight| {
            recipes::named_layer(work.variant, name, weight)
        })?;
        let output = tch::no_grad(|| model.forward(input, None))?;
        let distance = Distance::between(reference.output(), &reference.select(&output)?)?;
        let accuracy = distance.accuracy(min_sqnr_db, reference.rows());
        let Accuracy { sqnr_db, max_abs_error, relative_error, .. } = accuracy;
        let name = stored.tensor.clone();
        tensors.push(TensorAccuracy { name, sqnr_db, max_abs_error, relative_error, min_sqnr_db });
        // NaN is the worst.
        let is_nan = sqnr_db.0.is_nan();
        let is_worse = |it: &Accuracy| is_nan || sqnr_db.0 < it.sqnr_db.0;
        if worst.as_ref().is_none_or(is_worse) {
            worst = Some(accuracy);
        }
    }
    Ok(worst.map(|worst| Accuracy { tensors, ..worst }))
}

/// The weight [n, k] in its own dtype. Nothing else of the file is read.
fn read(stored: &StoredWeight, device: Device) -> Result<Tensor, Refusal> {
    let StoredWeight { file, tensor, dtype, start, n, k, transposed } = stored;
    let failed = |error: io::Error| {
        Refusal::Failed(format!("{}: {tensor}: {error}; download the file again", file.display()))
    };
    let length = usize::try_from(n.saturating_mul(*k).saturating_mul(dtype.bytes()));
    let mut bytes = vec![0; length.map_err(|error| failed(io::Error::other(error)))?];
    File::open(file).and_then(|it| it.read_exact_at(&mut bytes, *start)).map_err(failed)?;
    let [n, k] = [inputs::dimension(*n)?, inputs::dimension(*k)?];
    let size = if *transposed { [k, n] } else { [n, k] };
    let weight = Tensor::f_from_data_size(&bytes, &size, inputs::kind(*dtype))?;
    let weight = if *transposed { weight.f_tr()?.f_contiguous()? } else { weight };
    Ok(weight.f_to_device(device)?)
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::process::Command;

    use plan::{Dtype, Recipe, Shape};
    use tch::Kind;

    use super::*;
    use crate::workload::testing::{case, work};

    const SHAPE: Shape = Shape::new(16, 64, 96);

    /// Writes the weight behind a byte of something else.
    fn stored(folder: &Path, name: &str, weight: &Tensor, transposed: bool) -> StoredWeight {
        let weight = if transposed { weight.tr() } else { weight.shallow_clone() };
        let values = Vec::<f32>::try_from(weight.contiguous().view(-1)).expect("float32");
        let bytes: Vec<u8> = values.iter().flat_map(|it| it.to_le_bytes()).collect();
        let (file, tensor) = (folder.join(name), name.to_owned());
        fs::write(&file, [&[7], &bytes[..]].concat()).expect("written");
        StoredWeight { file, tensor, dtype: Dtype::Float32, start: 1, n: 96, k: 64, transposed }
    }

    fn accuracy_of(recipe: Recipe, weights: &[StoredWeight]) -> Result<Option<Accuracy>, Refusal> {
        let case = case(ModelKind::Linear, recipe, Dtype::Float32, SHAPE);
        let drawing = inputs::seeded(42);
        let input = inputs::normal(&[16, 64], Dtype::Float32, Device::Cpu).expect("drawn");
        drop(drawing);
        accuracy(&case, work(&case), weights, &input, 20.0)
    }

    #[test]
    fn the_worst_weight_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let even = Tensor::arange(96 * 64, (Kind::Float, Device::Cpu)).sin().view([96, 64]);
        // One large value in each row takes most of the steps of int8.
        let spiky = even.copy();
        drop(spiky.select(1, 5).fill_(30.0));
        let even = stored(folder.path(), "even", &even, false);
        let [spiky, turned] = [("spiky", false), ("turned", true)]
            .map(|(name, it)| stored(folder.path(), name, &spiky, it));
        let both = accuracy_of(Recipe::INT8WO, &[even.clone(), spiky.clone()]);
        let both = both.expect("it runs").expect("there are weights");
        let [good, bad] = &both.tensors[..] else { panic!("{both:?}") };
        assert_eq!((&*good.name, &*bad.name), ("even", "spiky"));
        assert!(good.sqnr_db.0 > 40.0, "{good:?}");
        assert_eq!((both.sqnr_db, both.rows_checked), (bad.sqnr_db, 16));
        let turned = accuracy_of(Recipe::INT8WO, &[turned]).expect("it runs");
        assert_eq!(turned.expect("a weight").sqnr_db, bad.sqnr_db, "[k, n] is turned");
        let exact = accuracy_of(Recipe::Baseline, &[spiky]).expect("it runs").expect("a weight");
        assert!(exact.sqnr_db.0 > 100.0, "{exact:?}");
        assert_eq!(accuracy_of(Recipe::INT8WO, &[]).expect("it runs"), None);
        let broken = Tensor::full([96, 64], f64::NAN, (Kind::Float, Device::Cpu));
        let broken = stored(folder.path(), "broken", &broken, false);
        let all = accuracy_of(Recipe::INT8WO, &[broken, even]).expect("it runs");
        assert!(all.expect("weights").sqnr_db.0.is_nan());
    }

    #[test]
    fn a_list_has_weights_of_many_shapes() {
        let folder = tempfile::tempdir().expect("a folder");
        let zeros = Tensor::zeros([96, 64], (Kind::Float, Device::Cpu));
        let own = stored(folder.path(), "own", &zeros, true);
        let other = StoredWeight { n: 64, ..own.clone() };
        let list = folder.path().join("weights.json");
        let text = serde_json::to_string(&[&other, &own]).expect("serialises");
        fs::write(&list, &text).expect("written");
        let case = case(ModelKind::Linear, Recipe::INT8WO, Dtype::Float32, SHAPE);
        assert_eq!(listed_in(&list, work(&case)).expect("a list"), [own]);
        fs::write(&list, &text[1..]).expect("written");
        let refused = listed_in(&list, work(&case)).expect_err("no JSON").to_string();
        assert!(refused.contains("weights.json: ") && refused.contains("unset it"), "{refused}");
    }

    /// The test runs itself once more, with the variable. What a recipe loses there does not fail the case.
    #[test]
    fn the_variable_names_the_list() {
        let case = case(ModelKind::Linear, Recipe::INT8WO, Dtype::Float32, SHAPE);
        let check = || crate::workload::prepare(&case).and_then(|it| it.check()).expect("right");
        if variable(WEIGHTS).is_some() {
            let accuracy = check();
            assert_eq!(accuracy.tensors[0].name, "spiky");
            assert!(accuracy.sqnr_db.0 < accuracy.min_sqnr_db, "{accuracy:?}");
            return;
        }
        assert_eq!(check().tensors, []);
        let folder = tempfile::tempdir().expect("a folder");
        let spiky = Tensor::arange(96 * 64, (Kind::Float, Device::Cpu)).sin().view([96, 64]);
        drop(spiky.select(1, 5).fill_(300.0));
        let weight = stored(folder.path(), "spiky", &spiky, false);
        let list = folder.path().join("weights.json");
        fs::write(&list, serde_json::to_string(&[weight]).expect("serialises")).expect("written");
        let mut again = Command::new(env::current_exe().expect("a path"));
        again.args(["--exact", "workload::stored::tests::the_variable_names_the_list"]);
        let output = again.env(WEIGHTS, list).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("1 passed"), "{said}");
    }

    #[test]
    fn a_truncated_file_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let zeros = Tensor::zeros([96, 64], (Kind::Float, Device::Cpu));
        let weight = stored(folder.path(), "short", &zeros, false);
        let refused = accuracy_of(Recipe::INT8WO, &[StoredWeight { start: 2, ..weight }]);
        let Err(Refusal::Failed(what)) = refused else { panic!("{refused:?}") };
        assert!(what.contains("short: short: ") && what.contains("again"), "{what}");
    }
}
