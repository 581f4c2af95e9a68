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

import numpy

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
