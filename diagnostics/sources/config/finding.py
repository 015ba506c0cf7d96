"""Finds launch commands in any text: logs, pastes, notes, shell histories, unit files."""

from __future__ import annotations

import re

from msgspec import Struct

from diagnostics.sources.config.programs import find_program
from diagnostics.sources.config.shell import OPTION, inner_script, split_commands, take_assignments

_ANCHOR = re.compile(
    r"vllm\s+(?:serve|bench)|vllm\.entrypoints|vllm/\S|sglang[\s.]+(?:launch_server|serve|bench)|lmsysorg/sglang"
    r"|text-generation-|llama-server|llama-bench|ggml-org/llama|trtllm-(?:serve|bench)|lmdeploy\s+serve"
    r"|bench(?:mark)?_\w+\.py|guidellm\s+benchmark|(?:aiperf|genai-perf)\s+profile|inference-perf\b",
)
_PROMPT = re.compile(
    r"^\s*(?:\([\w.-]+\)\s*)?(?:[\w.-]+@[\w.-]+:[^\s$#]*[$#]|\[[^\]\n]{1,60}\][$#]"
    r"|[$%\u276f\u279c]|PS [^>\n]{0,80}>|#(?=\s+\S))\s+"
)
_LABEL = re.compile(
    r"^\s*(?:[-*]\s+)?(?:(?:launch |start |server )?(?:command|cmd)\s*:\s*|ExecStart\s*=\s*"
    r"|(?:CMD|ENTRYPOINT|RUN)\s+(?!\[)|`)`?",
    re.IGNORECASE,
)
_LISTING = re.compile(r"^\S+\s+\d+\s.{0,80}\s\d+:\d\d(?:[:.]\d\d)?\s+(?=[/\w])")
_LONGEST_LINE = 20_000
_LINES_BACK, _LINES_AHEAD = 60, 100
_MOST_COMMANDS, _MOST_LINES = 200, 2000


class Command(Struct, frozen=True):
    """A command found in a text.

    Attributes:
        text: the command, lines joined, prompt removed.
        line: the line it begins on, counted from 1.
        prompted: True when a shell prompt stood before it: someone says that this was run.
    """

    text: str
    line: int
    prompted: bool


def strip_prompt(text: str) -> tuple[str, bool]:
    """Remove a shell prompt, a label or the columns of a process list from the front of a command."""
    prompt = _PROMPT.match(text)
    if prompt:
        return text[prompt.end() :], True
    label = _LABEL.match(text) or _LISTING.match(text)
    if label:
        return text[label.end() :].rstrip().rstrip("`"), False
    return text, False


def find_commands(text: str) -> list[Command]:
    """Find the launch commands of engines and bench tools in any text, such as a log or a paste.

    A sentence about a command is not one: a line counts only if the command stands at its beginning, behind a
    prompt, or behind a label such as ``Command:``, and has options or names a model.
    """
    found: list[Command] = []
    done = seen = 0
    for match in _ANCHOR.finditer(text):
        if match.start() < done:
            continue
        seen += 1
        if seen > _MOST_LINES or len(found) >= _MOST_COMMANDS:
            break
        start, end = _block(text, match.start())
        start = max(start, done)
        done = end
        if end - start > _LONGEST_LINE:
            continue
        command, prompted = strip_prompt(text[start:end])
        if _looks_started(command, prompted):
            found.append(Command(command.strip(), text.count("\n", 0, start) + 1, prompted))
    return found


def _line_of(text: str, position: int) -> tuple[int, int]:
    end = text.find("\n", position)
    return text.rfind("\n", 0, position) + 1, len(text) if end < 0 else end


def _block(text: str, position: int) -> tuple[int, int]:
    """Find the whole command around a place: lines joined by marks, by indented options, by open quotes."""
    start, end = _line_of(text, position)
    for _ in range(_LINES_BACK):
        before, before_end = _line_of(text, start - 1) if start else (0, 0)
        if not start or not text[before:before_end].rstrip().endswith("\\"):
            break
        start = before
    for _ in range(_LINES_AHEAD):
        if end >= len(text):
            break
        following, following_end = _line_of(text, end + 1)
        joined = text[start:end].rstrip().endswith(("\\", "^"))
        lost_mark = re.match(r"\s*--[a-z][\w-]+", text[following:following_end])
        if not joined and not lost_mark:
            break
        end = following_end
    whole = text[start:end]
    if end - start <= _LONGEST_LINE and not all(command.balanced for command in split_commands(whole)):
        end = _close_quote(text, start, end)
    return start, end


def _close_quote(text: str, start: int, end: int) -> int:
    """Take more lines while they close a quote, as for JSON that is written over several lines."""
    reach = end
    for _ in range(30):
        if reach >= len(text):
            break
        reach = _line_of(text, reach + 1)[1]
        if all(command.balanced for command in split_commands(text[start:reach])):
            return reach
    return end


def _looks_started(command: str, prompted: bool) -> bool:
    """Tell a command from a sentence that begins with the name of a program."""
    if command.lstrip().startswith("|"):  # a row of a table, not a pipe
        return False
    for words in split_commands(command):
        program = find_program(take_assignments(words.words)[1])
        inner = inner_script(words.words)
        if inner is not None:
            return _looks_started(inner, prompted)
        if program is not None:
            options = any(OPTION.match(word) for word in program.rest)
            named = len(program.rest) == 1 and bool(re.search(r"[/\d]", program.rest[0]))
            return options or named or (prompted and len(program.rest) <= 1)
    return False
