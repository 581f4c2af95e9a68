"""Compiles a TorchScript graph by AOTInductor, as torch.compile would compile it. Knows no model.

In: one JSON object on stdin.
    graph    path of the TorchScript file; its forward takes the inputs
    inputs   in order: {"sizes": [..], "strides": [..], "dtype": "bfloat16", "device": "cpu"}
    mode     of torch.compile
    threads  of a kernel on the CPU
    scratch  a folder that nobody else uses
    probes   a file: which vector instructions were found to work, by this or an earlier process
    package  where to write the package
Out: one JSON object on stdout.
    torch    the version that compiled
    options  name -> value of Inductor's settings that are not its defaults
    target   what was compiled for: "AVX512 AVX512_VNNI", "sm_90"
    kernels  generated kernels and calls of ATen, in the order of their first use
    seconds  that all of it took
or, where the graph cannot be compiled,
    refused  "unsupported", "oom" or "failed"
    reason   Inductor's own words
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import time
import traceback
import zipfile

started = time.monotonic()

# Nothing of the current folder.
sys.path = [path for path in sys.path if path]
# What a compiler prints is no part of the answer.
answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)

request = json.load(sys.stdin)
os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(request["scratch"], "inductor")

import torch
import torch._inductor
from torch._inductor import config, cpu_vec_isa, exc
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx


def options(mode, threads):
    """Inductor's settings for a mode. CUDA graphs are no part of a package."""
    settings = dict(torch._inductor.list_mode_options(mode))
    settings.pop("triton.cudagraphs", None)
    settings["cpp.threads"] = threads
    # Of no influence on the code. Headers compiled beforehand save a second and take a quarter of
    # a gigabyte; workers would outlive this process when it is killed.
    settings["aot_inductor.precompile_headers"] = False
    settings["compile_threads"] = 1
    return settings


def remember_probes(path):
    """Inductor finds out which vector instructions work by compiling and loading six small programs
    in new processes of Python, which takes longer than all else. What worked once is kept."""
    try:
        with open(path, encoding="utf-8") as file:
            known = set(json.load(file))
    except (OSError, ValueError):
        known = set()
    check_build = cpu_vec_isa.VecISA.check_build

    def remembered(isa, code):
        fingerprint = cpu_vec_isa._get_isa_dry_compile_fingerprint(isa._arch_flags)
        probe = hashlib.sha256(f"{fingerprint}\n{code}".encode()).hexdigest()
        if probe in known:
            return True
        works = check_build(isa, code)
        if works:
            known.add(probe)
            write_whole(path, json.dumps(sorted(known)))
        return works

    cpu_vec_isa.VecISA.check_build = remembered


