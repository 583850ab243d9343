// Sorts tables by their column heads (data-sort) and filters them (data-filter="Find a key"). Without scripts they keep the order of the server.
// The sort key of a cell is its data-value, else the time of its <time>, else its text: a number, a day (for a period its last day) or words. Heads
// for screen readers only are not sortable. Rows of the classes "group" and "key" stay at the top of their <tbody>, those of the class "rest" at its end.
// The filter appears from six rows on.
const worthFiltering = 6;
const words = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
const day = /(?:^|– )(\d{1,2}) ([A-Z][a-z]{2}) (\d{4})$/; // 30 Nov 2026, 1 – 30 Nov 2026
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const figure = /^[-+]?\d[\d,]*(\.\d+)?/; // 1,234.5 units

const rowsOf = (body) => [...body.rows].filter((row) => !row.matches(".group, .key, .rest"));

// Returns the sort key of a cell: a number, a text, or null for an empty cell.
function worth(cell) {
  const text = (cell?.dataset.value ?? cell?.querySelector("time")?.dateTime ?? cell?.textContent ?? "").trim();
  if (text === "") return null;
  if (/^\d{4}-\d\d-\d\d/.test(text)) return text; // RFC 3339 times sort as texts
  const [, date, month, year] = text.match(day) ?? [];
  if (months.includes(month)) return Date.UTC(year, months.indexOf(month), date);
  const [number] = text.replace(/^(-?)\$/, "$1").match(figure) ?? [];
  return number === undefined ? text : Number(number.replaceAll(",", ""));
}

// Numbers come before texts such as "no limit". Empty cells come last in both directions.
function compare(a, b, direction) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return direction * (typeof a === "number" ? a - b : words.compare(a, b));
}

function sort(table, head, column) {
  const before = head.getAttribute("aria-sort");
  const first = head.classList.contains("number") ? "descending" : "ascending";
  const other = first === "descending" ? "ascending" : "descending";
  const order = before === first ? other : first;
  for (const one of head.parentElement.cells) one.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", order);
  const direction = order === "ascending" ? 1 : -1;
  for (const body of table.tBodies) {
    const keyed = rowsOf(body).map((row) => ({ row, key: worth(row.cells[column]) }));
    keyed.sort((a, b) => compare(a.key, b.key, direction));
    body.append(...keyed.map(({ row }) => row), ...body.querySelectorAll(":scope > .rest"));
  }
}

function sortable(table) {
  const heads = table.tHead?.rows[table.tHead.rows.length - 1]?.cells ?? [];
  for (const [column, head] of [...heads].entries()) {
    if (head.querySelector(".sr, button") || head.colSpan > 1 || head.textContent.trim() === "") continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => sort(table, head, column));
  }
}

function filterable(table) {
  const rows = [...table.tBodies].flatMap(rowsOf);
  if (rows.length < worthFiltering) return;
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const tools = document.createElement("div");
  const input = document.createElement("input");
  const said = document.createElement("span");
  tools.className = "find";
  input.type = "search";
  input.placeholder = table.dataset.filter;
  input.setAttribute("aria-label", table.dataset.filter);
  said.setAttribute("role", "status");
  tools.append(input, said);
  (table.closest(".scroll") ?? table).before(tools);
  input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const [i, row] of rows.entries()) {
      row.hidden = !wanted.every((word) => texts[i].includes(word));
      shown += !row.hidden;
    }
    for (const body of table.tBodies) {
      const none = rowsOf(body).every((row) => row.hidden);
      for (const row of body.rows) {
        if (row.classList.contains("group")) row.hidden = none;
        if (row.classList.contains("rest")) row.hidden = wanted.length > 0;
      }
    }
    said.textContent = wanted.length === 0 ? "" : `${shown} of ${rows.length}`;
  });
}

for (const table of document.querySelectorAll("table[data-sort]")) sortable(table);
for (const table of document.querySelectorAll("table[data-filter]")) filterable(table);
