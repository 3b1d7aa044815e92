"""How all commands are parsed: one line about what is wrong, and lists in one style."""

import argparse
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from matcheval.changes import FLAGS
from matcheval.errors import printable, suggest

_CHOICE = re.compile(r"argument (.+): invalid choice: (.+) \(choose from (.+)\)")


class CommandParser(argparse.ArgumentParser):
    """A parser whose errors are one line with the nearest name, as those of files are."""

    def error(self, message: str) -> NoReturn:
        """End with code 2."""
        found = _CHOICE.fullmatch(message)
        if found is not None:
            names = [one.strip("'\"") for one in found[3].split(", ")]
            given = found[2].strip("'\"")
            what = found[1].lower() if found[1] in ("COMMAND", "STEP") else f"value of {found[1]}"
            message = f"unknown {what} '{given}'. {suggest(given, names)}"
        elif message.startswith("the following arguments are required") and any(
            one.nargs in ("+", "*") and one.option_strings for one in self._actions
        ):
            message += " (options that take several values come after them)"
        end = "" if message.endswith("?") else "."
        sys.stderr.write(printable(f"error: {message}{end} See {self.prog} --help\n"))
        raise SystemExit(2)

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """Say which of the arguments the command does not know."""
        given = unknown[0].partition("=")[0]
        if not given.startswith("-") or given == "-":
            self.error(f"unexpected argument '{unknown[0]}'")
        for gone, instead in FLAGS.items():
            if gone.startswith(f"{self.prog} ") and given in gone.split():
                self.error(f"there is no option '{given}' any more: {instead}")
        known = [name for one in self._actions for name in one.option_strings if len(name) > 2]
        self.error(f"unknown option '{given}'. {suggest(given, known)}")


def chosen(parser: CommandParser, given: Sequence[str]) -> CommandParser:
    """Return the parser of the command, and of its step, in a command line."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for i, one in enumerate(given):
                if one in action.choices:
                    return chosen(action.choices[one], given[i + 1 :])
    return parser


class Several(argparse.Action):
    """An option with one or more names, between spaces or commas; all that are given count."""

    def __init__(
        self, option_strings: Sequence[str], dest: str, known: Sequence[str] | None = None,
        **options: Any,
    ) -> None:  # fmt: skip
        super().__init__(option_strings, dest, nargs="+", **{"default": []} | options)
        self.known = known

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any,
        option_string: str | None = None,
    ) -> None:  # fmt: skip
        """Add names to those of the option so far."""
        given = [one for value in values for one in value.split(",") if one]
        for one in given:
            if self.known is not None and one not in self.known:
                problem = f"unknown name '{one}'. {suggest(one, self.known)}"
                raise argparse.ArgumentError(self, problem)
        setattr(namespace, self.dest, [*getattr(namespace, self.dest), *given])
