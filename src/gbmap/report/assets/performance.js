// Predictions beside the truth: of numbers with their errors, of classes by the curves that people know.
const LONGEST_CURVE_TABLE = 20;
const performanceOf = { output: 0 };
const oneClass = () => report.predictions.classes.outputs[performanceOf.output];

const percentAxis = (name, extra = {}) =>
  axis(name, { min: 0, max: 1, axisLabel: { formatter: (value) => percent(value) }, ...extra });

// The ends of this axis are where rows happen to end: no numbers to read.
const endlessAxis = (name, [low, high], extra = {}) =>
  axis(name, { min: low, max: high, axisLabel: { showMinLabel: false, showMaxLabel: false }, ...extra });

const plainLine = (data, lineStyle) => ({ type: "line", data, symbol: "none", clip: true, lineStyle });
const guide = (data) => ({
  ...plainLine(data, { color: variable("muted"), type: "dashed", width: 1.5 }),
  silent: true,
});
const boldLine = (data) => ({
  ...plainLine(data, { color: palette().up, width: 2.5 }),
  itemStyle: { color: palette().up },
});

const rowDots = (data) => ({
  type: "scatter",
  data,
  symbolSize: 5,
  itemStyle: { color: palette().up, opacity: 0.5 },
  clip: true,
});


function truthOption() {
  const { target, prediction } = report.predictions.numbers;
  const ends = frame([...target, ...prediction]);
  const name = short(report.fitted.target.replace(/\s+/g, " "), 30);
  return {
    grid: framed(),
    xAxis: endlessAxis("predicted", ends),
    yAxis: endlessAxis(`true ${name}`, ends, atSide),
    tooltip: tip(({ value: [predicted, truth] }) =>
      tipOf("Row", [
        ["predicted", show(predicted)],
        ["true", show(truth)],
      ]),
    ),
    series: [rowDots(pairsOf(prediction, target)), guide(ends.map((end) => [end, end]))],
  };
}

function errorsOption() {
  const { target, prediction, groups } = report.predictions.numbers;
  const errors = prediction.map((value, i) => target[i] - value);
  const [low, high] = frame(prediction);
  const quartile = (key) => ({
    ...plainLine(
      groups.map((group) => [group.mean_prediction, group[key]]),
      { color: palette().down, width: 2 },
    ),
    silent: true,
    z: 3,
  });
  return {
    grid: framed(),
    xAxis: endlessAxis("predicted", [low, high]),
    yAxis: endlessAxis("true less predicted", frame(errors), atSide),
    tooltip: tip(({ value: [predicted, error] }) =>
      tipOf("Row", [
        ["predicted", show(predicted)],
        ["error", show(error, true)],
      ]),
    ),
    series: [
      rowDots(pairsOf(prediction, errors)),
      guide([
        [low, 0],
        [high, 0],
      ]),
      quartile("lower_quartile"),
      quartile("upper_quartile"),
    ],
  };
}

function tenthsOption() {
  const { groups } = report.predictions.numbers;
  return {
    grid: framed(),
    xAxis: axis("mean prediction of ten parts of the rows", {
      type: "category",
      data: groups.map((group) => axisNumber(group.mean_prediction)),
      axisLabel: textLabels,
      splitLine: { show: false },
    }),
    yAxis: axis("typical error", atSide),
    tooltip: tip(({ dataIndex }) => {
      const group = groups[dataIndex];
      return tipOf(`${show(group.n_rows)} rows`, [
        ["mean prediction", show(group.mean_prediction)],
        ["mean of the truth", show(group.mean_target)],
        ["typical error", show(group.typical_error)],
      ]);
    }),
    series: [
      {
        type: "bar",
        data: groups.map((group) => group.typical_error),
        itemStyle: { color: palette().up, decal: PLAIN },
        barMaxWidth: 48,
      },
    ],
  };
}

const pairsOf = (xs, ys) => xs.map((x, i) => [x, ys[i]]);

const inside = (text, place) => ({
  text,
  ...place,
  textStyle: { color: variable("text"), fontSize: 13, fontWeight: 600 },
});
const nothingKnown = () => ({
  title: inside("None of these rows, or all, are of the class", { left: "center", top: "middle" }),
});

