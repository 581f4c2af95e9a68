"""Compiles a TorchScript graph by AOTInductor, as torch.compile would compile it. Knows no model.

In: one JSON object on stdin.
    graph    path of the TorchScript file; its forward takes the inputs, and returns a tensor or a tuple
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

import contextlib
import ctypes
import fcntl
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import traceback
import unittest.mock
import zipfile

started = time.monotonic()

# Nothing of the current folder.
sys.path = [path for path in sys.path if path]
# A compiler's output is not part of the answer.
answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)

request = json.load(sys.stdin)
os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(request["scratch"], "inductor")
# The C++ compiler's messages are parsed.
os.environ["LC_ALL"] = "C"

import torch
import torch._inductor
from torch._inductor import config, cpp_builder, cpu_vec_isa, exc
from torch._inductor.codegen.cpp_wrapper_cpu import CppWrapperCpu
from torch._inductor.package import package_aoti
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx


def options(mode, threads):
    """Inductor's settings for a mode. CUDA graphs are no part of a package."""
    settings = dict(torch._inductor.list_mode_options(mode))
    settings.pop("triton.cudagraphs", None)
    settings["cpp.threads"] = threads
    # These settings do not change the code. Headers compiled beforehand save a second and take a
    # quarter of a gigabyte; workers would outlive this process when it is killed.
    settings["aot_inductor.precompile_headers"] = False
    settings["compile_threads"] = 1
    return settings


class Refused(Exception):
    """Ends the compilation, with kind and reason of the answer."""

    def __init__(self, kind, reason):
        super().__init__(f"{kind}: {reason}")
        self.kind, self.reason = kind, reason


def settle_vectors(path):
    """Inductor finds out which vector instructions work by compiling and loading up to six small
    programs. What worked once is kept; what did not is asked twice and again each time, as a wrong no
    would make a kept package slower. One process asks, and the others read what it has found."""
    with locked(os.path.dirname(path)):
        settle_alone(path)


