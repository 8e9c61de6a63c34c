"""Laws, and the bodies that they are made of, from and to what a file says: by the fields of their own classes.

A law that is new is read and written as soon as it is one of :data:`dxgeom.noise.k_norm.LAWS`. Every class refuses
numbers that are no body's or no law's itself; a polytope's boundary is proved anew.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Final, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.geometry.fan import Fan, certify_fan
from dxgeom.geometry.halfspaces import HalfspacePolytope
from dxgeom.geometry.polytope import SymmetricPolytope
from dxgeom.geometry.round_bodies import (
    Box,
    CartesianProduct,
    CrossPolytope,
    Ellipsoid,
    FreeSum,
    LinearImage,
    PowerBall,
)
from dxgeom.mechanisms.parts.contrasts import LARGEST_ENTRY, MOST_JOINED, ContrastPart
from dxgeom.mechanisms.parts.factors import Factor, Path, Tree
from dxgeom.mechanisms.parts.joint_totals import LARGEST_IN_ROOT, MOST_VALUES, JointStrategy, TotalsRoot
from dxgeom.mechanisms.parts.products import ProductStrategy, StrategyFactor
from dxgeom.mechanisms.parts.toeplitz_mechanism import TotalsStrategy, length_of_line
from dxgeom.mechanisms.parts.toeplitz_strategies import ToeplitzStrategy
from dxgeom.mechanisms.parts.totals_by_category import CategoryStrategy
from dxgeom.mechanisms.parts.weighed_totals import WeighedStrategy
from dxgeom.noise.in_categories import CategoryNormals
from dxgeom.noise.jumps import GaussianWithJumps
from dxgeom.noise.k_norm import LAWS
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.rejection import CutNoise
from dxgeom.noise.toeplitz import ToeplitzNormals
from dxgeom.noise.triangular import LAID_OUT, TriangularNormals
from dxgeom.plan_files.text.exact_text import (
    array_data,
    float_of,
    float_text,
    floats_of,
    keys_of,
    list_of,
    whole_of,
    wholes_of,
)
from dxgeom.plan_files.wrong import Wrong, refused_as
from dxgeom.universe.workloads.box_queries import BoxQueries

BODIES: Final[tuple[type[Any], ...]] = (
    Box,
    CrossPolytope,
    Ellipsoid,
    PowerBall,
    CartesianProduct,
    FreeSum,
    LinearImage,
    HalfspacePolytope,
    SymmetricPolytope,
)
"""The bodies that a file can hold: those whose own classes refuse what is no body."""
JUMPS: Final = GaussianWithJumps.__name__
"""Normal noise with jumps: the axes of the normal part, all else follows from policy and queries."""
_FOLLOWING: Final = (GaussianWithJumps, ToeplitzNormals, TriangularNormals, CategoryNormals, CutNoise)
"""Laws whose numbers follow from what a file says instead."""
KINDS: Final[dict[str, type[Any]]] = {kind.__name__: kind for kind in (*LAWS, *BODIES) if kind not in _FOLLOWING}
SCALES: Final = "ScalesInTables"
"""What stands for the law of noise in tables of counts: the scale of each part, all else follows from the queries."""
ALONG: Final = "ScalesAlongBases"
"""The same where noise is along bases of attributes."""
IN_BOXES: Final = "ScalesInBoxes"
"""The same where noise is in blocks, along trees and lines of attributes."""
IN_TOTALS: Final = "ScaleInTotals"
"""The same where noise is in running totals along an attribute, through a triangular matrix."""
IN_PRODUCTS: Final = "ScalesInProducts"
"""Noise in products of what is measured along attributes, in whole numbers."""
IN_CONTRASTS: Final = "NormalsInProducts"
"""Normal noise in products of sums and of differences of values, each part with a root of its covariance."""
THROUGH_A_TRIANGLE: Final = "NormalsThroughTriangle"
"""Normal noise in answers through a lower triangular matrix of whole numbers, times a power of two."""
IN_PLACE_OF_LAWS: Final = (
    *(SCALES, ALONG, IN_BOXES, IN_TOTALS, JUMPS),
    *(IN_PRODUCTS, IN_CONTRASTS, THROUGH_A_TRIANGLE),
)
LINE: Final = "line"
_MOST_LEVELS: Final = 64
_WEIGHTS: Final = ("records", "steps", "costs")
_PARTS: Final = ("mean", "across")
_OF_A_FACTOR: Final = ("kinds", "rates", "sums", "shares")
BASES_FORM: Final = {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/Floats"}, {"type": "null"}]}}
_MOST_NESTED = 20
_LONGEST_VERTEX = 2**40
_LARGEST_POWER = 500
_UNTOLD: Final = {"moved", "stated"}
"""How far a polytope's vertices once were moved, and from which points, is told by nothing, and nothing rests on it."""
_ARRAYS: Final = (np.ndarray, get_origin(NDArray[np.float64]))
"""What types of arrays are made from: ``NDArray`` is a name of its own from Python 3.12 and NumPy 2.5 on."""


