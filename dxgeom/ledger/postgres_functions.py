"""What the server itself holds a ledger to, as functions in the ledger's schema: the same that every reader checks.

They run with the rights of the ledger's keeper, with a search path of their own, and name all that they use; others
need only SELECT and INSERT. A row is taken if it is the next, by its position and seal, and says exactly what remains.
What stands between two marks ``/*3*/`` came with version 3. Sums are exact: of fractions, or where squares add up of
squares; integers of ``numeric`` are added and multiplied without rounding.
"""

from __future__ import annotations

import json
import re
from typing import Final, NamedTuple

from dxgeom.ledger.tables import BESIDE, COMMITTED, DISJOINT, FORMAT, INSIDE, MARK, RIGHT, SHARED, TABLES, Table
from dxgeom.privacy.measures import CONCENTRATED, PURE

_EXACT: Final = """
DECLARE above numeric; below numeric;
BEGIN
  IF written = '0' AND zero THEN
    RETURN ARRAY[0, 1]::numeric[];
  END IF;
  IF length(written) <= 601 AND written COLLATE "C" ~ '^[1-9][0-9]*(/[1-9][0-9]*)?$' THEN
    above := split_part(written, '/', 1)::numeric;
    below := coalesce(nullif(split_part(written, '/', 2), ''), '1')::numeric;
    IF length(above::text) <= 300 AND length(below::text) <= 300
        AND written = LEDGER.written(LEDGER.plus(ARRAY[0, 1]::numeric[], ARRAY[above, below], 1)) THEN
      RETURN ARRAY[above, below];
    END IF;
  END IF;
  RAISE EXCEPTION 'not a positive fraction in lowest terms, of at most 300 digits';
END
"""
"""A positive fraction in lowest terms, or 0 where that may be, as numerator and denominator."""

_PLUS: Final = """
DECLARE above numeric; below numeric; common numeric;
BEGIN
  above := one[1] * other[2] + sign * other[1] * one[2];
  below := one[2] * other[2];
  common := gcd(above, below);
  RETURN ARRAY[div(above, common), div(below, common)];
END
"""
"""one + sign · other."""

_WRITTEN: Final = """
SELECT fraction[1]::text || CASE WHEN fraction[2] = 1 THEN '' ELSE '/' || fraction[2]::text END
"""
"""As the ledger holds it, text."""

_COUNTED: Final = """
SELECT CASE WHEN (SELECT currency FROM LEDGER.accounts WHERE number = 1) = 'CONCENTRATED'
  THEN ARRAY[fraction[1] * fraction[1], fraction[2] * fraction[2]] ELSE fraction END
"""
"""What a spend adds to sums: itself, or its square in a ledger that counts concentrated privacy."""

_SPENT: Final = """
DECLARE total numeric[] := ARRAY[0, 1]::numeric[]; apart bigint; squares boolean; one record;
BEGIN
  SELECT currency = 'CONCENTRATED' INTO squares FROM LEDGER.accounts WHERE number = 1;
  SELECT min(position) INTO apart FROM LEDGER.data_sets WHERE people = 'DISJOINT';
  FOR one IN
    SELECT sum(CASE WHEN squares THEN e.spend_numerator * e.spend_numerator ELSE e.spend_numerator END) AS above,
      CASE WHEN squares THEN e.spend_denominator * e.spend_denominator ELSE e.spend_denominator END AS below
    FROM LEDGER.entries e
    WHERE (of_account IS NULL OR e.account = of_account)
      AND (apart IS NULL OR e.position < apart OR e.edition = of_edition)
      AND (NOT by_part OR of_part IS NOT DISTINCT FROM (
        SELECT a.owner FROM LEDGER.allotments a
        WHERE a.account = e.account AND a.owner = e.owner AND a.position < e.position LIMIT 1))
    GROUP BY e.spend_denominator
  LOOP
    total := LEDGER.plus(total, ARRAY[one.above, one.below], 1);
  END LOOP;
  RETURN total;
END
"""
"""What was spent, as it counts: by an account or by all, of a part or of all of it, in an edition."""

_ALLOTTED: Final = """
DECLARE total numeric[] := ARRAY[0, 1]::numeric[]; one record;
BEGIN
  FOR one IN
    SELECT DISTINCT ON (a.owner) a.amount FROM LEDGER.allotments a
    WHERE a.account = of_account AND a.owner IS DISTINCT FROM but_for ORDER BY a.owner, a.position DESC
  LOOP
    total := LEDGER.plus(total, LEDGER.counted(LEDGER.exact(one.amount, true)), 1);
  END LOOP;
  RETURN total;
END
"""
"""What was allotted of an account, as it counts, but for one owner's part."""


