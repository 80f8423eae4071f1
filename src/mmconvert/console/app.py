"""What both programs share at the terminal: lazy commands, option files, exit codes, plain errors.

Exit codes (a contract): 0 all well; 1 the content of a file was refused or the run failed; 2 wrong
usage; 3 published, but rows were rejected, failed or missing; 130 interrupted.
"""

import atexit
import contextlib
import gc
import importlib
import io
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType
from typing import Any, NoReturn

import click
from click.shell_completion import CompletionItem

from mmconvert.console.completion_types import refine
from mmconvert.core.command_output import hold_output
from mmconvert.core.error_hints import says_what_to_do
from mmconvert.core.errors import (
    Error,
    UsageError,
    build_memory_error,
    is_out_of_memory,
    refuse_long_paths,
    show,
    suggest_spelling,
)
from mmconvert.core.option_fields import check_plain
from mmconvert.core.text.printable import escape_control
from mmconvert.core.text.yaml import read_mapping_file

HELP = ["-h", "--help"]
EXIT_REFUSED = 1
EXIT_USAGE = 2
EXIT_PARTIAL = 3
EXIT_INTERRUPTED = 130


class LazyGroup(click.Group):
    """A click group whose commands are imported only when they run.

    Args:
        commands_in: Command name -> `module:object`, its one-line help, so that `--help` needs no import, and
            examples of its use, one a line.
        default: Command put in front when the first argument looks like a file; None for none.
    """

    def __init__(
        self, *args: Any, commands_in: dict[str, tuple[str, ...]], default: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.commands_in = commands_in
        self.default = default

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands in the order of the work."""
        return list(self.commands_in)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command that was asked for."""
        if cmd_name not in self.commands_in:
            return None
        place, _, *examples = self.commands_in[cmd_name]
        module, _, name = place.partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        refine(command)
        if examples:
            # The mark keeps click from filling the lines up.
            command.epilog = "\b\nExample:\n" + "\n".join(f"  {line}" for line in examples)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Put the default command in front where the first argument is no command but a file."""
        first = args[0]
        if first not in self.commands_in:
            if self.default is not None and looks_like_path(first):
                args = [self.default, *args]
            elif not ctx.resilient_parsing:
                near = suggest_spelling(first, self.commands_in) or f" See {ctx.command_path} --help"
                ctx.fail(f"No such command {first!r}.{near}")
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Let options of the default command stand first, as in `mmscore --json file`."""
        own = {"-h", "--help", "--version"}
        if self.default is not None and args and args[0].startswith("-") and args[0] not in own:
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table, without importing one."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about[1]) for name, about in self.commands_in.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Complete the name of a command, from the table, or a file where that may stand instead."""
        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        found = [(name, about[1]) for name, about in self.commands_in.items() if name.startswith(incomplete)]
        file = [CompletionItem(incomplete, type="file")] if self.default is not None else []
        return [*file, *(CompletionItem(name, help=summary) for name, summary in found)]


def looks_like_path(text: str) -> bool:
    """Tell a file argument from a mistyped command.

    Example:
        >>> looks_like_path("run.parquet"), looks_like_path("scroe")
        (True, False)
    """
    return text == "-" or "/" in text or "." in text or os.path.exists(text)


def read_options_file(ctx: click.Context, _param: click.Parameter, path: str | None) -> None:
    """Fill the defaults of a command from a YAML file; flags given on the line win.

    Raises:
        UsageError: The file is no mapping, or names an option the command does not have.
    """
    if path is not None:
        ctx.default_map = {**(ctx.default_map or {}), **_default_values(ctx.command, read_mapping_file(path), path)}


def _default_values(command: click.Command, values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Give values by parameter name from values by option name, with or without hyphens; null leaves an option out."""
    options = [param for param in command.params if isinstance(param, click.Option) and param.name]
    known = {name.lstrip("-"): param for param in options for name in (*param.opts, *param.secondary_opts)}
    defaults = {}
    for key, value in values.items():
        name = str(key).replace("_", "-")
        if name not in known:
            raise UsageError(f"{where}: {command.name} has no option {key!r}.{suggest_spelling(name, known)}")
        if value is None:
            continue
        option = known[name]
        given = value if isinstance(value, list) and option.multiple else [value]
        whole = isinstance(option.type, click.types.IntParamType)
        # What click itself would take in silence: a list as one text, one text as a list of letters.
        check_plain(given, f"{where} {key}", several=option.multiple, boolean=bool(option.is_flag), whole=whole)
        defaults[str(option.name)] = given if option.multiple else value
    return defaults


OPTIONS_FILE = click.option(
    "--options",
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=read_options_file,
    help="YAML file with options of this command; flags override it.",
)
"""Decorator that gives a command `--options run.yaml`."""


@contextlib.contextmanager
def _handle_interrupt() -> Iterator[None]:
    def stop(_signal: int, _frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def run(
    command: click.Command, argv: Sequence[str] | None = None, *, program: str, holds_output: bool = True
) -> NoReturn:
    """Run a command and leave the process with the exit code of the contract.

    A user's mistake prints one message and no traceback; a bug keeps its traceback.

    Args:
        command: The program's root group.
        argv: Arguments without the program's name; None takes the process's own.
        program: Name to print in front of messages.
        holds_output: Standard output is the command's result alone; False lets code of the user's print there, too.
    """
    # Loading modules and reading rows makes many objects and few cycles: Python's search for cycles takes a tenth of a
    # short run at its own threshold of 700 new objects, and another one at the end.
    gc.set_threshold(10_000, 20, 100)
    atexit.register(gc.freeze)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a letter gets its escape.
            stream.reconfigure(errors="backslashreplace")
    try:
        _refuse_broken_text(sys.argv[1:] if argv is None else argv)
        holding = hold_output(program) if holds_output else contextlib.nullcontext()
        with _handle_interrupt(), refuse_long_paths(), holding:
            code = command.main(args=argv, prog_name=program, standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.ClickException as error:
        _add_example(error).show()
        sys.exit(error.exit_code)
    except UsageError as error:
        _say(f"{program}: {error}")
        sys.exit(EXIT_USAGE)
    except Error as error:
        _say(f"{program}: {error}")
        sys.exit(EXIT_REFUSED)
    except (KeyboardInterrupt, click.Abort) as error:
        if isinstance(error.__cause__, EOFError):
            raise  # click takes the end of a prompt's input for an interruption; we have no prompts
        _say(f"{program}: interrupted. Run the same command again to continue.")
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output went away, as `| head` does: nothing is wrong.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_REFUSED)
    except Exception as error:
        if is_out_of_memory(error):
            # What the error holds on to is let go before anything is said.
            error.__traceback__ = None
            _say(f"{program}: {build_memory_error(_name_input(argv))}")
            sys.exit(EXIT_REFUSED)
        if not isinstance(error, OSError) or error.errno is None:
            raise
        # A disk that is full or a permission that is missing is no bug.
        place = f"{error.filename}: " if error.filename is not None else ""
        _say(f"{program}: {place}{os.strerror(error.errno)}.")
        sys.exit(EXIT_REFUSED)
    sys.exit(code if isinstance(code, int) else 0)


def _name_input(argv: Sequence[str] | None) -> str:
    """Name the first file or folder among arguments, else the command."""
    given = sys.argv[1:] if argv is None else argv
    return next((argument for argument in given if os.path.exists(argument)), " ".join(given[:1]) or "the input")


def _add_example(error: click.ClickException) -> click.ClickException:
    """Let a wrong call end with one that is right, where no nearest word is named."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    if isinstance(error, click.NoSuchOption) and context and (owner := _find_owner(error.option_name, context)):
        return click.UsageError(f"No such option {error.option_name!r}. {owner}", context)
    example = (context.command.epilog or "").partition("Example:\n")[2] if context else ""
    message = error.format_message()
    if not example or says_what_to_do(message) or "Did you mean" in message:
        return error
    return click.UsageError(f"{message} For example: {example.splitlines()[0].strip()}", context)


def _find_owner(option: str, context: click.Context) -> str:
    """Name the other commands of the program that have an option, with an example; "" where none has it."""
    group = context.parent.command if context.parent else None
    if not isinstance(group, LazyGroup):
        return ""
    loaded = {name: group.get_command(context, name) for name in group.commands_in}
    owners = [name for name, command in loaded.items() if command and any(option in p.opts for p in command.params)]
    if not owners:
        return ""
    program = context.parent.info_name if context.parent else ""
    listed = " and ".join(f"{program} {name}" for name in owners)
    lines = [line for name in owners for line in group.commands_in[name][2:]]
    line = next((line for line in lines if option in line.split()), next(iter(lines), ""))
    return f"It is an option of {listed}." + (f" For example: {line}" if line else "")


def _refuse_broken_text(argv: Sequence[str]) -> None:
    for argument in argv:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise UsageError(f"an argument is not UTF-8 text {show(argument)}. Rename the file.") from None


def _say(message: str) -> None:
    click.echo(escape_control(message), err=True)
