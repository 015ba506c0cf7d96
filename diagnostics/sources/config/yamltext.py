"""Loads YAML that nobody vouches for: bounded in size, depth and what its aliases expand to."""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

SIZE_LIMIT = 256 * 1024
_NODE_LIMIT = 100_000
_DEPTH_LIMIT = 60
# The scanner needs quadratic time for brackets that only open.
_OPENING_ONLY = re.compile(r"(?:[\[{][\s,:\w]{0,8}){80}")
_TEMPLATE_LINE = re.compile(r"(?m)^[ \t]*\{\{.*\}\}[ \t]*$")
_TEMPLATE = re.compile(r"\{\{.*?\}\}")


class YamlError(ValueError):
    """YAML that cannot or must not be loaded; the message is one line."""


class _Loader(yaml.SafeLoader):
    """Keeps scalars as they are written: ``0.90`` stays ``0.90``, and ``on`` stays ``on``."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag.endswith((":merge", ":null"))]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _plain(loader: yaml.SafeLoader, _suffix: str, node: yaml.Node) -> Any:
    """Take a node with an application's own tag for what it is without the tag."""
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node)
    return str(node.value)


_Loader.add_multi_constructor("!", _plain)


def check_size(node: yaml.Node, limit: int) -> None:
    """Look at a tree before anything is built from it.

    Raises:
        YamlError: it is nested too deeply, or has more nodes than the limit once its aliases are expanded.
    """
    _expanded(node, limit, {}, 0)


def _expanded(node: yaml.Node, limit: int, sizes: dict[int, int], depth: int) -> int:
    if depth > _DEPTH_LIMIT:
        raise YamlError("nested too deeply")
    known = sizes.get(id(node))
    if known is not None:
        if known == 0:
            raise YamlError("an alias contains itself")
        return known
    sizes[id(node)] = 0
    size = 1
    if isinstance(node, yaml.CollectionNode):
        for member in node.value:
            parts = member if isinstance(member, tuple) else (member,)
            size += sum(_expanded(part, limit, sizes, depth + 1) for part in parts)
            if size > limit:
                raise YamlError(f"its aliases expand to more than {limit:,} values")
    sizes[id(node)] = size
    return size


def _as_json(text: str) -> Any:
    """Read JSON, which is much faster than reading it as the YAML that it also is."""
    try:
        return json.loads(text, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None


def load_documents(text: str) -> list[Any]:
    """Load every document of a YAML or JSON text; all scalars stay text.

    Chart templates are read too: lines that only steer a template are dropped, values become unset variables.

    Raises:
        YamlError: the text is no YAML, or too large, too deep, or expands to too much.
    """
    if len(text) > SIZE_LIMIT:
        raise YamlError(f"larger than {SIZE_LIMIT // 1024} KiB")
    if _OPENING_ONLY.search(text):
        raise YamlError("nested too deeply")
    if text.lstrip().startswith("{") and (parsed := _as_json(text)) is not None:
        return [parsed]
    if "{{" in text:
        text = _TEMPLATE.sub("${template}", _TEMPLATE_LINE.sub("", text))
    try:
        loader = _Loader(text.replace("\t", "  "))
        documents = []
        while loader.check_node():
            node = loader.get_node()
            if node is None:
                continue
            check_size(node, _NODE_LIMIT)
            documents.append(loader.construct_document(node))
    except yaml.YAMLError as error:
        raise YamlError(str(error).replace("\n", " ")[:200]) from error
    except (RecursionError, ValueError, TypeError, OverflowError) as error:
        raise YamlError(str(error)[:200] or type(error).__name__) from error
    return documents
