"""The ledger's schema: tables, triggers and rights, written from the definition of the rows, and checked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from dxgeom.ledger.entry import RESTORE, unusable
from dxgeom.ledger.postgres_functions import Function, functions_of
from dxgeom.ledger.tables import (
    ANSWERS,
    COMMITTED,
    ENTRIES,
    FORMAT,
    LATER_COLUMNS,
    LATER_TABLES,
    TABLES,
    Column,
    Table,
)

# ruff: noqa: S608 (names are constants, or those of a schema that address_of has checked)


_PATH: Final = "search_path=pg_catalog, pg_temp"
_BEFORE, _ROW, _INSERT, _DELETE, _UPDATE, _TRUNCATE = 2, 1, 4, 8, 16, 32
"""Bits of ``pg_trigger.tgtype``."""


def lay_out(connection: Any, schema: str) -> None:
    """Create the schema with all that is in it, in the transaction that the connection is in. Raises: psycopg.Error."""
    connection.execute(f'CREATE SCHEMA "{schema}"')
    for statement in _statements(schema):
        connection.execute(statement)


def grant(connection: Any, schema: str, role: str) -> None:
    """Let a role look, and release under accounts that are open. Raises: psycopg.Error."""
    whom = '"' + role.replace('"', '""') + '"'
    connection.execute(f'GRANT USAGE ON SCHEMA "{schema}" TO {whom}')
    connection.execute(f'GRANT SELECT ON ALL TABLES IN SCHEMA "{schema}" TO {whom}')
    for table in _written_by_roles(tables_of(facts(connection, schema))):
        connection.execute(f'GRANT INSERT ON "{schema}".{table.name} TO {whom}')


def is_granted(connection: Any, schema: str, role: str) -> bool:
    """Whether the role has what :func:`grant` gives; a server only warns where it gave none. Raises: psycopg.Error."""
    tables = tables_of(facts(connection, schema))
    needed = [(table.name, "SELECT") for table in tables]
    needed += [(table.name, "INSERT") for table in _written_by_roles(tables)]
    asked = " AND ".join(["has_table_privilege(%s, %s, %s)"] * len(needed))
    values = [part for table, right in needed for part in (role, f'"{schema}".{table}', right)]
    return bool(connection.execute(f"SELECT {asked}", values).fetchone()[0])


def is_there(connection: Any, schema: str) -> bool:
    """Whether the schema has a ledger's tables. Raises: psycopg.Error."""
    query = "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s"
    names = [table.name for table in TABLES]
    return bool(connection.execute(f"{query} AND c.relname = ANY(%s)", (schema, names)).fetchone()[0] == len(names))


def facts(connection: Any, schema: str) -> Any:
    """What the schema holds as the server says it; equal as long as nothing was altered. Raises: psycopg.Error."""
    return connection.execute(_FACTS, (schema, schema)).fetchone()[0]


def check(found: Any, schema: str, described: str) -> None:
    """Refuse a schema in which tables, triggers or functions are not what :func:`lay_out` made. Raises: LedgerError."""
    version, tables = version_of(found), tables_of(found)
    relations = {(name, kind, stays, secured, ruled) for name, kind, stays, secured, ruled, _ in found["relations"]}
    for what, is_so, wanted in (
        ("tables", relations, {(name, "r", "p", False, False) for name in ("head", *(table.name for table in tables))}),
        ("columns", {*map(tuple, found["columns"])}, {*_columns(version, tables)}),
        ("keys", {*map(tuple, found["keys"])}, {*_keys(tables)}),
        ("triggers", {*map(tuple, found["triggers"])}, {*_triggers(tables)}),
        ("functions", {*map(tuple, found["functions"])}, {*map(_facts_of, functions_of(schema, version, tables))}),
    ):
        if is_so != wanted:
            raise unusable(described, f"its tables, or the {what} that protect them, were altered; {RESTORE}")


def version_of(found: Any) -> int:
    """The version of the schema's rows, of what :func:`facts` says."""
    columns = {(table, name) for table, name, *_ in found["columns"]}
    return COMMITTED if all((table.name, one.name) in columns for table, one in LATER_COLUMNS) else FORMAT


def tables_of(found: Any) -> tuple[Table, ...]:
    """The tables of the schema, of what :func:`facts` says."""
    names = {name for name, *_ in found["relations"]}
    return (*TABLES, *(table for table in LATER_TABLES if table.name in names))


