"""Compiles kernels for GPUs that need not be there, until stdin ends or one does not compile.

In: on stdin, for each kernel a line, a JSON object.
    files       name -> text of every file of kernels
    file        the one that the kernel is in
    kernel      its name
    parameters  [name, type] in order: a type of Triton's signatures ("*bf16", "i64")
    aligned     names of parameters that 16 divides: addresses, sizes, strides
    constants   name -> value of every tl.constexpr
    capability  90 for 9.0
    warps       warps of a program
    stages      blocks of a product's operands that are loaded ahead; null for Triton's default
Out: on stdout, for each kernel a line with the number of bytes that follow: a line of JSON, what the launch has to know,
and then the cubin.

The first kernel takes several times as long as a later one: Triton is imported, and it reads all of its own files to
name what it keeps.
"""

import importlib
import json
import os
import re
import sys
import tempfile

# The kernels' folder and nothing of the current one.
sys.path = [path for path in sys.path if path]
# A compiler started here must not read requests, and its prints must not mix with answers.
requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.dup2(2, 1)

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


def compile_in(folder, request):
    os.environ["TRITON_CACHE_DIR"] = os.path.join(folder, "cache")
    for name, text in request["files"].items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
        # An earlier request's files were in another folder.
        sys.modules.pop(name.removesuffix(".py"), None)
    sys.path.insert(0, folder)
    module = importlib.import_module(request["file"].removesuffix(".py"))
    sys.path.remove(folder)
    kernel = getattr(module, request["kernel"])
    types = dict(request["parameters"])
    signature = {name: types.get(name, "constexpr") for name in kernel.arg_names}
    places = [(kernel.arg_names.index(name), ) for name in request["aligned"]]
    source = ASTSource(kernel, signature, request["constants"],
                       {place: [["tt.divisibility", 16]] for place in places})
    target = GPUTarget("cuda", request["capability"], 32)
    # Denormal numbers are not flushed, in no function.
    options = {"num_warps": request["warps"], "enable_reflect_ftz": False}
    if request["stages"] is not None:
        options["num_stages"] = request["stages"]
    return triton.compile(source, target=target, options=options)


def entry_parameters(ptx, name):
    """The types of the parameters of the entry function, as PTX declares them."""
    declared = re.search(r"\.entry\s+" + re.escape(name) + r"\s*\(([^)]*)\)", ptx).group(1)
    return re.findall(r"\.param\s+\.(\w+)", declared)


def answer(compiled):
    metadata = compiled.metadata
    described = {
        "triton": triton.__version__,
        "name": metadata.name,
        "shared": metadata.shared,
        "warps": metadata.num_warps,
        "parameters": entry_parameters(compiled.asm["ptx"], metadata.name),
        "ctas": metadata.num_ctas,
        "global_scratch": metadata.global_scratch_size,
        "profile_scratch": metadata.profile_scratch_size,
        "cooperative": metadata.launch_cooperative_grid,
        "dependent": metadata.launch_pdl,
    }
    return json.dumps(described).encode() + b"\n" + compiled.asm["cubin"]


for line in requests:
    with tempfile.TemporaryDirectory() as folder:
        content = answer(compile_in(folder, json.loads(line)))
    answers.write(b"%d\n" % len(content) + content)
    answers.flush()
