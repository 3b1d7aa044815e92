"""What a check of this machine found."""

from dataclasses import dataclass
from typing import Literal

OK: Literal["ok"] = "ok"
NOTE: Literal["note"] = "note"
PROBLEM: Literal["problem"] = "problem"


@dataclass(frozen=True)
class Finding:
    """A finding."""

    subject: str
    state: Literal["ok", "note", "problem"]
    found: str
    remedy: str = ""
