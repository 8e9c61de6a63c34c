"""The example policies with their queries and data: every test that goes through all of them finds them here."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parents[2] / "policies"
TABLES = {
    "adult": ("adult.csv", None, 30_162),
    "bike-sharing": ("bike-sharing.csv", "riders", None),
    "bus-lines": ("bus-lines-passengers.csv", "passengers", 11_121),
    "census-block": ("census-block.csv", None, 200),
    "clinic": ("clinic.csv", None, 80),
    "diagnoses": ("diagnoses.csv", "patients", None),
    "districts": ("districts-trips.csv", None, 1_062),
    "hospital-stays": ("hospital-stays.csv", None, None),
    "library-loans": ("library-loans.csv", "readers", None),
    "mobility": ("mobility.csv", "phones", None),
    "parcels": ("parcels.csv", "parcels", None),
    "payroll": ("payroll.csv", "employees", None),
    "poll": ("poll.csv", "voters", None),
    "school": ("school.csv", "pupils", None),
    "shelter": ("shelter.csv", None, None),
    "smart-meters": ("smart-meters.csv", None, 300),
    "tenants": ("tenants.csv", None, 220),
    "us-cities": ("us-cities-people.csv", "residents", None),
    "vaccinations": ("vaccinations.csv", None, 240),
}
"""Each policy's table of records, its column of counts, and how many records it holds where that is easily counted."""


def policy_file(name: str) -> Path:
    return FOLDER / f"{name}.yaml"


def queries_file(name: str) -> Path:
    return FOLDER / f"{name}-queries.yaml"


def table_file(name: str) -> Path:
    return FOLDER / TABLES[name][0]
