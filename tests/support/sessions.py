"""Sessions of the dashboard without a browser: the page's own websocket, one run after the other."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect


class Session:
    """One viewer: opens pages by name and address, and reads what the server sends for them."""

    def __init__(self, address: str) -> None:
        root = address.replace("http://", "ws://")
        self._socket = connect(f"{root}/_stcore/stream", origin=address, max_size=None, legacy=True)  # type: ignore[arg-type]

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def open(self, page: str, query: str, seconds: float = 120) -> tuple[list[str], int]:
        """Run a page; returns the exceptions that it shows, and how many elements it has."""
        wanted = BackMsg()
        wanted.rerun_script.page_name = page
        wanted.rerun_script.query_string = query
        self._socket.send(wanted.SerializeToString())
        messages = list(self._until_finished(seconds))
        elements = [m.delta.new_element for m in messages if m.WhichOneof("type") == "delta"]
        broken = [e.exception.message for e in elements if e.WhichOneof("type") == "exception"]
        return broken, sum(e.WhichOneof("type") is not None for e in elements)

    def _until_finished(self, seconds: float) -> Iterator[ForwardMsg]:
        while True:
            received = self._socket.recv(timeout=seconds)
            assert isinstance(received, bytes)
            message = ForwardMsg.FromString(received)
            yield message
            if message.WhichOneof("type") == "script_finished":
                return
