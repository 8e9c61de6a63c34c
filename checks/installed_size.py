"""What an installation weighs: ``python checks/installed_size.py FOLDER [MOST]``.

Adds up the files below a folder, as the disk keeps them, in MB of 2²⁰ bytes, and names the five heaviest parts. Fails
where that is more than ``MOST``.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

_BLOCK, _MB = 512, 1 << 20
_HEAVIEST = 5


def weight(folder: Path) -> Counter[str]:
    """Bytes by part: a folder or file of ``site-packages``, or else of the folder itself; links weigh nothing."""
    found: Counter[str] = Counter()
    counted: set[tuple[int, int]] = set()
    for path in folder.rglob("*"):
        state = path.lstat()
        if not path.is_file() or path.is_symlink() or (state.st_dev, state.st_ino) in counted:
            continue
        counted.add((state.st_dev, state.st_ino))
        parts = path.relative_to(folder).parts
        inner = parts[parts.index("site-packages") + 1 :] if "site-packages" in parts else parts
        found[inner[0]] += state.st_blocks * _BLOCK
    return found


def main(folder: str, most: str = "") -> int:
    """Print it; 1 where it is too much."""
    found = weight(Path(folder))
    total = sum(found.values()) / _MB
    heaviest = ", ".join(f"{name} {size / _MB:.0f}" for name, size in found.most_common(_HEAVIEST))
    print(f"{folder}: {total:.0f} MB{f' of at most {most}' if most else ''}; the heaviest: {heaviest}")
    return int(bool(most) and total > float(most))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
