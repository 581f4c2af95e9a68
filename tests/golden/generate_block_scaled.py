"""Writes the fixtures of mxfp8, mxfp4, nvfp4 and their weight-only siblings into the folder of this file.

Run as: python tests/golden/generate_block_scaled.py && python tests/golden/digest.py tests/golden/{mx,nv}fp*.safetensors
Needs torchao 0.17, torch 2.11, safetensors. README.md describes the files.
"""

import json
import math
import pathlib

import torch
import torchao
from safetensors.torch import save_file
from torchao.prototype.mx_formats import MXDynamicActivationMXWeightConfig, NVFP4WeightOnlyConfig
from torchao.prototype.mx_formats.config import ScaleCalculationMode
from torchao.prototype.mx_formats.mx_tensor import MXTensor
from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor, per_tensor_amax_to_scale
from torchao.prototype.mx_formats.utils import to_blocked
from torchao.quantization import quantize_
from torchao.quantization.quantize_.common import KernelPreference

SEED = 1
ELEMENTS = {"mxfp8": torch.float8_e4m3fn, "mxfp4": torch.float4_e2m1fn_x2}
FORMATS = ["mxfp8", "mxfp4", "nvfp4"]

# recipe, case, (m, k, n), dtype
FIXTURES = [
    (format + weight_only, case, shape, torch.bfloat16)
    for format in FORMATS
    for weight_only in ["", "wo"]
    for case, shape in [
        ("init", (4, 128, 32)),
        ("edge", (4 if weight_only else 16, 128, 32)),
        ("edgenan", (4, 128, 16)),
    ]
]
FIXTURES += [
    (recipe, "init_f32", (4, 128, 32), torch.float32)
    for recipe in ["mxfp8wo", "mxfp4wo", "nvfp4wo", "nvfp4"]
]
# More than one tile of swizzled scales in both directions, the last ones not full.
FIXTURES += [("nvfp4", "init", (4, 160, 144), torch.bfloat16)]


