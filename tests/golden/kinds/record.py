"""Made the files of ``plans`` and ``ledgers``, and ``workloads.txt``, by version 0.2.1; and what is ``shown`` of them.

The former are never made anew: a kind that comes later gets files of its own beside them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from reference.random_workloads import blocks, digests

import dxgeom as dx
from dxgeom.errors import DxgeomError
from golden.kinds import keeping
from golden.kinds.other_releases import KEPT, other_releases
from golden.kinds.recipes import recipes


def record_kinds() -> None:
    """Whatever is not there yet."""
    for folder in (keeping.PLANS, keeping.LEDGERS, keeping.SHOWN):
        folder.mkdir(exist_ok=True)
    _record_plans()
    _record_ledgers()
    record_shown([])
    _write_new(
        keeping.WORKLOADS, lambda: "".join(f"{name}: {' '.join(digests(*block))}\n" for name, *block in blocks())
    )


def _write_new(path: Path, text: Callable[[], str]) -> None:
    if not path.exists():
        path.write_text(text(), "utf-8")


def _record_plans() -> None:
    """Each is released from once, in memory: of what is refused there is no file."""
    for name, recipe in recipes():
        path = keeping.plan_file(name)
        if path.exists():
            continue
        try:
            policy = recipe.policy()
            dx.save_plan(recipe.make(policy), path, policy=policy, spend=recipe.spend)
            keeping.released(dx.load_plan(path), name, ":memory:")
        except DxgeomError as error:
            path.unlink(missing_ok=True)
            print(f"{name}: {' '.join(str(error).split())[:150]}")


def _record_ledgers() -> None:
    releases: dict[str, list[Callable[[Path], object]]] = defaultdict(list)
    for name in keeping.names():
        releases[keeping.ledger_of(name)].append(
            lambda path, name=name: keeping.released(dx.load_plan(keeping.plan_file(name)), name, path)
        )
    for ledger, name, release in other_releases():
        releases[ledger].append(lambda path, name=name, release=release: release(path, name))
    for ledger, make in KEPT.items():
        releases[ledger].append(make)
    for ledger, makers in releases.items():
        path = keeping.LEDGERS / f"{ledger}.ledger"
        if path.exists():
            continue
        with keeping.at_noon():
            for make in makers:
                make(path)


def record_shown(names: list[str]) -> None:
    """What is shown of ledgers: of those without it yet, and of those of these kinds."""
    for path in sorted(keeping.LEDGERS.iterdir()):
        target = keeping.SHOWN / f"{path.stem}.json"
        if path.stem in names or not target.exists():
            with TemporaryDirectory() as folder:
                told = keeping.shown(keeping.copied(path.stem, Path(folder)))
            target.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", "utf-8")
