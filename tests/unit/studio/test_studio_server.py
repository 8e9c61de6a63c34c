"""The studio's server: who is answered, and what is sent; by plain requests, without a browser."""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import stat
import struct
import threading
import webbrowser
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest
from reference.project import POLICIES

from dxgeom.cli.studio import studio
from dxgeom.studio.server import PAGES, TOKEN, StudioServer
from dxgeom.studio.session import Studio

SECRET = "the-token-of-this-test"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = shutil.copytree(POLICIES / "clinic", tmp_path_factory.mktemp("studio") / "clinic")
    one = StudioServer(Studio(folder / "policy.yaml"), token=SECRET)
    thread = threading.Thread(target=one.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield one
    one.shutdown()
    one.server_close()


def asked(server, method, path, body=None, **headers):
    """The status, headers and content of an answer; a header that is None is left out."""
    host = f"127.0.0.1:{server.server_port}"
    given = {"Host": host, "Origin": f"http://{host}", TOKEN: SECRET, "Content-Type": "application/json"}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in ({"Content-Length": str(len(content))} | given).items():
        if value is not None:
            connection.putheader(name, value)
    connection.endheaders(content)
    answer = connection.getresponse()
    found = answer.status, dict(answer.headers), answer.read()
    connection.close()
    return found


def test_a_question_with_all_that_it_needs_is_answered(server):
    status, headers, content = asked(server, "POST", "/ask/state", {})
    assert status == 200 and json.loads(content)["title"] == "clinic"
    assert headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    "headers",
    [
        {TOKEN: None},
        {TOKEN: ""},
        {TOKEN: SECRET[:-1]},
        {TOKEN: SECRET + "x"},
        {TOKEN: "é"},
        {"Host": "evil.example:80"},
        {"Host": "127.0.0.1"},
        {"Host": "127.0.0.1.evil.example:{port}"},
        {"Host": None},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Origin": None},
        {"Origin": "http://localhost:{port}"},
        {"Host": "localhost:{port}"},
    ],
)
def test_whoever_lacks_something_is_told_nothing(server, headers):
    given = {name: value and value.format(port=server.server_port) for name, value in headers.items()}
    status, _, content = asked(server, "POST", "/ask/state", {}, **given)
    assert status == 403 and b"clinic" not in content


def test_a_page_of_another_origin_or_by_another_name_gets_no_page(server):
    assert asked(server, "GET", "/", Origin="http://evil.example")[0] == 403
    assert asked(server, "GET", "/", Host="rebound.example:80")[0] == 403


def test_parts_of_the_page_are_sent_and_hold_nothing_of_the_policy(server):
    for path in PAGES:
        status, headers, content = asked(server, "GET", path, **{TOKEN: None, "Origin": None})
        assert status == 200 and b"clinic" not in content and SECRET.encode() not in content
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("path", ["/policy.yaml", "/../policy.yaml", "/server.py", "/%2e%2e/policy.yaml", "/?token=x"])
def test_no_other_file_is_sent(server, path):
    assert asked(server, "GET", path)[0] == 404


@pytest.mark.parametrize("path", ["/ask/", "/ask/__init__", "/ask/draft", "/ask/state/x", "/state2"])
def test_no_other_question_is_answered(server, path):
    assert asked(server, "POST", path, {})[0] == 404


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"3", b"\xff", b"[" * 5000])
def test_what_is_no_question_is_refused(server, body):
    assert asked(server, "POST", "/ask/state", body)[0] == 400


def test_a_form_cannot_ask(server):
    assert asked(server, "POST", "/ask/state", {}, **{"Content-Type": "text/plain"})[0] == 400


@pytest.mark.parametrize("length", ["99999999999", "9" * 5000, "4194305", "-1", "+2", "x", "", None])
def test_a_question_has_a_length_and_an_end(server, length):
    assert asked(server, "POST", "/ask/state", {}, **{"Content-Length": length})[0] == 413


def exchanged(server, *lines, rest=b""):
    """All that comes back for bytes as they stand."""
    host = f"127.0.0.1:{server.server_port}"
    head = "\r\n".join([*lines, "", ""]).format(host=host, secret=SECRET).encode()
    with socket.create_connection(server.server_address, timeout=20) as connection:
        connection.sendall(head + rest)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