# ruff: noqa: E501 (what an older version wrote stays as it was to the letter)


class Function(NamedTuple):
    """``definer``: a trigger's, run with the rights of the keeper."""

    name: str
    arguments: str
    returns: str
    language: str
    body: str
    definer: bool = False


_PIECE: Final = """
SELECT CASE WHEN part IS NULL THEN '-,' ELSE octet_length(part) || ':' || part || ',' END
"""

_IN_TURN: Final = """
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'a ledger is written at the isolation level read committed';
  END IF;
  LOCK TABLE LEDGER.head IN EXCLUSIVE MODE;
  RETURN NULL;
END
"""

_IS_NEXT: Final = """
DECLARE last record; name text; field text; said text;
BEGIN
  IF TG_TABLE_SCHEMA <> 'SCHEMA' THEN
    RAISE EXCEPTION 'this is no table of the ledger';
  END IF;
  SELECT position, seal INTO STRICT last FROM LEDGER.head;
  said := LEDGER.piece('MARK') || LEDGER.piece(last.seal) || LEDGER.piece(NEW.position::text)
    || LEDGER.piece(TG_TABLE_NAME);
  FOREACH name IN ARRAY TG_ARGV LOOP
    EXECUTE format('SELECT ($1).%I::text', name) INTO field USING NEW;
    said := said || LEDGER.piece(field);
  END LOOP;
/*3*/  DECLARE newer text := ''; says boolean := false; BEGIN
    FOR name IN SELECT jsonb_array_elements_text('NEWER'::jsonb -> TG_TABLE_NAME) LOOP
      EXECUTE format('SELECT ($1).%I', name) INTO field USING NEW;
      newer := newer || LEDGER.piece(field);
      says := says OR field IS NOT NULL;
    END LOOP;
    IF says THEN
      said := LEDGER.piece('MARK_3') || substr(said, 1 + length(LEDGER.piece('MARK'))) || newer;
    END IF;
  END;
/*3*/  IF NEW.position IS DISTINCT FROM last.position + 1
      OR NEW.seal IS DISTINCT FROM encode(sha256(convert_to(said, 'UTF8')), 'hex') THEN
    RAISE EXCEPTION 'the row does not follow the last row of the ledger by its position and seal';
  END IF;
  RETURN NEW;
END
"""

_IS_LAST: Final = """
DECLARE changed bigint;
BEGIN
  IF TG_TABLE_SCHEMA <> 'SCHEMA' THEN
    RAISE EXCEPTION 'this is no table of the ledger';
  END IF;
  EXECUTE format('UPDATE LEDGER.head SET position = $1, seal = $2, %I = $1 WHERE position = $1 - 1', TG_TABLE_NAME)
    USING NEW.position, NEW.seal;
  GET DIAGNOSTICS changed = ROW_COUNT;
  IF changed <> 1 THEN
    RAISE EXCEPTION 'the row does not follow the last row of the ledger';
  END IF;
  RETURN NULL;
END
"""

_STAYS: Final = """
BEGIN
  RAISE EXCEPTION 'a ledger is append-only';
END
"""

_DATA_SETS: Final = """
DECLARE known record;
BEGIN
  SELECT ledger, name, people, budget INTO known FROM LEDGER.data_sets ORDER BY position DESC LIMIT 1;
  IF NEW.number <> 1 + (SELECT coalesce(max(number), 0) FROM LEDGER.data_sets)
      OR NEW.people NOT IN ('SHARED', 'DISJOINT') OR NEW.ledger = '' OR NEW.ledger <> known.ledger
      OR (known.name IS NOT NULL AND (NEW.name, NEW.people) IS DISTINCT FROM (known.name, known.people))
      OR (known.people = 'DISJOINT' AND NEW.people <> 'DISJOINT')
      OR (known.budget IS NOT NULL AND NEW.budget IS DISTINCT FROM known.budget) THEN
    RAISE EXCEPTION 'the row would make it a ledger of other data';
  END IF;
  IF NEW.budget IS NOT NULL THEN
    PERFORM LEDGER.exact(NEW.budget, false);
  END IF;
  RETURN NEW;
END
"""

_ACCOUNTS: Final = """
BEGIN
  IF NEW.number <> 1 + (SELECT coalesce(max(number), 0) FROM LEDGER.accounts) THEN
    RAISE EXCEPTION 'the row opens an account out of order';
  END IF;
  IF NEW.currency NOT IN ('PURE', 'CONCENTRATED')
      OR NEW.currency <> (SELECT currency FROM LEDGER.accounts WHERE number = 1) THEN
    RAISE EXCEPTION 'the row counts in another currency than the ledger';
  END IF;
  PERFORM LEDGER.exact(NEW.budget, false);
  RETURN NEW;
END
"""

