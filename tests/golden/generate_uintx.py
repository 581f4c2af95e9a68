"""Writes the uintx fixtures into the folder of this file, and their lines into its index.json.

Needs torchao 0.14.1 (releases from 0.17 on have no `UIntXWeightOnlyConfig`), torch 2.11, safetensors.
README.md describes the files.
"""

import contextlib
import hashlib
import io
import json
import math
import pathlib

import torch
import torchao
from safetensors.torch import save_file
from torchao.dtypes import PlainLayout, to_affine_quantized_intx
from torchao.quantization import UIntXWeightOnlyConfig, quantize_
from torchao.quantization.quant_primitives import (
    MappingType,
    ZeroPointDomain,
    _choose_qparams_and_quantize_affine_hqq,
)

# bits, group, hqq, case, (m, k, n)
FIXTURES = [
    (1, 32, False, "init", (4, 128, 32)),
    (2, 64, False, "edgezero", (4, 128, 32)),
    (2, 32, True, "init", (4, 128, 32)),
    (3, 24, False, "normal", (4, 120, 32)),
    (3, 24, True, "normal", (4, 120, 32)),
    (4, 64, False, "edgezero", (4, 128, 32)),
    (4, 64, True, "edgezero", (4, 128, 32)),
    (5, 32, False, "init", (4, 128, 32)),
    (6, 128, False, "edgezero", (4, 128, 32)),
    (7, 64, False, "normal", (4, 128, 32)),
    (8, 64, False, "init", (4, 128, 32)),
    (8, 64, True, "init", (4, 128, 32)),
]


def weight_of(case, n, k, group):
    if case == "normal":
        return torch.randn(n, k)
    weight = (torch.rand(n, k) * 2 - 1) / math.sqrt(k)
    if case == "edgezero":
        weight[0] = 0
        weight[1, 3] = 1e4
        weight[2] *= 1e-8
        weight[3] *= 1e-38
        weight[4] = -weight[4].abs()
        weight[5] = weight[5].abs()
        weight[6] = 0.75
        weight[7] = -0.3
        weight[8, :group] = 0
        weight[9] = torch.tensor([0.5, -0.5]).repeat(k // 2)
        weight[10, -1] = -3
    return weight


def quantize(weight, bits, group, hqq):
    """The weight as upstream's layer holds it."""
    linear = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False)
    linear.weight = torch.nn.Parameter(weight, requires_grad=False)
    if bits == 8 and not hqq:
        # The configuration accepts uint8 and fails in UintxLayout: the same numbers, plain.
        quantized = to_affine_quantized_intx(
            weight, MappingType.ASYMMETRIC, (1, group), torch.uint8,
            eps=torch.finfo(torch.float32).eps, zero_point_dtype=torch.int32,
            zero_point_domain=ZeroPointDomain.INT, preserve_zero=True, _layout=PlainLayout(),
        )  # fmt: skip
        linear.weight = torch.nn.Parameter(quantized, requires_grad=False)
    else:
        dtype = getattr(torch, f"uint{bits}")
        config = UIntXWeightOnlyConfig(dtype, group, use_hqq=hqq, set_inductor_config=False)
        quantize_(linear, config)
    return linear


