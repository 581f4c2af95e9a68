"""Captures of CUDA graphs by the shim, in a process whose CUDA is fake_cudart.c; a line for each, and for what is left."""

import ctypes
import sys

import torch

shim_file, cuda_file, fake_file = sys.argv[1:]
ctypes.CDLL(cuda_file, ctypes.RTLD_GLOBAL)
shim, fake = ctypes.CDLL(shim_file), ctypes.CDLL(fake_file)


class Status(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("message", ctypes.c_char_p)]


class Handle(ctypes.Structure):
    _fields_ = [("object", ctypes.c_void_p), ("free", ctypes.CFUNCTYPE(None, ctypes.c_void_p))]


Step = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)
shim.ctn_cuda_graph_new.restype = shim.ctn_cuda_graph_capture.restype = Status


def capture(is_broken, is_fine):
    def step(_):
        torch.rand(1 << 20, device="cuda")
        if is_broken:
            fake.fake_break_capture()
        return is_fine

    handle, pool = Handle(), ctypes.c_uint64()
    assert shim.ctn_cuda_graph_new(0, ctypes.byref(handle)).kind == 0
    graph = ctypes.c_void_p(handle.object)
    status = shim.ctn_cuda_graph_capture(graph, Step(step), None, ctypes.byref(pool))
    handle.free(handle.object)
    return "captured" if status.kind == 0 else status.message.decode()


def left():
    # The driver is asked before it gives memory, which the others share.
    tensors = [torch.empty(8, device="cuda")]
    fake.fake_queries()
    tensors += [torch.empty(8, device="cuda") for _ in range(10)]
    queries = fake.fake_queries()
    try:
        torch.rand(8, device="cuda")
        random = "works"
    except RuntimeError as error:
        random = str(error).splitlines()[0]
    del tensors
    torch.cuda.empty_cache()
    return f"{queries} queries, random: {random}, reserved: {torch.cuda.memory_reserved()}"


torch.rand(8, device="cuda")
for line in [(False, True), (False, False), (True, True), (True, False), (False, True)]:
    print(f"{capture(*line)}: {left()}")
