"""How commands are parsed, options that they share, and those of the function that one runs."""

import argparse
import ast
import inspect
import logging
import operator
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

from matcheval.changes import FLAGS
from matcheval.errors import InputError, printable, suggest
from matcheval.io.files import check_is_file
from matcheval.io.terminal import add_json, print_json, print_text
from matcheval.names import MODEL
from matcheval.protocol import criteria

LOGGER = logging.getLogger(__name__)
COMPARE = "matcheval.api.comparing.compare"
_MAX_WARNINGS = 5  # on the terminal, where all are written elsewhere
_PARAMETER = re.compile(r"^(\w[\w, ]*) : (.+)\n((?: {4}.+\n?)+)", re.MULTILINE)
EXIT_CODE = 3  # errors have 1, wrong command lines 2
_MAX_SHOWN = 10  # models that fail, by name
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_CONDITION = re.compile(
    r"\s*([a-z][a-z_:-]*)\s*(<=|>=|<|>)\s*([+-]?(?:\d+\.?\d*|\.\d+))\s*(?:%|pt)?\s*"
)
_TYPES = {"int": int, "float": float, "path-like": Path}
_CHOICE = re.compile(r"argument (.+): invalid choice: (.+) \(choose from (.+)\)")


class CommandParser(argparse.ArgumentParser):
    """A parser that reports an error in one line, with the nearest valid name."""

    options: Sequence[str] = ()  # those of the command line

    def error(self, message: str) -> NoReturn:
        """Write an error, with advice where there is some, and end with exit code 2."""
        if choice := _CHOICE.fullmatch(message):
            option, word, names = choice.groups()
            word = word.strip("'\"")
            what = option.lower() if option in ("COMMAND", "STEP") else f"value of {option}"
            choices = [name.strip("'\"") for name in names.split(", ")]
            message = f"unknown {what} '{word}'. {suggest(word, choices)}"
        elif message.startswith("the following arguments are required"):
            message = next(filter(None, map(self._removed_advice, self.options)), message)
            several = [action for action in self._actions if action.nargs in ("+", "*")]
            if any({*action.option_strings} & {*self.options} for action in several):
                message += " (options that take several values come after them)"
        end = "" if message.endswith("?") else "."
        sys.stderr.write(printable(f"error: {message}{end} See {self.prog} --help\n"))
        raise SystemExit(2)

    def refuse_unknown(self, arguments: Sequence[str]) -> NoReturn:
        """End with exit code 2, and say why the first of these arguments is not accepted."""
        option = arguments[0].partition("=")[0]
        if not option.startswith("-") or option == "-":
            self.error(f"unexpected argument '{arguments[0]}'")
        if advice := self._removed_advice(option):
            self.error(advice)
        names = [name for a in self._actions for name in a.option_strings if len(name) > 2]
        if option in names:
            self.error(f"'{option}' comes after the command: {self.prog} ... {option}")
        self.error(f"unknown option '{option}'. {suggest(option, names)}")

    def _removed_advice(self, option: str) -> str:
        """Say what replaces an option of version 0.2 that was removed; empty for all others."""
        for command, instead in FLAGS.items():
            removed = command.replace(",", " ").split()
            is_known = option in self._option_string_actions
            if command.startswith(f"{self.prog} ") and option in removed and not is_known:
                return f"there is no option '{option}' any more: {instead}"
        return ""


