// The row that is chosen, with its explanation; and the table of rows, which is the map for the keyboard.
const PAGE = 8;
const MOST_COLUMNS = 6; // of the table of rows
const list = { rows: [], page: 0 };
const panel = { output: "predicted" };

function select(row) {
  view.selected = row;
  scatters.forEach((scatter) => scatter.draw());
  drawPanel();
  drawList();
}

function explainedOutput(row) {
  if (!manyOutputs) return 0;
  if (panel.output !== "predicted") return Number(panel.output);
  return Math.max(0, report.outputs.indexOf(report.fitted.classes[map.prediction[row]]));
}

// The parts of a score: the base, the largest features, the rest; they add up to it.
function partsOf(row, k) {
  const reasons = map.reasons[k];
  const parts = reasons.features[row].map((feature, i) => ({
    name: featureName(feature),
    value: columnValue(feature, row),
    adds: reasons.adds[row][i],
    slope: reasons.coefficients[row][i],
  }));
  const nOthers = report.fitted.n_columns - parts.length;
  if (nOthers > 0)
    parts.push({
      name: nOthers === 1 ? "1 other" : `${show(nOthers)} others`,
      value: "",
      adds: reasons.rest[row],
      slope: null,
    });
  const starts = [{ name: "average row", value: "", adds: reasons.base, slope: null }];
  if (reasons.initial)
    starts.unshift({ name: "initial model", value: "", adds: reasons.initial[row], slope: null });
  return { starts, parts };
}

function drawPanel() {
  const row = view.selected;
  if (row === null) return;
  const k = explainedOutput(row);
  const { starts, parts } = partsOf(row, k);
  const whole = isRegression ? "prediction" : "score";
  $("row-title").replaceChildren(
    nameOf(
      rowName(row).replace(/^./, (letter) => letter.toUpperCase()),
      50,
    ),
  );
  $("row-facts").replaceChildren(factsOf(row, k));
  fillReasons(row, k, starts, parts, whole);
  $("row-note").textContent = note(k);
  const largest =
    parts[0] && parts[0].value !== ""
      ? ` ${short(parts[0].name, 40)} adds ${show(parts[0].adds, true)}.`
      : "";
  const [target, prediction] = ["target", "prediction"].map((key) => outcome(row, key));
  const parted = `prediction ${prediction}, target ${target}, error ${show(map.error[row])}`;
  $("row-status").textContent = `${rowName(row)}: ${parted}.${largest}`;
}

const alarmOf = (row) => {
  if (report.drift.alarm[row]) return ", alarm";
  return report.drift.threshold === null ? "" : `; alarm above ${show(report.drift.threshold)}`;
};

function factsOf(row, k) {
  const region = report.regions?.outputs[k].of_points[row];
  const pairs = [
    ["prediction", outcome(row, "prediction")],
    ["target", outcome(row, "target")],
    ["error", show(map.error[row])],
  ];
  if (report.regions)
    pairs.push(["region", region >= 0 ? String(region + 1) : region === -1 ? "a small one" : "never seen"]);
  if (map.probability)
    pairs.splice(1, 0, [
      `probability of ${short(report.outputs[k], 24)}`,
      percent(map.probability[k][row]),
    ]);
  if (report.drift && report.drift.indicator[row] !== null)
    pairs.push([
      "drift indicator",
      `${show(report.drift.indicator[row])}${alarmOf(row)}`,
    ]);
  return make(
    "dl",
    {},
    ...pairs.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, nameOf(value, 48))]),
  );
}

// A waterfall: each bar begins where the one above it ended, from zero to the whole.
function fillReasons(row, k, starts, parts, whole) {
  const table = $("reasons-of-row");
  const steps = stepsOf([...starts, ...parts]);
  const score = map.scores[k][row];
  const at = positions([score, ...steps.map(({ to }) => to)]);
  const cells = ({ name, value, adds, slope, from, to }, i) => [
    nameOf(name, 120),
    nameOf(value, 24),
    i < starts.length ? bar(at, 0, to, "whole") : bar(at, from, to, adds >= 0 ? "" : "down"),
    show(adds, true),
    slope === null ? "" : show(slope, true),
  ];
  fillTable(
    table,
    `What adds up to the ${whole}`,
    ["Feature", "Value", "", "Adds", "Slope"],
    steps.map(cells),
  );
  const sum = make(
    "tr",
    { className: "sum" },
    make("th", { scope: "row" }, whole),
    make("td", {}),
    make("td", {}, bar(at, 0, score, "whole")),
    make("td", { className: "num", id: "row-sum" }, show(score)),
    make("td", {}),
  );
  table.tBodies[0].append(sum);
}

function stepsOf(parts) {
  let sum = 0;
  return parts.map((part) => {
    const from = sum;
    sum += part.adds;
    return { ...part, from, to: sum };
  });
}

