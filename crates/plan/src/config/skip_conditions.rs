//! `skip_conditions` of a `bench.yaml`: when a case of a kernel is not run.

use super::backends;
use super::node::Node;
use super::problem_size::ProblemSize;
use crate::expression::{Expression, ExpressionError, Kind};
use crate::kernel::field::{Field, FieldType};
use crate::kernel::{Kernel, SkipCondition};
use crate::words::{Device, Dtype};

#[derive(Debug, Clone, PartialEq)]
pub struct Skip {
    backend: Option<Device>,
    precision: Option<Dtype>,
    pub condition: SkipCondition,
}

impl Skip {
    pub fn read(node: &Node<'_>, facts: &Facts) -> Option<Self> {
        let fields = node.mapping(&["backend", "precision", "reason", "check"])?;
        let backend = fields.read("backend", |node| node.named(&node.string()?, backends::device));
        let precision =
            fields.read("precision", |node| node.named(&node.string()?, Dtype::precision_named));
        let check = fields.read("check", |node| read_check(node, facts));
        let Some(reason) = fields.get("reason") else {
            let remedy = "give the reason for skipping it in your own words";
            return fields.error("no `reason`".to_owned(), remedy);
        };
        Some(Self {
            backend,
            precision,
            condition: SkipCondition { check, reason: reason.string()? },
        })
    }

    pub fn concerns(&self, device: Device, dtype: Dtype) -> bool {
        self.backend.is_none_or(|it| it == device) && self.precision.is_none_or(|it| it == dtype)
    }
}

/// The fields that a condition can ask for.
pub struct Facts {
    /// Fields of the struct that are not lists.
    declared: Vec<(String, Kind)>,
    /// The declared fields that every problem size sets.
    given: Vec<(String, Kind)>,
}

impl Facts {
    /// If the problem sizes are invalid, all fields count as set, so that only their own error is reported.
    pub fn new(kernel: &Kernel, sizes: Option<&[ProblemSize]>) -> Self {
        let scalar = |field: &Field| match field.kind {
            FieldType::Scalar(of) => Some((field.name.clone(), of.kind())),
            FieldType::List { .. } => None,
        };
        let declared: Vec<_> = kernel.fields().iter().filter_map(scalar).collect();
        let is_given = |name: &str| sizes.into_iter().flatten().all(|it| it.contains_key(name));
        let given = declared.iter().filter(|(name, _)| is_given(name)).cloned().collect();
        Self { declared, given }
    }
}

/// An expression that is evaluated before the kernel is built, when the defaults of fields are not
/// known yet.
fn read_check(node: &Node<'_>, facts: &Facts) -> Option<String> {
    let text = node.string()?;
    let wrong =
        |error: &ExpressionError, remedy: &str| node.error(format!("`{text}`, {error}"), remedy);
    if let Err(error) = Expression::parse(&text, &facts.declared) {
        return wrong(&error, &error.remedy);
    }
    match Expression::parse(&text, &facts.given) {
        Ok(_) => Some(text),
        Err(error) => wrong(&error, "give the field under `problem_size`, in every mapping of it"),
    }
}
