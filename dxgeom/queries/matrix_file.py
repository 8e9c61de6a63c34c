"""Queries whose weights a file lists, possible record by possible record."""

from __future__ import annotations

from typing import final

import numpy as np
from pydantic import Field

from dxgeom.policy.source.data_files import WrongContent, read_csv
from dxgeom.policy.source.text import Unreadable
from dxgeom.policy.source.yaml_tree import Mapping, Node
from dxgeom.queries.columns import ColumnReader
from dxgeom.queries.query_kind import QueryKind, QuerySyntax, Word, one_line
from dxgeom.queries.weights import AskedQueries, TooFine, integers_over_unit
from dxgeom.universe.weight_tables import table_of_rows
from dxgeom.universe.wording import shown


@final
class MatrixSyntax(QuerySyntax):
    """``{matrix: file.csv}``."""

    matrix: Word = Field(
        description="A CSV file of weights beside the queries file: a column per query, a row per possible record."
    )


@final
class Matrix(QueryKind):
    """A query for each column of a file."""

    word = "matrix"
    syntax = MatrixSyntax
    several = True

    def read(self, node: Mapping, value: Node, columns: ColumnReader, records: int | None) -> AskedQueries | None:
        file, universe = one_line(value), columns.universe
        try:
            table = read_csv(columns.mistakes.text.folder, file)
            if len(table.rows) != universe.record_types:
                raise WrongContent(
                    f"{file} has {len(table.rows):,} rows below its header; "
                    f"the universe has {universe.record_types:,} possible records"
                )
            each = [integers_over_unit(table.numbers(name)) for name in table.header]
        except Unreadable as error:
            what = f"the matrix file {shown(file)}: {error}"
            columns.note("DX114", value.span, what, "keep it in the folder of this file")
            return None
        except WrongContent as error:
            columns.note("DX206", value.span, str(error), "one row per possible record, one column per query")
            return None
        except TooFine as error:
            columns.note("DX208", value.span, f"{file}: {error}", "round the numbers")
            return None
        rows = table_of_rows(universe, np.stack([integers for integers, _ in each]))
        return AskedQueries(table.header, tuple(unit for _, unit in each), (rows,))
