"use strict";
// Tables are sorted and searched, and the points of charts tell their values. Without this script,
// everything is still there to be read.
const told = document.getElementById("told");
const tip = document.getElementById("tip");

// --- tables

// The number that a cell begins with; NaN where it is undefined.
function numberIn(text) {
  const number = /^[+−-]?[\d,]*\.?\d+/.exec(text);
  return number ? parseFloat(number[0].replace("−", "-").replaceAll(",", "")) : NaN;
}

function sortBy(head, column) {
  const descending = head.getAttribute("aria-sort") === "ascending";
  const body = head.closest("table").tBodies[0];
  const isNumber = head.classList.contains("n");
  const text = (row) => row.cells[column].textContent.trim();
  const order = (a, b) => isNumber ? numberIn(a) - numberIn(b) : a.localeCompare(b, undefined, { numeric: true });
  // What is undefined stays at the end, in both directions.
  const isDefined = (row) => !isNumber || !Number.isNaN(numberIn(text(row)));
  const defined = Array.from(body.rows).filter(isDefined);
  defined.sort((a, b) => (descending ? -1 : 1) * order(text(a), text(b)));
  body.append(...defined, ...Array.from(body.rows).filter((row) => !isDefined(row)));
  for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", descending ? "descending" : "ascending");
  told.textContent = `Sorted by ${head.textContent}, ${descending ? "descending" : "ascending"}`;
}

function addSearch(holder) {
  const rows = Array.from(holder.querySelector("tbody").rows, (row) => ({ row, text: row.textContent.toLowerCase() }));
  const label = document.createElement("label");
  const count = document.createElement("output");
  const input = document.createElement("input");
  input.type = "search";
  label.append("Search ", input);
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const { row, text } of rows) {
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    count.textContent = words.length ? `${shown} of ${rows.length} rows` : "";
  });
  const line = document.createElement("div");
  line.className = "search";
  line.append(label, count);
  holder.prepend(line);
}

for (const holder of document.querySelectorAll(".table[data-long]")) {
  holder.querySelectorAll("thead th").forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sortBy(head, column));
    head.append(button);
  });
  addSearch(holder);
}

// --- charts

const NEAR = 30; // pixels

for (const svg of document.querySelectorAll(".drawing > svg")) {
  // From left to right, for the arrow keys.
  const marks = Array.from(svg.querySelectorAll("use[data-name]"));
  marks.sort((a, b) => a.getAttribute("x") - b.getAttribute("x"));
  const places = marks.map((mark) => [Number(mark.getAttribute("x")), Number(mark.getAttribute("y"))]);
  let shown = -1;

  const hide = () => {
    tip.hidden = true;
    if (shown >= 0) for (const mark of marks) mark.classList.remove("on");
    shown = -1;
  };

  const show = (i) => {
    if (i === shown) return;
    hide();
    shown = i;
    const { name, text } = marks[i].dataset;
    for (const mark of marks) mark.classList.toggle("on", mark.dataset.name === name);
    tip.textContent = `${name}\n${text}`;
    tip.hidden = false;
    const box = svg.getBoundingClientRect();
    const scale = box.width / svg.viewBox.baseVal.width;
    const x = box.left + places[i][0] * scale;
    const y = box.top + places[i][1] * scale;
    tip.style.left = `${scrollX + Math.max(4, Math.min(x + 12, document.documentElement.clientWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${scrollY + y + 14}px`;
  };

  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const scale = box.width / svg.viewBox.baseVal.width;
    const x = (event.clientX - box.left) / scale;
    const y = (event.clientY - box.top) / scale;
    let nearest = -1;
    let least = (NEAR / scale) ** 2;
    places.forEach(([px, py], i) => {
      const distance = (px - x) ** 2 + (py - y) ** 2;
      if (distance < least) [least, nearest] = [distance, i];
    });
    if (nearest < 0) hide();
    else show(nearest);
  });
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("blur", hide);
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") hide();
    if (!step || !marks.length) return;
    event.preventDefault();
    const at = shown < 0 && step < 0 ? 0 : shown;
    show((at + step + marks.length) % marks.length);
    told.textContent = tip.textContent;
  });
}

// --- when the page was written, which the page itself does not hold: equal results are equal files

document.getElementById("written").textContent = `Written on ${new Date(document.lastModified).toLocaleDateString(undefined, { dateStyle: "long" })}`;
