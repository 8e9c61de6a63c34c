"""Gaussian noise of the best covariance for a workload, with its certificate, and what bounds follow from it."""
