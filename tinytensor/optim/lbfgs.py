"""L-BFGS: steps by the gradient times an approximate inverse of the Hessian."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..autograd.settings import enable_grad, no_grad
from ..ops.join import cat
from .line_search import Point, strong_wolfe
from .optimizer import Optimizer
from .settings import settings


class LBFGS(Optimizer):
    """p ← p + t·d,  d = −H·g, with H ≈ the inverse Hessian, from the last history_size steps

    `step(closure)` makes up to max_iter such steps and calls the closure, which clears the
    gradients, computes the loss, calls backward and returns the loss, up to max_eval times
    (max_iter·1.25 by default). It stops early if max|gᵢ| ≤ tolerance_grad, or if the loss or all
    parameters change by less than tolerance_change.

    t = lr (the first time min(1, 1/Σ|gᵢ|)·lr), or with line_search_fn="strong_wolfe" a length that
    satisfies the Wolfe conditions. There is one group of parameters only. The state is kept for
    the first parameter; all vectors in it are flat, of all parameters together.
    """

    takes_complex = False

    numbers = frozenset()

    def __init__(
        self,
        params: Iterable,
        lr: float = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ):
        defaults = settings(
            "LBFGS", lr=lr, max_iter=max_iter,
            max_eval=max_iter * 5 // 4 if max_eval is None else max_eval,
            tolerance_grad=tolerance_grad, tolerance_change=tolerance_change,
            history_size=history_size, line_search_fn=line_search_fn,
        )  # fmt: skip
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError(
                f"LBFGS: got {len(self.param_groups)} groups of parameters, expected 1"
            )

    @no_grad()
    def step(self, closure: Callable) -> Any:
        """Make up to max_iter steps; returns the loss before the first one."""
        closure = enable_grad()(closure)
        group, parameters = self.param_groups[0], self.param_groups[0]["params"]
        if not parameters:
            return closure()
        search = group["line_search_fn"]
        if search not in (None, "strong_wolfe"):
            raise RuntimeError(
                f"LBFGS: got line_search_fn={search!r}, expected 'strong_wolfe' or None"
            )
        lr, most = float(group["lr"]), group["max_eval"]
        state = self.state[parameters[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        state["func_evals"] += 1
        loss, gradient, evaluations = float(first_loss), _flat_gradient(parameters), 1
        if _largest(gradient) <= group["tolerance_grad"]:
            return first_loss
        for i in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            is_first = state["n_iter"] == 1
            direction = self._direction(gradient, state, group["history_size"])
            state.update(d=direction, prev_flat_grad=gradient, prev_loss=loss)
            before = loss
            t = min(1.0, 1.0 / gradient.abs().sum()) * lr if is_first else lr
            state["t"] = t
            slope = gradient.dot(direction)
            if slope > -group["tolerance_change"]:
                break
            count = 0
            if search is None:
                _move(parameters, direction, t)
                if i < group["max_iter"]:  # the last loss would be computed for nothing
                    loss, gradient = float(closure()), _flat_gradient(parameters)
                    count = 1
            else:
                start = Point(0, loss, gradient, slope)
                point, count = strong_wolfe(
                    self._evaluate_along(parameters, direction, closure), start, t,
                    _largest(direction), most - evaluations,
                )  # fmt: skip
                state["t"] = t = point.t
                loss, gradient = point.loss, point.gradient
                _move(parameters, direction, t)
            evaluations += count
            state["func_evals"] += count
            if (
                evaluations >= most
                or _largest(gradient) <= group["tolerance_grad"]
                or _largest(direction * t) <= group["tolerance_change"]
                or abs(loss - before) < group["tolerance_change"]
            ):
                break
        return first_loss

    def _direction(self, gradient: Any, state: dict, history_size: int) -> Any:
        """−H·g, by the two loops of L-BFGS over the last changes of gradient and parameters."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return -gradient
        changes, moves, weights = state["old_dirs"], state["old_stps"], state["ro"]
        y = gradient - state["prev_flat_grad"]
        s = state["d"] * state["t"]
        ys = y.dot(s)
        if ys > 1e-10:
            if len(changes) == history_size:
                for kept in (changes, moves, weights):
                    kept.pop(0)
            changes.append(y)
            moves.append(s)
            weights.append(1.0 / ys)
            state["H_diag"] = ys / y.dot(y)
        factors = state.setdefault("al", [None] * history_size)
        q = -gradient
        for i in reversed(range(len(changes))):
            factors[i] = moves[i].dot(q) * weights[i]
            q.add_(changes[i] * -factors[i])
        direction = q * state["H_diag"]
        for i in range(len(changes)):
            back = changes[i].dot(direction) * weights[i]
            direction.add_(moves[i] * (factors[i] - back))
        return direction

    def _evaluate_along(
        self, parameters: list, direction: Any, closure: Callable
    ) -> Callable[[Any], Point]:
        """t ↦ the loss and the gradient at p + t·d; the parameters themselves stay."""
        values = [p.clone() for p in parameters]

        def evaluate(t: Any) -> Point:
            _move(parameters, direction, t)
            loss, gradient = float(closure()), _flat_gradient(parameters)
            for p, value in zip(parameters, values):
                p.copy_(value)
            return Point(t, loss, gradient, gradient.dot(direction))

        return evaluate


def _largest(x: Any) -> Any:
    return x.abs().max()


def _flat_gradient(parameters: list) -> Any:
    """(elements of all parameters), zeros where there is no gradient."""
    flat = [p.new_zeros(p.numel()) if p.grad is None else p.grad.reshape(-1) for p in parameters]
    return cat(flat)


def _move(parameters: list, direction: Any, t: Any) -> None:
    """p ← p + t·d"""
    offset = 0
    for p in parameters:
        part = direction[offset : offset + p.numel()]
        p.add_(part.view_as(p), alpha=float(t))
        offset += p.numel()
