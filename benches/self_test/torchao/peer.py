"""torchao's side of a comparison: builds what a line of standard input asks for, and times it.

One JSON object a line, an answer to each:

    {"start": {"mallopt": [[switch, value], ...],     before torch is imported
               "libraries": how the names of those begin whose constants are mapped}}
        -> {"torch": version, "torchao": version, "python": version, "capability": instruction set,
            "configuration": how torch was built, "constants": how many pages are mapped}
    {"build": {"model", "recipe", "sparsity", "compile_mode", "dtype", "shape": [m, k, n], "threads",
               "pass": the part of a training step or null, "training": its settings or null}}
        -> {"built": {"weight": its type, "graphs": how many Dynamo compiled}},
           {"unsupported": torchao's reason} or {"failed": what broke}
    {"time": {"lead_in": calls that do not count, "calls": calls that do}}
        -> {"ns": nanoseconds of the latter, together}

torchao logs why it leaves a weight as it is, and raises nothing. Here that is `unsupported`.
"""

import ctypes
import gc
import json
import os
import platform
import sys
import time
import traceback
from functools import partial
from pathlib import Path

import peer_training
from peer_training import Unsupported

# Whatever else is printed goes to standard error.
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def main():
    libc = ctypes.CDLL(None)
    request = read()["start"]
    switches, libraries = request["mallopt"], request["libraries"]
    for switch, value in switches:
        if libc.mallopt(switch, value) != 1:
            raise SystemExit(f"the C library refused mallopt({switch}, {value})")
    answer(start(libraries))

    call = None
    while (request := read()) is not None:
        if "build" in request:
            call = None
            forget_what_was_compiled()
            gc.collect()
            if switches:
                libc.malloc_trim(0)
            try:
                call, built = build(**request["build"])
                # Compiled code has constants, too.
                map_constants(libraries)
                answer({"built": built})
            except Exception as error:
                if is_refusal(error):
                    answer({"unsupported": reason(error)})
                else:
                    traceback.print_exc()
                    answer({"failed": reason(error)})
        else:
            answer({"ns": timed(call, **request["time"])})


def start(libraries):
    # Inductor compiles here, in this process: its workers would stay, beside what is timed.
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"

    import torch
    import torchao

    facts = {
        "torch": torch.__version__,
        "torchao": torchao.__version__,
        "python": platform.python_version(),
        "capability": torch.backends.cpu.get_cpu_capability(),
        "configuration": torch.__config__.show(),
        "constants": map_constants(libraries),
    }
    return facts


def map_constants(libraries):
    """As the harness does for its own libtorch: a masked load of a constant whose page this process
    has not mapped is slow at every call. Reads a byte of every page of the libraries whose names
    begin so, and of what Inductor has compiled; says how many those are."""
    from torch._inductor.runtime.cache_dir_utils import cache_dir

    maps = Path("/proc/self/maps")
    if not maps.exists():
        return 0
    compiled, pages = Path(cache_dir()).resolve(), 0
    for line in maps.read_text().splitlines():
        addresses, permissions, _, _, _, *name = line.split(maxsplit=5)
        file = Path(*name)
        wanted = file.name.startswith(tuple(libraries)) or compiled in file.parents
        if permissions == "r--p" and wanted:
            start, end = (int(address, 16) for address in addresses.split("-"))
            for page in range(start, end, 4096):
                # Reads it.
                ctypes.c_ubyte.from_address(page).value
            pages += (end - start) // 4096
    return pages


def build(model, recipe, sparsity, compile_mode, dtype, shape, threads, training, **rest):
    """A call of torchao's benchmark model, quantized, compiled if it should be, after the first one."""
    import torch
    from torchao.testing.model_architectures import create_model_and_input_data

    torch.set_num_threads(threads)
    dtype = getattr(torch, dtype.removeprefix("torch."))
    net, x = create_model_and_input_data(model, *shape, high_precision_dtype=dtype, device="cpu")
    if training is None:
        net = quantized(net, recipe, sparsity)
    else:
        net = peer_training.prepare(net, x, recipe, training)
        grad_output = peer_training.random_gradient(net, x)
    # Some configurations relax it whatever they are told.
    torch.set_float32_matmul_precision("highest")
    linears = [it for it in net.modules() if isinstance(it, torch.nn.Linear)]
    if compile_mode is not None:
        net = compiled(net, compile_mode, threads)
    if training is None:
        call = partial(net, x)
    else:
        call = peer_training.part(net, x, grad_output, rest["pass"])
    start = time.perf_counter()
    call()
    if compile_mode is not None:
        say(f"torchao: compiled in {time.perf_counter() - start:.1f} s")
    kinds = {type(it.weight if training is None else it).__name__ for it in linears}
    graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    return call, {"weight": " ".join(sorted(kinds)), "graphs": graphs}