def add_table(connection: Any, schema: str, table: Table) -> None:
    """Add one of the tables that came later, in the transaction of its first row, with the rights that roles have on
    entries. By whoever keeps the ledger. Raises: psycopg.Error."""
    connection.execute(f'ALTER TABLE "{schema}".head ADD COLUMN {table.name} bigint NOT NULL DEFAULT 0')
    connection.execute(_table(table, schema))
    fit = next(one for one in functions_of(schema, COMMITTED, (table,)) if one.name == f"{table.name}_fit")
    hung = (trigger for trigger in _triggers((table,)) if trigger[1] == table.name)
    statements = [statement for trigger in hung for statement in _hung(trigger, schema)]
    for statement in (_function(fit, schema), _revoked(fit, schema), *statements):
        connection.execute(statement)
    query = (
        "SELECT DISTINCT a.grantee::regrole::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, "
        "aclexplode(c.relacl) a WHERE n.nspname = %s AND c.relname = 'entries' AND a.privilege_type = 'INSERT' "
        "AND a.grantee <> c.relowner AND a.grantee <> 0"
    )
    for (role,) in connection.execute(query, (schema,)).fetchall():
        connection.execute(f'GRANT SELECT, INSERT ON "{schema}".{table.name} TO {role}')


def _written_by_roles(tables: tuple[Table, ...]) -> tuple[Table, ...]:
    return tuple(table for table in (ENTRIES, ANSWERS, *LATER_TABLES) if table in tables)


def bring_up_to_date(connection: Any, schema: str, described: str) -> None:
    """Add what came with later versions, in the transaction that the connection is in.

    Raises: LedgerError for a schema that was altered; psycopg.Error.
    """
    # In the order in which writers take them, so that nobody waits in a circle.
    connection.execute(f'LOCK TABLE "{schema}".entries, "{schema}".answers, "{schema}".head IN ACCESS EXCLUSIVE MODE')
    found = facts(connection, schema)
    check(found, schema, described)
    if version_of(found) == COMMITTED:
        return
    for table, column in LATER_COLUMNS:
        connection.execute(f'ALTER TABLE "{schema}".{table.name} ADD COLUMN {_declared(column)}')
    for one in functions_of(schema, COMMITTED):
        connection.execute(_function(one, schema))


def is_keeper(connection: Any, schema: str) -> bool:
    """Whether who is connected may change the schema as he likes. Raises: psycopg.Error."""
    query = "SELECT pg_has_role(nspowner, 'USAGE') FROM pg_namespace WHERE nspname = %s"
    return bool(connection.execute(query, (schema,)).fetchone()[0])


def _function(one: Function, schema: str) -> str:
    rights = f"SECURITY DEFINER SET {_PATH.replace('=', ' = ')} " if one.definer else ""
    head = f'CREATE OR REPLACE FUNCTION "{schema}".{one.name}({one.arguments}) RETURNS {one.returns}'
    return f"{head} LANGUAGE {one.language} {rights}AS $body${one.body}$body$"


def _statements(schema: str) -> Iterator[str]:
    for table in TABLES:
        yield _table(table, schema)
    lasts = "".join(f", {table.name} bigint NOT NULL" for table in TABLES)
    yield f'CREATE TABLE "{schema}".head (position bigint NOT NULL, seal text NOT NULL{lasts})'
    yield f"INSERT INTO \"{schema}\".head VALUES (0, ''{', 0' * len(TABLES)})"
    for one in functions_of(schema, COMMITTED):
        yield _function(one, schema)
        yield _revoked(one, schema)
    for trigger in _triggers(TABLES):
        yield from _hung(trigger, schema)


def _table(table: Table, schema: str) -> str:
    content = "content bytea, " if table.content else ""
    columns = "".join(f"{_declared(column)}, " for column in table.columns)
    return f'CREATE TABLE "{schema}".{table.name} (position bigint PRIMARY KEY, {columns}{content}seal text NOT NULL)'


def _revoked(one: Function, schema: str) -> str:
    return f'REVOKE ALL ON FUNCTION "{schema}".{one.name}({one.arguments}) FROM PUBLIC'


def _hung(trigger: tuple[str, str, str, int, str, str], schema: str) -> Iterator[str]:
    name, relation, function, kind, arguments, _ = trigger
    when = "BEFORE" if kind & _BEFORE else "AFTER"
    on = "INSERT" if kind & _INSERT else "UPDATE OR DELETE OR TRUNCATE"
    if relation == "head":
        on = "INSERT OR DELETE OR TRUNCATE"
    each = "ROW" if kind & _ROW else "STATEMENT"
    given = ", ".join(f"'{argument}'" for argument in arguments.split())
    yield (
        f'CREATE TRIGGER {name} {when} {on} ON "{schema}".{relation} FOR EACH {each} '
        f'EXECUTE FUNCTION "{schema}".{function}({given})'
    )
    # Also where a session claims to be a replica.
    yield f'ALTER TABLE "{schema}".{relation} ENABLE ALWAYS TRIGGER {name}'


