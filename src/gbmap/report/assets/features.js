// Which features move the prediction, and how one of them does along its values.
const MOST_BARS = 15;
const feature = { output: 0, dependence: null };
const addsLabel = () =>
  isRegression
    ? "adds to the prediction"
    : `adds to the score of ${short(report.outputs[feature.output], 20)}`;

function importanceOption() {
  const list = rankedImportances().slice(0, MOST_BARS);
  return {
    grid: gridOf({ bottom: 30, top: 4 }),
    xAxis: axis(isRegression ? "mean size of what it adds" : "mean size of what it adds to the score"),
    yAxis: names(
      list.map((each) => featureName(each.feature)),
      "importance-chart",
    ),
    tooltip: tip((event) =>
      tipOf(featureName(list[event.dataIndex].feature), [["importance", show(event.value)]]),
    ),
    series: [
      {
        type: "bar",
        data: list.map((each) => each.of_outputs[feature.output]),
        itemStyle: { color: palette().up, decal: PLAIN },
        barMaxWidth: 16,
      },
    ],
  };
}

const rankedImportances = () =>
  [...report.features.importances].sort(
    (a, b) => b.of_outputs[feature.output] - a.of_outputs[feature.output],
  );

function dependenceOption() {
  const { dependence, output } = feature;
  const column = columnOf.get(dependence.feature);
  return column.kind === "category"
    ? levelsOption(dependence, column, output)
    : curveOption(dependence, column, output);
}

function levelsOption(dependence, column, output) {
  return {
    grid: gridOf({ bottom: 30, top: 4 }),
    xAxis: axis(`mean of what it ${addsLabel()}`),
    yAxis: names(column.levels, "dependence-chart"),
    tooltip: tip((event) => tipOf(column.levels[event.dataIndex], [["adds", show(event.value, true)]])),
    series: [
      {
        type: "bar",
        data: dependence.means[output].map((value) => (value === null ? null : signedBar(value))),
        barMaxWidth: 16,
      },
    ],
  };
}

function curveOption(dependence, column, output) {
  const points = dependence.rows
    .map((row, i) => ({ value: [column.values[row], dependence.adds[output][i]], row }))
    .filter((point) => point.value[0] !== null);
  const [low, high] = frame(points.map((point) => point.value[0]));
  $("dependence-chart").style.height = "";
  return {
    grid: framed(),
    xAxis: axis(titleOf(featureName(dependence.feature), "dependence-chart"), {
      min: low,
      max: high,
      ...wholeOf(dependence.feature),
      axisLabel: { ...labelsOf(dependence.feature), showMinLabel: false, showMaxLabel: false },
    }),
    yAxis: axis(addsLabel(), atSide),
    tooltip: tip((event) => (event.data.row === undefined ? null : rowTip(event.data.row))),
    series: [
      {
        type: "scatter",
        data: points,
        symbolSize: 4,
        itemStyle: { color: palette().up, opacity: 0.45 },
        clip: true,
      },
      {
        type: "line",
        data: dependence.middles.map((value, i) => [value, dependence.means[output][i]]),
        symbol: "none",
        lineStyle: { color: palette().down, width: 2.5 },
        z: 3,
        clip: true,
      },
    ],
  };
}

function featureTables() {
  const head = isRegression ? "Mean size of what it adds" : "Mean size of what it adds to the score";
  const rows = rankedImportances().map((each) => [
    nameOf(featureName(each.feature)),
    show(each.of_outputs[feature.output]),
  ]);
  fillTable($("importances"), "Importance", ["Feature", head], rows);
  const { dependence, output } = feature;
  if (!dependence) return;
  const column = columnOf.get(dependence.feature);
  const values =
    column.kind === "category"
      ? column.levels.map((level) => nameOf(level))
      : dependence.middles.map((value) => showOf(dependence.feature, value));
  const table = values.map((value, i) => [value, show(dependence.means[output][i], true)]);
  fillTable(
    $("dependence"),
    `What ${short(featureName(dependence.feature), 60)} adds on average`,
    ["Value", "Adds"],
    table,
  );
}

function startFeatures() {
  if (!report.features.importances.length) return;
  const { dependences } = report.features;
  const ranks = rankedImportances().map((each) => each.feature);
  feature.dependence =
    [...dependences].sort((a, b) => ranks.indexOf(a.feature) - ranks.indexOf(b.feature))[0] || null;
  const importance = makeChart("importance-chart", importanceOption);
  const curve = feature.dependence ? makeChart("dependence-chart", dependenceOption, "canvas") : null;
  const effect = startCurve();
  const swarm = startSwarm();
  const redraw = () => {
    importance.draw();
    if (swarm) swarm.draw();
    if (curve) curve.draw();
    if (effect) effect.draw();
    featureTables();
    curveTable();
  };
  fill(
    $("feature"),
    dependences.map((each, i) => [String(i), featureName(each.feature)]),
    String(dependences.indexOf(feature.dependence)),
  );
  const choose = (i) => {
    if (i < 0) return;
    feature.dependence = dependences[i];
    $("feature").value = String(i);
    redraw();
  };
  $("feature").addEventListener("change", (event) => choose(Number(event.target.value)));
  importance.chart.on("click", (event) => {
    const { feature: chosen } = rankedImportances()[event.dataIndex];
    choose(dependences.findIndex((each) => each.feature === chosen));
  });
  if (curve) curve.chart.on("click", (event) => event.data.row !== undefined && select(event.data.row));
  chooseOutput("feature-output", (k) => {
    feature.output = k;
    redraw();
  });
  featureTables();
  curveTable();
}
