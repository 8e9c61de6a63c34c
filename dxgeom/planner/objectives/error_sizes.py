"""How far all answers together are off, as one number of their errors themselves, not of the squares: the expected ℓ₁,
ℓ₂ and ℓ∞ norm, and what none exceeds with a stated chance.

Kernel: SciPy's error functions.

Of independent Laplace noise of scales c all are known, and convex in the rates 1/c, or, of the quantiles, quasiconvex:
so where the gradient of a weighted total of squares is theirs, both are least.
Source: Kamalaruban et al. 2020, Theorem 2, parts 2 and 3; corrected: the norm itself, not a bound of it, and for the
quantile all scales, not the largest for every answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType
from typing import Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.bars import gamma_quantile, normal_quantile, supports_of
from dxgeom.mechanisms.linear.laplace import optimal_scales
from dxgeom.mechanisms.linear.mixing import DiagonalMixing
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.noise.law import NoiseLaw

Scales: TypeAlias = NDArray[np.float64]
_NODES: Final = 400
_BEYOND: Final = 40.0
"""e⁻⁴⁰ is left out of integrals of tails."""
_ROUNDS: Final = 100
_STEADY: Final = 1e-9
_NO_LESS: Final = 1e-12


@final
@dataclass(frozen=True)
class ErrorSize:
    """``title``: what it is, for a table.

    ``of_laplace``: its value for independent Laplace numbers of scales (n,), all positive, up to the rounding of
    float64, and (n,) how it grows with each. ``of_other``: of any noise, given what each answer's error counts (K,):
    ``exact``, or what it is at most; None where neither is known. ``least``: what it is not below, whatever the noise,
    where no answer's error is seldomer large than a Laplace number of scale c_k (K,).
    """

    title: str
    of_laplace: Callable[[Scales], tuple[float, Scales]]
    of_other: Callable[[AdditiveMechanism, NoiseLaw, Scales], float | None]
    least: Callable[[Scales], float]
    exact: bool = False

    def is_exact(self, mechanism: AdditiveMechanism) -> bool:
        """Whether :meth:`of_noise` is the very size, and no bound of it."""
        return self.exact or mechanism.law is None or _is_independent(mechanism)

    def of_noise(self, mechanism: AdditiveMechanism, importance: Scales | None) -> float:
        """That of the noise for a budget of 1, before it is rounded to the lattice, or what it is at most.

        Raises: TooLarge for noise of which neither is known.
        """
        law = mechanism.law
        if law is None:
            return 0.0
        counted = np.ones(len(mechanism.ideal_variances)) if importance is None else importance
        if mechanism.change is None and _is_independent(mechanism):
            return self.of_scales(np.sqrt(mechanism.ideal_variances / 2) * counted)
        found = None if mechanism.change is not None else self.of_other(mechanism, law, counted)
        if found is None:
            raise TooLarge(f"the {self.title} of {mechanism.name} noise is not known; name 'laplace'")
        return found

    def of_scales(self, scales: Scales) -> float:
        """That of Laplace noise of these scales (n,), 0 where there is no noise."""
        noisy = scales[scales > 0]
        return self.of_laplace(noisy)[0] if len(noisy) else 0.0

    def squared_weights(self, sensitivity: Sensitivity, importance: Scales | None) -> Scales:
        """(K,): what squared errors are multiplied with, so that the scales of the least total are those of the least
        size.

        Definition: at errors e = c·step the size f(ω⊙e) and Σ u·e² have proportional gradients where
        u_k = ω_k·f_k′/e_k. From weights w, at whose own best errors u is taken, to (1 − a)·w + a·u, which makes f less
        for small a; a is halved where it did not, and doubled where it did.
        """
        noisy = sensitivity.of_each_query > 0
        counted = np.ones(len(noisy)) if importance is None else importance
        weights = counted**2
        if not np.any(noisy):
            return weights
        steps, counts = sensitivity.queries.float_steps[noisy], counted[noisy]

        def best(weights: Scales) -> tuple[float, Scales, Scales]:
            """The size at their own best errors, these weights of the noisy, and those that the size has there, of the
            same total."""
            errors = optimal_scales(sensitivity, weights) * steps
            value, slopes = self.of_laplace(errors * counts)
            own, fresh = weights[noisy] * errors**2, counts * slopes * errors
            return value, own / own.sum() / errors**2, fresh / fresh.sum() / errors**2

        (least, own, fresh), share = best(weights), 1.0
        for _ in range(_ROUNDS):
            tried = weights.copy()
            # Answers that are alike share a scale by their weights, which rounding must not tell apart.
            tried[noisy] = _short((1 - share) * own + share * fresh)
            found = best(tried)
            gain = least - found[0]
            if gain > 0:
                weights, (least, own, fresh) = tried, found
            share = min(1.0, 2 * share) if gain > 0 else share / 2
            if abs(gain) <= _STEADY * least:
                break
        return weights


def _short(weights: Scales) -> Scales:
    """To nine digits, and none so small that its answer would not count."""
    return np.array([float(f"{one:.8e}") for one in np.maximum(weights / weights.max(), _NO_LESS)])


def _total(scales: Scales) -> tuple[float, Scales]:
    """E‖Y‖₁ = Σ c."""
    return float(scales.sum()), np.ones(len(scales))


def _euclidean(scales: Scales) -> tuple[float, Scales]:
    """E‖Y‖₂ = (2/√π)·∫ 1 − Π h(u/c) du over u > 0, h(x) = √π·x·erfcx(x).

    Within 1e-6, relatively. From E√S = (1/(2√π))·∫ (1 − E e^(−tS))·t^(−3/2) dt with t = 1/(4u²), and
    E e^(−tY²) = h(1/(2c√t)).
    """
    from scipy.special import erfcx

    size = float(np.linalg.norm(scales))
    places, weights = _legendre()
    ends = size * places / (1 - places)
    weights = weights * size / (1 - places) ** 2 * (2 / math.sqrt(math.pi))
    ratios = ends[:, None] / scales
    scaled = erfcx(ratios)
    shares = math.sqrt(math.pi) * ratios * scaled
    product = np.prod(shares, axis=1)
    # x·h′/h = 1 + 2x² − 2x/(√π·erfcx), which is of the size of 1/x² and loses its digits to 1 + 2x².
    slow = np.where(
        ratios < 1e3, 1 + 2 * ratios**2 - (2 / math.sqrt(math.pi)) * ratios / scaled, 1 / np.maximum(ratios, 1.0) ** 2
    )
    return float(weights @ (1 - product)), np.asarray((weights * product) @ slow / scales)


def _largest(scales: Scales) -> tuple[float, Scales]:
    """E max |Y| = ∫ 1 − Π (1 − e^(−t/c)) dt over t > 0."""
    places, weights = _legendre()
    furthest = float(scales.max()) * (_BEYOND + math.log(len(scales)))
    # Squared, so that what is narrow near 0 is seen, too.
    ends, weights = furthest * places**2, weights * furthest * 2 * places
    left = ends[:, None] / scales
    within = -np.expm1(-left)
    product = np.prod(within, axis=1)
    falls = left * np.exp(-left) / within / scales
    return float(weights @ (1 - product)), np.asarray((weights * product) @ falls)


def _within(level: float, scales: Scales) -> tuple[float, Scales]:
    """The t with Π (1 − e^(−t/c)) = ``level``, *rounded up*."""
    t = _root(
        level, lambda t: -np.expm1(-t / scales), float(scales.max()) * (math.log(len(scales)) - math.log1p(-level))
    )
    odds = np.exp(-t / scales) / -np.expm1(-t / scales)
    return t, np.asarray(t * odds / scales**2 / float((odds / scales).sum()))


def _root(level: float, shares: Callable[[float], Scales], high: float) -> float:
    """The t at which the product of ``shares`` is ``level``, *rounded up*; ``high``: one at which it is no less."""
    low = 0.0
    for _ in range(60):
        middle = (low + high) / 2
        with np.errstate(divide="ignore"):
            missed = np.log(shares(middle)).sum() < math.log(level)
        low, high = (middle, high) if missed else (low, middle)
    return high * (1 + 1e-12)


@cache
def _legendre() -> tuple[Scales, Scales]:
    """Nodes and weights of Gauss on (0, 1)."""
    places, weights = np.polynomial.legendre.leggauss(_NODES)
    return (places + 1) / 2, weights / 2


def _mean_sizes(mechanism: AdditiveMechanism, law: NoiseLaw, counted: Scales) -> float | None:
    """Σ ω·E|error|, where the law knows each."""
    each = law.mean_sizes_along(mechanism.float_mixing)
    return None if each is None else float(each @ counted)


def _root_mean_square(mechanism: AdditiveMechanism, law: NoiseLaw, counted: Scales) -> float:
    """No norm's mean is above the root of the mean of its square, and ℓ∞ is not above ℓ₂."""
    return float(np.sqrt(mechanism.ideal_variances @ counted**2))


