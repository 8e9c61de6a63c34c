"""Spark runs here."""

import pytest


@pytest.mark.service("spark")
def test_a_session_on_this_machine_counts():
    from pyspark.sql import SparkSession

    settings = {"spark.ui.enabled": "false", "spark.driver.memory": "1g", "spark.driver.host": "127.0.0.1"}
    builder = SparkSession.builder.master("local[1]").appName("dxgeom tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        assert session.range(10).where("id % 2 = 0").count() == 5
    finally:
        session.stop()
