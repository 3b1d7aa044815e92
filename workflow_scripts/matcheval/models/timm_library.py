"""timm, with what its registry has lost.

`resnext101_32x48d` has a configuration and weights in timm 1.0 and no function that makes it, and
the old name `ig_resnext101_32x48d` leads, with a warning, to the weights of another model (32×8d).
It is the model of the paper's figure 5.
"""

from functools import cache
from types import ModuleType

_LOST = "resnext101_32x48d"


@cache
def load_timm() -> ModuleType:
    """Import timm, and register the models that it has weights of and no function for."""
    import timm
    from timm.models import register_model, resnet

    if not timm.is_model(_LOST) and _LOST in resnet.default_cfgs:

        def resnext101_32x48d(pretrained: bool = False, **kwargs: object) -> object:
            """ResNeXt-101 32×48d (Mahajan et al. 2018)."""
            arguments = {"layers": (3, 4, 23, 3), "cardinality": 32, "base_width": 48, **kwargs}
            return resnet._create_resnet(_LOST, pretrained, block=resnet.Bottleneck, **arguments)

        # The registry looks for a model's weights in the module that its function is of.
        resnext101_32x48d.__module__ = resnet.__name__
        register_model(resnext101_32x48d)
    return timm
