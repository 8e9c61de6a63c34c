"""The example policies with their queries and data: every test that goes through all of them finds them here."""

from __future__ import annotations

from pathlib import Path

from reference.project import POLICIES

TABLES = {
    "admissions": ("admissions.csv", None, 180),
    "adult": ("people.csv", None, 30_162),
    "arrivals": ("arrivals.csv", None, None),
    "bike-sharing": ("rides.csv", "riders", None),
    "births": ("births.csv", None, 260),
    "bus-lines": ("passengers.csv", "passengers", 11_121),
    "census-block": ("people.csv", None, 200),
    "clinic": ("patients.csv", None, 80),
    "diagnoses": ("patients.csv", "patients", None),
    "districts": ("trips.csv", None, 1_062),
    "flu": ("people.csv", None, 240),
    "hospital-stays": ("stays.csv", None, None),
    "hotline": ("calls.csv", None, 235),
    "library-loans": ("readers.csv", "readers", None),
    "mobility": ("phones.csv", "phones", None),
    "parcels": ("parcels.csv", "parcels", None),
    "payroll": ("employees.csv", "employees", None),
    "pings": ("pings.csv.gz", None, 2_000),
    "poll": ("voters.csv", "voters", None),
    "rescues": ("rescues.csv", None, 260),
    "school": ("pupils.csv", "pupils", None),
    "searches": ("searches.csv", None, None),
    "shelter": ("people.csv", None, None),
    "smart-meters": ("readings.csv", None, 300),
    "spare-parts": ("deliveries.csv", None, None),
    "tenants": ("tenants.csv", None, 220),
    "us-cities": ("people.csv", "residents", None),
    "vaccinations": ("vaccinations.csv", None, 240),
}
"""Each policy's table of records, its column of counts, and how many records it holds where that is easily counted."""


def policy_file(name: str) -> Path:
    return POLICIES / name / "policy.yaml"


def queries_file(name: str) -> Path:
    return POLICIES / name / "queries.yaml"


def table_file(name: str) -> Path:
    return POLICIES / name / TABLES[name][0]