def law_data(law: NoiseLaw) -> dict[str, Any]:
    """The law as a file holds it.

    Raises: UnsupportedCombination for a law, or a body, of a class that no file can hold.
    """
    data: dict[str, Any] = _data(law)
    return data


def law_of(data: Any, place: str) -> NoiseLaw:
    """The law that a file holds.

    Raises: Wrong.
    """
    law: NoiseLaw = _thing(data, NoiseLaw, place, 0)
    return law


def scales_data(scales: NDArray[np.float64]) -> dict[str, Any]:
    """The scales of noise in the parts of tables of counts, as a file holds them in place of a law."""
    return {"kind": SCALES, "scales": array_data(scales)}


def scales_of(data: Any, place: str) -> NDArray[np.float64]:
    """The scales again. Raises: Wrong."""
    if not isinstance(data, dict) or data.get("kind") != SCALES:
        raise Wrong("DX305", place, f"the 'kind' of this is {SCALES}")
    keys_of(data, ("kind", "scales"), place)
    return floats_of(data["scales"], f"{place}.scales")


def jumps_data(law: GaussianWithJumps) -> dict[str, Any]:
    """Normal noise with jumps, as a file holds it: what it jumps along is not written down."""
    return {"kind": JUMPS, "axes": array_data(law.gaussian.body.axes)}


def jump_axes_of(data: dict[str, Any], place: str) -> NDArray[np.float64]:
    """The axes again. Raises: Wrong."""
    keys_of(data, ("kind", "axes"), place)
    return floats_of(data["axes"], f"{place}.axes")


def bases_data(bases: Sequence[NDArray[np.float64] | None]) -> list[dict[str, Any] | None]:
    """Bases of attributes, as a file holds them."""
    return [None if one is None else array_data(one) for one in bases]


def bases_of(data: Any, place: str) -> tuple[NDArray[np.float64] | None, ...]:
    """The bases again. Raises: Wrong."""
    entries = enumerate(list_of(data, place))
    return tuple(None if one is None else floats_of(one, f"{place}[{number}]") for number, one in entries)


def measured_data(trees: Sequence[Sequence[int]]) -> list[list[int] | str]:
    """How each attribute is measured, by the trees' splits, none of a line, as a file holds it."""
    return [list(one) or LINE for one in trees]


def measured_of(data: Any, sizes: Sequence[int], place: str) -> tuple[Factor, ...]:
    """The same again, of attributes with so many values told apart. Raises: Wrong for trees that are none."""
    entries = list_of(data, place)
    if len(entries) != len(sizes):
        raise Wrong("DX305", place, f"there is one for each of the {len(sizes)} attributes told apart")
    return tuple(
        Path(size) if one == LINE else _tree_of(one, size, f"{place}[{number}]")
        for number, (one, size) in enumerate(zip(entries, sizes, strict=True))
    )