def _mean_largest(mechanism: AdditiveMechanism, law: NoiseLaw, counted: Scales) -> float:
    """The least of that, and what the norm of the noise allows; of normal numbers what independent ones would have,
    which are nowhere more often all small (Šidák 1967)."""
    bounds = [_root_mean_square(mechanism, law, counted)]
    if law.normal:
        from scipy.special import erf

        deviations = _deviations(mechanism, counted)
        places, weights = _legendre()
        furthest = float(deviations.max()) * math.sqrt(2 * (_BEYOND + math.log(len(deviations))))
        within = np.prod(erf(furthest * places[:, None] / (deviations * math.sqrt(2))), axis=1)
        bounds.append(furthest * float((1 - within) @ weights))
    norm = _support(mechanism, law, counted)
    return min([*bounds, *([] if norm is None else [norm[0] * norm[1]])])


def _quantile_of_largest(level: float, mechanism: AdditiveMechanism, law: NoiseLaw, counted: Scales) -> float | None:
    """By the same two, *rounded up*."""
    if law.normal:
        from scipy.special import erf

        deviations = _deviations(mechanism, counted)
        far = float(deviations.max()) * normal_quantile(level ** (1 / len(deviations))) * 2
        return _root(level, lambda t: np.asarray(erf(t / (deviations * math.sqrt(2)))), far)
    norm = _support(mechanism, law, counted)
    return None if norm is None else norm[0] * gamma_quantile(norm[1], level)


