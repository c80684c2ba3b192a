// The row that is chosen, with its explanation; and the table of rows, which is the map for the keyboard.
const PAGE = 6;
const list = { rows: [], page: 0 };
const panel = { output: "predicted", parts: [], chart: null };

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
  panel.parts = parts;
  panel.chart.draw();
  const largest =
    parts[0] && parts[0].value !== ""
      ? ` ${short(parts[0].name, 40)} adds ${show(parts[0].adds, true)}.`
      : "";
  const [target, prediction] = ["target", "prediction"].map((key) => outcome(row, key));
  const parted = `prediction ${prediction}, target ${target}, error ${show(map.error[row])}`;
  $("row-status").textContent = `${rowName(row)}: ${parted}.${largest}`;
}

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
      `${show(report.drift.indicator[row])}${report.drift.alarm[row] ? ", alarm" : ""}`,
    ]);
  return make(
    "dl",
    {},
    ...pairs.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, nameOf(value, 48))]),
  );
}

function fillReasons(row, k, starts, parts, whole) {
  const table = $("reasons-of-row");
  const cells = ({ name, value, adds, slope }) => [
    nameOf(name, 22),
    nameOf(value, 12),
    show(adds, true),
    slope === null ? "" : show(slope, true),
  ];
  fillTable(
    table,
    `What adds up to the ${whole}`,
    ["Feature", "Value", "Adds", "Slope"],
    [...starts, ...parts].map(cells),
  );
  const sum = make(
    "tr",
    { className: "sum" },
    make("th", { scope: "row" }, whole),
    make("td", {}),
    make("td", { className: "num", id: "row-sum" }, show(map.scores[k][row])),
    make("td", {}),
  );
  table.tBodies[0].append(sum);
}

function note(k) {
  const of = manyOutputs ? ` of ${short(report.outputs[k], 24)}` : "";
  const what = isRegression ? "the prediction" : `the score${of}`;
  const adds = `Adds: to ${what}, over the average training row.`;
  return `${adds} Slope: its change per unit of the feature right here; for a category, what it adds there.`;
}

function reasonOption() {
  const { parts } = panel;
  $("row-chart").style.height = `${34 + 22 * parts.length}px`;
  const label = { ...axis("").axisLabel, showMinLabel: false, showMaxLabel: false };
  return {
    grid: gridOf({ top: 4, bottom: 0 }),
    xAxis: axis("", { axisLabel: label, splitNumber: 3 }),
    yAxis: names(parts.map((part) => short(part.name, 14))),
    tooltip: tip((event) => {
      const { name, value, adds } = parts[event.dataIndex];
      return tipOf(name, [
        ["value", value],
        ["adds", show(adds, true)],
      ]);
    }),
    series: [{ type: "bar", data: parts.map((part) => signedBar(part.adds)), barMaxWidth: 14 }],
  };
}

function sortRows() {
  const rows = Array.from(scatters[0].rowsDrawn);
  const by = $("sort").value;
  const size = (row) => (map.error[row] === null ? -1 : Math.abs(map.error[row]));
  if (by === "error") rows.sort((a, b) => size(b) - size(a));
  if (by === "prediction") rows.sort((a, b) => map.scores[0][b] - map.scores[0][a]);
  list.rows = rows;
}

function drawList() {
  const nPages = Math.max(1, Math.ceil(list.rows.length / PAGE));
  list.page = Math.min(Math.max(list.page, 0), nPages - 1);
  const shown = list.rows.slice(list.page * PAGE, (list.page + 1) * PAGE);
  const columns = map.columns.slice(0, 3);
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
  panel.chart = makeChart("row-chart", reasonOption);
  const renew = () => {
    sortRows();
    drawList();
  };
  view.listeners.push(renew);
  $("sort").addEventListener("change", () => {
    list.page = 0;
    renew();
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