def strategy_data(strategy: TotalsStrategy) -> list[dict[str, Any]]:
    """How running totals are measured along each attribute, as a file holds it: coefficients and lengths, or the
    matrix, follow; or it is the root itself, what is not above its diagonal. Of categories in one part."""
    if isinstance(strategy, JointStrategy):
        return [{"root": array_data(one.entries[np.tril_indices(one.size)])} for one in strategy.roots]
    if isinstance(strategy, CategoryStrategy):
        parts = {name: strategy_data(getattr(strategy, name))[0] for name in _PARTS}
        return [{"categories": strategy.categories, **parts}]
    if isinstance(strategy, WeighedStrategy):
        weights = {name: [*map(float_text, getattr(strategy, name))] for name in _WEIGHTS}
        return [weights | {"nodes": list(strategy.nodes)}]
    said = {"theta": float_text(strategy.theta), "window": strategy.window, "scaled": strategy.scaled}
    return [said | ({"alpha": float_text(strategy.alpha)} if strategy.alpha else {})]


def strategy_of(data: Sequence[Any], merged: BoxQueries, place: str) -> TotalsStrategy:
    """The same again, over the values that these boxes tell apart. Raises: Wrong."""
    if data and all(isinstance(one, dict) and "root" in one for one in data):
        return _joint_of(data, place)
    if len(data) != 1:
        raise Wrong("DX305", place, "noise in running totals of several attributes has a root for each")
    with refused_as("DX306", place):
        size = length_of_line(merged)
    return _alone_of(data[0], size, f"{place}[0]")


def _joint_of(data: Sequence[Any], place: str) -> JointStrategy:
    found = []
    for number, one in enumerate(data):
        here = f"{place}[{number}]"
        entries = _triangle(keys_of(one, ("root",), here)["root"], f"{here}.root", MOST_VALUES, LARGEST_IN_ROOT)
        with refused_as("DX305", here):
            found.append(TotalsRoot(entries))
    with refused_as("DX305", place):
        return JointStrategy(tuple(found))


def _alone_of(data: Any, size: int, place: str) -> TotalsStrategy:
    if isinstance(data, dict) and "categories" in data:
        return _by_category_of(data, size, place)
    if isinstance(data, dict) and "records" in data:
        return _weighed_of(data, size, place)
    damped = isinstance(data, dict) and "alpha" in data
    said = keys_of(data, ("theta", "window", "scaled", *(("alpha",) if damped else ())), place)
    window = None if said["window"] is None else whole_of(said["window"], f"{place}.window", 2, size)
    if type(said["scaled"]) is not bool:
        raise Wrong("DX302", f"{place}.scaled", "this is true or false")
    with refused_as("DX305", place):
        alpha = float_of(said["alpha"], f"{place}.alpha") if damped else 0.0
        return ToeplitzStrategy(size, float_of(said["theta"], f"{place}.theta"), window, said["scaled"], alpha)


def _by_category_of(data: Any, size: int, place: str) -> CategoryStrategy:
    said = keys_of(data, ("categories", *_PARTS), place)
    categories = whole_of(said["categories"], f"{place}.categories", 2)
    mean, across = (_weighed_of(said[name], size, f"{place}.{name}") for name in _PARTS)
    with refused_as("DX305", place):
        return CategoryStrategy(categories, mean, across)


def _weighed_of(data: Any, size: int, place: str) -> WeighedStrategy:
    said = keys_of(data, (*_WEIGHTS, "nodes"), place)
    records, steps, costs = (
        tuple(float_of(one, f"{place}.{name}") for one in list_of(said[name], f"{place}.{name}")) for name in _WEIGHTS
    )
    nodes = [whole_of(one, f"{place}.nodes") for one in list_of(said["nodes"], f"{place}.nodes")]
    if len(nodes) != 2:
        raise Wrong("DX302", f"{place}.nodes", "these are the first power of four, and how many")
    with refused_as("DX305", place):
        return WeighedStrategy(size, records, steps, costs, (nodes[0], nodes[1]))


def _tree_of(data: Any, size: int, place: str) -> Tree:
    radices = tuple(whole_of(one, place) for one in list_of(data, place))
    enough = 0 < len(radices) <= _MOST_LEVELS and min(radices) > 1 and max(radices) <= 2 * size
    if not enough or not size <= np.prod(np.array(radices, dtype=np.float64)) <= 4 * size:
        what = f"a tree over {size:,} values splits into two or more, until there is a class for each value"
        raise Wrong("DX305", place, what)
    return Tree(size, radices)