def _triggers(tables: tuple[Table, ...]) -> Iterator[tuple[str, str, str, int, str, str]]:
    """Name, table, function, kind, arguments and state of each; those of one kind fire in the order of their names."""
    for table in tables:
        columns = " ".join(column.name for column in table.columns_of(FORMAT))
        for name, function, kind, arguments in (
            ("a_in_turn", "in_turn", _BEFORE | _INSERT, ""),
            ("b_is_next", "is_next", _BEFORE | _INSERT | _ROW, columns),
            ("c_fits", f"{table.name}_fit", _BEFORE | _INSERT | _ROW, ""),
            ("d_is_last", "is_last", _INSERT | _ROW, ""),
            ("e_stays", "stays", _BEFORE | _UPDATE | _DELETE | _TRUNCATE, ""),
        ):
            yield name, table.name, function, kind, arguments, "A"
    yield "e_stays", "head", "stays", _BEFORE | _INSERT | _DELETE | _TRUNCATE, "", "A"


def _declared(column: Column) -> str:
    kind, needed = _type(column), "" if column.optional else " NOT NULL"
    text = f"{column.name} {kind}{needed}{' UNIQUE' if column.unique else ''}"
    if column.exact:
        above, below = f"split_part({column.name}, '/', 1)", f"split_part({column.name}, '/', 2)"
        text += f", {column.name}_numerator numeric GENERATED ALWAYS AS ({above}::numeric) STORED"
        text += (
            f", {column.name}_denominator numeric GENERATED ALWAYS AS (CASE WHEN {column.name} IS NULL THEN NULL "
            f"WHEN {below} = '' THEN 1 ELSE {below}::numeric END) STORED"
        )
    return text


def _type(column: Column) -> str:
    return "bigint" if column.kind is int else "text"


def _columns(version: int, tables: tuple[Table, ...]) -> Iterator[tuple[str, str, str, bool, str]]:
    """Table, column, type, whether it is needed, and whether it is made of another."""
    for table in tables:
        yield table.name, "position", "bigint", True, ""
        yield table.name, "seal", "text", True, ""
        if table.content:
            yield table.name, "content", "bytea", False, ""
        for column in table.columns_of(version):
            yield table.name, column.name, _type(column), not column.optional, ""
            if column.exact:
                yield table.name, f"{column.name}_numerator", "numeric", False, "s"
                yield table.name, f"{column.name}_denominator", "numeric", False, "s"
    yield "head", "seal", "text", True, ""
    for name in ("position", *(table.name for table in tables)):
        yield "head", name, "bigint", True, ""


def _keys(tables: tuple[Table, ...]) -> Iterator[tuple[str, str, str]]:
    for table in tables:
        yield table.name, "p", "position"
        yield from ((table.name, "u", column.name) for column in table.columns if column.unique)


def _facts_of(one: Function) -> tuple[str, str, bool, str | None]:
    return one.name, one.body, one.definer, _PATH if one.definer else None


_FACTS: Final = """
WITH held AS (SELECT c.* FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %s AND c.relkind NOT IN ('i', 'I', 't', 'c'))
SELECT jsonb_build_object(
    'relations', (SELECT jsonb_agg(jsonb_build_array(relname, relkind, relpersistence, relrowsecurity, relhasrules,
        oid::text) ORDER BY relname) FROM held),
    'columns', (SELECT jsonb_agg(jsonb_build_array(h.relname, a.attname, format_type(a.atttypid, a.atttypmod),
        a.attnotnull, a.attgenerated) ORDER BY h.relname, a.attnum)
        FROM held h JOIN pg_attribute a ON a.attrelid = h.oid WHERE a.attnum > 0 AND NOT a.attisdropped),
    'keys', (SELECT jsonb_agg(jsonb_build_array(h.relname, k.contype, (SELECT string_agg(a.attname, ' ')
        FROM pg_attribute a WHERE a.attrelid = h.oid AND a.attnum = ANY(k.conkey))) ORDER BY h.relname, k.conname)
        FROM held h JOIN pg_constraint k ON k.conrelid = h.oid WHERE k.contype <> 'n'),
    'triggers', (SELECT jsonb_agg(jsonb_build_array(t.tgname, h.relname, p.proname, t.tgtype,
        rtrim(replace(encode(t.tgargs, 'escape'), '\\000', ' ')), t.tgenabled) ORDER BY h.relname, t.tgname)
        FROM held h JOIN pg_trigger t ON t.tgrelid = h.oid JOIN pg_proc p ON p.oid = t.tgfoid),
    'functions', (SELECT jsonb_agg(jsonb_build_array(p.proname, p.prosrc, p.prosecdef,
        array_to_string(p.proconfig, '; ')) ORDER BY p.proname)
        FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = %s))
"""
