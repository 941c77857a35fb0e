"""Models that tell outputs of two inputs apart: additive ones, classifiers, online predictors."""
