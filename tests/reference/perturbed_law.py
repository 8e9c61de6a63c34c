"""The law of a perturbed objective's minimiser, by its density: slow, obvious, and in float64."""

from __future__ import annotations

import numpy as np


def log_density(mechanism, table, spend, thetas, strength=None, share=None):
    """(T,): of the minimiser at ``thetas`` (T, m), up to one constant: that of the noise times |det| of the Hessian."""
    table = np.asarray(table, dtype=np.float64)
    features, responses = table[:, :-1], table[:, -1]
    share = mechanism.share_for(len(table), spend) if share is None else share
    strength = mechanism.strength(share, spend) if strength is None else strength
    scores = thetas @ features.T
    slopes, bends = mechanism.loss.slope(scores, responses), mechanism.loss.bend(scores, responses)
    noise = -(slopes @ features + strength * thetas)
    hessians = np.einsum("tn,ni,nj->tij", bends, features, features) + strength * np.eye(features.shape[1])
    return np.linalg.slogdet(hessians)[1] - float(spend) * mechanism.noise(share).known_body.gauge(noise)


def mean_square(mechanism, table, spend):
    """E[θ²] of a model with one coefficient."""
    thetas = np.linspace(-60, 60, 400_001)
    weights = log_density(mechanism, table, spend, thetas[:, None])
    density = np.exp(weights - weights.max())
    return float((density * thetas**2).sum() / density.sum())
