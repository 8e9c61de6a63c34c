"""Sums of spends as the server works them out, exactly: fractions, and bodies of functions in the ledger's schema.

Where squares add up, sums are of squares: integers of ``numeric`` are added and multiplied without rounding.
"""

from __future__ import annotations

from typing import Final

EXACT: Final = """
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

PLUS: Final = """
DECLARE above numeric; below numeric; common numeric;
BEGIN
  above := one[1] * other[2] + sign * other[1] * one[2];
  below := one[2] * other[2];
  common := gcd(above, below);
  RETURN ARRAY[div(above, common), div(below, common)];
END
"""
"""one + sign · other."""

WRITTEN: Final = """
SELECT fraction[1]::text || CASE WHEN fraction[2] = 1 THEN '' ELSE '/' || fraction[2]::text END
"""
"""As the ledger holds it, text."""

COUNTED: Final = """
SELECT CASE WHEN (SELECT currency FROM LEDGER.accounts WHERE number = 1) = 'CONCENTRATED'
  THEN ARRAY[fraction[1] * fraction[1], fraction[2] * fraction[2]] ELSE fraction END
"""
"""What a spend adds to sums: itself, or its square in a ledger that counts concentrated privacy."""

SPENT: Final = """
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

ALLOTTED: Final = """
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