def solve(weight, bits, group):
    """HQQ's own parameters, and the error of each iteration."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        _, scale, zero, _ = _choose_qparams_and_quantize_affine_hqq(
            weight, nbits=bits, group_size=group, compute_dtype=torch.float32, device="cpu",
            verbose=True, raw_output=True,
        )  # fmt: skip
    errors = [float(line.split("Error: ")[1]) for line in printed.getvalue().splitlines()]
    return 1 / scale, zero, errors


def depends_on_summation(weight, scale, zero, errors, group):
    """Whether another order of the sums could give other integers."""
    places = weight.float().reshape(*scale.shape, group) * scale[..., None] + zero[..., None]
    near_a_tie = ((places % 1 - 0.5).abs() < 1e-4).any().item()
    falls = [abs(a - b) / a for a, b in zip(errors, errors[1:])]
    return near_a_tie or min(falls, default=1) < 1e-6


def sqnr(reference, found):
    return 20 * math.log10(reference.norm() / (reference - found).norm())


def fixture(bits, group, hqq, case, shape, seed=1, dtype=torch.bfloat16):
    """Tensors and metadata."""
    m, k, n = shape
    torch.manual_seed(seed)
    weight = weight_of(case, n, k, group).to(dtype)
    x = torch.randn(m, k).to(dtype)
    solver = {}
    if hqq:
        hqq_scale, hqq_zero, errors = solve(weight, bits, group)
        # A group of zeros ends on a whole number, which no order of summation moves.
        if case != "edgezero" and depends_on_summation(weight, hqq_scale, hqq_zero, errors, group):
            return fixture(bits, group, hqq, case, shape, seed + 1, dtype)
        solver = {
            "hqq_solver_dtype": "float32",
            "hqq_errors": json.dumps(errors),
            "hqq_iterations_run": len(errors),
        }
    linear = quantize(weight, bits, group, hqq)
    values, scale, zero_point = linear.weight.tensor_impl.get_plain()
    scale, zero_point = (it.reshape(n, k // group) for it in (scale, zero_point))
    q, s, z = (it.float().reshape(n, k // group, -1) for it in (values, scale, zero_point))
    dequantized = ((q - 2 ** (bits - 1)) * s + z if hqq else (q - z) * s).reshape(n, k)
    output = linear(x)
    output_hp = x.double() @ weight.double().T
    output_exact = x.double() @ dequantized.double().T
    tensors = {
        "weight": weight, "input": x, "qweight": values, "scale": scale, "zero_point": zero_point,
        "dequantized": dequantized, "output": output, "output_hp": output_hp.float(),
        "output_exact": output_exact.float(),
    }  # fmt: skip
    if hqq:
        tensors |= {"hqq_scale": hqq_scale, "hqq_zero": hqq_zero}
    metadata = {
        "kind": "linear", "recipe": f"uintx-{bits}-{group}" + "-hqq" * hqq, "case": case,
        "m": m, "k": k, "n": n, "group_size": group, "qmin": 0, "qmax": 2**bits - 1, "seed": seed,
        "layout": linear.weight._layout, "nonfinite_qweight_rows": "[]",
        "scale_dtype": scale.dtype, "zero_point_dtype": zero_point.dtype,
        "zero_point_domain": linear.weight.zero_point_domain,
        "output_computed_by": "torchao eager CPU, torch.nn.functional.linear",
        "sqnr_db": f"{sqnr(output_hp, output.double()):.4f}",
        "sqnr_output_exact_db": f"{sqnr(output_exact, output.double()):.4f}",
        "torch_version": torch.__version__, "torchao_version": torchao.__version__,
    }  # fmt: skip
    tensors = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    return tensors, {name: str(value) for name, value in (metadata | solver).items()}


def save(folder, tensors, metadata):
    """Writes one fixture and returns its line of the index."""
    shape = {size: int(metadata[size]) for size in "mkn"}
    names = "_".join(f"{size}{value}" for size, value in shape.items())
    path = folder / f"{metadata['recipe']}__{metadata['case']}_{names}.safetensors"
    save_file(tensors, path, metadata)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    said = {word: metadata[word] for word in ("kind", "recipe", "case")}
    size = {"bytes": path.stat().st_size, "sqnr_db": metadata["sqnr_db"], "sha256": digest}
    return {"file": path.name} | said | shape | size


def main():
    torch.set_num_threads(1)
    folder = pathlib.Path(__file__).parent
    index = json.loads((folder / "index.json").read_text())
    index = [line for line in index if not line["recipe"].startswith("uintx-")]
    index += [save(folder, *fixture(*arguments)) for arguments in FIXTURES]
    index.sort(key=lambda line: line["file"])
    lines = ",\n".join(json.dumps(line) for line in index)
    (folder / "index.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
