"""What an Alertmanager's webhook sends (version 4), checked before anything is done with it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from diagnostics.model.errors import InputError

# Bytes; a notification of hundreds of alerts is smaller.
MAX_BODY = 1 << 20
SOURCE = "Alertmanager notification"

Name = Annotated[str, Meta(max_length=256)]
Value = Annotated[str, Meta(max_length=4096)]


class Alert(Struct, rename="camel"):
    """One alert of a notification, under Alertmanager's own names."""

    status: Literal["firing", "resolved"]
    labels: Annotated[dict[Name, Value], Meta(max_length=64)]
    starts_at: datetime
    fingerprint: Annotated[str, Meta(pattern="^[0-9a-f]{1,32}$")]
    annotations: dict[str, str] = {}
    ends_at: datetime | None = None


class _Notification(Struct):
    version: str
    alerts: list[Alert]


def read_notification(body: bytes) -> list[Alert]:
    """The alerts of a notification.

    Raises:
        InputError: it is none.
    """
    try:
        found = msgspec.json.decode(body, type=_Notification)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(
            SOURCE, "", " ".join(str(error).split()), "send what webhook_configs sends"
        ) from error
    if found.version != "4":
        raise InputError(SOURCE, "version", "expected 4", "use an Alertmanager from 0.16 on")
    return found.alerts
