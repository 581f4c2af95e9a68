//! torchao's short description of how a float8 recipe scales the operands of training.

use plan::{
    Dtype, Float8Recipe, ModelWork, Recipe, ScalingGranularity, ScalingType, TrainingSettings,
};

/// Operands that are described together: type of scaling, granularity, dtype.
type Operand<'a> = (&'a str, &'a str, &'a str);

/// `i:dyn_ten_e4m3,w:dyn_ten_e4m3,go:dyn_ten_e5m2`: input, weight and the output's gradient; behind them
/// those that are cast otherwise for a gradient's product. `None` of recipes of other formats.
pub fn scaling_repr(
    work: &ModelWork,
    dtype: Dtype,
    settings: Option<&TrainingSettings>,
) -> Option<String> {
    const AXIS: Operand<'static> = ("dyn", "axs", "e4m3");
    const TENSOR: Operand<'static> = ("dyn", "ten", "e4m3");
    const WIDE: Operand<'static> = ("dyn", "ten", "e5m2");
    Some(match work.variant.recipe {
        Recipe::Baseline => format!("baseline ({})", dtype.plain()),
        Recipe::Float8 { recipe: Float8Recipe::Tensorwise } => described(TENSOR, TENSOR, WIDE),
        Recipe::Float8 { recipe: Float8Recipe::Rowwise } => described(AXIS, AXIS, AXIS),
        Recipe::Float8 { recipe: Float8Recipe::RowwiseWithGwHp } => {
            let three = described(AXIS, AXIS, AXIS);
            format!("{three},i_gw:dis_ten_e4m3,w_gi:dyn_ten_e4m3,go_gw:dis_ten_e4m3")
        }
        recipe @ (Recipe::Float8dqTensor | Recipe::Float8dqRow) => {
            let TrainingSettings {
                scaling_type_input,
                scaling_type_weight,
                scaling_type_grad_output,
                scaling_granularity,
                ..
            } = settings?;
            let is_tensorwise = recipe == Recipe::Float8dqTensor
                && *scaling_granularity == ScalingGranularity::Tensorwise;
            let granularity = if is_tensorwise { "ten" } else { "axs" };
            let of = |scaling: &ScalingType, dtype| match scaling {
                ScalingType::Dynamic => ("dyn", granularity, dtype),
                ScalingType::Disabled => ("dis", granularity, dtype),
            };
            described(
                of(scaling_type_input, "e4m3"),
                of(scaling_type_weight, "e4m3"),
                of(scaling_type_grad_output, "e5m2"),
            )
        }
        _ => return None,
    })
}

fn described(input: Operand<'_>, weight: Operand<'_>, grad_output: Operand<'_>) -> String {
    let short = |(scaling, granularity, dtype)| format!("{scaling}_{granularity}_{dtype}");
    format!("i:{},w:{},go:{}", short(input), short(weight), short(grad_output))
}

#[cfg(test)]
mod tests {
    use plan::{ModelKind, Shape, Variant};

    use super::*;

    fn repr(recipe: &str, settings: &TrainingSettings) -> Option<String> {
        let variant = Variant::eager(recipe.parse().expect("a recipe"));
        let shape = Shape { m: 1, k: 1, n: 1 };
        let work = ModelWork { model: ModelKind::Linear, variant, shape, pass: None };
        scaling_repr(&work, Dtype::BFloat16, Some(settings))
    }

    #[test]
    fn it_is_torchaos() {
        let default = TrainingSettings::default();
        let repr = |recipe| repr(recipe, &default);
        assert_eq!(repr("baseline").as_deref(), Some("baseline (bfloat16)"));
        let tensorwise = "i:dyn_ten_e4m3,w:dyn_ten_e4m3,go:dyn_ten_e5m2";
        assert_eq!(repr("float8dq-tensor").as_deref(), Some(tensorwise));
        assert_eq!(repr("float8-tensorwise").as_deref(), Some(tensorwise));
        // A name with `row` is row-wise whatever the key says.
        let rows = "i:dyn_axs_e4m3,w:dyn_axs_e4m3,go:dyn_axs_e5m2";
        assert_eq!(repr("float8dq-row").as_deref(), Some(rows));
        let rowwise = "i:dyn_axs_e4m3,w:dyn_axs_e4m3,go:dyn_axs_e4m3";
        assert_eq!(repr("float8-rowwise").as_deref(), Some(rowwise));
        let high = format!("{rowwise},i_gw:dis_ten_e4m3,w_gi:dyn_ten_e4m3,go_gw:dis_ten_e4m3");
        assert_eq!(repr("float8-rowwise_with_gw_hp"), Some(high));
        assert_eq!(repr("mxfp8"), None);
    }

    #[test]
    fn the_keys_of_the_config_are_in_it() {
        let disabled = ScalingType::Disabled;
        let settings = TrainingSettings {
            scaling_type_input: disabled,
            scaling_type_weight: disabled,
            scaling_type_grad_output: disabled,
            ..TrainingSettings::default()
        };
        let expected = "i:dis_ten_e4m3,w:dis_ten_e4m3,go:dis_ten_e5m2";
        assert_eq!(repr("float8dq-tensor", &settings).as_deref(), Some(expected));
        let rows = TrainingSettings {
            scaling_granularity: ScalingGranularity::Axiswise,
            ..TrainingSettings::default()
        };
        let expected = "i:dyn_axs_e4m3,w:dyn_axs_e4m3,go:dyn_axs_e5m2";
        assert_eq!(repr("float8dq-tensor", &rows).as_deref(), Some(expected));
    }
}