_POLICIES: Final = """
BEGIN
  IF NOT EXISTS (SELECT 1 FROM LEDGER.accounts WHERE number = NEW.account) THEN
    RAISE EXCEPTION 'the row states a policy of no account';
  END IF;
  RETURN NEW;
END
"""

_ENTRIES: Final = """
DECLARE whole numeric[]; cap text; spend numeric[]; remains numeric[]; total numeric[]; part text; size numeric[];
BEGIN
  SELECT ARRAY[budget_numerator, budget_denominator] INTO whole FROM LEDGER.accounts WHERE number = NEW.account;
  IF NOT FOUND OR NEW.number <> 1 + (SELECT coalesce(max(number), 0) FROM LEDGER.entries)
      OR NEW.reserved < 0 OR NEW.key = '' OR NEW.owner = '' THEN
    RAISE EXCEPTION 'the entry is out of order or of no account';
  END IF;
/*3*/  IF NEW.charged_by <> session_user
      OR ((NEW.charged_by IS NULL OR NEW.commitment IS NULL) AND NOT pg_has_role(session_user, current_user, 'MEMBER'))
      OR (NEW.commitment IS NULL AND EXISTS (SELECT 1 FROM LEDGER.entries WHERE commitment IS NOT NULL))
  THEN -- whoever keeps the ledger brings older entries from a file
    RAISE EXCEPTION 'the entry commits to no secret, or names another role than the one that charges';
  END IF;
/*3*/  IF NEW.edition IS NULL AND EXISTS (SELECT 1 FROM LEDGER.data_sets WHERE people = 'DISJOINT') THEN
    RAISE EXCEPTION 'the entry lacks its edition';
  END IF;
  SELECT budget INTO STRICT cap FROM LEDGER.data_sets ORDER BY position DESC LIMIT 1;
  whole := LEDGER.counted(whole);
  spend := LEDGER.counted(LEDGER.exact(NEW.spend, false));
  remains := LEDGER.plus(LEDGER.plus(whole, LEDGER.spent(NEW.account, NEW.edition, NULL, false), -1), spend, -1);
  total := LEDGER.plus(LEDGER.spent(NULL, NEW.edition, NULL, false), spend, 1);
  IF remains[1] < 0
      OR (cap IS NOT NULL AND (LEDGER.plus(LEDGER.counted(LEDGER.exact(cap, false)), total, -1))[1] < 0) THEN
    RAISE EXCEPTION 'the entry spends more than remained';
  END IF;
  IF NEW.remaining <> LEDGER.written(remains) OR NEW.total <> LEDGER.written(total) THEN
    RAISE EXCEPTION 'the entry does not say what remained after it';
  END IF;
  PERFORM LEDGER.exact(NEW.remaining, true), LEDGER.exact(NEW.total, false);
  IF EXISTS (SELECT 1 FROM LEDGER.allotments WHERE account = NEW.account) THEN
    SELECT a.owner, LEDGER.counted(LEDGER.exact(a.amount, true)) INTO part, size FROM LEDGER.allotments a
      WHERE a.account = NEW.account AND a.owner = NEW.owner ORDER BY a.position DESC LIMIT 1;
    IF part IS NULL AND NEW.owner IS NOT NULL THEN
      RAISE EXCEPTION 'the entry is of an allotment that is not there';
    END IF;
    size := coalesce(size, LEDGER.plus(whole, LEDGER.allotted(NEW.account, NULL), -1));
    size := LEDGER.plus(size, LEDGER.spent(NEW.account, NEW.edition, part, true), -1);
    IF (LEDGER.plus(size, spend, -1))[1] < 0 THEN
      RAISE EXCEPTION 'the entry spends more than remained of its allotment';
    END IF;
  END IF;
  RETURN NEW;
END
"""