def products_data(products: Sequence[ProductStrategy], product_of: Sequence[int]) -> dict[str, Any]:
    """Noise in products, as a file holds it, and of which product each answer is made."""
    each = [
        {"size": float_text(one.size), "factors": [_factor_data(axis, factor) for axis, factor in one.factors]}
        for one in products
    ]
    return {"kind": IN_PRODUCTS, "products": each, "product_of": [*product_of]}


def _factor_data(axis: int, factor: StrategyFactor) -> dict[str, Any]:
    numbers = {name: getattr(factor, name) for name in _OF_A_FACTOR}
    arrays = {name: array_data(one) if one.size else None for name, one in numbers.items()}
    return {"attribute": axis, "bits": factor.bits, **arrays}


def products_of(data: Any, place: str) -> tuple[tuple[ProductStrategy, ...], list[int]]:
    """The same again. Raises: Wrong for what are no whole numbers of such a form."""
    keys_of(data, ("kind", "products", "product_of"), place)
    if data["kind"] != IN_PRODUCTS:
        raise Wrong("DX305", place, f"the 'kind' of this is {IN_PRODUCTS}")
    found = []
    for number, one in enumerate(list_of(data["products"], f"{place}.products")):
        here = f"{place}.products[{number}]"
        keys_of(one, ("size", "factors"), here)
        size = float_of(one["size"], f"{here}.size")
        entries = enumerate(list_of(one["factors"], f"{here}.factors"))
        factors = tuple(_factor_of(entry, f"{here}.factors[{which}]") for which, entry in entries)
        with refused_as("DX305", here):
            found.append(ProductStrategy(factors, size))
    own = [whole_of(one, f"{place}.product_of") for one in list_of(data["product_of"], f"{place}.product_of")]
    return tuple(found), own


def _factor_of(data: Any, place: str) -> tuple[int, StrategyFactor]:
    keys_of(data, ("attribute", "bits", *_OF_A_FACTOR), place)
    arrays = {
        name: wholes_of(data[name], f"{place}.{name}", -(2**40), 2**40)
        for name in _OF_A_FACTOR
        if data[name] is not None
    }
    if arrays.keys() == {*_OF_A_FACTOR[:2]}:  # no sums
        none = np.zeros((0, arrays["rates"].size), dtype=np.int64)
        arrays |= {"sums": none, "shares": none.T}
    elif len(arrays) < len(_OF_A_FACTOR):
        raise Wrong("DX302", place, "a factor has both sums and shares, or null for both")
    bits = whole_of(data["bits"], f"{place}.bits")
    with refused_as("DX305", place):
        return whole_of(data["attribute"], f"{place}.attribute"), StrategyFactor(**arrays, bits=bits)


def triangle_data(law: TriangularNormals) -> dict[str, Any]:
    """Normal noise through a triangular matrix, as a file holds it: whole multiples of a unit, row by row.

    Raises: UnsupportedCombination where its entries are too far apart for that.
    """
    entries = law.factor[np.tril_indices(law.dimension)]
    highest = math.frexp(float(np.abs(entries).max()))[1]
    for bits in (30, 40, 52):
        unit = math.ldexp(1.0, highest - bits)
        whole = np.rint(entries / unit)
        if np.array_equal(whole * unit, entries):
            numbers = array_data(whole.astype(np.int64))
            return {"kind": THROUGH_A_TRIANGLE, "unit": float_text(unit), "root": numbers}
    raise UnsupportedCombination("a plan file holds triangular matrices whose entries are whole multiples of one unit")


