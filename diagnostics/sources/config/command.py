"""Reads launch commands of engines and bench tools as evidence. Nothing is ever run."""

from __future__ import annotations

import re

from msgspec import Struct, field

from diagnostics.engines.flags import renamed
from diagnostics.model.samples import Provenance, Setting
from diagnostics.sources.config.environment import environment_settings
from diagnostics.sources.config.finding import Command, find_commands, strip_prompt
from diagnostics.sources.config.options import (
    TRTLLM,
    VLLM,
    expand,
    is_list,
    is_secret,
    is_switch,
    names,
    option_name,
    settle,
    truth,
)
from diagnostics.sources.config.programs import Program, find_program
from diagnostics.sources.config.remarks import read_remark
from diagnostics.sources.config.shell import (
    OPTION,
    Words,
    fill_variables,
    inner_script,
    split_commands,
    take_assignments,
)

__all__ = ["Command", "CommandSettings", "find_commands", "read_command", "read_program", "read_words"]

_NUMBER = re.compile(r"^-\d+(?:\.\d+)?$")
_LONGEST_VALUE = 20_000
# These configure the engine that runs inside the bench process itself.
_IN_PROCESS = frozenset({"throughput", "latency"})
_WORKLOAD = names(
    """num_prompts input_len output_len dataset dataset_name dataset_path n num_iters num_iters_warmup
    output_json batch_size backend request_rate max_concurrency seed host port endpoint base_url
    random_input_len random_output_len random_range_ratio"""
)


class CommandSettings(Struct):
    """What a launch command says.

    Attributes:
        engine: ``vllm``, ``sglang``, ``tgi``, ``llama.cpp``, ``tensorrt-llm``, ``lmdeploy`` or
            ``bench:<tool>``; None when the command starts none of them.
        model: the model it names, if it does.
        settings: one for each option, in the engine's own names; of an option given twice, the last.
        notices: what a person should know about the command: repeated, renamed or unreadable options.
        engine_version: from the tag of a container image.
    """

    engine: str | None = None
    model: str | None = None
    settings: list[Setting] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    engine_version: str | None = None


class _Reading(Struct):
    """Options gathered so far; later ones replace earlier ones of the same name."""

    program: Program
    known: dict[str, str]
    values: dict[str, str] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    positional: list[str] = field(default_factory=list)
    given: list[str] = field(default_factory=list)

    def put(self, name: str, value: str | None, flag: str) -> None:
        """Take one option with its value, or None for a bare one."""
        engine = self.program.engine
        if value is not None:
            value, missing = fill_variables(value, self.known)
            if missing:
                self.notices.append(
                    f"the value of {flag} comes from {missing[0][:60]}, which this input does not set"
                )
                return
            value = value[:_LONGEST_VALUE]
        name, text = settle(name, value)
        if is_secret(name):
            return
        if engine == VLLM and name == "optimization_level" and text.startswith("{"):
            name = "compilation_config"
        pairs = expand(name, text)
        self.given.append(name)
        if name in self.values:
            first = self.values[name]
            how = "with the same value" if first == text else f"({first}, then {text})"
            self.notices.append(f"{flag} is given twice {how}: the last one counts")
        self.values.update(pairs)


def read_command(text: str, where: str, provenance: Provenance = Provenance.CONFIGURED) -> CommandSettings:
    """Read the first command in a text that starts an engine or a bench tool.

    Args:
        text: a command line, with or without prompt, wrappers, continuation marks and a trailing comment.
        where: where it was found, in words for a person; kept in every setting.
        provenance: ``configured``, or ``assumed`` where a person only says that this was the command.

    Returns:
        Settings without the values of secrets; an empty result when no such command is there.
    """
    return read_words(split_commands(strip_prompt(text.strip())[0]), where, provenance)