QUESTION = (
    "POST /ask/state HTTP/1.1",
    "Host: {host}",
    "Origin: http://{host}",
    f"{TOKEN}: {{secret}}",
    "Content-Type: application/json",
)


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (("GET / HTTP/1.1", "Host: {host}", "Content-Length: 5"), b"400"),
        (("GET / HTTP/1.1", "Host: {host}", "Transfer-Encoding: chunked"), b"400"),
        ((*QUESTION, "Content-Length: 2", "Transfer-Encoding: chunked"), b"413"),
        ((*QUESTION, "Content-Length: 2", "Content-Length: 2"), b"413"),
        ((*QUESTION, "Host: evil.example", "Content-Length: 2"), b"403"),
        ((*QUESTION, "Origin: http://evil.example", "Content-Length: 2"), b"403"),
        (("PUT /ask/state HTTP/1.1", "Host: {host}", "Content-Length: 2"), b"501"),
    ],
)
def test_what_follows_a_request_is_never_taken_for_the_next(server, lines, status):
    hidden = "\r\n".join([*QUESTION, "Content-Length: 2", "", "{{}}"]).format(
        host=f"127.0.0.1:{server.server_port}", secret=SECRET
    )
    found = exchanged(server, *lines, rest=hidden.encode())
    assert found.count(b"HTTP/1.1 ") == 1 and found.split()[1] == status and b"clinic" not in found


def test_two_questions_on_one_connection_are_two(server):
    body = b"{}"
    one = "\r\n".join([*QUESTION, "Content-Length: 2", "", "{{}}"]).format(
        host=f"127.0.0.1:{server.server_port}", secret=SECRET
    )
    assert exchanged(server, *QUESTION, "Content-Length: 2", rest=body + one.encode()).count(b" 200 OK") == 2


def test_what_fails_by_a_mistake_of_ours_is_answered_without_its_content(server, monkeypatch, capfd):
    def fails(asked):
        raise ZeroDivisionError("clinic")

    monkeypatch.setattr(server.studio, "questions", {"fails": fails})
    status, _, content = asked(server, "POST", "/ask/fails", {})
    assert status == 500 and b"ZeroDivisionError" in content and b"clinic" not in content
    assert capfd.readouterr().err == ""


def test_who_breaks_off_is_not_told_of_on_the_terminal(server, capfd):
    for _ in range(3):
        connection = socket.create_connection(server.server_address, timeout=20)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.sendall(b"POST /ask/state HTTP/1.1\r\nHost: x")
        connection.close()  # at once, with a reset
    assert asked(server, "POST", "/ask/state", {})[0] == 200
    assert capfd.readouterr().err == ""


def test_who_opens_too_many_connections_keeps_nobody_out_for_long(server):
    before = threading.active_count()
    idle = [socket.create_connection(server.server_address, timeout=20) for _ in range(70)]
    try:
        assert idle[-1].recv(1) == b"" and threading.active_count() - before <= 64
    finally:
        for one in idle:
            one.close()
    for _ in range(200):
        with suppress(OSError, http.client.HTTPException):
            if asked(server, "POST", "/ask/state", {})[0] == 200:
                break
        threading.Event().wait(0.01)
    else:
        raise AssertionError("nobody is answered any more")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "HEAD"])
def test_there_are_two_methods(server, method):
    assert asked(server, method, "/ask/state", {})[0] == 501


def test_what_is_refused_says_why(server):
    status, _, content = asked(server, "POST", "/ask/move", {"revision": 0, "lever": "none", "value": "1"})
    assert status == 422 and "no number 'none'" in json.loads(content)["error"]


def test_it_listens_on_this_computer_only(server):
    assert server.server_address[0] == "127.0.0.1"
    assert server.address == f"http://127.0.0.1:{server.server_port}/#{SECRET}"
    assert len(StudioServer.__init__.__defaults__) == 2


def test_the_token_is_not_among_the_words_of_any_program(tmp_path, monkeypatch, capsys):
    opened = []

    def browser(address):
        assert address.startswith("file:") and "#" not in address
        way = Path(url2pathname(urlsplit(address).path))
        assert stat.S_IMODE(way.parent.stat().st_mode) == 0o700
        opened.append((address, way, way.read_text()))

    def ends(server, poll_interval=0.5):
        raise KeyboardInterrupt

    monkeypatch.setattr(webbrowser, "open", browser)
    monkeypatch.setattr(StudioServer, "serve_forever", ends)
    folder = shutil.copytree(POLICIES / "clinic", tmp_path / "clinic")
    studio(folder / "policy.yaml", port=0, browser=True)
    shown = capsys.readouterr().out.split()[2]
    ((address, way, text),) = opened
    assert shown.split("#")[1] not in address and f"url={shown}" in text and not way.exists()
    studio(folder / "policy.yaml", port=0, browser=False)
    assert len(opened) == 1