def triangle_of(data: dict[str, Any], place: str) -> TriangularNormals:
    """The same again. Raises: Wrong."""
    keys_of(data, ("kind", "unit", "root"), place)
    unit, root = float_of(data["unit"], f"{place}.unit"), _triangle(data["root"], f"{place}.root", LAID_OUT, 2**52)
    if not 2.0**-500 < unit < 2.0**500 or math.frexp(unit)[0] != 0.5:
        raise Wrong("DX305", f"{place}.unit", "this is a power of two")
    with refused_as("DX305", place):
        return TriangularNormals(np.asarray(root * unit, dtype=np.float64))


def _triangle(data: Any, place: str, most: int, largest: int) -> NDArray[np.int64]:
    """A lower triangular matrix from what is not above its diagonal, row by row. Raises: Wrong."""
    entries = wholes_of(data, place, 1 - largest, largest - 1)
    size = (math.isqrt(8 * entries.size + 1) - 1) // 2
    if entries.ndim != 1 or size * (size + 1) != 2 * entries.size or size > most:
        raise Wrong("DX305", place, "a root has the entries of a triangle, row by row")
    root = np.zeros((size, size), dtype=np.int64)
    root[np.tril_indices(size)] = entries
    return root


def contrasts_data(parts: Sequence[ContrastPart]) -> dict[str, Any]:
    """Normal noise in products, as a file holds it: of each root what is not above the diagonal, row by row."""

    def along(own: Sequence[tuple[int, NDArray[np.int64]]]) -> list[dict[str, Any]]:
        return [{"attribute": axis, "values": array_data(values)} for axis, values in own]

    each = [
        {
            "size": float_text(one.size),
            "contrasted": along(one.contrasted),
            "summed": along(one.summed),
            "root": array_data(one.root[np.tril_indices(len(one.root))]),
        }
        for one in parts
    ]
    return {"kind": IN_CONTRASTS, "parts": each}


def contrasts_of(data: Any, place: str) -> tuple[ContrastPart, ...]:
    """The same again. Raises: Wrong for what are no whole numbers of such a form."""
    keys_of(data, ("kind", "parts"), place)
    if data["kind"] != IN_CONTRASTS:
        raise Wrong("DX305", place, f"the 'kind' of this is {IN_CONTRASTS}")
    return tuple(
        _contrast_of(one, f"{place}.parts[{number}]")
        for number, one in enumerate(list_of(data["parts"], f"{place}.parts"))
    )


def _contrast_of(data: Any, place: str) -> ContrastPart:
    keys_of(data, ("size", "contrasted", "summed", "root"), place)
    along = {}
    for name in ("contrasted", "summed"):
        own = []
        for number, one in enumerate(list_of(data[name], f"{place}.{name}")):
            here = f"{place}.{name}[{number}]"
            keys_of(one, ("attribute", "values"), here)
            values = wholes_of(one["values"], f"{here}.values", 0, 2**31)
            own.append((whole_of(one["attribute"], f"{here}.attribute"), values))
        along[name] = tuple(own)
    root = _triangle(data["root"], f"{place}.root", MOST_JOINED, LARGEST_ENTRY)
    with refused_as("DX305", place):
        return ContrastPart(along["contrasted"], along["summed"], root, float_of(data["size"], f"{place}.size"))


def fields_of(kind: type[Any]) -> dict[str, Any]:
    """What a file says of a thing of this kind, each with the type that it has."""
    hints = get_type_hints(kind)
    return {one.name: hints[one.name] for one in fields(kind) if one.name not in _UNTOLD}


def _data(value: Any) -> Any:
    match value:
        case Fan():
            return {"vertices": array_data(value.vertices), "simplices": array_data(value.simplices)}
        case np.ndarray():
            return array_data(value)
        case float():
            return float_text(value)
        case tuple():
            return [_data(part) for part in value]
        case _ if KINDS.get(type(value).__name__) is type(value):
            return {"kind": type(value).__name__} | {
                name: _data(getattr(value, name)) for name in fields_of(type(value))
            }
    raise UnsupportedCombination(
        f"a plan file holds the laws and bodies of dxgeom only, this plan's noise is made of a {type(value).__name__}: "
        "plan with one of dxgeom.geometry, or release from the plan itself"
    )