def read_words(
    commands: list[Words],
    where: str,
    provenance: Provenance = Provenance.CONFIGURED,
    environment: dict[str, str] | None = None,
    version: str | None = None,
) -> CommandSettings:
    """Read commands that are already split into words.

    Args:
        commands: simple commands, in order; earlier ones may set variables.
        where: as in :func:`read_command`.
        provenance: as in :func:`read_command`.
        environment: variables known from elsewhere, for example from a manifest.
        version: the engine's release, if known from elsewhere.
    """
    known = dict(environment or {})
    result = CommandSettings()
    for command in commands:
        assigned, words = take_assignments(command.words)
        known.update(assigned)
        if words and words[0] in {"export", "set"}:
            known.update(take_assignments(words[1:])[0])
            continue
        inner = inner_script(words)
        if inner is not None:
            return read_words(split_commands(inner), where, provenance, known, version)
        program = find_program(words)
        if program is None:
            continue
        program.environment = {**known, **program.environment}
        program.version = program.version or version
        result = read_program(program, where, provenance)
        if not command.balanced:
            result.notices.append(
                "a quote in the command is never closed; its options were read as well as possible"
            )
        if command.comment:
            result.settings += read_remark("# " + command.comment)
        return result
    return result


def read_program(
    program: Program, where: str, provenance: Provenance = Provenance.CONFIGURED
) -> CommandSettings:
    """Read the options of a program that was already told apart."""
    reading = _Reading(program, program.environment)
    words, index = program.rest, 0
    while index < len(words):
        index = _take(reading, words, index)
    _place_positional(reading)
    bench = program.engine.startswith("bench:")
    values = dict(environment_settings(program.environment, program.engine))
    values.update(program.facts)
    own = _bench_values(reading) if bench else reading.values
    values.update(own)
    if program.version and not bench:
        values["engine_version"] = program.version
    result = CommandSettings(program.engine, reading.values.get("model"), notices=reading.notices)
    result.engine_version = program.version
    result.settings = [Setting(name, value, provenance, where) for name, value in values.items()]
    if not bench:
        result.notices += _notices(program, reading)
    return result


def _take(reading: _Reading, words: list[str], index: int) -> int:
    """Take the option or positional argument at one place, and give the next place."""
    word = words[index]
    match = OPTION.match(word)
    if match is None:
        if word not in {"--", "-"}:
            reading.positional.append(word)
        return index + 1
    flag, value = match.group(1), match.group(2)
    level = re.fullmatch(r"-O([0-3])", word) if reading.program.engine == VLLM else None
    if level:
        reading.put("optimization_level", level.group(1), "-O")
        return index + 1
    engine = VLLM if reading.program.engine == "bench:vllm" else reading.program.engine
    name = option_name(engine, flag)
    index += 1
    if value is None and is_list(name):
        start = index
        while index < len(words) and not OPTION.match(words[index]):
            index += 1
        value = " ".join(words[start:index]) or None
    elif value is None and index < len(words) and _is_value(name, words[index]):
        value = words[index]
        index += 1
    reading.put(name, value, flag)
    return index


def _is_value(name: str, word: str) -> bool:
    """Tell whether the word behind an option belongs to it."""
    if is_switch(name):  # older releases also take the word true or false behind a switch
        return truth(word) is not None
    return not OPTION.match(word) or bool(_NUMBER.match(word))


def _place_positional(reading: _Reading) -> None:
    """The first free word of an engine's command is its model."""
    if not reading.program.engine.startswith("bench:") and reading.positional:
        if "model" not in reading.values:
            reading.put("model", reading.positional.pop(0), "the model")
        if reading.positional:
            shown = " ".join(reading.positional)[:100]
            reading.notices.append(
                f"these words of the command belong to no option and were passed over: {shown}"
            )


def _bench_values(reading: _Reading) -> dict[str, str]:
    """Prefix a bench tool's options; those of an engine in the same process also count as the engine's."""
    values = {f"bench_{name}": value for name, value in reading.values.items()}
    if reading.program.kind:
        values["bench_kind"] = reading.program.kind
    if reading.program.engine == "bench:vllm" and reading.program.kind in _IN_PROCESS:
        values.update({name: value for name, value in reading.values.items() if name not in _WORKLOAD})
    return values


def _notices(program: Program, reading: _Reading) -> list[str]:
    """Say what is renamed in this version, and which file the command reads besides."""
    said = (
        [renamed(program.engine, program.version, name) for name in reading.given] if program.version else []
    )
    notices = [notice for notice in said if notice]
    for name in ("config", "extra_llm_api_options"):
        if name in reading.values and program.engine in {VLLM, TRTLLM}:
            file = reading.values[name]
            notices.append(f"the command also reads options from {file}; add that file to see them")
    return notices