// Where numbers lie in a cell, in percent; what is beyond the steps, such as zero, lies at an end.
function positions(ends) {
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const width = high - low || 1;
  return (value) => 4 + (92 * (Math.min(Math.max(value, low), high) - low)) / width;
}

function bar(at, from, to, look) {
  const [left, right] = [at(from), at(to)].sort((a, b) => a - b);
  const length = make("span", { className: `length ${look}` });
  Object.assign(length.style, { left: `${left}%`, width: `${Math.max(right - left, 0.6)}%` });
  return make("span", { className: "fall", ariaHidden: "true" }, length);
}

function note(k) {
  const of = manyOutputs ? ` of ${short(report.outputs[k], 24)}` : "";
  const what = isRegression ? "the prediction" : `the score${of}`;
  const adds = `Adds: to ${what}, over the average training row.`;
  return `${adds} Slope: its change per unit of the feature right here; for a category, what it adds there.`;
}

function sortRows() {
  const rows = Array.from(scatters[0].rowsDrawn);
  const by = $("sort").value;
  const size = (row) => (map.error[row] === null ? -1 : Math.abs(map.error[row]));
  const alarm = (row) => report.drift.indicator[row] ?? -1;
  if (by === "alarm") rows.sort((a, b) => alarm(b) - alarm(a));
  if (by === "typical") {
    const far = distances();
    rows.sort((a, b) => far[a] - far[b]);
  }
  if (by === "order") rows.sort((a, b) => a - b);
  if (by === "error") rows.sort((a, b) => size(b) - size(a));
  if (by === "prediction") rows.sort((a, b) => map.scores[0][b] - map.scores[0][a]);
  list.rows = rows;
}

// How far each row lies from the middle of the map, whatever its axes are.
function distances() {
  const planes = map.embedding_pca.values.map((values) => [values, quantile(sorted(values), 0.5)]);
  return map.kind.map((_, row) => Math.hypot(...planes.map(([values, middle]) => values[row] - middle)));
}

function drawList() {
  const nPages = Math.max(1, Math.ceil(list.rows.length / PAGE));
  list.page = Math.min(Math.max(list.page, 0), nPages - 1);
  const shown = list.rows.slice(list.page * PAGE, (list.page + 1) * PAGE);
  const columns = map.columns.slice(0, MOST_COLUMNS);
  fillTable(
    $("rows"),
    `Rows shown on the map, ${show(list.rows.length)} in all`,
    [
      "Row",
      "Target",
      "Prediction",
      "Error",
      ...columns.map((column) => short(featureName(column.feature), 20)),
    ],
    shown.map((row) => [
      rowButton(row),
      nameOf(outcome(row, "target"), 24),
      nameOf(outcome(row, "prediction"), 24),
      show(map.error[row]),
      ...columns.map((column) => nameOf(columnValue(column.feature, row), 20)),
    ]),
  );
  $("page").textContent = `Page ${show(list.page + 1)} of ${show(nPages)}`;
  $("previous-page").disabled = list.page === 0;
  $("next-page").disabled = list.page === nPages - 1;
}

function rowButton(row) {
  const button = make("button", { type: "button", className: "link" }, nameOf(rowName(row), 40));
  if (row === view.selected) button.setAttribute("aria-current", "true");
  button.addEventListener("click", () => {
    select(row);
    const again = [...$("rows").querySelectorAll("button")].find((each) => each.getAttribute("aria-current"));
    if (again) again.focus();
  });
  return button;
}

function step(by) {
  if (!list.rows.length) return;
  const at = list.rows.indexOf(view.selected);
  const next = at < 0 ? 0 : (at + by + list.rows.length) % list.rows.length;
  list.page = Math.floor(next / PAGE);
  select(list.rows[next]);
}

function startRow() {
  const renew = () => {
    sortRows();
    drawList();
  };
  view.listeners.push(renew);
  $("sort").addEventListener("change", () => {
    list.page = 0;
    renew();
  });
  for (const button of document.querySelectorAll("[data-order]"))
    button.addEventListener("click", () => {
      $("sort").value = button.dataset.order;
      Object.assign(list, { page: 0 });
      renew();
      if (list.rows.length) select(list.rows[0]);
    });
  $("previous-row").addEventListener("click", () => step(-1));
  $("next-row").addEventListener("click", () => step(1));
  $("previous-page").addEventListener("click", () => (list.page--, drawList()));
  $("next-page").addEventListener("click", () => (list.page++, drawList()));
  $("map-focus").addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    step(by);
  });
  fill(
    $("row-output"),
    [["predicted", "the predicted class"], ...report.outputs.map((name, k) => [String(k), name])],
    "predicted",
  );
  $("row-output").addEventListener("change", (event) => {
    panel.output = event.target.value;
    drawPanel();
  });
}
