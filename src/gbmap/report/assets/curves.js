// The prediction along one feature, on average and for single rows, above the spread of its values.
const CURVE_BINS = 40;
const LONGEST_TABLE = 25;
const curveOf = new Map(report.features.curves.map((curve) => [curve.feature, curve]));
const shownCurve = () => curveOf.get(feature.dependence?.feature);
const curveLabel = () => (isRegression ? "prediction, less its mean" : "score, less its mean");

function effectOption() {
  const curve = shownCurve();
  if (!curve) return { title: { text: "No row has a value of it", left: "center", top: "middle" } };
  return curve.shares ? effectBars(curve) : effectLines(curve);
}

function effectBars(curve) {
  const labels = curve.values.map((name, i) => `${short(name, LONGEST_LABEL - 10)} (${percent(curve.shares[i])})`);
  const dots = curve.rows.flatMap((row, i) =>
    curve.local[feature.output][i].map((value, k) => ({ value: [value, k], row })),
  );
  return {
    grid: gridOf({ bottom: 30, top: 4 }),
    xAxis: axis(curveLabel()),
    yAxis: names(labels, "curve-chart"),
    tooltip: tip((event) =>
      event.data.row === undefined
        ? tipOf(curve.values[event.dataIndex], [["on average", show(event.value, true)]])
        : rowTip(event.data.row),
    ),
    series: [
      { type: "bar", data: curve.average[feature.output].map(signedBar), barMaxWidth: 16 },
      { type: "scatter", data: dots, symbolSize: 4, itemStyle: { color: variable("muted") }, z: 3 },
    ],
  };
}

// How many rows have values in each of equal bins, as the outline of bars: the axis of real ones would be
// widened for them. Whole numbers are not cut.
function binned(values, low, high) {
  const areWhole = values.every(Number.isInteger);
  const width = areWhole ? Math.ceil((high - low) / CURVE_BINS) : (high - low) / CURVE_BINS || 1;
  const start = areWhole ? Math.ceil(low) - 0.5 : low;
  const counts = new Array(CURVE_BINS + 1).fill(0);
  for (const value of values) if (value >= low && value <= high) counts[Math.floor((value - start) / width)]++;
  return counts
    .map((count, i) => [start + i * width, count])
    .filter((each) => each[0] < high)
    .flatMap(([left, count]) => [[left, 0], [left, count], [left + width, count], [left + width, 0]]);
}

function effectLines(curve) {
  $("curve-chart").style.height = "";
  const known = columnOf.get(curve.feature).values.filter((value) => value !== null);
  const [low, high] = frame(known);
  const alongX = { min: low, max: high };
  const hidden = { show: false, ...alongX };
  const line = (id, values, look) => ({
    id,
    type: "line",
    data: curve.values.map((value, i) => [value, values[i]]),
    symbol: "none",
    clip: true,
    ...look,
  });
  const thin = { lineStyle: { color: palette().up, width: 1, opacity: 0.6 }, triggerLineEvent: true };
  const thick = { lineStyle: { color: palette().down, width: 3 }, z: 3 };
  const dashed = { lineStyle: { color: variable("muted"), width: 1.5, type: "dashed" } };
  const missing = curve.missing ? curve.values.map(() => curve.missing[feature.output]) : null;
  const strip = { xAxisIndex: 1, yAxisIndex: 1, silent: true };
  const fixed = { outerBoundsMode: "none" }; // or the two would not lie below each other
  return {
    grid: [framed({ ...fixed, bottom: 96 }), framed({ ...fixed, height: 40, top: "auto" })],
    xAxis: [
      axis("", { ...alongX, axisLabel: { show: false } }),
      axis(titleOf(featureName(curve.feature), "curve-chart"), {
        ...alongX,
        gridIndex: 1,
        ...wholeOf(curve.feature),
        axisLabel: { ...labelsOf(curve.feature), showMinLabel: false, showMaxLabel: false },
      }),
    ],
    yAxis: [axis(curveLabel(), { ...atSide, scale: true }), { ...axis("", { gridIndex: 1 }), show: false, min: 0 }],
    tooltip: tip((events) => effectTip(curve, events), { trigger: "axis" }),
    series: [
      ...curve.rows.map((row, i) => line(`row-${row}`, curve.local[feature.output][i], thin)),
      ...(missing ? [line("missing", missing, dashed)] : []),
      line("average", curve.average[feature.output], thick),
      {
        ...strip,
        type: "line",
        data: binned(known, low, high),
        symbol: "none",
        clip: true,
        lineStyle: { color: variable("page"), width: 1 },
        areaStyle: { color: variable("muted"), opacity: 0.4 },
        itemStyle: { decal: PLAIN },
      },
      {
        ...strip,
        type: "scatter",
        symbol: "rect",
        symbolSize: [2, 9],
        itemStyle: { color: variable("text") },
        data: curve.knots.map((knot) => [knot, 0]),
      },
    ],
  };
}

function effectTip(curve, events) {
  const event = events.find((each) => each.seriesId === "average");
  if (!event) return null;
  const pairs = [["on average", show(event.value[1], true)]];
  if (curve.missing) pairs.push(["where it is missing", show(curve.missing[feature.output], true)]);
  return tipOf(`${featureName(curve.feature)} = ${showOf(curve.feature, event.value[0])}`, pairs);
}

function curveTable() {
  const curve = shownCurve();
  if (!$("curve")) return;
  const all = curve ? curve.values.map((_, i) => i) : [];
  const step = curve?.shares ? 1 : Math.ceil(all.length / LONGEST_TABLE);
  const rows = all
    .filter((i) => i % step === 0 || i === all.length - 1)
    .map((i) => [
      curve.shares ? nameOf(curve.values[i]) : showOf(curve.feature, curve.values[i]),
      show(curve.average[feature.output][i], true),
    ]);
  if (curve?.missing) rows.push(["missing", show(curve.missing[feature.output], true)]);
  const name = feature.dependence ? short(featureName(feature.dependence.feature), 60) : "";
  fillTable($("curve"), `The prediction along ${name}, on average, less its mean`, ["Value", "On average"], rows);
}

function startCurve() {
  const effect = makeChart("curve-chart", effectOption, "canvas");
  if (!effect) return null;
  effect.chart.on("click", (event) => {
    const row = event.data?.row ?? Number(/^row-(\d+)$/.exec(event.seriesId || "")?.[1] ?? NaN);
    if (Number.isInteger(row)) select(row);
  });
  return effect;
}
