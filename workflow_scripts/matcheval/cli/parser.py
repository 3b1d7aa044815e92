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

    options: Sequence[str] = ()  # those of the command line

    def error(self, message: str) -> NoReturn:
        """End with code 2."""
        if choice := _CHOICE.fullmatch(message):
            option, word, names = choice.groups()
            word = word.strip("'\"")
            what = option.lower() if option in ("COMMAND", "STEP") else f"value of {option}"
            choices = [name.strip("'\"") for name in names.split(", ")]
            message = f"unknown {what} '{word}'. {suggest(word, choices)}"
        elif message.startswith("the following arguments are required"):
            message = next(filter(None, map(self._gone, self.options)), message)
            several = [action for action in self._actions if action.nargs in ("+", "*")]
            if any({*action.option_strings} & {*self.options} for action in several):
                message += " (options that take several values come after them)"
        end = "" if message.endswith("?") else "."
        sys.stderr.write(printable(f"error: {message}{end} See {self.prog} --help\n"))
        raise SystemExit(2)

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """Say which of the arguments the command does not know."""
        option = unknown[0].partition("=")[0]
        if not option.startswith("-") or option == "-":
            self.error(f"unexpected argument '{unknown[0]}'")
        if gone := self._gone(option):
            self.error(gone)
        names = [name for a in self._actions for name in a.option_strings if len(name) > 2]
        if option in names:
            self.error(f"'{option}' comes after the command: {self.prog} ... {option}")
        self.error(f"unknown option '{option}'. {suggest(option, names)}")

    def _gone(self, option: str) -> str:
        """Say what stands in place of an option of version 0.2; nothing of others."""
        for command, instead in FLAGS.items():
            gone = command.replace(",", " ").split()
            is_known = option in self._option_string_actions
            if command.startswith(f"{self.prog} ") and option in gone and not is_known:
                return f"there is no option '{option}' any more: {instead}"
        return ""


def chosen(parser: CommandParser, line: Sequence[str]) -> CommandParser:
    """Return the parser of the command, and of its step, in a command line."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for i, word in enumerate(line):
                if word in action.choices:
                    return chosen(action.choices[word], line[i + 1 :])
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
        names = [name for value in values for name in value.split(",") if name]
        for name in names:
            if self.known is not None and name not in self.known:
                problem = f"unknown name '{name}'. {suggest(name, self.known)}"
                raise argparse.ArgumentError(self, problem)
        setattr(namespace, self.dest, [*getattr(namespace, self.dest, []), *names])
