"""Writes the fixtures of mxfp8-emulated-rceil in training into the folder of this file.

Run as: python tests/golden/generate_training.py && python tests/golden/digest.py tests/golden/mxfp8train*.safetensors
Needs torchao 0.17, torch 2.11, safetensors. README.md describes the files.
"""

import pathlib

import torch
import torchao
from safetensors.torch import save_file
from torchao.prototype.mx_formats.config import (
    MXFP8Dim0CastKernelChoice,
    MXFP8Dim1CastKernelChoice,
    ScaleCalculationMode,
)
from torchao.prototype.mx_formats.mx_linear import mx_mm
from torchao.prototype.mx_formats.mx_tensor import MXTensor
from torchao.quantization.quantize_.common.kernel_preference import KernelPreference

SEED = 1
BLOCK = 32
DTYPES = {"bf16": torch.bfloat16, "f32": torch.float32}


def cast(matrix):
    return MXTensor.to_mx(
        matrix.contiguous(),
        torch.float8_e4m3fn,
        BLOCK,
        ScaleCalculationMode.RCEIL,
        KernelPreference.EMULATED,
    )


def train(input, weight, grad_output):
    """torchao's layer with products in high precision, on any device."""
    input, weight = input.clone().requires_grad_(), weight.clone().requires_grad_()
    e4m3 = torch.float8_e4m3fn
    output = mx_mm.apply(
        input,
        weight,
        e4m3,
        e4m3,
        e4m3,
        BLOCK,
        KernelPreference.EMULATED,
        MXFP8Dim0CastKernelChoice.TORCH,
        MXFP8Dim1CastKernelChoice.TORCH,
        ScaleCalculationMode.RCEIL,
        False,
    )
    grad_input, grad_weight = torch.autograd.grad(output, [input, weight], grad_output)
    return {"output": output.detach(), "grad_input": grad_input, "grad_weight": grad_weight}


def edges(matrix):
    """Rows that are hard to scale."""
    matrix[0] = 0
    matrix[1, 3] = 1e4
    matrix[2] *= 1e-8
    matrix[3] = torch.linspace(-1e-38, 1e-38, matrix.shape[1])
    matrix[4] = 448.0
    matrix[5] = 450.0


def fixture(case, name, shape):
    m, k, n = shape
    generator = torch.Generator().manual_seed(SEED)
    weight = (torch.rand(n, k, generator=generator) * 2 - 1) / k**0.5
    input = torch.randn(m, k, generator=generator)
    grad_output = torch.randn(m, n, generator=generator)
    if case == "edge":
        for matrix in (weight, input, grad_output):
            edges(matrix)
    weight, input, grad_output = (it.to(DTYPES[name]) for it in (weight, input, grad_output))
    tensors = {"input": input, "weight": weight, "grad_output": grad_output}
    operands = {
        "input": input,
        "weight": weight,
        "grad_output": grad_output,
        "weight_t": weight.t(),
        "grad_output_t": grad_output.t(),
        "input_t": input.t(),
    }
    for operand, matrix in operands.items():
        blocks = cast(matrix)
        tensors[f"cast_{operand}_data"] = blocks.qdata.view(torch.uint8)
        tensors[f"cast_{operand}_scale"] = blocks.scale.view(torch.uint8)
    found = train(input, weight, grad_output)
    tensors |= found
    wide = [it.double() for it in (input, weight, grad_output)]
    exact = {
        "output": wide[0] @ wide[1].t(),
        "grad_input": wide[2] @ wide[1],
        "grad_weight": wide[2].t() @ wide[0],
    }
    metadata = {
        "kind": "block_training",
        "recipe": "mxfp8-emulated-rceil",
        "case": case,
        "m": str(m),
        "k": str(k),
        "n": str(n),
        "seed": str(SEED),
        "functions": "MXTensor.to_mx, mx_mm (KernelPreference.EMULATED, RCEIL, casts by TORCH)",
        "torch_version": torch.__version__,
        "torchao_version": torchao.__version__,
    }
    for product, reference in exact.items():
        tensors[f"{product}_hp"] = reference.float()
        # Against what the file holds.
        noise = (reference.float().double() - found[product].double()).norm()
        ratio = 20 * torch.log10(reference.float().double().norm() / noise)
        metadata[f"sqnr_{product}_db"] = f"{ratio.item():.4f}"
    path = f"mxfp8train-emulated_rceil__{case}_{name}_m{m}_k{k}_n{n}.safetensors"
    contiguous = {key: value.contiguous() for key, value in tensors.items()}
    save_file(contiguous, pathlib.Path(__file__).parent / path, metadata)


torch.set_num_threads(1)
for case, name in [("init", "bf16"), ("init", "f32"), ("edge", "bf16")]:
    fixture(case, name, (32, 64, 32))
