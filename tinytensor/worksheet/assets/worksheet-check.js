/* What was typed: read as a number, and judged. */
"use strict";

const Check = (() => {
  /* "3", "−0.5", "0,5", "1/3", "1 1/2": the number; NaN for anything else. */
  function read(text) {
    const plain = text.trim().replaceAll("−", "-").replaceAll("–", "-").replaceAll(",", ".");
    const decimal = "(\\d+\\.?\\d*|\\.\\d+)";
    const form = new RegExp(`^([-+]?)\\s*(?:(\\d+)\\s+)?${decimal}(?:\\s*/\\s*${decimal})?$`);
    const found = form.exec(plain);
    if (found === null) return NaN;
    const [, sign, whole, upper, lower] = found;
    if (whole !== undefined && lower === undefined) return NaN; // "1 2"
    const size = Number(whole ?? 0) + Number(upper) / Number(lower ?? 1);
    return Number.isFinite(size) ? (sign === "-" ? -size : size) : NaN;
  }

  /* {verdict: "" (not done), "right" or "wrong", hint}. how: the way to the answer, in words. */
  function judge(text, blank, how) {
    if (text.trim() === "") return { verdict: "", hint: "" };
    const value = read(text);
    if (Number.isNaN(value)) {
      return { verdict: "wrong", hint: "Not read as a number: write 3, −0.5 or 1/3." };
    }
    const near = (other, within) => Math.abs(value - other) <= within;
    if (near(blank.answer, blank.tolerance)) return { verdict: "right", hint: "" };
    const mistake = blank.mistakes.find(([other]) => near(other, 0.006 + 0.01 * Math.abs(other)));
    return { verdict: "wrong", hint: mistake === undefined ? way(blank, how) : mistake[1] };
  }

  function way(blank, how) {
    return how.replaceAll("{row}", blank.row).replaceAll("{column}", blank.column);
  }

  return Object.freeze({ read, judge });
})();