def _support(mechanism: AdditiveMechanism, law: NoiseLaw, counted: Scales) -> tuple[float, int] | None:
    """max ω·h_K of the answers, and the dimension m of K: no error counts more than the former times ‖V‖_K, which is
    Gamma(m). None where that is not the law of the noise's norm."""
    supports = supports_of(law, mechanism.float_mixing)
    return None if supports is None else (float((supports[0] * counted).max()), supports[1])


def _deviations(mechanism: AdditiveMechanism, counted: Scales) -> Scales:
    found = np.sqrt(mechanism.ideal_variances) * counted
    return np.asarray(found[found > 0])


def _is_independent(mechanism: AdditiveMechanism) -> bool:
    """Whether every answer has Laplace noise of its own, or none."""
    law = mechanism.law
    return law is not None and law.laplace_scales is not None and isinstance(mechanism.mixing, DiagonalMixing)


def _largest_scale(scales: Scales) -> float:
    return float(scales.max(initial=0.0))


def _quantile_at(percent: int) -> ErrorSize:
    level = percent / 100
    return ErrorSize(
        f"{percent} % quantile of the largest error",
        partial(_within, level),
        partial(_quantile_of_largest, level),
        lambda scales: -math.log1p(-level) * _largest_scale(scales),
    )


SIZES: Final[Mapping[str, ErrorSize]] = MappingProxyType(
    {
        "l1": ErrorSize("expected ℓ₁ error", _total, _mean_sizes, lambda scales: float(scales.sum()), exact=True),
        # By Jensen's inequality the mean of a norm is at least the norm of the means.
        "l2": ErrorSize(
            "expected ℓ₂ error", _euclidean, _root_mean_square, lambda scales: float(np.linalg.norm(scales))
        ),
        "linf": ErrorSize("expected ℓ∞ error", _largest, _mean_largest, _largest_scale),
        "quantile-90": _quantile_at(90),
        "quantile-95": _quantile_at(95),
        "quantile-99": _quantile_at(99),
    }
)
"""By the objective's name; a new one is its functions and a line here, and its name in ``SizeName``."""
