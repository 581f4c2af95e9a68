"""Executes launches on the CPU, by Triton's interpreter; for tests.

In: a line of JSON on stdin, and then the memory, its regions one after the other.
    files     name -> text
    regions   their bytes
    launches  file, kernel, programs, constants, arguments: [region, byte, dtype] is an address
Out: the memory afterwards.
"""

import importlib
import json
import os
import sys
import tempfile

os.environ["TRITON_INTERPRET"] = "1"
sys.path = [path for path in sys.path if path]
answer = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)

# Not needed, and slow to load where it is there.
sys.modules["torch"] = None

import numpy
import triton.language as tl
from triton.runtime import interpreter

numpy.seterr(all="ignore")


class Pointer:
    """As much of a tensor as the interpreter asks for. Its memory is here already."""

    def __init__(self, address, dtype):
        self.address = address
        self.dtype = dtype

    def data_ptr(self):
        return self.address

    def untyped_storage(self):
        return self

    def cpu(self):
        return self

    def new_empty(self, size, device):
        return self

    def set_(self, storage, offset, size, stride):
        pass

    def storage_offset(self):
        return 0

    def size(self):
        return ()

    def stride(self):
        return ()

    def copy_(self, other):
        pass


def convert(data, source, target, rounding):
    """Between float32 and bfloat16, whose numbers are bits here, to nearest even as on a GPU.

    The interpreter's own cuts off, and takes small numbers for others.
    """
    if (source, target) == (tl.bfloat16, tl.float32):
        return data.view(numpy.uint16).astype(numpy.uint32) << 16
    assert (source, target) == (tl.float32, tl.bfloat16)
    bits = data.view(numpy.uint32).astype(numpy.uint64)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return numpy.where(numpy.isnan(data), 0x7FC0, rounded).astype(numpy.uint16)


def patch_tensor(tensor, scope):
    """A tensor of one element is an index; numpy 2.4 no longer converts it."""
    patch_tensor_before(tensor, scope)
    scope.set_attr(tensor, "__index__", lambda self: self.handle.data.item())


class Unchanged:
    """The interpreter has nothing to undo after a kernel."""

    def restore(self):
        pass


patched = set()


def patch_once(function):
    """Changes the language for the functions of a file.

    The interpreter's own does so for every call, which takes most of the time.
    """
    place = id(function.__globals__)
    if place not in patched:
        patched.add(place)
        patch_before(function)
    return Unchanged()


def numbers(handle):
    """A tensor's numbers, also those of bfloat16, which are bits here."""
    if handle.dtype.scalar != tl.bfloat16:
        return handle.data
    return (handle.data.view(numpy.uint16).astype(numpy.uint32) << 16).view(numpy.float32)


def dot(self, a, b, d, *precision):
    product = numpy.matmul(numbers(a), numbers(b), dtype=d.data.dtype)
    return interpreter.TensorHandle(product + d.data, d.dtype.scalar)


def convert_integer(self, value, dtype):
    """To bfloat16 by way of float32."""
    if dtype.scalar != tl.bfloat16:
        return convert_integer_before(self, value, dtype)
    data = convert(value.data.astype(numpy.float32), tl.float32, tl.bfloat16, None)
    return interpreter.TensorHandle(data, tl.bfloat16)


class Assembly:
    """The result of an inline assembly, which is one instruction."""

    def __init__(self, text, value):
        function = {"rcp": numpy.reciprocal, "ex2": numpy.exp2}[text.split(".")[0]]
        self.result = interpreter.TensorHandle(function(value.data), value.dtype.scalar)

    def get_result(self, _):
        return self.result


interpreter._convert_float = convert
builder = interpreter.InterpreterBuilder
builder.create_dot = dot
convert_integer_before = builder.create_si_to_fp
builder.create_si_to_fp = convert_integer
builder.create_inline_asm = lambda self, text, constraints, values, *rest: Assembly(text, *values)
patch_before = interpreter._patch_lang
interpreter._patch_lang = patch_once
patch_tensor_before = interpreter._patch_lang_tensor
interpreter._patch_lang_tensor = patch_tensor

request = json.loads(sys.stdin.buffer.readline())
memory = [
    numpy.frombuffer(bytearray(sys.stdin.buffer.read(size)), numpy.uint8)
    for size in request["regions"]
]


def argument(value):
    if isinstance(value, int):
        return value
    region, byte, dtype = value
    return Pointer(memory[region].ctypes.data + byte, dtype)


with tempfile.TemporaryDirectory() as folder:
    for name, text in request["files"].items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    sys.path.insert(0, folder)
    for launch in request["launches"]:
        module = importlib.import_module(launch["file"].removesuffix(".py"))
        kernel = getattr(module, launch["kernel"])
        arguments = [argument(value) for value in launch["arguments"]]
        kernel[(launch["programs"], )](*arguments, **launch["constants"])
for region in memory:
    answer.write(region.tobytes())
answer.close()
