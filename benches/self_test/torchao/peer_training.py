"""torchao's side of a training step: the part that is timed, as a function without arguments."""

# Small, as ours is: weights are to stay what they are over thousands of steps.
RATE = 1e-6


class Unsupported(Exception):
    """torchao 0.17 has no answer to it."""


def random_gradient(net, x):
    """A fixed random gradient of the output. The model must not be compiled yet, as this needs no graph."""
    import torch

    with torch.no_grad():
        return torch.randn_like(net(x))


def prepare(net, x, recipe, training):
    """Has the model's linear layers trained by the recipe; its input needs a gradient, as ours does."""
    import torch

    torch.set_grad_enabled(True)
    # Otherwise a compiled backward pass runs once only: it reuses the memory of what forward kept.
    torch._functorch.config.donated_buffer = False
    x.requires_grad_(True)
    net.train()
    if recipe == "baseline":
        return net
    if recipe == "mxfp8-emulated-rceil":
        return mx(net)
    if recipe in ("mxfp8", "nvfp4"):
        raise Unsupported("torchao trains in it on CUDA only")
    from torchao.float8 import convert_to_float8_training

    return convert_to_float8_training(net, config=float8(recipe, training))


def float8(recipe, training):
    """`float8-<recipe of torchao>`, or the documented spelling with the keys of its config."""
    from torchao.float8.config import (
        CastConfig,
        Float8GemmConfig,
        Float8LinearConfig,
        ScalingGranularity,
        ScalingType,
        e4m3_dtype,
        e5m2_dtype,
    )

    family, name = recipe.split("-", 1)
    if family == "float8":
        config = Float8LinearConfig.from_recipe_name(name)
        # torch has no product with scales for rows on a CPU.
        return emulated(config) if name != "tensorwise" else config
    by_row = name == "row" or training["scaling_granularity"] in ("rowwise", "axiswise")
    granularity = ScalingGranularity.AXISWISE if by_row else ScalingGranularity.TENSORWISE

    def cast(key, dtype):
        return CastConfig(ScalingType(training[key]), granularity, target_dtype=dtype)

    config = Float8LinearConfig(
        cast_config_input=cast("scaling_type_input", e4m3_dtype),
        cast_config_weight=cast("scaling_type_weight", e4m3_dtype),
        cast_config_grad_output=cast("scaling_type_grad_output", e5m2_dtype),
        gemm_config_output=Float8GemmConfig(use_fast_accum=training["use_fast_accum"]),
    )
    return emulated(config) if by_row else config


def emulated(config):
    from dataclasses import replace

    return replace(config, emulate=True)


def mx(net):
    """A module in the place of each linear layer: torchao's own conversion wraps weights, which the optimizers'
    fused kernels do not take."""
    import torch
    from torchao.prototype.mx_formats.config import ScaleCalculationMode
    from torchao.prototype.mx_formats.mx_linear import _to_mxfp8_then_scaled_mm
    from torchao.quantization.quantize_.common import KernelPreference

    class Linear(torch.nn.Linear):
        def forward(self, x):
            return _to_mxfp8_then_scaled_mm(
                x, self.weight, KernelPreference.EMULATED, ScaleCalculationMode.RCEIL
            )

    for layer in net.modules():
        if type(layer) is torch.nn.Linear:
            layer.__class__ = Linear
    return net


def part(net, x, grad_output, name):
    """The part of a step that is called: gradients are returned, and none is added to another."""
    import torch

    weights = list(net.parameters())

    def forward():
        return net(x)

    def gradients(y, keep):
        return torch.autograd.grad(y, [x, *weights], grad_output, retain_graph=keep)

    if name == "forward":
        return forward
    if name == "backward":
        y = forward()
        return lambda: gradients(y, True)
    if name == "forward_backward":
        return lambda: gradients(forward(), False)
    optimizers = {
        "step_sgd": lambda: torch.optim.SGD(weights, lr=RATE, momentum=0.9, fused=True),
        "step_adamw": lambda: torch.optim.AdamW(weights, lr=RATE, fused=True),
    }
    if name not in optimizers:
        raise Unsupported(f"torchao has no `{name}` to be called by itself")
    optimizer = optimizers[name]()

    def step():
        y = forward()
        _, *found = gradients(y, False)
        for weight, gradient in zip(weights, found):
            weight.grad = gradient
        optimizer.step()
        return y

    return step
