"""The answers of every kind of worksheet, against plain NumPy that knows nothing of its steps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tinytensor.worksheet import KINDS, SIZES
from tinytensor.worksheet.kinds import make
from tinytensor.worksheet.sheet import Sheet

Arrays = dict[str, np.ndarray]


def relu(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0, x, 0.0)


def affine(table: np.ndarray, X: np.ndarray) -> np.ndarray:
    """W·x + b, sample by sample."""
    return np.stack([table[:, :-1].dot(x) + table[:, -1] for x in X.T], axis=1)


def table_grad(dZ: np.ndarray, X: np.ndarray) -> np.ndarray:
    """[dW | db], summed over samples."""
    return sum(np.outer(g, np.append(x, 1.0)) for g, x in zip(dZ.T, X.T))


def softmax(x: np.ndarray, base: float) -> np.ndarray:
    """Of a vector."""
    powers = base ** (x - x.max())
    return powers / powers.sum()


def head(g: Arrays, base: float, mark: str = "") -> Arrays:
    """One head, with tokens in rows as usual; its matrices turned round as on the sheet."""
    if f"WQ{mark}" in g:
        q, k, v = (g["X"].T @ g[f"W{name}{mark}"].T for name in "QKV")
    else:
        q, k, v = g["Q"].T, g["K"].T, g["V"].T
    scores = np.einsum("id,jd->ij", q, k)
    scaled = scores / math.sqrt(q.shape[1])
    weights = np.stack([softmax(row, base) for row in scaled])
    found = {"S": scores, "S′": scaled, "E": base**scaled, "A": weights, "Z": weights @ v}
    found["Σ"] = found["E"].sum(axis=1, keepdims=True)
    if q.shape[1] == 1:
        del found["S′"]
    if f"WQ{mark}" in g:
        found.update(Q=q, K=k, V=v)
    names = {name: f"{name[0]}{mark}{name[1:]}" for name in found}
    return {names[name]: value.T for name, value in found.items()}


def attention(g: Arrays, base: float) -> Arrays:
    return head(g, base)


def attention_backward(g: Arrays, base: float) -> Arrays:
    """Softmax by its Jacobian, row by row; all else by the chain rule on rows."""
    found = head(g, base)
    q, k, v = ({**g, **found}[name].T for name in "QKV")
    weights, dz = found["A"].T, g["dL/dZ"].T
    da = dz @ v.T
    ds_scaled = np.stack([(np.diag(a) - np.outer(a, a)) @ d for a, d in zip(weights, da)])
    ds = ds_scaled / 2
    dq, dk, dv = ds @ k, ds.T @ q, weights.T @ dz
    mean = (weights * da).sum(axis=1, keepdims=True)
    rows: Arrays = {
        "dL/dV": dv, "dL/dA": da, "A ∘ dA": weights * da, "Σ(A ∘ dA)": mean, "D": da - mean,
        "dL/dS′": ds_scaled, "dL/dS": ds, "dL/dQ": dq, "dL/dK": dk,
    }  # fmt: skip
    found.update({name: value.T for name, value in rows.items()})
    if "X" in g:
        parts = {}
        for name, d in zip("QKV", (dq, dk, dv)):
            found[f"dL/dW{name}"] = np.einsum("ti,jt->ij", d, g["X"])
            parts[name] = found[f"dX from {name}"] = g[f"W{name}"].T @ d.T
        found["dX from Q and K"] = parts["Q"] + parts["K"]
        found["dL/dX"] = parts["Q"] + parts["K"] + parts["V"]
    return found


def multihead(g: Arrays, base: float) -> Arrays:
    marks = [mark for mark in "₁₂₃" if f"WQ{mark}" in g]
    found: Arrays = {}
    for mark in marks:
        found.update(head(g, base, mark))
    found["out"] = sum(np.outer(g["WO"][:, i], found[f"Z{mark}"]) for i, mark in enumerate(marks))
    return found


def encoder(g: Arrays, base: float) -> Arrays:
    mixed = g["X"] @ g["A"]
    R = relu(g["X"] + mixed)
    Z1 = affine(g["[W₁ | b₁]"], R)
    Z2 = affine(g["[W₂ | b₂]"], relu(Z1))
    return {"X·A": mixed, "X + X·A": g["X"] + mixed, "R": R, "Z₁": Z1, "H": relu(Z1), "Z₂": Z2,
            "R + Z₂": R + Z2, "out": relu(R + Z2)}  # fmt: skip


def matmul(g: Arrays, base: float) -> Arrays:
    G = g["dL/dC"]
    C = np.einsum("ik,kj->ij", g["A"], g["B"])
    dA, dB = np.einsum("ij,kj->ik", G, g["B"]), np.einsum("ij,ik->kj", G, g["A"])
    return {"C": C, "dL/dA": dA, "dL/dB": dB}


def tables_of(g: Arrays) -> list[np.ndarray]:
    return [table for name, table in g.items() if " | b" in name]


def layers(g: Arrays, base: float) -> Arrays:
    found: Arrays = {}
    x = g["X"]
    tables = tables_of(g)
    for number, table in enumerate(tables, 1):
        mark = "" if len(tables) == 1 else "₀₁₂₃₄₅₆₇"[number]
        last = number == len(tables)
        z = affine(table, x)
        x = relu(z)
        if last and number == 7:
            found["Y"] = z
        else:
            found[f"Z{mark}"] = z
            found["Y" if last else f"H{mark}"] = x
    return found


def network(g: Arrays, target: np.ndarray, factor: float) -> Arrays:
    """A network with ReLU between its layers; dL/dY = factor·(Y − target)."""
    tables, inputs, found = tables_of(g), [g["X"]], {}
    for number, table in enumerate(tables, 1):
        z = affine(table, inputs[-1])
        found["Y" if number == len(tables) else f"Z{'₀₁₂₃₄'[number]}"] = z
        if number < len(tables):
            inputs.append(relu(z))
            found[f"H{'₀₁₂₃₄'[number]}"] = inputs[-1]
    d = found["dL/dY"] = factor * (found["Y"] - target)
    for number in range(len(tables), 0, -1):
        mark = "₀₁₂₃₄"[number]
        if number < len(tables):
            d = found[f"dL/dZ{mark}"] = np.where(found[f"Z{mark}"] > 0, d, 0.0)
        found[f"dL/d[W{mark} | b{mark}]"] = table_grad(d, inputs[number - 1])
        if number > 1:
            d = found[f"dL/dH{'₀₁₂₃₄'[number - 1]}"] = tables[number - 1][:, :-1].T @ d
    return found


def backprop(g: Arrays, base: float) -> Arrays:
    return network(g, g["T"], 1.0)


def autoencoder(g: Arrays, base: float) -> Arrays:
    found = network(g, g["X"], 2.0)
    return {**found, "Y − X": found["Y"] - g["X"]}


def residual(g: Arrays, base: float) -> Arrays:
    X, first, second = g["X"], g["[W₁ | b₁]"], g["[W₂ | b₂]"]
    Z = affine(first, X)
    F = affine(second, relu(Z))
    dR = g["dL/dY"] * (F + X > 0)
    dH = second[:, :-1].T @ dR
    dZ = dH * (Z > 0)
    through = first[:, :-1].T @ dZ
    return {"Z₁": Z, "H": relu(Z), "F": F, "F + X": F + X, "Y": relu(F + X),
            "Y without skip": relu(F), "dL/d(F + X)": dR, "dL/dH": dH, "dL/dZ₁": dZ,
            "dX through F": through, "dL/dX": dR + through}  # fmt: skip


def dropout(g: Arrays, base: float) -> Arrays:
    m = np.where(g["u"] > 0.5, 2.0, 0.0)
    first, second = g["[W₁ | b₁]"], g["[W₂ | b₂]"]
    Z = affine(first, g["X"])
    H = relu(Z)
    Y = affine(second, H * m)
    dY = Y - g["T"]
    dD = second[:, :-1].T @ dY
    dZ = dD * m * (Z > 0)
    return {"m": m, "Z₁": Z, "H": H, "D": H * m, "Y": Y, "dL/dY": dY, "dL/dD": dD, "dL/dH": dD * m,
            "dL/d[W₂ | b₂]": table_grad(dY, H * m), "dL/dZ₁": dZ,
            "dL/d[W₁ | b₁]": table_grad(dZ, g["X"]), "Y afterwards": affine(second, H)}  # fmt: skip


def norm(g: Arrays, axis: int) -> Arrays:
    X, gamma, beta = g["X"], g["γ"], g["β"]
    count = X.shape[axis]

    def mean(x: np.ndarray) -> np.ndarray:
        return x.sum(axis=axis, keepdims=True) / count

    mu, sigma = mean(X), X.std(axis=axis, keepdims=True)
    N = (X - mu) / sigma
    found = {"μ": mu, "D": X - mu, "D²": (X - mu) ** 2, "σ²": sigma**2, "σ": sigma, "X̂": N,
             "γ ∘ X̂": gamma * N, "Y": gamma * N + beta}  # fmt: skip
    if "dL/dY" in g:
        G = g["dL/dY"]
        dN = gamma * G
        m1, m2 = mean(dN), mean(dN * N)
        lines = [(np.moveaxis(a, axis, 0)) for a in (X, dN)]
        columns = [_norm_jacobian(x).T @ d for x, d in zip(lines[0].T, lines[1].T)]
        dX = np.stack(columns, axis=1 - axis)
        found |= {"dL/dβ": G.sum(axis=1, keepdims=True), "X̂ ∘ dY": N * G,
                  "dL/dγ": (N * G).sum(axis=1, keepdims=True), "dL/dX̂": dN, "m₁": m1,
                  "X̂ ∘ dX̂": N * dN, "m₂": m2, "m₂ ∘ X̂": m2 * N, "dX̂ − m₁": dN - m1,
                  "dX̂ − m₁ − m₂ ∘ X̂": dN - m1 - m2 * N, "dL/dX": dX}  # fmt: skip
    return found


def _norm_jacobian(x: np.ndarray) -> np.ndarray:
    """dx̂_i/dx_j of one vector, by differences."""

    def normal(v: np.ndarray) -> np.ndarray:
        return (v - v.mean()) / v.std()

    step = 1e-5 * np.eye(len(x))
    return np.stack([(normal(x + e) - normal(x - e)) / 2e-5 for e in step], axis=1)


def batchnorm(g: Arrays, base: float) -> Arrays:
    return norm(g, 1)


def layernorm(g: Arrays, base: float) -> Arrays:
    return norm(g, 0)


def cross_entropy(g: Arrays, base: float) -> Arrays:
    Z, T = g["Z"], g["T"]
    P = np.stack([softmax(z, base) for z in Z.T], axis=1)
    samples = Z.shape[1]
    found = {"E": base**Z, "Σ": (base**Z).sum(axis=0, keepdims=True), "P": P,
             "dL/dZ": (P - T) / samples}  # fmt: skip
    if samples > 1:
        found["P − T"] = P - T
    if base == math.e:
        p = P[T.argmax(axis=0), range(samples)][None]
        found |= {"T ∘ P": T * P, "p": p, "L": np.array([[-np.log(p).mean()]])}
        if samples > 1:
            found["ℓ"] = -np.log(p)
    return found


def sampling(g: Arrays, base: float) -> Arrays:
    P, u = g["P"], g["u"]
    words, drawn = P.shape

    def word(p: np.ndarray) -> np.ndarray:
        sums = np.cumsum(p, axis=0)
        return np.array([[1 + np.searchsorted(sums[:, j], u[0, j]) for j in range(drawn)]])

    found = {
        "greedy": np.eye(words)[P.argmax(axis=0)].T,
        "C": np.cumsum(P, axis=0),
        "word": word(P),
    }
    if words > 4 or drawn > 2:
        least = np.sort(P, axis=0)[-3 if words == 5 else -2]
        kept = np.where(least <= P, P, 0.0)
        again = kept / kept.sum(axis=0)
        found |= {"K": (kept > 0) * 1.0, "K ∘ P": kept, "Σ": kept.sum(axis=0, keepdims=True),
                  "P₂": again, "C₂": np.cumsum(again, axis=0), "word₂": word(again)}  # fmt: skip
    return found


def moe(g: Arrays, base: float) -> Arrays:
    X = g["X"]
    gate = affine(g["[Wg | bg]"], X)
    chosen = gate.argmax(axis=0)
    found: Arrays = {"G": gate, "C": np.eye(len(gate))[chosen].T}
    total: Any = 0.0
    for number in range(len(gate)):
        mark = "₁₂₃"[number]
        found[f"E{mark}"] = affine(g[f"[W{mark} | b{mark}]"], X)
        found[f"Y{mark}"] = np.where(chosen == number, found[f"E{mark}"], 0.0)
        total = total + found[f"Y{mark}"]
        if number == 1 and len(gate) == 3:
            found["Y₁ + Y₂"] = total
    return {**found, "Y": total, "ReLU(Y)": relu(total)}


def rnn(g: Arrays, base: float) -> Arrays:
    W, C = g["[A | B]"], g["C"]
    A, B = W[:, : len(W)], W[:, len(W) :]
    times = [t for t in "₁₂₃" if f"x{t}" in g]
    found: Arrays = {}
    before = {}
    h = g["h₀"]
    for t in times:
        before[t] = h
        found[f"z{t}"] = A @ h + B @ g[f"x{t}"]
        h = found[f"h{t}"] = relu(found[f"z{t}"])
    found["y"] = C @ h
    if "dL/dy" not in g:
        return found
    found["dL/dC"] = g["dL/dy"] * h.T
    d = g["dL/dy"] * C.T
    shares: Any = 0.0
    for number in range(len(times), 0, -1):
        t = times[number - 1]
        found[f"dL/dh{t}"] = d
        dz = found[f"dL/dz{t}"] = d * (found[f"z{t}"] > 0)
        share = np.outer(dz, np.concatenate([before[t], g[f"x{t}"]]))
        shares = shares + share
        found[f"share {number}"] = share
        if number < len(times):
            found["dL/d[A | B]" if number == 1 else f"shares {number} … {len(times)}"] = shares
        d = A.T @ dz
    return found


def gcn(g: Arrays, base: float) -> Arrays:
    H, found = g["X"], {}
    for number, table in enumerate(tables_of(g), 1):
        mark = "₀₁₂₃"[number]
        Z = found[f"Z{mark}"] = affine(table, H)
        M = found[f"M{mark}"] = relu(Z)
        hears = g["A + I"] > 0
        H = np.stack([M[:, hears[node]].sum(axis=1) for node in range(len(hears))], axis=1)
        found[f"H{mark}"] = H
    return found


EXPECTED = {
    function.__name__.replace("_", "-"): function
    for function in (
        attention, attention_backward, multihead, encoder, matmul, layers, backprop, autoencoder,
        residual, dropout, batchnorm, layernorm, cross_entropy, sampling, moe, rnn, gcn,
    )
}  # fmt: skip


def given_and_found(sheet: Sheet) -> tuple[Arrays, Arrays]:
    given = {name: grid.values for name, grid in sheet.givens.items()}
    results = [step.result for step in sheet.steps]
    assert len({grid.name for grid in results}) == len(results)  # a name is one matrix
    return given, {grid.name: grid.values for grid in results}


def rows() -> list[Any]:
    made = []
    for name, kind in KINDS.items():
        for size in SIZES:
            for e_is_3 in (False, True) if kind.softmax else (False,):
                id = f"{name}-{size}{'-e3' if e_is_3 else ''}"
                made.append(pytest.param(name, size, e_is_3, id=id))
    return made


def test_every_kind_is_here() -> None:
    assert set(EXPECTED) == set(KINDS)


@pytest.mark.parametrize(("name", "size", "e_is_3"), rows())
def test_answers_are_those_of_numpy(name: str, size: str, e_is_3: bool) -> None:
    for seed in (0, 1):
        sheet = make(name, size, seed, e_is_3)
        given, found = given_and_found(sheet)
        expected = EXPECTED[name](given, 3.0 if e_is_3 else math.e)
        assert set(found) == set(expected)
        for matrix, value in expected.items():
            np.testing.assert_allclose(found[matrix], value, atol=1e-8, err_msg=matrix)
        assert sheet.untidiness() == 0