def quantized(net, recipe, sparsity):
    """The model for inference."""
    import torch
    from torchao.quantization import quantize_

    torch.set_grad_enabled(False)
    net.eval()
    config = config_of(recipe, sparsity)
    if config is None:
        return net
    quantize_(net, config)
    for name, layer in net.named_modules():
        plain = type(layer) is torch.nn.Linear
        if plain and type(layer.weight) in (torch.nn.Parameter, torch.Tensor):
            raise Unsupported(
                f"torchao leaves the weight of `{name}` as it is, {layer.weight.dtype}"
            )
    return net


def compiled(net, mode, threads):
    """torch.compile of the model; the first call compiles it for its input."""
    import torch
    from torch._inductor import config as inductor

    # Otherwise Inductor asks how many there are and leaves that out of the key of what it keeps, so
    # that code for one thread would be taken for two.
    inductor.cpp.threads = threads
    # Nothing may be compiled where calls are timed.
    torch._dynamo.config.error_on_recompile = True
    say(f"torchao: compiling, mode {mode}")
    return torch.compile(net, mode=mode, fullgraph=True)


def forget_what_was_compiled():
    """Dynamo keeps it, and its weights; the next case has code, and a count, of its own."""
    import torch
    import torch._dynamo

    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()


def config_of(recipe, sparsity):
    """torchao's configuration of a recipe; what this torchao lacks raises its own error here."""
    import torch
    from torchao import quantization as q

    family, *parameters = recipe.split("-")
    eager = {"set_inductor_config": False}
    version = {(): 1, ("v2",): 2}.get(tuple(parameters))
    if "v018" in parameters:
        raise Unsupported("its numerics are those of torchao 0.18")

    match sparsity, family:
        case "semi-sparse", "baseline":
            from torchao.sparsity import semi_sparse_weight

            return semi_sparse_weight()
        case "block", "baseline":
            from torchao.sparsity import block_sparse_weight

            return block_sparse_weight()
        case "semi-sparse", "int8dq" | "int8dq_prefill_wo_decode":
            from torchao.dtypes import SemiSparseLayout

            return q.Int8DynamicActivationInt8WeightConfig(layout=SemiSparseLayout(), **eager)
        case "semi-sparse", "float8dq":
            from torchao.quantization.quantize_.workflows import Float8PackingFormat

            packing = {"packing_format": Float8PackingFormat.SPARSE_CUTLASS}
            return q.Float8DynamicActivationFloat8WeightConfig(
                granularity=granularity(parameters), **packing, **eager
            )
        case None, "baseline":
            return None
        case None, "int8wo":
            return q.Int8WeightOnlyConfig(version=version, **eager)
        case None, "int8dq":
            return q.Int8DynamicActivationInt8WeightConfig(version=version, **eager)
        case None, "int8dq_prefill_wo_decode":
            return q.Int8DynamicActivationInt8WeightConfig(weight_only_decode=True, **eager)
        case None, "int4wo":
            return int4wo(int(parameters[0]), parameters[1:], eager)
        case None, "float8wo":
            return q.Float8WeightOnlyConfig(**eager)
        case None, "float8dq":
            return q.Float8DynamicActivationFloat8WeightConfig(
                granularity=granularity(parameters), **eager
            )
        case None, "gemlitewo":
            from torchao.prototype.quantization.quant_api import UIntxWeightOnlyConfig

            bits, group = (int(number) for number in parameters[:2])
            # 8 bits have one scale for a row, whatever the word says.
            return UIntxWeightOnlyConfig(group if bits == 4 else None, bits, **eager)
        case None, "int8_dynamic_activation_intx_weight":
            from torchao.quantization.quant_primitives import MappingType

            bits, group, asymmetric = parameters
            mapping = MappingType.ASYMMETRIC if asymmetric == "true" else MappingType.SYMMETRIC
            return q.Int8DynamicActivationIntxWeightConfig(
                weight_dtype=getattr(torch, f"int{bits}"),
                weight_granularity=q.PerGroup(int(group)),
                weight_mapping_type=mapping,
            )
        case None, "uintx":
            from torchao.quantization import UIntXWeightOnlyConfig

            bits, group = (int(number) for number in parameters[:2])
            hqq = "hqq" in parameters
            return UIntXWeightOnlyConfig(getattr(torch, f"uint{bits}"), group, use_hqq=hqq, **eager)
        case None, "fp6":
            from torchao.quantization import FPXWeightOnlyConfig

            return FPXWeightOnlyConfig(3, 2, **eager)
        case None, "mxfp8" | "mxfp4":
            from torchao.prototype.mx_formats import MXDynamicActivationMXWeightConfig
            from torchao.quantization.quantize_.common import KernelPreference

            element = torch.float8_e4m3fn if family == "mxfp8" else torch.float4_e2m1fn_x2
            return MXDynamicActivationMXWeightConfig(
                activation_dtype=element,
                weight_dtype=element,
                kernel_preference=KernelPreference.EMULATED,
            )
        case None, "nvfp4":
            from torchao.prototype.mx_formats import NVFP4DynamicActivationNVFP4WeightConfig

            return NVFP4DynamicActivationNVFP4WeightConfig(use_triton_kernel=False)
        case None, "nvfp4wo":
            from torchao.prototype.mx_formats import NVFP4WeightOnlyConfig

            return NVFP4WeightOnlyConfig()
        case None, "mxfp8wo" | "mxfp4wo":
            raise Unsupported("torchao has this format with dynamic activations only")
    raise Unsupported(f"no configuration is known for `{recipe}`, sparsity `{sparsity}`")


