"""HTTP as a company's metrics engine wants it: verified TLS, no redirects, bounded time and size, no secret in any message."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import requests

from diagnostics.model.errors import InputError
from diagnostics.options import Access

CONNECT_SECONDS, READ_SECONDS = 5.0, 30.0
MAX_ANSWER = 256 * 1024**2


def without_credentials(url: str) -> tuple[str, tuple[str, str] | None]:
    """An address without user and password, and these apart."""
    parts = urlsplit(url)
    if "@" not in parts.netloc:
        return url, None
    userinfo, _, host = parts.netloc.rpartition("@")
    user, _, password = userinfo.partition(":")
    return urlunsplit(parts._replace(netloc=host)), (user, password)


def open_session(access: Access, inline: tuple[str, str] | None = None) -> requests.Session:
    """A session with the access options applied.

    Args:
        access: headers, token file, basic auth, certificates.
        inline: user and password that stood in the address.

    Raises:
        InputError: the token file cannot be read.
    """
    session = requests.Session()
    # An environment's proxy or .netrc must not receive what was meant for the metrics engine.
    session.trust_env = False
    session.max_redirects = 0
    session.headers.update(access.headers)
    if access.org_id:
        session.headers["X-Scope-OrgID"] = access.org_id
    if access.bearer_token_file:
        session.headers["Authorization"] = f"Bearer {_token(access.bearer_token_file)}"
    if access.basic or inline:
        session.auth = access.basic or inline
    if access.ca_file:
        session.verify = access.ca_file
    if access.client_cert:
        session.cert = (access.client_cert, access.client_key) if access.client_key else access.client_cert
    return session


def _token(path: str) -> str:
    try:
        return Path(path).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(path, "", "the token file cannot be read", "check --bearer-token-file") from error


def get(
    session: requests.Session, url: str, source: str, params: dict[str, Any] | None = None
) -> tuple[int, bytes]:
    """Fetch one answer whole.

    Args:
        session: from ``open_session``.
        url: what to fetch.
        source: how to name it in messages, without credentials.
        params: query parameters.

    Returns:
        (HTTP status, body).

    Raises:
        InputError: unreachable, refused, redirected, too slow or too large.
    """
    with (
        _in_words(source, "ask for less with --since or --select"),
        session.get(
            url, params=params, timeout=(CONNECT_SECONDS, READ_SECONDS), stream=True, allow_redirects=False
        ) as answer,
    ):
        if answer.is_redirect or answer.is_permanent_redirect:
            raise InputError(source, f"HTTP {answer.status_code}", "redirects elsewhere, which is not followed",
                             "give the final address, or check that you are signed in")  # fmt: skip
        if answer.status_code in (401, 403):
            raise InputError(source, f"HTTP {answer.status_code}", "access was refused",
                             "check --bearer-token-file, --header, --org-id or DIAGNOSE_BASIC_AUTH")  # fmt: skip
        return answer.status_code, _body(answer, source)


def post(session: requests.Session, url: str, source: str, content: Any) -> None:
    """Send JSON, and have it taken.

    Args:
        session: from ``open_session``.
        url: where to; it may hold a secret.
        source: how to name it in messages, without secrets.
        content: of JSON's own types.

    Raises:
        InputError: unreachable, too slow, or answered with anything but success.
    """
    with (
        _in_words(source, "it is tried again"),
        session.post(
            url, json=content, timeout=(CONNECT_SECONDS, READ_SECONDS), stream=True, allow_redirects=False
        ) as answer,
    ):
        if not 200 <= answer.status_code < 300:
            raise InputError(
                source, f"HTTP {answer.status_code}", "did not take the message", "check the address"
            )


@contextmanager
def _in_words(source: str, when_slow: str) -> Iterator[None]:
    """Failures of a request as a person can act on them."""
    try:
        yield
    except requests.exceptions.SSLError as error:
        raise InputError(
            source, "TLS", "the certificate could not be verified", "give its authority with --ca-file"
        ) from error
    except requests.exceptions.ConnectTimeout as error:
        raise InputError(
            source, "", f"no connection within {CONNECT_SECONDS:g} s", "check host, port and network"
        ) from error
    except requests.exceptions.Timeout as error:
        raise InputError(source, "", f"no answer within {READ_SECONDS:g} s", when_slow) from error
    except requests.exceptions.RequestException as error:
        raise InputError(source, "", _reason(error), "check host, port and path") from error


def _body(answer: requests.Response, source: str) -> bytes:
    blocks, size = [], 0
    for block in answer.iter_content(1 << 18):
        size += len(block)
        if size > MAX_ANSWER:
            raise InputError(
                source, "", "answers with more than 256 MiB", "ask for less with --since or --select"
            )
        blocks.append(block)
    return b"".join(blocks)


def _reason(error: requests.exceptions.RequestException) -> str:
    """Why a request failed, without the address, which may hold what nobody should read."""
    text = str(error).lower()
    for word, reason in (
        ("refused", "the connection was refused"),
        ("name or service", "the host name is not known"),
        ("failed to resolve", "the host name is not known"),
        ("no route", "there is no route to the host"),
        ("reset", "the connection was reset"),
        ("remote end closed", "the server closed the connection"),
        ("invalid", "the address is not valid"),
    ):
        if word in text:
            return reason
    return "could not be reached"