def find_subparser(parser: CommandParser, words: Sequence[str]) -> CommandParser:
    """Return the parser of the command, and of its step, that a command line names."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for i, word in enumerate(words):
                if word in action.choices:
                    return find_subparser(action.choices[word], words[i + 1 :])
    return parser


class NamesAction(argparse.Action):
    """An option that takes names between spaces or commas, and adds up those of all its uses."""

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
        """Append names to those of the option so far; refuse unknown ones."""
        names = [name for value in values for name in value.split(",") if name]
        for name in names:
            if self.known is not None and name not in self.known:
                problem = f"unknown name '{name}'. {suggest(name, self.known)}"
                raise argparse.ArgumentError(self, problem)
        setattr(namespace, self.dest, [*getattr(namespace, self.dest, []), *names])


# --- Options of a function


def add_options(
    parser: argparse.ArgumentParser, function: str, *names: str, **settings: dict[str, Any]
) -> None:  # fmt: skip
    """Add a function's documented parameters (`names`: only these) as options of a command.

    Keywords become options; `settings` has further arguments of `add_argument`, by parameter. The
    function is read, not imported, so that help texts do not wait for what it needs. An option that
    is not given is left to the function's default.
    """
    module, _, function_name = function.rpartition(".")
    file = getattr(find_spec(module), "origin", None)
    body = ast.parse(Path(str(file)).read_text(encoding="utf-8")).body
    (node,) = (n for n in body if isinstance(n, ast.FunctionDef) and n.name == function_name)
    values = [*zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)]
    values += zip(reversed(node.args.args), reversed(node.args.defaults), strict=False)
    defaults = {name.arg: _default_value(value) for name, value in values if value is not None}
    positional = [] if names else [argument.arg for argument in node.args.args]
    documented = {
        name: (kind, text)
        for parameters, kind, text in _PARAMETER.findall(ast.get_docstring(node) or "")
        for name in parameters.split(", ")
    }
    for name in names or documented:
        kind, text = documented[name]
        words = " ".join(text.replace("`", "").replace("%", "%%").split()).rstrip(".")
        default, type_keywords = defaults.get(name), _argument_keywords(kind)
        if kind.startswith("float") and "a fraction" in words:  # as commands take points
            type_keywords = {"type": parse_points, "metavar": "POINTS"}
            words = words.replace("a fraction", "in percentage points, below 1 as 0.5pt")
            default = default and f"{100 * default:g}"
        if kind != "bool" and default not in (None, "", ()):
            shown = " ".join(default) if isinstance(default, tuple) else default
            words += f" (default: {shown})"
        words = words if words[1:2].isupper() else words[0].lower() + words[1:]
        keywords = {"default": argparse.SUPPRESS, "help": words, **type_keywords}
        if name in positional:
            nargs = "?" if name in defaults else None
            keywords |= {"default": default, "metavar": name.upper(), "nargs": nargs}
            parser.add_argument(name, **keywords | settings.get(name, {}))
            continue
        keywords |= {"required": name not in defaults, **settings.get(name, {})}
        parser.add_argument(f"--{name.replace('_', '-')}", **keywords)


def add_function(
    parser: argparse.ArgumentParser, function: str, **settings: dict[str, Any]
) -> None:
    """Make a command run a function: its parameters are options, its result is the JSON."""
    add_options(parser, function, **settings)
    add_json(parser)
    parser.set_defaults(run=partial(_run_function, function))


def _run_function(function: str, arguments: argparse.Namespace) -> None:
    """Call a function, given as text, with a command's arguments; print its result if `--json`."""
    module, _, name = function.rpartition(".")
    imported = getattr(import_module(module), name)
    values = imported(**arguments_for(imported, arguments))
    if arguments.json:
        step = getattr(arguments, "step", None)
        print_json("-".join(filter(None, (arguments.command, step))), values)


def _default_value(node: ast.expr) -> Any:
    """Return the value of a default in source code: a literal, a path or a `criteria` constant."""
    if isinstance(node, ast.Name):
        return getattr(criteria, node.id)
    return ast.literal_eval(node.args[0] if isinstance(node, ast.Call) else node)  # of a path


def _argument_keywords(kind: str) -> dict[str, Any]:
    """Return the keywords of `add_argument` for a parameter's type as docstrings write it."""
    if kind == "bool":
        return {"action": "store_true"}
    if kind == "sequence of path-like, folders":
        return {"nargs": "*", "type": Path, "metavar": "DIR"}
    listed = re.match(r"\{(.+)\}", kind)
    choices = ast.literal_eval(f"[{listed[1]}]") if listed else None
    if re.match(r"((str|\{.+\}) or )?sequence", kind):
        return {"action": NamesAction, "known": choices, "metavar": "NAME"}
    if choices:
        return {"choices": choices, "type": type(choices[0])}
    value_type = _TYPES.get(kind.partition(",")[0], str)
    place = "DIR" if "folder" in kind else "FILE"
    return {"type": value_type} | ({"metavar": place} if value_type is Path else {})


def add_layout(parser: argparse.ArgumentParser, *others: str) -> None:
    """Add the options for the layout of prediction files, and other ones of `compare` by name."""
    add_options(
        parser, COMPARE, "classes", "columns", "first_label", *others,
        classes={
            "type": str, "metavar": "N|FILE", "help": "number of classes, to check the files "
            "against; or the names of the classes, in the order of their labels: a file with a "
            "name per line, cifar10 or imagenet (default: if the files hold names, all that occur, "
            "sorted)",
        },
        columns={
            "action": NamesAction, "metavar": "OURS=THEIRS", "help": "names of the files' columns: "
            "label=target prediction=pred probability=conf; scores with a column per class by what "
            "these begin with: 'probabilities=score_*'",
        },
    )  # fmt: skip


def add_output(parser: argparse.ArgumentParser, contents: str, *, required: bool = False) -> None:
    """Add the option `--output DIR`, whose help says what is written there."""
    parser.add_argument(
        "--output", type=Path, required=required, metavar="DIR", help=f"write {contents} to DIR"
    )


def check_files(arguments: argparse.Namespace) -> None:
    """Check that the files of a command line exist, unless one of them is a pattern."""
    values = [value for name, value in vars(arguments).items() if name != "output"]
    lists = [value if isinstance(value, list) else [value] for value in values]
    files = [value for values in lists for value in values if isinstance(value, Path)]
    if not any(MODEL in str(file) for file in files):
        for file in files:
            check_is_file(file)