@contextlib.contextmanager
def locked(folder):
    """Waits while another process has the folder locked. Some file systems know no locks."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):
            opened = os.open(folder, os.O_RDONLY)
            held.callback(os.close, opened)
            fcntl.flock(opened, fcntl.LOCK_EX)
        yield


def settle_alone(path):
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
        if works(check_build, isa, code):
            known.add(probe)
            write_whole(path, json.dumps(sorted(known)))
            return True
        if works(check_build, isa, code):
            raise unsettled(isa, "a program with them works the second time, not the first")
        return False

    cpu_vec_isa.VecISA.check_build = remembered
    # Asked here, so that an error is not taken for one of the graph's. The answer is kept.
    cpu_vec_isa.pick_vec_isa()


def works(check_build, isa, code):
    """check_build takes every error for a no. Here one counts only if it says that compiler or
    library do not have the instructions: a compiler that was killed says nothing of them."""
    errors = []

    def witnessed(function):
        def call(*arguments, **named):
            try:
                return function(*arguments, **named)
            except Exception as error:
                errors.append(error)
                raise
        return call

    compiles = witnessed(cpp_builder.run_compile_cmd)
    with unittest.mock.patch.object(cpp_builder, "run_compile_cmd", compiles), \
            unittest.mock.patch.object(subprocess, "check_call", witnessed(load)):
        if check_build(isa, code):
            return True
    if not errors:
        raise unsettled(isa, "the program that tries them cannot be written")
    error = errors[-1]
    if isinstance(error, exc.CppCompileError):
        of_code, reason = compilers_words(error)
        is_no = of_code or re.search("unrecognized command|unknown argument|bad value", reason)
    elif isinstance(error, subprocess.CalledProcessError):
        reason = error.stderr.strip().rpartition("\n")[2] or f"exit status {error.returncode}"
        is_no = error.returncode == -signal.SIGILL or "undefined symbol" in reason
    else:
        is_no, reason = False, f"{type(error).__name__}: {error}"
    if not is_no:
        raise unsettled(isa, reason)
    return False


def load(command, **_):
    """Loads the library that the command names in a copy of this process. The command itself is a
    new Python, which takes seconds to import torch."""
    library = re.search(r'LoadLibrary\("(.+)"\)', command[-1])[1]
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            ctypes.CDLL(library)
            os._exit(0)
        except BaseException as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as said:
        error = said.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        raise subprocess.CalledProcessError(status, command, stderr=error)


def unsettled(isa, why):
    return Refused("failed", f"whether {isa} works here cannot be found out: {why}")


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


def exported(script, inputs, witness):
    """The graph, retraced operator by operator, as an exported program."""
    aten = torch.ops.aten
    rewritten = {aten._convolution.default: convolution, aten._convolution.deprecated: convolution}

    def outputs(*inputs):
        found = script(*inputs)
        return found if isinstance(found, tuple) else (found, )

    with witness:
        retrace = make_fx(outputs, rewritten, tracing_mode="real")
        graph = retrace(*inputs)
    return torch.export.export(graph, inputs)


def declare_float8():
    """The code of a package names the types of its kernels' arguments without the headers of these
    two, which that of torch.compile includes."""
    write_header = CppWrapperCpu.write_header

    def with_float8(wrapper):
        write_header(wrapper)
        for name in ("Float8_e4m3fn", "Float8_e5m2"):
            wrapper.header.splice(f"#include <c10/util/{name}.h>")

    CppWrapperCpu.write_header = with_float8


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


def compilers_words(error):
    """Whether a C++ compiler objects to the code, and its first errors. One that it calls fatal, or
    that is of no line, is of what surrounds it: no such header, no space, a compiler killed."""
    lines = [line.strip() for line in error.output.splitlines() if line.strip()]
    said = re.compile(r"\berror: |undefined reference", re.IGNORECASE)
    lines = [line for line in lines if said.search(line)] or lines[-1:]
    if not lines:
        status = getattr(error.__cause__, "returncode", None)
        lines = [f"{error.cmd[0]} ended with status {status} and said nothing"]
    of_code = re.search(r":\d+: error: ", lines[0], re.IGNORECASE) is not None
    # Without the folders, which are gone when this is read.
    return of_code, "; ".join(re.sub(r"^\S*/", "", line) for line in lines[:2])


def refusal(error, kind):
    """Which one it is, if not of this kind, and the reason in a line."""
    cause = getattr(error, "inner_exception", error)
    if isinstance(cause, exc.LoweringException):
        cause = cause.__context__ or cause
    if isinstance(cause, exc.CppCompileError):
        of_code, reason = compilers_words(cause)
        return (kind if of_code else "failed"), f"C++: {reason}"
    if isinstance(cause, (MemoryError, torch.OutOfMemoryError)):
        kind = "oom"
    elif isinstance(cause, (OSError, ImportError, subprocess.SubprocessError)):
        kind = "failed"
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


@contextlib.contextmanager
def judged(kind):
    """A part whose errors are of a kind, unless they say themselves of which."""
    try:
        yield
    except Refused:
        raise
    except Exception as error:
        traceback.print_exc()
        raise Refused(*refusal(error, kind)) from error


def lowered(program, settings):
    """The files of a package."""
    # The loader compares its inputs with this: the code itself does not check them.
    forms = [f"{it['dtype']} {it['sizes']} {it['strides']}" for it in request["inputs"]]
    metadata = {"inputs": "\n".join(forms)}
    return torch._inductor.aot_compile(
        program.module(check_guards=False), *program.example_inputs,
        options={**settings, "aot_inductor.package": True, "aot_inductor.metadata": metadata})


def unsound(kernels):
    """Why the package must not be run; none where it may. In bfloat16 on a CPU Inductor makes one
    operation of a product with a weight converted from int8, whatever its size. That operation reads
    whole vectors, and so beyond the end of a weight whose rows end elsewhere."""
    if "aten::_weight_int8pack_mm" not in kernels:
        return None
    if request["inputs"][0]["device"] != "cpu":
        return None
    # Zero points [n, 1] are of int8, too.
    weights = [it["sizes"] for it in request["inputs"] if it["dtype"] == "int8"]
    widest = max(sizes[-1] for sizes in weights)
    for k in (sizes[-1] for sizes in weights):
        if k % 16 and (k > 1 or widest == 1):
            return (f"k = {k}: Inductor makes `_weight_int8pack_mm` of this product, which needs a "
                    "multiple of 16 and would read beyond the weight")
    return None


def described(package, settings):
    return {
        "torch": torch.__version__,
        "options": changed(settings),
        "target": target(package),
        "kernels": kernels(inside(package, ".wrapper.cpp"), fallbacks(package)),
        "seconds": time.monotonic() - started,
    }


def result():
    package, settings = request["package"], options(request["mode"], request["threads"])
    with judged("failed"):
        settle_vectors(request["probes"])
        declare_float8()
        script = torch.jit.load(request["graph"])
        witness = Witness()
        with witness:
            inputs = tuple(fake(it) for it in request["inputs"])
    with judged("unsupported"), torch.no_grad():
        files = lowered(exported(script, inputs, witness), settings)
    with judged("failed"):
        package_aoti(package, files)
        found = described(package, settings)
        reason = unsound(found["kernels"])
    if reason:
        raise Refused("unsupported", reason)
    return found


torch.set_num_threads(request["threads"])
try:
    found = result()
except Refused as refused:
    found = {"refused": refused.kind, "reason": refused.reason}
json.dump(found, answer)
answer.close()