function rocOption() {
  const { false_positive_rate: wrong, true_positive_rate: found, area } = oneClass();
  if (!found.length) return nothingKnown();
  return {
    grid: framed(),
    title: inside(`area ${show(area)}`, { right: 16, bottom: 52 }),
    xAxis: percentAxis("of the others, taken for it"),
    yAxis: percentAxis("of the class, found", atSide),
    tooltip: tip(
      ([{ value }]) =>
        tipOf("Taken for the class", [
          ["of the class", percent(value[1])],
          ["of the others", percent(value[0])],
        ]),
      { trigger: "axis" },
    ),
    series: [
      boldLine(pairsOf(wrong, found)),
      guide([
        [0, 0],
        [1, 1],
      ]),
    ],
  };
}

function precisionOption() {
  const { recall, precision, average_precision: average, n_rows: n } = oneClass();
  if (!recall.length) return nothingKnown();
  const share = n / report.predictions.n_rows;
  return {
    grid: framed(),
    title: inside(`average precision ${show(average)}`, { left: 84, bottom: 52 }),
    xAxis: percentAxis("of the class, found"),
    yAxis: percentAxis("of those taken for it, right", atSide),
    tooltip: tip(
      ([{ value }]) =>
        tipOf("Taken for the class", [
          ["of the class found", percent(value[0])],
          ["right", percent(value[1])],
        ]),
      { trigger: "axis" },
    ),
    series: [
      boldLine(pairsOf(recall, precision)),
      guide([
        [0, share],
        [1, share],
      ]),
    ],
  };
}

function calibrationOption() {
  const groups = oneClass().calibration;
  const interval = ({ mean_probability: given, lower, upper }) => ({
    ...plainLine(
      [
        [given, lower],
        [given, upper],
      ],
      { color: palette().up, width: 2 },
    ),
    silent: true,
  });
  return {
    grid: framed(),
    xAxis: percentAxis("probability given"),
    yAxis: percentAxis("share that is of the class", atSide),
    tooltip: tip(({ dataIndex }) => {
      const group = groups[dataIndex];
      return tipOf(`${show(group.n_rows)} rows`, [
        ["probability given", percent(group.mean_probability)],
        ["of the class", percent(group.share)],
        ["between, with 95 %", `${percent(group.lower)} and ${percent(group.upper)}`],
      ]);
    }),
    series: [
      {
        ...rowDots(groups.map((group) => [group.mean_probability, group.share])),
        symbolSize: 9,
        itemStyle: { color: palette().up },
        z: 3,
      },
      guide([
        [0, 0],
        [1, 1],
      ]),
      ...groups.map(interval),
    ],
  };
}

function calibrationTable() {
  const groups = oneClass().calibration;
  if (!groups) return;
  const cells = (group) => [
    percent(group.mean_probability),
    show(group.n_rows),
    percent(group.share),
    percent(group.lower),
    percent(group.upper),
  ];
  const name = short(report.outputs[performanceOf.output], 40);
  const heads = ["Probability given", "Rows", "Of the class", "At least", "At most"];
  fillTable($("calibration"), `Rows by the probability of ${name}`, heads, groups.map(cells));
}

function curvesTable() {
  const { false_positive_rate: wrong, true_positive_rate: found, recall, precision } = oneClass();
  const n = Math.max(wrong.length, recall.length);
  const step = Math.max(1, Math.ceil(n / LONGEST_CURVE_TABLE));
  const some = (curve) => curve.filter((_, i) => i % step === 0 || i === curve.length - 1);
  const columns = [wrong, found, recall, precision].map(some);
  const rows = Array.from({ length: Math.max(...columns.map((each) => each.length)) }, (_, i) =>
    columns.map((each) => percent(each[i])),
  );
  const name = short(report.outputs[performanceOf.output], 40);
  const heads = ["Of others, taken for it (ROC)", "Found (ROC)", "Found (recall)", "Right (precision)"];
  fillTable($("thresholds"), `Points of the curves of ${name}`, heads, rows);
}

function startPerformance() {
  if (!report.predictions) return;
  if (report.predictions.numbers) {
    makeChart("truth-chart", truthOption, "canvas");
    makeChart("errors-chart", errorsOption, "canvas");
    makeChart("tenths-chart", tenthsOption);
    return;
  }
  const made = [
    makeChart("calibration-chart", calibrationOption),
    makeChart("roc-chart", rocOption),
    makeChart("precision-chart", precisionOption),
  ];
  const fillTables = () => {
    calibrationTable();
    curvesTable();
  };
  chooseOutput("performance-output", (k) => {
    performanceOf.output = k;
    made.forEach((each) => each?.draw());
    fillTables();
  });
  fillTables();
}
