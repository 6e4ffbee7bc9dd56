"""A product of two matrices, and its two gradients."""

from __future__ import annotations

from .notation import matrix
from .sheet import Sheet, main, worksheet


@worksheet("002-4-MatMul", "Matrix multiplication")
def matmul(sheet: Sheet) -> None:
    A = sheet.given("A", matrix("1 1; -1 1"))
    B = sheet.given("B", matrix("1 5 2; 2 4 2"))
    sheet.check("C = A·B", A @ B, "3 9 4; 1 -1 0")
    sheet.gradcheck("C", lambda a, b: a @ b, A, B)


if __name__ == "__main__":
    main()