_ANSWERS: Final = """
DECLARE entry_seal text; said bytea;
BEGIN
  SELECT seal INTO entry_seal FROM LEDGER.entries WHERE number = NEW.entry;
/*3*/  DECLARE committed text; BEGIN
    SELECT commitment INTO committed FROM LEDGER.entries WHERE number = NEW.entry;
    IF (NEW.secret IS NULL AND (committed IS NOT NULL OR NOT pg_has_role(session_user, current_user, 'MEMBER')))
        OR (NEW.secret IS NOT NULL AND committed IS DISTINCT FROM encode(
          sha256(convert_to(LEDGER.piece('RIGHT') || LEDGER.piece(NEW.secret), 'UTF8')), 'hex')) THEN
      RAISE EXCEPTION 'the answer is without the secret that its entry commits to';
    END IF;
  END;
/*3*/  said := convert_to(LEDGER.piece('ANSWER') || LEDGER.piece(entry_seal) || octet_length(NEW.content) || ':', 'UTF8')
    || NEW.content || convert_to(',', 'UTF8');
  IF entry_seal IS NULL OR NEW.content IS NULL
      OR NOT (NEW.place = 'INSIDE' OR NEW.place = 'BESIDE' AND NEW.bytes > 65536) -- long ones came from a file
      OR NEW.bytes <> octet_length(NEW.content) OR NEW.digest <> encode(sha256(said), 'hex') THEN
    RAISE EXCEPTION 'the answer is of no entry, or is not what the row says of it';
  END IF;
  RETURN NEW;
END
"""

_ALLOTMENTS: Final = """
DECLARE whole numeric[]; amount numeric[]; most numeric[]; one record;
BEGIN
  SELECT ARRAY[budget_numerator, budget_denominator] INTO whole FROM LEDGER.accounts WHERE number = NEW.account;
  IF NOT FOUND OR NEW.number <> 1 + (SELECT coalesce(max(number), 0) FROM LEDGER.allotments) OR NEW.owner = '' THEN
    RAISE EXCEPTION 'the row divides no account, or for nobody';
  END IF;
  whole := LEDGER.counted(whole);
  amount := LEDGER.counted(LEDGER.exact(NEW.amount, true));
  most := LEDGER.plus(whole, LEDGER.allotted(NEW.account, NEW.owner), -1);
  FOR one IN SELECT DISTINCT edition FROM LEDGER.entries WHERE account = NEW.account UNION SELECT NULL LOOP
    IF (LEDGER.plus(amount, LEDGER.spent(NEW.account, one.edition, NEW.owner, true), -1))[1] < 0
        OR (LEDGER.plus(LEDGER.plus(most, LEDGER.spent(NEW.account, one.edition, NULL, true), -1), amount, -1))[1] < 0
    THEN
      RAISE EXCEPTION 'the row allots less than was spent, or more than there is';
    END IF;
  END LOOP;
  RETURN NEW;
END
"""

_INSTALMENTS: Final = """
DECLARE opened record; kind text; turn text; period text;
BEGIN
  SELECT number, position, charged_by INTO opened FROM LEDGER.entries WHERE number = NEW.entry;
  kind := split_part(NEW.step, '/', 2);
  turn := split_part(NEW.step, '/', 3);
  period := regexp_replace(NEW.step, '^[0-9]+/[a-z]+/[0-9]+/', '');
  IF opened.number IS NULL OR NEW.number <> 1 + (SELECT coalesce(max(number), 0) FROM LEDGER.instalments)
      OR NEW.step <> NEW.entry || '/' || kind || '/' || turn || '/' || period
      OR kind NOT IN ('open', 'seal', 'answer', 'close') OR (kind = 'seal') <> (NEW.key IS NOT NULL)
      OR (kind IN ('seal', 'answer')) <> (period <> '')
      OR turn <> (CASE WHEN kind <> 'seal' THEN 0 ELSE (SELECT count(*) FROM LEDGER.instalments i
        WHERE i.entry = NEW.entry AND i.step ~ '^[0-9]+/seal/'
          AND regexp_replace(i.step, '^[0-9]+/[a-z]+/[0-9]+/', '') = period) END)::text THEN
    RAISE EXCEPTION 'the row is no step of an instalment';
  END IF;
  IF opened.charged_by IS DISTINCT FROM session_user AND NOT pg_has_role(session_user, current_user, 'MEMBER') THEN
    RAISE EXCEPTION 'another role opened the plan, or the one who keeps the ledger';
  END IF;
  IF (kind = 'open' AND opened.position <> NEW.position - 1)
      OR (kind <> 'open' AND NOT EXISTS (SELECT 1 FROM LEDGER.instalments WHERE step = NEW.entry || '/open/0/'))
      OR EXISTS (SELECT 1 FROM LEDGER.instalments WHERE step = NEW.entry || '/close/0/')
      OR (kind = 'answer' AND NOT EXISTS (
        SELECT 1 FROM LEDGER.instalments WHERE step = NEW.entry || '/seal/0/' || period)) THEN
    RAISE EXCEPTION 'the step cannot follow: the plan is not open, or its period is not sealed';
  END IF;
  RETURN NEW;
END
"""

