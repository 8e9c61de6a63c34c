"""The studio's server: who is answered, and what is sent; by plain requests, without a browser."""

from __future__ import annotations

import http.client
import json
import shutil
import threading

import pytest
from reference.project import POLICIES

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


@pytest.mark.parametrize("length", ["99999999999", "-1", "x", None])
def test_a_question_has_a_length_and_an_end(server, length):
    assert asked(server, "POST", "/ask/state", {}, **{"Content-Length": length})[0] == 413


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
