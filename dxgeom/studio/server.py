"""The studio's server: this computer only, with a token; a page, its scripts, and questions in JSON."""

from __future__ import annotations

import hmac
import json
import os
import secrets
import sys
from collections.abc import Mapping
from functools import cached_property
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from threading import BoundedSemaphore
from typing import Any, Final, final

from dxgeom.errors import DxgeomError
from dxgeom.studio.session import Studio

LOOPBACK: Final = "127.0.0.1"
TOKEN: Final = "X-Studio-Token"  # noqa: S105 - the name of a header
_MOST_BYTES: Final = 1 << 22
_SECONDS: Final = 30
_MOST_AT_ONCE: Final = 64
_DIGITS: Final = 9
_KINDS: Final = {"html": "text/html", "css": "text/css", "js": "text/javascript"}
_SCRIPTS: Final = ("studio", "talk", "elements", "promises", "nearness", "answers", "game", "compare", "sign", "editor")
PAGES: Final = {
    "/": ("dxgeom.studio", "studio.html"),
    "/page.css": ("dxgeom.document", "page.css"),
    "/studio.css": ("dxgeom.studio", "studio.css"),
    **{f"/{name}.js": ("dxgeom.studio", f"{name}.js") for name in _SCRIPTS},
}
"""Everything that the page is made of, by its path; no other file is ever sent."""
_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@final
class StudioServer(ThreadingHTTPServer):
    """Serves one studio on the loopback.

    Guarantee: what is answered to a question goes only to who knows the ``token``, and whose request names this host
    and comes from this page. The page itself holds nothing of the policy.
    """

    daemon_threads = True
    # Elsewhere than on POSIX it would let another program take the same port.
    allow_reuse_address = os.name == "posix"
    allow_reuse_port = False
    request_queue_size = _MOST_AT_ONCE

    def __init__(self, studio: Studio, port: int = 0, token: str | None = None) -> None:
        """``port`` 0: any that is free. Raises: OSError for one that is not."""
        self.studio = studio
        self.token = token or secrets.token_urlsafe(24)
        self._room = BoundedSemaphore(_MOST_AT_ONCE)
        super().__init__((LOOPBACK, port), StudioRequest)

    @property
    def address(self) -> str:
        """Where the page is; the token stands behind '#', which browsers send to nobody."""
        return f"http://{LOOPBACK}:{self.server_port}/#{self.token}"

    @cached_property
    def hosts(self) -> frozenset[str]:
        """How a request may call this host: a name that leads here by somebody else's doing is not among them."""
        return frozenset(f"{name}:{self.server_port}" for name in (LOOPBACK, "localhost"))

    def process_request(self, request: Any, client_address: Any) -> None:
        """In a thread of its own, unless there are too many: then the connection ends unread."""
        if self._room.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that breaks off is no mistake; of others the kind is shown, and nothing of their content."""
        error = sys.exception()
        if not isinstance(error, OSError):
            sys.stderr.write(f"studio: a request failed ({type(error).__name__})\n")


@final
class StudioRequest(BaseHTTPRequestHandler):
    """One request: a page by its path, or a question by its name."""

    server: StudioServer
    timeout = _SECONDS
    disable_nagle_algorithm = True  # an answer has two parts: the second would wait for word that the first came
    server_version, sys_version = "studio", ""
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """A part of the page."""
        if not self._from_here():
            return
        if self._has_content():
            self._refuse(HTTPStatus.BAD_REQUEST, "a part of the page is asked for without content")
            return
        found = PAGES.get(self.path)
        if found is None:
            self._answer(HTTPStatus.NOT_FOUND, {"error": "there is no such page"})
            return
        room, name = found
        self._send(HTTPStatus.OK, _KINDS[name.rsplit(".", 1)[1]], files(room).joinpath(name).read_bytes())

    def do_POST(self) -> None:
        """A question."""
        if not self._from_here() or not self._known():
            return
        body = self._body()
        if body is None:
            return
        question = self.path.removeprefix("/ask/")
        if question not in self.server.studio.questions:
            self._answer(HTTPStatus.NOT_FOUND, {"error": "there is no such question"})
            return
        try:
            answer = self.server.studio.ask(question, body)
        except DxgeomError as error:
            self._answer(HTTPStatus.UNPROCESSABLE_ENTITY, {"error": str(error)})
        except Exception as error:  # noqa: BLE001 - the page is answered, whatever it is
            said = f"this failed by a mistake of dxgeom ({type(error).__name__}); the draft is as it was"
            self._answer(HTTPStatus.INTERNAL_SERVER_ERROR, {"error": said})
        else:
            self._answer(HTTPStatus.OK, answer)

    def _from_here(self) -> bool:
        """Whether the request names this host, and is of no other page."""
        hosts, origins = (self.headers.get_all(name, []) for name in ("Host", "Origin"))
        if len(hosts) == 1 and hosts[0] in self.server.hosts and origins in ([], [f"http://{hosts[0]}"]):
            return True
        self._refuse(HTTPStatus.FORBIDDEN, "this page is for this computer only")
        return False

    def _known(self) -> bool:
        """Whether the request has the token; how long that takes says nothing about it."""
        given = self.headers.get(TOKEN, "").encode("latin-1", "replace")
        if self.headers.get("Origin") is not None and hmac.compare_digest(given, self.server.token.encode("ascii")):
            return True
        self._refuse(HTTPStatus.FORBIDDEN, "open the address that 'dxgeom studio' showed")
        return False

    def _body(self) -> dict[str, Any] | None:
        """The question's content; None where it is none, which is then answered."""
        lengths = self.headers.get_all("Content-Length", [])
        length = lengths[0] if len(lengths) == 1 and "Transfer-Encoding" not in self.headers else ""
        if not length.isdecimal() or len(length) > _DIGITS or int(length) > _MOST_BYTES:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a question has at most {_MOST_BYTES:,} bytes")
            return None
        try:
            found = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict) or self.headers.get_content_type() != "application/json":
            self._answer(HTTPStatus.BAD_REQUEST, {"error": "a question is an object in JSON"})
            return None
        return found

    def _has_content(self) -> bool:
        """Whether something follows the head, which would be read as the next request."""
        return "Transfer-Encoding" in self.headers or self.headers.get("Content-Length", "0") != "0"

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        """An answer after which the connection ends: what else was sent is not read."""
        self.close_connection = True
        self._answer(status, {"error": message})

    def _answer(self, status: HTTPStatus, content: Mapping[str, Any]) -> None:
        self._send(status, "application/json", json.dumps(content, ensure_ascii=False).encode("utf-8", "replace"))

    def _send(self, status: HTTPStatus, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *words: Any) -> None:
        """Nothing: a terminal shows the address only."""
