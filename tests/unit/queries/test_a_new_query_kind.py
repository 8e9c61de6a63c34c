"""A new kind of query is one class and one line in a tuple: read, refused, planned and told to editors from there."""

from __future__ import annotations

import subprocess
import sys
import textwrap

PROGRAM = textwrap.dedent(
    """
    import sys
    from fractions import Fraction
    from importlib.util import find_spec, module_from_spec

    from pydantic import Field

    from dxgeom.queries.query_kind import QueryKind, QuerySyntax, Word, one_line
    from dxgeom.queries.weights import AskedQueries


    class TwiceSyntax(QuerySyntax):
        twice: Word = Field(description="Twice the records that satisfy a condition.")


    class Twice(QueryKind):
        word = "twice"
        syntax = TwiceSyntax

        def read(self, node, value, columns, records):
            chosen = columns.condition(value)
            return None if chosen is None else AskedQueries((f"twice {one_line(value)}",), (Fraction(2),), (chosen,))


    def with_one_line_more(module, before, line):
        spec = find_spec(module)
        source = spec.loader.get_source(module)
        assert source.count(before) == 1
        sys.modules[module] = made = module_from_spec(spec)
        made.Twice = Twice
        exec(compile(source.replace(before, before + line), spec.origin, "exec"), made.__dict__)


    with_one_line_more("dxgeom.queries.syntax", "    Matrix(),\\n", "    Twice(),\\n")  # the one line

    import numpy as np

    import dxgeom as dx
    from dxgeom.queries.schema import queries_schema

    policy = dx.parse_policy(
        "policy: p\\nuniverse: {attributes: {ward: [a, b, c]}}\\nrules: [{change: ward, epsilon: 1}]\\n"
    )


    def mistake(entry):
        try:
            dx.parse_queries("queries:\\n  - " + entry, policy)
        except dx.QueryError as error:
            return str(error)
        raise AssertionError(entry)


    queries = dx.parse_queries("queries:\\n  - {twice: ward != 'a', importance: 3}\\n  - count: ward == 'a'\\n", policy)
    assert queries.names == ("twice ward != 'a'", "ward == 'a'")
    assert queries.importance == (3, 1)
    said = dx.queries_from_dict({"queries": [{"twice": "ward != 'a'", "name": "both"}]}, policy)
    assert said.names == ("both",)
    plan = dx.plan(policy.compile(), queries)
    values = plan.release(np.array([5, 10**6, 7]), ledger=":memory:", spend=1).exact_values
    assert abs(values[0] - 2 * (10**6 + 7)) < 1000
    assert "'where' goes with" in mistake("{twice: ward == 'a', where: ward == 'b'}")
    assert "matrix, twice; found none of them" in mistake("{twic: ward == 'a'}")
    assert "did you mean 'twice'" in mistake("{twic: ward == 'a'}")
    assert "there is no column 'sex'" in mistake("{twice: sex == 'F'}")
    forms = {form["title"]: form for form in queries_schema()["properties"]["queries"]["items"]["anyOf"]}
    assert forms["twice"]["properties"]["twice"]["description"] == "Twice the records that satisfy a condition."
    print("done")
    """
)


def test_a_new_kind_of_query_runs_end_to_end():
    found = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=False)
    assert (found.stdout, found.stderr) == ("done\n", "")