def _read(hint: Any, data: Any, place: str, depth: int) -> Any:
    if hint is Fan:
        return _fan(data, place)
    if hint is float:
        return float_of(data, place, infinite=True)
    if get_origin(hint) in _ARRAYS:
        return floats_of(data, place)
    if get_origin(hint) is tuple:
        parts = enumerate(list_of(data, place))
        return tuple(_read(get_args(hint)[0], part, f"{place}[{number}]", depth) for number, part in parts)
    return _thing(data, hint, place, depth)


def _thing(data: Any, wanted: type[Any], place: str, depth: int) -> Any:
    if depth > _MOST_NESTED:
        raise Wrong("DX302", place, f"laws and bodies are made of others at most {_MOST_NESTED} times over")
    name = data.get("kind") if isinstance(data, dict) else None
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None or not issubclass(kind, wanted):
        known = [name for name, kind in KINDS.items() if issubclass(kind, wanted)]
        raise Wrong("DX305", place, f"the 'kind' of this is one of {', '.join(known)}")
    hints = fields_of(kind)
    keys_of(data, ("kind", *hints), place)
    parts = {name: _read(hint, data[name], f"{place}.{name}", depth + 1) for name, hint in hints.items()}
    with refused_as("DX305", place):
        if kind is SymmetricPolytope:
            return _polytope(**parts)
        return kind(**parts)


def _fan(data: Any, place: str) -> Fan:
    """The boundary, proved closed and convex in exact integers."""
    keys_of(data, ("vertices", "simplices"), place)
    vertices = wholes_of(data["vertices"], f"{place}.vertices", -_LONGEST_VERTEX, _LONGEST_VERTEX)
    simplices = wholes_of(data["simplices"], f"{place}.simplices", 0, len(vertices) - 1)
    if vertices.ndim != 2 or simplices.ndim != 2 or vertices.shape[1] != simplices.shape[1]:
        raise Wrong("DX305", place, "vertices and simplices are matrices of as many columns as there are dimensions")
    with refused_as("DX305", place):
        return certify_fan(vertices, simplices)


def _polytope(fan: Fan, units: NDArray[np.float64], inflation: float) -> SymmetricPolytope:
    """Raises: ValueError for units that are no powers of two, for which vertices would not be exact."""
    exponents = [math.frexp(unit) for unit in units.tolist()]
    exact = all(part == 0.5 and abs(power) <= _LARGEST_POWER for part, power in exponents)
    if units.shape != (fan.simplices.shape[1],) or not exact:
        raise ValueError("a polytope has a unit for each coordinate, a power of two that float64 has room around")
    if not 2.0**-_LARGEST_POWER <= inflation <= 2.0**_LARGEST_POWER:
        raise ValueError("a polytope's inflation is a positive number that float64 has room around")
    return SymmetricPolytope(fan, units, inflation, math.nan)


