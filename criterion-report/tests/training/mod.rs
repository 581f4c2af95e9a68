//! `training`: results made from a planted cost model, in which the truth is known.

mod crossover;
mod csv;
mod emulated;
mod exports;
mod fixture;
mod tables;

use clap::ColorChoice;
use criterion_report::cli::writer::Writer;
use criterion_report::views::training::{text::Format, text::Options};

const OPTIONS: Options =
    Options { format: Format::Table, crossover: false, color: ColorChoice::Auto };
const TABLE: Writer = Writer::Training(OPTIONS);
const MAP: Writer = Writer::Training(Options { crossover: true, ..OPTIONS });
const JSON: Writer = Writer::Training(Options { format: Format::Json, ..OPTIONS });

/// Recipes of every kind at one shape, in every pass.
const ONE: &str = "
benchmark_mode: training
quantization_config_recipe_names: [baseline, float8-tensorwise, float8-rowwise, float8dq-tensor]
passes: [forward, backward, forward_backward, step_sgd, step_adamw, casts, products]
model_params:
  - name: one
    model_type: linear
    device: cpu
    high_precision_dtype: torch.bfloat16
    matrix_shapes:
      - name: custom
        shapes: [[512, 1024, 1024]]
";

/// A grid with the passes that a map needs.
const GRID: &str = "
benchmark_mode: training
quantization_config_recipe_names: [baseline, float8-tensorwise, float8-rowwise]
passes: [forward_backward, casts, products]
model_params:
  - name: grid
    model_type: linear
    device: cpu
    high_precision_dtype: torch.bfloat16
    matrix_shapes:
      - name: custom
        shapes:
          - [64, 256, 256]
          - [64, 1024, 1024]
          - [64, 4096, 1024]
          - [1024, 256, 256]
          - [1024, 1024, 1024]
          - [1024, 4096, 1024]
          - [4096, 1024, 1024]
";
