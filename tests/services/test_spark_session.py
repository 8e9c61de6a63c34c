"""Spark runs here."""

import pytest


@pytest.mark.service("spark")
def test_a_session_on_this_machine_counts(spark):
    assert spark.range(10).where("id % 2 = 0").count() == 5