def laws_schema() -> dict[str, Any]:
    """A JSON Schema for each kind, by its name."""
    own = {"type": "object", "properties": {"kind": {"const": SCALES}, "scales": _form(NDArray[np.float64])}}
    measured = {"type": "array", "items": {"anyOf": [{"const": LINE}, {"type": "array", "items": {"type": "integer"}}]}}
    boxes = {"kind": {"const": IN_BOXES}, "scales": _form(NDArray[np.float64]), "measured": measured}
    said = {
        "theta": {"$ref": "#/$defs/Float"},
        "window": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "scaled": {"type": "boolean"},
    }
    strategy = {"type": "object", "properties": said, "required": [*said], "additionalProperties": False}
    strategy["properties"] = said | {"alpha": {"$ref": "#/$defs/Float"}}
    floats, text = {"type": "array", "items": {"$ref": "#/$defs/Float"}}, {"type": "string"}
    nodes = {"type": "array", "items": {"type": "integer"}}
    weighed = _closed({**dict.fromkeys(_WEIGHTS, floats), "nodes": nodes})
    by_category = _closed({"categories": {"type": "integer"}, **dict.fromkeys(_PARTS, weighed)})
    each = {"anyOf": [strategy, weighed, by_category]}
    totals = {"kind": {"const": IN_TOTALS}, "scales": _form(NDArray[np.float64]), "strategy": each}
    along = {"kind": {"const": ALONG}, "scales": _form(NDArray[np.float64]), "bases": BASES_FORM}
    whole = {"type": "integer"}
    array = {"anyOf": [{"$ref": "#/$defs/Whole"}, {"type": "null"}]}
    factor = {"attribute": whole, "bits": whole, **dict.fromkeys(_OF_A_FACTOR, array)}
    product = {"size": text, "factors": {"type": "array", "items": _closed(factor)}}
    products = {"type": "array", "items": _closed(product)}
    own_product = {"type": "array", "items": whole}
    values = {"type": "array", "items": _closed({"attribute": whole, "values": {"$ref": "#/$defs/Whole"}})}
    part = {"size": text, "contrasted": values, "summed": values, "root": {"$ref": "#/$defs/Whole"}}
    parts = {"type": "array", "items": _closed(part)}
    scales = {
        THROUGH_A_TRIANGLE: _closed({"kind": {"const": THROUGH_A_TRIANGLE}, "unit": text, "root": part["root"]}),
        IN_CONTRASTS: _closed({"kind": {"const": IN_CONTRASTS}, "parts": parts}),
        IN_PRODUCTS: _closed({"kind": {"const": IN_PRODUCTS}, "products": products, "product_of": own_product}),
        SCALES: {**own, "required": ["kind", "scales"], "additionalProperties": False},
        JUMPS: {
            "type": "object",
            "properties": {"kind": {"const": JUMPS}, "axes": _form(NDArray[np.float64])},
            "required": ["kind", "axes"],
            "additionalProperties": False,
        },
        ALONG: {"type": "object", "properties": along, "required": [*along], "additionalProperties": False},
        IN_TOTALS: {"type": "object", "properties": totals, "required": [*totals], "additionalProperties": False},
        IN_BOXES: {"type": "object", "properties": boxes, "required": [*boxes], "additionalProperties": False},
    }
    return {name: _schema_of(kind) for name, kind in KINDS.items()} | scales | dict(_arrays())


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def _schema_of(kind: type[Any]) -> dict[str, Any]:
    if not is_dataclass(kind):
        raise TypeError(f"{kind.__name__} is no dataclass")
    properties = {name: _form(hint) for name, hint in fields_of(kind).items()}
    return {
        "type": "object",
        "properties": {"kind": {"const": kind.__name__}, **properties},
        "required": ["kind", *properties],
        "additionalProperties": False,
    }


def _form(hint: Any) -> dict[str, Any]:
    if hint is Fan:
        return {"$ref": "#/$defs/Boundary"}
    if hint is float:
        return {"$ref": "#/$defs/Float"}
    if get_origin(hint) in _ARRAYS:
        return {"$ref": "#/$defs/Floats"}
    if get_origin(hint) is tuple:
        return {"type": "array", "items": _form(get_args(hint)[0]), "minItems": 1}
    return {"anyOf": [{"$ref": f"#/$defs/{name}"} for name, kind in KINDS.items() if issubclass(kind, hint)]}


def _arrays() -> Iterator[tuple[str, dict[str, Any]]]:
    from dxgeom.plan_files.text.exact_text import FLOAT

    floats = {"type": "string", "pattern": f"{FLOAT}|^-?0x0\\.0p\\+0$|^inf$"}
    yield "Float", floats
    for name, key, entry in (("Floats", "floats", {"$ref": "#/$defs/Float"}), ("Whole", "whole", {"type": "integer"})):
        yield (
            name,
            {
                "type": "object",
                "properties": {
                    "shape": {"type": "array", "items": {"type": "integer"}},
                    key: {"type": "array", "items": entry},
                },
                "required": ["shape", key],
                "additionalProperties": False,
            },
        )
    parts = {"vertices": {"$ref": "#/$defs/Whole"}, "simplices": {"$ref": "#/$defs/Whole"}}
    yield (
        "Boundary",
        {"type": "object", "properties": parts, "required": list(parts), "additionalProperties": False},
    )