def write_whole(path, text):
    """Others find the old file or the new one. Where it cannot be written, it is not kept."""
    beside = os.path.join(request["scratch"], os.path.basename(path))
    try:
        with open(beside, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(beside, path)
    except OSError as error:
        print(f"{path}: {error}", file=sys.stderr)


def fake(description):
    """A tensor without memory."""
    return torch.empty_strided(description["sizes"], description["strides"],
                               dtype=getattr(torch, description["dtype"]),
                               device=description["device"])


class Witness(FakeTensorMode):
    """Remembers an exception: TorchScript's interpreter passes on its text alone, which may be empty."""
    seen = None

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        try:
            return super().__torch_dispatch__(func, types, args, kwargs)
        except Exception as error:
            Witness.seen = error
            raise


def convolution(*arguments):
    """What only TorchScript's tracer writes is what Inductor's choice of layouts looks for; flags
    of cuDNN are the last four arguments."""
    return torch.ops.aten.convolution.default(*arguments[:9])


def export():
    """The graph, retraced operator by operator, as an exported program."""
    script = torch.jit.load(request["graph"])
    aten = torch.ops.aten
    rewritten = {aten._convolution.default: convolution, aten._convolution.deprecated: convolution}
    with Witness():
        inputs = tuple(fake(it) for it in request["inputs"])
        retrace = make_fx(lambda *inputs: (script(*inputs), ), rewritten, tracing_mode="real")
        graph = retrace(*inputs)
    return torch.export.export(graph, inputs)


def changed(settings):
    """All settings that differ from Inductor's defaults where these are in force."""
    defaults = config.get_config_copy()
    with config.patch(settings):
        used = config.get_config_copy()
    return {name: value for name, value in used.items() if value != defaults[name]}


def inside(package, name):
    with zipfile.ZipFile(package) as archive:
        paths = [it for it in archive.namelist() if it.endswith(name)]
        return archive.read(paths[0]).decode() if paths else None


def kernels(wrapper, fallbacks):
    """What a run calls: generated kernels by their names, operators of ATen by theirs."""
    body = wrapper[wrapper.index("::run_impl("):]
    calls = re.compile(r"\b(?:call_)?((?:cpp|triton)_[a-z]+_\w+)\("
                       r"|\baoti_torch_(?:cpu|cuda)_(\w+)\("
                       r"|\baoti_torch_proxy_executor_call_function\(proxy_executor, (\d+)")
    names = []
    for kernel, operator, fallback in calls.findall(body):
        if fallback:
            name = fallbacks[int(fallback)]
        else:
            name = kernel or f"aten::{operator.removesuffix('_out')}"
        if name not in names:
            names.append(name)
    return names


def fallbacks(package):
    """Operators that have no C function of their own, as a run numbers them."""
    nodes = json.loads(inside(package, ".wrapper.json") or '{"nodes": []}')["nodes"]
    return [node["node"]["target"] for node in nodes]


def target(package):
    metadata = json.loads(inside(package, ".wrapper_metadata.json"))
    capability = metadata["AOTI_COMPUTE_CAPABILITY"]
    return f"sm_{capability}" if capability else metadata["AOTI_CPU_ISA"]


def refusal(error):
    """Which one it is, and the reason in a line."""
    cause = getattr(error, "inner_exception", error)
    if isinstance(cause, (MemoryError, torch.OutOfMemoryError)):
        kind = "oom"
    elif isinstance(cause, (OSError, subprocess.SubprocessError, exc.CppCompileError)):
        kind = "failed"
    else:
        kind = "unsupported"
    lines = str(error).splitlines()
    here = next((at for at, line in enumerate(lines) if "<--- HERE" in line), None)
    if here:
        marked = slice(lines[here].index("~"), lines[here].rindex("~") + 1)
        place, error = f"{lines[here - 1][marked]}: ", Witness.seen or error
        lines = [line for line in str(error).splitlines() if line.strip()][-1:]
    else:
        place, lines = "", [line.strip() for line in lines if line.strip()][:3]
    name = "" if isinstance(error, exc.InductorError) else f"{type(error).__name__}: "
    return kind, place + name + "; ".join(lines)


def compile(package, settings):
    # Who loads the package holds its inputs against this: the code itself does not look at them.
    forms = [f"{it['dtype']} {it['sizes']} {it['strides']}" for it in request["inputs"]]
    metadata = {"inputs": "\n".join(forms)}
    with torch.no_grad():
        torch._inductor.aoti_compile_and_package(
            export(), package_path=package,
            inductor_configs={**settings, "aot_inductor.metadata": metadata})


def described(package, settings):
    return {
        "torch": torch.__version__,
        "options": changed(settings),
        "target": target(package),
        "kernels": kernels(inside(package, ".wrapper.cpp"), fallbacks(package)),
        "seconds": time.monotonic() - started,
    }


torch.set_num_threads(request["threads"])
remember_probes(request["probes"])
settings = options(request["mode"], request["threads"])
try:
    compile(request["package"], settings)
except Exception as error:
    traceback.print_exc()
    kind, reason = refusal(error)
    result = {"refused": kind, "reason": reason}
else:
    result = described(request["package"], settings)
json.dump(result, answer)
answer.close()
