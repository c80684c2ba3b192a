// The data, small helpers for elements and numbers, and the state that the parts of the page share.
const report = JSON.parse(document.getElementById("data").textContent);
const isRegression = report.fitted.task === "regression";
const manyOutputs = report.outputs.length > 1;

const $ = (id) => document.getElementById(id);

// Every text goes in as text: no name is ever read as HTML.
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key in element && key !== "list") element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

const short = (text, length = 60) => (text.length <= length ? text : text.slice(0, length - 1) + "…");

function nameOf(text, length = 60) {
  const element = make("bdi", { className: "name" }, short(text, length));
  if (text.length > length) element.title = short(text, 400);
  return element;
}

function show(value, sign = false) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  let shown;
  if (size && (size < 1e-4 || size >= 1e15)) shown = size.toExponential(2).replace("+", "");
  else if (size >= 1000) shown = Math.floor(size + 0.5).toLocaleString("en-US");
  else shown = String(Number(size.toPrecision(4)));
  return (value < 0 ? "−" : sign && value ? "+" : "") + shown;
}

// A value of a column: of four digits, such as a year, without a separator.
function showValue(value) {
  const isShort = Number.isInteger(value) && Math.abs(value) < 1e4;
  return isShort ? String(value).replace("-", "−") : show(value);
}

const WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const dayOf = (days) => new Date(Math.floor(days) * 864e5).toISOString().slice(0, 10);

// A number of a feature, as what it counts of a date, if anything.
function showOf(feature, value) {
  const scale = report.features.scales[feature];
  if (value === null || value === undefined) return show(value);
  if (scale === "days" && Math.abs(value) < 1e8) return dayOf(value);
  if (scale === "weekday" && value >= 0) return WEEKDAYS[Math.floor(value) % 7];
  if (scale === "day of year" && value >= 1) {
    const date = new Date(Date.UTC(2001, 0, Math.floor(value)));
    return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]}`;
  }
  return showValue(value);
}

function percent(share) {
  if (share === null || share === undefined) return "–";
  const digits = Math.abs(100 * share) < 10 ? 10 : 1;
  return `${show(Math.round(100 * share * digits) / digits)} %`;
}

function fill(select, options, chosen) {
  select.replaceChildren(...options.map(([value, text]) => make("option", { value }, short(text, 70))));
  if (chosen !== undefined) select.value = chosen;
}

function fillTable(table, caption, heads, rows) {
  const head = heads.map((text, i) => make("th", { scope: "col", className: i ? "num" : "" }, text));
  const body = rows.map((cells) =>
    make(
      "tr",
      {},
      ...cells.map((cell, i) => make(i ? "td" : "th", i ? { className: "num" } : { scope: "row" }, cell)),
    ),
  );
  table.replaceChildren(
    make("caption", {}, caption),
    make("thead", {}, make("tr", {}, ...head)),
    make("tbody", {}, ...body),
  );
}

// One output is chosen for all sections that ask for one.
const outputChoices = [];
function chooseOutput(id, whenChosen) {
  const select = $(id);
  if (!select) return;
  fill(
    select,
    report.outputs.map((name, k) => [String(k), name]),
    "0",
  );
  outputChoices.push({ select, whenChosen });
  select.addEventListener("change", () => {
    for (const each of outputChoices) {
      each.select.value = select.value;
      each.whenChosen(Number(select.value));
    }
  });
}
