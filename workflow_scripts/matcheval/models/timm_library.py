"""timm, with a model restored that its registry no longer builds.

timm 1.0 has a configuration and weights of `resnext101_32x48d`, but no function that builds it, and
the old name `ig_resnext101_32x48d` leads, with a warning, to the weights of another model (32×8d).
The paper's figure 5 shows this model.
"""

from functools import cache
from types import ModuleType

_MISSING = "resnext101_32x48d"


@cache
def load_timm() -> ModuleType:
    """Import timm, and register the model that it has weights for but no function."""
    import timm
    from timm.models import register_model, resnet

    if not timm.is_model(_MISSING) and _MISSING in resnet.default_cfgs:

        def resnext101_32x48d(pretrained: bool = False, **kwargs: object) -> object:
            """Build ResNeXt-101 32×48d (Mahajan et al. 2018)."""
            arguments = {"layers": (3, 4, 23, 3), "cardinality": 32, "base_width": 48, **kwargs}
            return resnet._create_resnet(_MISSING, pretrained, block=resnet.Bottleneck, **arguments)

        # The registry looks up a model's weights in the module that defines its function.
        resnext101_32x48d.__module__ = resnet.__name__
        register_model(resnext101_32x48d)
    return timm
