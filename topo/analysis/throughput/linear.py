"""Maximum concurrent flow as a linear program, one commodity a source, solved by HiGHS."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topo.analysis.throughput.problem import Problem
from topo.progress import solving

__all__ = ["MOST_VARIABLES", "solve_linear"]

MOST_VARIABLES = 10_000


def solve_linear(problem: Problem) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Flows (one a variable of the problem, Gb/s, of theta times the demand) and the dual lengths of the resources.

    maximize theta so that for each source k and node v other than it
    inflow - outflow = theta * wanted[k, v], and the flows over each resource sum to at most its capacity.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, hstack

    places, (source, arc) = problem.places, problem.variables
    n, k, count = places.n, len(problem.sources), len(arc)
    # Demands in units of their mean and capacities likewise keep the numbers near 1.
    unit = float(problem.wanted[problem.wanted > 0].mean())
    column = np.arange(count)
    rows = np.concatenate([source * n + places.head[arc], source * n + places.tail[arc]])
    signs = np.concatenate([np.ones(count), -np.ones(count)])
    every: Any = coo_array((signs, (rows, np.concatenate([column, column]))), shape=(k * n, count)).tocsr()
    keep = np.ones((k, n), bool)
    keep[np.arange(k), problem.sources] = False
    wanted: Any = coo_array(-(problem.wanted / unit)[keep][:, None])
    balance: Any = hstack([every[keep.ravel()], wanted], format="csr")
    of = places.resource[arc]
    on = of >= 0
    limits: Any = coo_array((np.ones(int(on.sum())), (of[on], column[on])), shape=(len(places.capacity), count + 1))
    cost = np.zeros(count + 1)
    cost[-1] = -1
    with solving(f"linear program of {count:,} flows under {balance.shape[0] + limits.shape[0]:,} conditions"):
        answer: Any = linprog(
            cost,
            A_ub=limits.tocsr(),
            b_ub=places.capacity / unit,
            A_eq=balance,
            b_eq=np.zeros(balance.shape[0]),
            method="highs",
        )
    if answer.status != 0:
        raise ArithmeticError(f"the linear program of the optimal flow was not solved: {answer.message}")
    return np.maximum(answer.x[:-1], 0) * unit, np.maximum(-answer.ineqlin.marginals, 0)
