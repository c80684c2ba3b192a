// The new rows: their indicator beside that of held-out rows, and the features to blame.
function indicatorOption() {
  const { bins, held_out_shares: heldOut, new_shares: fresh, threshold } = report.drift;
  const bars = (name, data, color, decal) => ({
    name,
    type: "bar",
    data,
    itemStyle: { color, decal },
    barGap: "0%",
    barCategoryGap: "12%",
  });
  const series = [
    bars("held-out rows", heldOut, palette().other, PLAIN),
    bars("new rows", fresh, palette().down, STRIPES),
  ];
  const width = bins[1] - bins[0];
  if (threshold !== null)
    series[0].markLine = {
      symbol: "none",
      silent: true,
      lineStyle: { color: variable("text"), type: "dashed", width: 1.5 },
      label: { formatter: "alarm", color: variable("text"), position: "end" },
      data: [{ xAxis: Math.round(threshold / width) }],
    };
  return {
    grid: framed({ top: 48 }),
    legend: { top: 0, left: 0, textStyle: { color: variable("text") } },
    xAxis: axis("drift indicator; the last bar holds all above", {
      type: "category",
      data: bins.map((edge) => axisNumber(Number(edge.toPrecision(2)))),
      axisLabel: textLabels,
      splitLine: { show: false },
    }),
    yAxis: axis("", { axisLabel: { formatter: (value) => percent(value) } }),
    tooltip: tip(
      (events) =>
        tipOf(
          `from ${show(bins[events[0].dataIndex])}`,
          events.map((event) => [event.seriesName, percent(event.value)]),
        ),
      { trigger: "axis" },
    ),
    series,
  };
}

const drift = { output: 0 };

const rankedReasons = () =>
  [...report.drift.reasons].sort(
    (a, b) => Math.abs(b.contribution[drift.output]) - Math.abs(a.contribution[drift.output]),
  );

function reasonsOption() {
  const list = rankedReasons().slice(0, 10);
  return {
    grid: gridOf({ bottom: 30, top: 4 }),
    xAxis: axis(`shift of the mean ${isRegression ? "prediction" : "score"}`),
    yAxis: names(
      list.map((each) => featureName(each.feature)),
      "reasons-chart",
    ),
    tooltip: tip((event) =>
      tipOf(featureName(list[event.dataIndex].feature), [["share in the shift", show(event.value, true)]]),
    ),
    series: [
      { type: "bar", data: list.map((each) => signedBar(each.contribution[drift.output])), barMaxWidth: 16 },
    ],
  };
}

// Of four digits, such as a mean year, without a separator, and with what moves in it.
const showMean = (value) =>
  value !== null && Math.abs(value) >= 1e3 && Math.abs(value) < 1e4
    ? String(Math.round(10 * value) / 10).replace("-", "−")
    : show(value);

const meanOf = (feature, mean) =>
  report.features.scales[feature] === "days" ? showOf(feature, mean) : showMean(mean);

function reasonsTable() {
  const cells = (each) => [
    nameOf(featureName(each.feature), 120),
    show(each.contribution[drift.output], true),
    show(each.extrapolation),
    meanOf(each.feature, each.training_mean),
    meanOf(each.feature, each.new_mean),
  ];
  fillTable(
    $("reasons"),
    "What each feature does to new rows: its share in the shift, and in how far rows are from their neighbours",
    ["Feature", "Shift", "From neighbours", "Mean in training", "Mean of new rows"],
    rankedReasons().map(cells),
  );
}

function startDrift() {
  if (!report.drift) return;
  makeChart("indicator-chart", indicatorOption);
  const chart = makeChart("reasons-chart", reasonsOption);
  chooseOutput("drift-output", (k) => {
    drift.output = k;
    chart.draw();
    reasonsTable();
  });
  $("new-on-map").addEventListener("click", () => showOnMap("colour", "kind"));
  reasonsTable();
}