def int4wo(group, numerics, eager):
    """The layout for the CPU; `tilepacked` and `fp16solver` are torchao's ways on CUDA."""
    from torchao.prototype.quantization.int4 import Int4WeightOnlyOpaqueTensorConfig
    from torchao.quantization import Int4WeightOnlyConfig

    algorithm = {"int4_choose_qparams_algorithm": "hqq" if "hqq" in numerics else "tinygemm"}
    if "tilepacked" in numerics or "fp16solver" in numerics:
        packing = {"int4_packing_format": "tile_packed_to_4d"}
        return Int4WeightOnlyConfig(group_size=group, **packing, **algorithm, **eager)
    return Int4WeightOnlyOpaqueTensorConfig(group_size=group, **algorithm, **eager)


def granularity(parameters):
    from torchao.quantization import PerRow, PerTensor

    return {"row": PerRow, "tensor": PerTensor}[parameters[0]]()


def timed(call, lead_in, calls):
    for _ in range(lead_in):
        call()
    # As Python's timeit does.
    gc.disable()
    start = time.perf_counter_ns()
    for _ in range(calls):
        call()
    ns = time.perf_counter_ns() - start
    gc.enable()
    return ns


def is_refusal(error):
    """Whether torchao, or the torch below it, declines; whatever else is raised is a mistake of
    this program or an accident."""
    if isinstance(error, (Unsupported, ImportError, NotImplementedError)):
        return True
    if "can't allocate memory" in str(error) or isinstance(error, RecursionError):
        return False
    return isinstance(error, (RuntimeError, ValueError, AssertionError)) and is_upstreams(error)


def is_upstreams(error):
    """Whether it was raised in torch or torchao, or in what they called."""
    import torch
    import torchao

    homes = [Path(package.__file__).parent for package in (torch, torchao)]
    frames = traceback.extract_tb(error.__traceback__)
    return any(home in Path(frame.filename).parents for frame in frames for home in homes)


def reason(error):
    line = next(iter(str(error).splitlines()), "")
    if isinstance(error, ImportError):
        line = line.removesuffix(f" ({error.path})")
    return line if isinstance(error, Unsupported) else f"{type(error).__name__}: {line}"


def say(what):
    print(f"  {what}", file=sys.stderr, flush=True)


def read():
    line = sys.stdin.readline()
    return json.loads(line) if line else None


def answer(what):
    print(json.dumps(what), file=answers, flush=True)


main()