def edges(matrix, block):
    """Blocks and rows that are hard to scale."""
    k = matrix.shape[1]
    matrix[0] = 0
    matrix[1, 3] = 1e4
    matrix[2] *= 1e-8
    # Subnormal in bfloat16; nvfp4's scale of the tensor makes them nothing.
    matrix[3] = torch.linspace(-1e-38, 1e-38, k)
    matrix[4] = -matrix[4].abs()
    matrix[5, :block] = 0
    matrix[6] = 0.75
    # The largest of each block is a power of two, or just above one, or saturates when rounded down.
    for row, largest in [(7, 1.0), (8, 1.0078125), (9, 496.0), (10, 7.0)]:
        matrix[row] = matrix[row].clamp(-0.5, 0.5)
        matrix[row, ::block] = largest
    # Ties of e2m1 under a scale of 1, in each sign.
    ties = torch.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 6.0])
    matrix[11] = torch.cat([ties, -ties]).repeat(k // 16)
    # Ties of e4m3 under a scale of 1.
    matrix[12] = (torch.arange(k) % 16 + 16.5) * 8
    matrix[12, ::block] = 448.0
    # Powers, one for each block, the smallest below the range of e8m0.
    matrix[13] = 2.0 ** torch.linspace(-130, 10, k // 16).round().repeat_interleave(16)
    matrix[14] = -0.0
    matrix[15, -1] = -3e4
    return matrix


def not_finite(matrix, block):
    matrix[0, 1] = math.nan
    matrix[1, block] = math.inf
    matrix[2, -1] = -math.inf
    matrix[3, 0], matrix[3, 1] = math.inf, math.nan
    return matrix


def matrices(case, m, k, n, block, weight_only):
    torch.manual_seed(SEED)
    weight = (torch.rand(n, k) * 2 - 1) / math.sqrt(k)
    x = torch.randn(m, k)
    if case == "edge":
        weight = edges(weight, block)
        # Some kernels of oneDNN take subnormal activations for zero.
        x = x if weight_only else edges(x, block)
    if case == "edgenan":
        weight, x = not_finite(weight, block), not_finite(x, block)
    return weight, x


def quantize(format, matrix, default):
    """As the configurations do by default, or with the other way of scaling."""
    if format == "nvfp4":
        scale = per_tensor_amax_to_scale(torch.max(torch.abs(matrix))) if default else None
        return NVFP4Tensor.to_nvfp4(matrix, per_tensor_scale=scale)
    scaling = ScaleCalculationMode.RCEIL if default else ScaleCalculationMode.FLOOR
    return MXTensor.to_mx(matrix, ELEMENTS[format], 32, scaling)


def without_tensor_scale(tensor):
    """The values of nvfp4 times the scales of blocks: exact in bfloat16."""
    scale, tensor.per_tensor_scale = tensor.per_tensor_scale, None
    values = tensor.dequantize()
    tensor.per_tensor_scale = scale
    return values


def output_of(format, weight_only, weight, x):
    """The output, and how it was computed."""
    linear = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False)
    linear.weight = torch.nn.Parameter(weight, requires_grad=False)
    if format == "nvfp4" and weight_only:
        quantize_(linear, NVFP4WeightOnlyConfig())
        return linear(x), "quantize_(NVFP4WeightOnlyConfig()), torch.nn.functional.linear"
    if weight_only:
        dequantized = quantize(format, weight, True).dequantize()
        return torch.nn.functional.linear(x, dequantized), "torch.nn.functional.linear, dequantized weight"
    if format == "nvfp4":
        a, b = quantize(format, x, True), quantize(format, weight, True)
        y = without_tensor_scale(a) @ without_tensor_scale(b).T
        how = "_addmm_nvfp4_dispatch, its _scaled_mm replaced by a product of the dequantized blocks"
        return y * (a.per_tensor_scale * b.per_tensor_scale).to(x.dtype), how
    config = MXDynamicActivationMXWeightConfig(
        activation_dtype=ELEMENTS[format],
        weight_dtype=ELEMENTS[format],
        kernel_preference=KernelPreference.EMULATED,
    )
    quantize_(linear, config)
    return linear(x), f"quantize_({type(config).__name__}), kernel_preference EMULATED"


def numbers(names, tensor):
    """Codes and scales as bytes, what they stand for, and the scale of the tensor."""
    found = [tensor.qdata.view(torch.uint8), tensor.scale.view(torch.uint8), tensor.dequantize()]
    if getattr(tensor, "per_tensor_scale", None) is not None:
        found.append(tensor.per_tensor_scale)
    return dict(zip(names.split(), found))


def sqnr(reference, found):
    finite = found.isfinite() & reference.isfinite()
    reference, found = reference[finite], found[finite]
    if reference.numel() == 0:
        return "nan"
    return f"{20 * math.log10(reference.norm() / (reference - found).norm()):.4f}"


def fixture(recipe, case, shape, dtype):
    m, k, n = shape
    format, weight_only = recipe.removesuffix("wo"), recipe.endswith("wo")
    block = 16 if format == "nvfp4" else 32
    weight, x = (it.to(dtype) for it in matrices(case, m, k, n, block, weight_only))
    default = quantize(format, weight, True)
    tensors = {"weight": weight, "input": x} | numbers("qweight scale dequantized tensor_scale", default)
    other = quantize(format, weight, False)
    tensors |= numbers("qweight_other scale_other dequantized_other", other)
    tensors["swizzled_scale"] = to_blocked(default.scale.view(torch.uint8))
    activation = x
    if not weight_only:
        quantized = quantize(format, x, True)
        tensors |= numbers("qinput input_scale input_dequantized input_tensor_scale", quantized)
        activation = quantized.dequantize()
    output, how = output_of(format, weight_only, weight, x)
    output_hp = x.double() @ weight.double().T
    output_exact = activation.double() @ default.dequantize().double().T
    tensors |= {"output": output, "output_hp": output_hp.float(), "output_exact": output_exact.float()}
    broken = (~default.dequantize().isfinite()).any(1).nonzero().flatten().tolist()
    metadata = {
        "kind": "linear", "recipe": recipe, "case": case, "m": m, "k": k, "n": n, "group_size": block,
        "dtype": dtype, "seed": SEED, "nonfinite_qweight_rows": broken, "output_computed_by": how,
        "weight_scaling": "per_tensor_amax_to_scale" if format == "nvfp4" else "RCEIL",
        "other_scaling": "no per_tensor_scale" if format == "nvfp4" else "FLOOR",
        "sqnr_db": sqnr(output_hp, output.double()),
        "sqnr_output_exact_db": sqnr(output_exact, output.double()),
        "torch_version": torch.__version__, "torchao_version": torchao.__version__,
        "generated_by": "generate_block_scaled.py",
    }  # fmt: skip
    tensors = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    texts = {name: json.dumps(it) if isinstance(it, list) else str(it) for name, it in metadata.items()}
    return tensors, texts


def main():
    torch.set_num_threads(1)
    folder = pathlib.Path(__file__).parent
    for recipe, case, shape, dtype in FIXTURES:
        tensors, metadata = fixture(recipe, case, shape, dtype)
        sizes = "_".join(f"{name}{size}" for name, size in zip("mkn", shape))
        save_file(tensors, folder / f"{recipe}__{case}_{sizes}.safetensors", metadata)
        print(recipe, case, metadata["sqnr_db"], metadata["sqnr_output_exact_db"], metadata["nonfinite_qweight_rows"])


if __name__ == "__main__":
    main()
