//! A model at a shape as the subject of an entry, in inference and in training.

use std::path::Path;

use super::entry::{Entry, Place, Subject};
use super::node::Fields;
use crate::diagnostic::Diagnostic;
use crate::id;
use crate::shape::Shape;
use crate::variant::Variant;
use crate::words::{CompileMode, Device, Mode, ModelKind};
use crate::work::{ModelWork, Work};

/// One entry of `model_params`. Its ways are its variants, those that are compiled included.
pub type ModelParams = Entry<ModelKind, Shape, Variant>;

impl Subject for ModelKind {
    type Size = Shape;
    type Way = Variant;

    fn size_text(self, _group: &str, shape: &Shape) -> String {
        canonical(self, *shape).to_string()
    }

    fn ways(self, listed: Option<&[Variant]>, _device: Device) -> Vec<Variant> {
        listed.unwrap_or_default().to_vec()
    }

    fn work(
        self,
        shape: &Shape,
        variant: Variant,
        _compile: Option<CompileMode>,
        _place: Place,
    ) -> Work {
        Work::Model(ModelWork { model: self, variant, shape: canonical(self, *shape), pass: None })
    }

    fn refusal(self, group: &str, config: &Path) -> Option<Diagnostic> {
        refuse_long(group, config)
    }
}

/// Criterion would cut it.
pub(super) fn refuse_long(group: &str, config: &Path) -> Option<Diagnostic> {
    (group.len() > id::MAX_PART).then(|| {
        let message = format!("`{group}` is longer than a group can be, {} bytes", id::MAX_PART);
        let remedy = "give the model or the config a shorter name";
        Diagnostic::whole_file(config, message, remedy)
    })
}

/// The shape as the model uses it: the transformer block ignores n, so k stands for it, and shapes
/// that differ in n alone are one case. A package's model is known when it runs.
pub(super) fn canonical(model: ModelKind, shape: Shape) -> Shape {
    match model {
        ModelKind::Linear | ModelKind::LnLinear(_) | ModelKind::User(_) => shape,
        ModelKind::TransformerBlock => Shape { n: shape.k, ..shape },
    }
}

/// An error for each of these keys, which are those of another mode.
pub(super) fn refuse(fields: &Fields<'_>, keys: &[&str], mode: Mode) {
    for node in keys.iter().filter_map(|key| fields.get(key)) {
        let message = format!("this key has a meaning in {mode} mode only");
        node.report(message, format!("write `benchmark_mode: {mode}`, or delete it"));
    }
}