_CHANCES: Final = """
DECLARE charged record; known text; spent text; chance numeric[]; total numeric[]; allowed numeric[];
BEGIN
  SELECT number, account, position, charged_by INTO charged FROM LEDGER.entries WHERE number = NEW.entry;
  IF charged.number IS NULL OR charged.position <> NEW.position - 1
      OR NEW.number <> 1 + (SELECT coalesce(max(number), 0) FROM LEDGER.chances) THEN
    RAISE EXCEPTION 'the row states a chance of no entry, or apart from it';
  END IF;
  IF charged.charged_by IS DISTINCT FROM session_user AND NOT pg_has_role(session_user, current_user, 'MEMBER') THEN
    RAISE EXCEPTION 'another role charged the entry';
  END IF;
  SELECT c.allowed, c.total INTO known, spent FROM LEDGER.chances c JOIN LEDGER.entries e ON e.number = c.entry
    WHERE e.account = charged.account ORDER BY c.position DESC LIMIT 1;
  chance := LEDGER.exact(NEW.chance, false);
  allowed := LEDGER.exact(NEW.allowed, false);
  total := LEDGER.plus(LEDGER.exact(coalesce(spent, '0'), true), chance, 1);
  PERFORM LEDGER.exact(NEW.total, false);
  IF known IS NOT NULL AND known <> NEW.allowed THEN
    RAISE EXCEPTION 'the row allows other chances than the rows before it';
  END IF;
  IF NEW.total <> LEDGER.written(total) OR (LEDGER.plus(allowed, total, -1))[1] < 0 OR allowed[1] >= allowed[2] THEN
    RAISE EXCEPTION 'the row states chances that do not add up, or more than is allowed';
  END IF;
  RETURN NEW;
END
"""

_FITS: Final = {
    "data_sets": _DATA_SETS,
    "accounts": _ACCOUNTS,
    "policies": _POLICIES,
    "entries": _ENTRIES,
    "answers": _ANSWERS,
    "allotments": _ALLOTMENTS,
    "instalments": _INSTALMENTS,
    "chances": _CHANCES,
}
_TRIGGERS: Final = {"in_turn": _IN_TURN, "is_next": _IS_NEXT, "is_last": _IS_LAST, "stays": _STAYS}
_FRACTIONS: Final = "one numeric[], other numeric[], sign integer"


def functions_of(schema: str, version: int, tables: tuple[Table, ...] = TABLES) -> tuple[Function, ...]:
    """The functions of the ledger with these tables in a schema, each after those that it needs."""
    exact = (
        Function("piece", "part text", "text", "sql", _PIECE),
        Function("plus", _FRACTIONS, "numeric[]", "plpgsql", _PLUS),
        Function("written", "fraction numeric[]", "text", "sql", _WRITTEN),
        Function("exact", "written text, zero boolean", "numeric[]", "plpgsql", _EXACT),
        Function("counted", "fraction numeric[]", "numeric[]", "sql", _COUNTED),
        Function(
            "spent",
            "of_account bigint, of_edition text, of_part text, by_part boolean",
            "numeric[]",
            "plpgsql",
            _SPENT,
        ),
        Function("allotted", "of_account bigint, but_for text", "numeric[]", "plpgsql", _ALLOTTED),
    )
    bodies = {**_TRIGGERS, **{f"{table.name}_fit": _FITS[table.name] for table in tables}}
    triggers = tuple(Function(name, "", "trigger", "plpgsql", body, definer=True) for name, body in bodies.items())
    later = r"/\*3\*/.*?/\*3\*/" if version < COMMITTED else r"/\*3\*/"
    every = (one._replace(body=re.sub(later, "", one.body, flags=re.DOTALL)) for one in (*exact, *triggers))
    return tuple(one._replace(body=_named(one.body, schema)) for one in every)


def _named(body: str, schema: str) -> str:
    newer = {table.name: [one.name for one in table.columns if one.since > FORMAT] for table in TABLES}
    words = {"LEDGER": f'"{schema}"', "SCHEMA": schema, "ANSWER": f"dxgeom answer {FORMAT}", "RIGHT": RIGHT}
    words |= {"MARK": MARK.format(FORMAT), "MARK_3": MARK.format(COMMITTED), "NEWER": json.dumps(newer)}
    words |= {
        "INSIDE": INSIDE,
        "BESIDE": BESIDE,
        "SHARED": SHARED,
        "DISJOINT": DISJOINT,
        "PURE": PURE,
        "CONCENTRATED": CONCENTRATED,
    }
    for word, meaning in words.items():
        body = body.replace(f"'{word}'", f"'{meaning}'") if word != "LEDGER" else body.replace("LEDGER.", meaning + ".")
    return body
