/* A worksheet: checks what is typed, tells what is likely wrong, and leads from blank to blank. */
"use strict";

{
  const { element } = TT;
  const sheet = TT.data("worksheet");
  const place = `${document.title}, ${sheet.about}`; // where answers are remembered
  const inputs = [...document.querySelectorAll(".blank input")];
  const numberOf = (input) => Number(input.id.slice("blank-".length));
  const inputOf = (number) => document.getElementById(`blank-${number}`);
  const hints = new Map(); // number of a blank that is wrong → what is likely wrong with it

  /* ---------------------------------------------------------------------------------------
     Judging */

  function check(input) {
    const number = numberOf(input);
    const blank = sheet.blanks[number];
    const { verdict, hint } = Check.judge(input.value, blank, sheet.steps[blank.step]);
    if (verdict === "wrong") hints.set(number, hint);
    else hints.delete(number);
    const cell = input.closest("td");
    if (verdict === "") delete cell.dataset.verdict;
    else cell.dataset.verdict = verdict;
    input.setAttribute("aria-invalid", String(verdict === "wrong"));
    echo(number, verdict === "right" ? blank.text : "");
    const struck = sheet.strikes[number];
    if (struck) inputOf(struck)?.closest("td").classList.toggle("struck", verdict === "right");
    return verdict;
  }

  /* A number that is found stands wherever it is needed. */
  function echo(number, text) {
    for (const cell of document.querySelectorAll(`[data-echo="${number}"]`)) cell.textContent = text;
  }

  /* Below the equation of a step: the hint for this blank, or for another of the step's. */
  function advise(step, number) {
    const wrong = [...hints.keys()].filter((each) => sheet.blanks[each].step === step);
    const about = wrong.includes(number) ? number : wrong.at(0);
    const line = document.querySelector(`.hint[data-step="${step}"]`);
    line.hidden = about === undefined;
    if (line.hidden) return;
    const { row, column } = sheet.blanks[about];
    line.textContent = `Row ${row}, column ${column}: ${hints.get(about)}`;
  }

  function settle(input) {
    const number = numberOf(input);
    const verdict = check(input) || "not done";
    advise(sheet.blanks[number].step, number);
    TT.announce(`${input.getAttribute("aria-label")}: ${verdict}. ${hints.get(number) ?? ""}`);
    count();
    keep();
  }

  /* ---------------------------------------------------------------------------------------
     How far it is */

  const bar = element("progress", { max: inputs.length, value: 0, "aria-label": "right answers" });
  const tally = element("span", { id: "tally" });

  function count() {
    const of = (verdict) => document.querySelectorAll(`.blank[data-verdict="${verdict}"]`).length;
    const [right, wrong] = [of("right"), of("wrong")];
    bar.value = right;
    tally.textContent = `${right} of ${inputs.length} right` + (wrong ? `, ${wrong} wrong` : "");
  }

  function keep() {
    const typed = inputs.filter((input) => input.value !== "");
    const answers = Object.fromEntries(typed.map((input) => [numberOf(input), input.value]));
    TT.remember(place, JSON.stringify(answers));
  }

  function restore() {
    const answers = JSON.parse(TT.remembered(place) ?? "{}");
    for (const input of inputs) input.value = answers[numberOf(input)] ?? "";
    inputs.forEach(check);
    sheet.steps.forEach((_, step) => advise(step));
    count();
  }

  function startAgain() {
    TT.remember(place, "{}");
    restore();
    inputs[0].focus();
  }

  /* ---------------------------------------------------------------------------------------
     From blank to blank */

  /* The blank next to this one in its matrix, or else the one before or after the matrix. */
  function neighbour(input, key) {
    const at = inputs.indexOf(input);
    if (key === "Enter") return inputs[at + 1];
    if (key === "ArrowLeft") return inputs[at - 1];
    if (key === "ArrowRight") return inputs[at + 1];
    const row = input.closest("tr");
    const column = input.closest("td").cellIndex;
    const next = key === "ArrowDown" ? row.nextElementSibling : row.previousElementSibling;
    if (next !== null) return next.cells[column].querySelector("input");
    const own = [...row.closest("table").querySelectorAll("input")];
    if (key === "ArrowDown") return inputs[inputs.indexOf(own.at(-1)) + 1];
    return inputs[inputs.indexOf(own[0]) - 1];
  }

  /* Left and right move inside of what is typed, as long as there is room. */
  function leaves(input, key) {
    const { selectionStart: start, selectionEnd: end, value } = input;
    if (value === "" || (start === 0 && end === value.length)) return true;
    if (key === "ArrowLeft") return end === 0;
    if (key === "ArrowRight") return start === value.length;
    return true;
  }

  function steer(event) {
    const { key, target } = event;
    if (!["Enter", "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"].includes(key)) return;
    if (!leaves(target, key)) return;
    event.preventDefault();
    const next = neighbour(target, key);
    if (key === "Enter") settle(target);
    next?.focus();
    next?.select();
  }

  for (const input of inputs) {
    input.onkeydown = steer;
    input.onchange = () => settle(input);
  }
  document.getElementById("tools").append(
    element("span", { class: "progress" }, bar, tally),
    element("button", { type: "button", id: "print", onclick: () => window.print() }, "Print"),
    element("button", { type: "button", id: "again", onclick: startAgain }, "Start again"),
  );
  restore();
}
