"""How models are trained, as options of the command `train_model`. Imports no torch."""

from collections.abc import Mapping
from typing import Any


def engine_options(settings: Mapping[str, Any]) -> str:
    """Options of `train_model` for the configuration's `training`, but for the threads."""
    if not settings:
        return ""
    words = ["--device", settings["device"]]
    words += ["--channels-last"] * settings["channels_last"] + ["--compile"] * settings["compile"]
    words += [] if settings["deterministic"] else ["--fast"]
    words += ["--validate-every", str(settings["validate_every"])]
    return " ".join([*words, "--save-minutes", str(settings["save_minutes"])])
