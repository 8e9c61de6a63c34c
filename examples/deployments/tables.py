"""Makes tables in the shape of ten public deployments, from a fixed seed: nobody in them exists.

python examples/deployments/tables.py FOLDER writes one CSV file for each deployment.
"""

import csv
import random
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

Rows = Iterable[dict[str, object]]
CELLS = [f"c{a}{b}" for a in range(3) for b in range(3)]


def births(draw: random.Random) -> Rows:
    """Quarter, mother's age and weight in grams."""
    for _ in range(2_000):
        mother = min(max(round(draw.gauss(30, 5.5)), 15), 55)
        weight = min(max(round(draw.gauss(3_250, 520)), 500), 5_500)
        yield {"month": draw.randint(1, 12), "mother": mother, "weight": weight}


def broadband(draw: random.Random) -> Rows:
    """Households by ZIP code, of which fewer have a fast line the farther out they are."""
    for _ in range(4_000):
        k = min(int(draw.expovariate(0.35)), 7)
        yield {"zip": f"Z{k + 1}", "fast": "yes" if draw.random() < 0.9 - 0.1 * k else "no"}


def degrees(draw: random.Random) -> Rows:
    """Graduates, and their earnings in thousands."""
    middle = {"arts": 32, "science": 48, "nursing": 55}
    for _ in range(1_500):
        field = draw.choice(list(middle))
        yield {"field": field, "earnings": min(max(round(draw.gauss(middle[field], 14)), 0), 100)}


def editors(draw: random.Random) -> Rows:
    """Editors of a month by country, and their edits, at most 101."""
    for _ in range(1_200):
        yield {"country": draw.choices("ABCD", [8, 4, 2, 1])[0], "edits": min(int(draw.paretovariate(0.8)), 101)}


def energy(draw: random.Random) -> Rows:
    """Whole kWh of a household in three hours, observed and predicted."""
    for _ in range(4_948):
        predicted = min(max(round(draw.gauss(5, 2)), 0), 12)
        yield {"observed": min(max(predicted - draw.choice([0, 0, 1, 2]), 0), 12), "predicted": predicted}


def hiring(draw: random.Random) -> Rows:
    """Hires by employer, and in which of two windows."""
    for _ in range(1_000):
        k = min(int(draw.expovariate(0.5)), 7)
        yield {"employer": f"E{k + 1}", "month": draw.choices(["before", "both", "now"], [2, 3, 2])[0]}


def _visits(draw: random.Random, key: str, words: list[str], most: int) -> Rows:
    for user in range(700):
        state, county = draw.choice("AB"), draw.choice("123")
        for _ in range(draw.randint(1, most)):
            yield {"user": f"u{user:03}", "state": state, "county": county, key: draw.choice(words)}


def mobility(draw: random.Random) -> Rows:
    """Visits of a day; some people have more than the four that count."""
    return _visits(draw, "place", ["retail", "grocery", "parks", "transit"], 6)


def symptoms(draw: random.Random) -> Rows:
    """Searches of a day; some people have more than the three that count."""
    return _visits(draw, "symptom", ["cough", "fever", "rash", "anxiety"], 5)


def page_views(draw: random.Random) -> Rows:
    """Views of a day; some devices have more than ten."""
    for device in range(800):
        country = draw.choices("ABCD", [4, 3, 2, 1])[0]
        for _ in range(draw.randint(1, 14)):
            yield {"device": f"d{device:03}", "page": f"P{draw.randint(1, 6)}", "country": country}


def trips(draw: random.Random) -> Rows:
    """Trips between cells of a town, most of them to a cell nearby."""
    for _ in range(5_000):
        origin = draw.randrange(9)
        there = draw.choices(range(9), [1 / (1 + abs(origin - one)) for one in range(9)])[0]
        yield {"origin": CELLS[origin], "destination": CELLS[there]}


TABLES: dict[str, Callable[[random.Random], Rows]] = {
    "births": births,
    "broadband": broadband,
    "degrees": degrees,
    "editors": editors,
    "energy": energy,
    "hiring": hiring,
    "mobility": mobility,
    "page-views": page_views,
    "symptoms": symptoms,
    "trips": trips,
}


def write(name: str, folder: Path) -> Path:
    """Write the table of a deployment as NAME.csv into a folder."""
    rows = list(TABLES[name](random.Random(f"dxgeom {name}")))
    file = folder / f"{name}.csv"
    with file.open("w", newline="", encoding="utf-8") as open_file:
        writer = csv.DictWriter(open_file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return file


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for name in TABLES:
        print(write(name, target))
