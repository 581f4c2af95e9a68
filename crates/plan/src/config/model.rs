//! A step of a model at a shape as the subject of an entry, in inference and in training.

use std::fmt;
use std::path::Path;

use super::entry::{DeviceDtype, Entry, Subject};
use super::node::Fields;
use crate::diagnostic::Diagnostic;
use crate::id;
use crate::shape::Shape;
use crate::variant::Variant;
use crate::words::{CompileMode, Device, Mode, ModelKind, Pass};
use crate::work::{ModelWork, Work};

/// A step of a model, or a part of its training step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelStep {
    /// The model.
    pub model: ModelKind,
    /// The part of a training step; absent in inference.
    pub pass: Option<Pass>,
}

/// One entry of `model_params`. Its ways are its variants, those that are compiled included.
pub type ModelParams = Entry<ModelStep, Shape, Variant>;

impl fmt::Display for ModelStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pass {
            Some(pass) => write!(f, "{}-{pass}", self.model),
            None => self.model.fmt(f),
        }
    }
}

impl Subject for ModelStep {
    type Size = Shape;
    type Way = Variant;

    fn size_text(self, _group: &str, shape: &Shape) -> String {
        canonical(self.model, *shape).to_string()
    }

    fn ways(self, listed: Option<&[Variant]>, _device: Device) -> Vec<Variant> {
        let has_autograd = self.pass.is_some_and(Pass::has_autograd);
        let has = |way: &&Variant| has_autograd || !way.autograd;
        listed.unwrap_or_default().iter().filter(has).copied().collect()
    }

    fn work(
        self,
        shape: &Shape,
        variant: Variant,
        _compile: Option<CompileMode>,
        _place: DeviceDtype,
    ) -> Work {
        let Self { model, pass } = self;
        Work::Model(ModelWork { model, variant, shape: canonical(model, *shape), pass })
    }

    /// Criterion would cut it.
    fn refusal(self, group: &str, config: &Path) -> Option<Diagnostic> {
        (group.len() > id::MAX_PART).then(|| {
            let message =
                format!("`{group}` is longer than a group can be, {} bytes", id::MAX_PART);
            let remedy = "give the model or the config a shorter name";
            Diagnostic::whole_file(config, message, remedy)
        })
    }
}

/// The shape as the model uses it: the transformer block ignores n, so k stands for it, and shapes
/// that differ in n alone are one case. A package's model is known when it runs.
fn canonical(model: ModelKind, shape: Shape) -> Shape {
    match model {
        ModelKind::Linear | ModelKind::LnLinear(_) | ModelKind::Decoder(_) | ModelKind::User(_) => {
            shape
        }
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