def arguments_for(function: Callable[..., Any], arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of a command line that a function has as parameters."""
    names = inspect.signature(function).parameters
    options = vars(arguments) | _layout_arguments(arguments)
    return {name: value for name, value in options.items() if name in names}


def _layout_arguments(arguments: argparse.Namespace) -> dict[str, Any]:
    """Parse `--classes` and `--columns`, where given, to the values that functions take."""
    from matcheval.predictions.layout import read_classes

    values = dict[str, Any]()
    if "classes" in arguments:
        values["classes"] = read_classes(arguments.classes)
    if "columns" in arguments:
        values["columns"] = {}
        for part in arguments.columns:
            ours, is_pair, theirs = (piece.strip() for piece in part.partition("="))
            if not is_pair or ours in values["columns"]:
                raise InputError(
                    f"--columns: '{part}' is not of the form ours=theirs, or occurs twice",
                    remedy="Write it like --columns label=target prediction=pred probability=conf",
                )
            values["columns"][ours] = theirs
    return values


def print_result(
    arguments: argparse.Namespace, values: Callable[[], Mapping[str, Any]], text: str
) -> None:
    """Print a command's result: the values as JSON if `--json` is given, else the text."""
    if arguments.json:
        print_json(arguments.command, values())
    else:
        print_text(text)


def log_remarks(result: Any, where: str = "") -> None:
    """Log a result's notes and warnings; only the first warnings if `where` says where all are."""
    for note in result.notes:
        LOGGER.info("%s", note)
    shown = result.warnings[:_MAX_WARNINGS] if where else result.warnings
    for warning in shown:
        LOGGER.warning("warning: %s", warning)
    if (more := len(result.warnings) - len(shown)) > 0:
        LOGGER.warning("warning: and %d more like these: %s", more, where)


def parse_points(text: str) -> float:
    """Convert percentage points to a fraction; below 1, they need a unit, as in `0.5pt`."""
    has_unit = text.endswith("pt")
    try:
        value = float(text.removesuffix("pt"))
    except ValueError:
        value = float("nan")
    if not 0 < value < 100:
        problem = f"{text} is not between 0 and 100 points, such as 3 or 0.5pt"
        raise argparse.ArgumentTypeError(problem)
    if value < 1 and not has_unit:
        raise argparse.ArgumentTypeError(
            f"{text} may mean {value:g} points, or {100 * value:g} points as a fraction: give "
            f"{value:g}pt or {100 * value:g}pt"
        )
    return value / 100


@dataclass(frozen=True)
class Condition:
    """A condition on a quantity, such as `gap > 5`."""

    text: str
    quantity: str
    comparison: str
    limit: float

    @classmethod
    def parse(cls, text: str, known: Collection[str]) -> "Condition":
        """Parse a condition of a command line, whose quantity must be known."""
        parts = _CONDITION.fullmatch(text)
        if parts is None:
            problem = f"'{text}' is not of the form 'gap > 5': a quantity, <, <=, > or >=, a number"
            raise argparse.ArgumentTypeError(problem)
        quantity, comparison, limit = parts.groups()
        if quantity not in known:
            raise argparse.ArgumentTypeError(
                f"unknown quantity '{quantity}' in '{text}'. {suggest(quantity, known)}"
            )
        return cls(" ".join(parts.groups()), quantity, comparison, float(limit))

    def is_met(self, value: float) -> bool:
        """Whether a value meets the condition; an undefined one (NaN) always does."""
        rounded = round(value, 9)  # 100 * 0.07 is above 7
        return value != value or _COMPARISONS[self.comparison](rounded, self.limit)


def with_bounds(*names: str) -> list[str]:
    """Return each name, followed by those of its interval's bounds: <name>-low, <name>-high."""
    return [name + end for name in names for end in ("", "-low", "-high")]


def add_fail_if(
    parser: argparse.ArgumentParser, known: Collection[str], help_end: str = ""
) -> None:
    """Add the option `--fail-if`, which takes conditions on known quantities."""
    parser.add_argument(
        "--fail-if", type=partial(Condition.parse, known=known), nargs="+", action="extend",
        default=[], metavar="'QUANTITY > NUMBER'",
        help=f"end with exit code {EXIT_CODE} if a quantity, in percent or percentage points, "
        "is as given (<, <=, > or >=) or not defined, of any model. "
        f"Quantities: {', '.join(name for name in known if ':' not in name)}{help_end}",
    )  # fmt: skip


def end_if_met(
    conditions: Iterable[Condition], values: Mapping[str, Mapping[str, float]]
) -> None:  # fmt: skip
    """End with exit code 3 if any model's values meet a condition, and log which do."""
    failed = False
    for condition in conditions:
        text, quantity = condition.text, condition.quantity
        met = {
            model: quantities[quantity]
            for model, quantities in values.items()
            if condition.is_met(quantities[quantity])
        }
        failed = failed or bool(met)
        for model, value in [*met.items()][:_MAX_SHOWN]:
            shown = "not defined, which counts" if value != value else f"{value:.2f}"
            LOGGER.error("failed, as %s: %s is %s (%s)", text, quantity, shown, model)
        if (more := len(met) - _MAX_SHOWN) > 0:
            LOGGER.error("failed, as %s: and %d more models", text, more)
    if failed:
        raise SystemExit(EXIT_CODE)
