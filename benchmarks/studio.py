"""A move in the policy studio, at a thousand record types: from the request to the answer, through its server.

``python benchmarks/studio.py``. A move writes one number into the draft, compiles the whole policy anew, and says what
every rule promises, with pairs of records. Each is asked of the server over its socket, as the page asks, at every
stop of every slider. "CPU s" is the time of a slow core: seconds × .48 / (seconds of 10⁷ additions in a plain loop in
the same run).
"""

from __future__ import annotations

import gc
import http.client
import json
import socket
import statistics
import tempfile
import threading
import time
from pathlib import Path

from dxgeom.studio.server import TOKEN, StudioServer
from dxgeom.studio.session import Studio

POLICIES = Path(__file__).parents[1] / "policies"
MOVES = 60
GRAPH = 1000


def calibration() -> float:
    """Seconds of ten million additions."""
    start, total = time.process_time(), 0
    for one in range(10_000_000):
        total += one
    return time.process_time() - start


def along_a_line(folder: Path) -> Path:
    """A thousand ages in half years, blurred."""
    path = folder / "line.yaml"
    path.write_text(
        "policy: line\nuniverse: {attributes: {age: {range: [0, 1000], step: 1}}}\n"
        "rules: [{change: age, epsilon: 1, per: 100}]\nbudget: 1\n"
    )
    return path


def in_boxes(folder: Path) -> Path:
    """Four attributes, 10 × 10 × 5 × 2 records, one rule each."""
    path = folder / "boxes.yaml"
    sizes = {"a": 10, "b": 10, "c": 5, "d": 2}
    values = ", ".join(f"{name}: [{', '.join(f'{name}{k}' for k in range(size))}]" for name, size in sizes.items())
    rules = ", ".join(f"{{change: {name}, epsilon: {k + 1}}}" for k, name in enumerate(sizes))
    path.write_text(f"policy: boxes\nuniverse: {{attributes: {{{values}}}}}\nrules: [{rules}]\nbudget: 1\n")
    return path


def along_a_graph(folder: Path) -> Path:
    """A tree of a thousand codes, and a floor under all of it."""
    path = folder / "graph.yaml"
    names = [f"c{k}" for k in range(GRAPH)]
    edges = "".join(f"{names[(k - 1) // 3]},{names[k]}\n" for k in range(1, GRAPH))
    (folder / "tree.csv").write_text(f"from,to\n{edges}")
    path.write_text(
        f"policy: graph\nuniverse: {{attributes: {{code: [{', '.join(names)}]}}}}\n"
        "rules:\n  - {change: code, secrets: {edges: tree.csv}, epsilon: 0.5}\n  - {change: code, epsilon: 3}\n"
        "budget: 1\n"
    )
    return path


def moves(path: Path) -> tuple[int, list[float], list[float], int]:
    """Record types, seconds by the clock and of the processor for each move, and bytes of the longest answer."""
    studio = Studio(path)
    server = StudioServer(studio)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    host = f"127.0.0.1:{server.server_port}"
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port)
    head = {"Origin": f"http://{host}", TOKEN: server.token, "Content-Type": "application/json"}

    def ask(question: str, **content: object) -> tuple[dict, int]:
        connection.request("POST", f"/ask/{question}", json.dumps(content), head)
        answer = connection.getresponse()
        read = answer.read()
        assert answer.status == 200, read
        return json.loads(read), len(read)

    gc.collect()
    gc.freeze()  # as the command does
    connection.connect()
    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as browsers do
    state, _ = ask("settle")
    levers = [one for rule in state["rules"] for one in rule["levers"]] + state["budget"]
    clock, processor, longest = [], [], 0
    for k in range(MOVES):
        lever = levers[k % len(levers)]
        value = lever["stops"][(7 * k) % len(lever["stops"])]
        begun = time.perf_counter(), time.process_time()
        state, size = ask("move", revision=state["revision"], lever=lever["name"], value=value)
        clock.append(time.perf_counter() - begun[0])
        processor.append(time.process_time() - begun[1])
        longest = max(longest, size)
        assert not state["mistakes"]
    server.shutdown()
    server.server_close()
    return studio.draft.policy.universe.record_types, clock, processor, longest


def main() -> None:
    """One line for each policy."""
    scale = 0.48 / calibration()
    print(f"{MOVES} moves each; milliseconds of a slow core (× {scale:.2f}), and by the clock")
    print(f"{'policy':16} {'record types':>12} {'median':>8} {'longest':>8} {'clock':>8} {'KB':>6}")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        listed = [along_a_line(folder), in_boxes(folder), along_a_graph(folder)]
        for path in (*listed, POLICIES / "us-cities" / "policy.yaml"):
            types, clock, processor, size = moves(path)
            name = path.stem if path.parent == folder else path.parent.name
            middle, most = (1000 * scale * found for found in (statistics.median(processor), max(processor)))
            wall = 1000 * statistics.median(clock)
            print(f"{name:16} {types:12,} {middle:8.0f} {most:8.0f} {wall:8.0f} {size / 1000:6.0f}")


if __name__ == "__main__":
    main()
