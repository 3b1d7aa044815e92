"""What a check of this machine found."""

from dataclasses import dataclass
from typing import Literal

OK: Literal["ok"] = "ok"
NOTE: Literal["note"] = "note"
PROBLEM: Literal["problem"] = "problem"


@dataclass(frozen=True)
class Finding:
    """A finding.

    Attributes
    ----------
    subject : str
        What was looked at.
    state : str
        `ok`; `note`: something that not everybody needs is missing; `problem`: what is asked for
        will fail.
    found : str
        What was found, in a sentence or less.
    remedy : str
        What to do; empty if there is nothing to do.
    """

    subject: str
    state: Literal["ok", "note", "problem"]
    found: str
    remedy: str = ""
