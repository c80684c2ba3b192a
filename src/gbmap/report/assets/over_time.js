// Batches, one after the other: losses, alarms and evidence, one below the other, with the changes marked.
const MOST_EVIDENCE = 30; // powers of ten beyond which it only says: very much
const FEW_BATCHES = 60; // that are few enough for a dot each
const overTime = report.drift?.over_time;

const widest = (values) => Math.max(...values.filter((value) => value !== null));

// The interval leaves the panel where it would make lines of the rest.
function topOfLoss() {
  const { expected_error: expected, known_error: known, expected_upper: upper, calibration_error: usual } = overTime;
  const told = widest([...expected, ...known]);
  return Math.min(1.6 * Math.max(told, usual), 1.05 * Math.max(widest(upper), told, usual)) || 1;
}

// Where a change began and where it was found. The words are of the first one: what is behind it above the
// first panel, that it was found above the second, towards the middle, where there is room.
function changeMarks(panel) {
  const { changes, begin, positions } = overTime;
  const middle = (begin + positions.at(-1)) / 2;
  const mark = (at, color, type, words) => ({
    xAxis: at,
    lineStyle: { color, type, width: 1.5 },
    label: {
      show: Boolean(words),
      formatter: () => words,
      align: at > middle ? "right" : "left",
      position: "end",
      color: variable("text"),
      fontSize: 11,
    },
  });
  return changes.flatMap((change, k) => [
    mark(change.since_position, palette().down, "dotted", k || panel !== 0 ? "" : wordsOf(changes)),
    mark(change.raised_position, variable("text"), "dashed", k || panel !== 1 ? "" : "change found"),
  ]);
}

function wordsOf(changes) {
  const columns = changes.flatMap((change) => change.columns).slice(0, innerWidth < 500 ? 1 : 3);
  return columns.length ? `change: ${columns.map((name) => short(name, 24)).join(", ")}` : "change";
}

function timeSeries() {
  const { positions } = overTime;
  const points = (values) => values.map((value, i) => [positions[i], value]);
  const { up, down, other } = palette();
  const symbols = positions.length <= FEW_BATCHES ? { symbol: "circle", symbolSize: 4 } : { symbol: "none" };
  const line = (name, panel, values, color, look = {}) => ({
    name,
    type: "line",
    xAxisIndex: panel,
    yAxisIndex: panel,
    data: points(values),
    lineStyle: { color, width: 2, ...look },
    itemStyle: { color, decal: PLAIN },
    clip: true,
    ...symbols,
  });
  const level = (yAxis, formatter, type = "dashed") => ({
    yAxis,
    lineStyle: { color: other, type, width: 1.2 },
    label: { formatter, position: "insideEndTop", color: variable("muted"), fontSize: 11 },
  });
  const marked = (series, panel, levels) => ({
    ...series,
    markLine: { symbol: "none", silent: true, data: [...changeMarks(panel), ...levels] },
  });
  const hidden = { lineStyle: { opacity: 0 }, symbol: "none", stack: "interval", stackStrategy: "all", silent: true };
  const lower = overTime.expected_lower;
  const width = overTime.expected_upper.map((value, i) => (value === null ? null : value - lower[i]));
  const capped = (values) => values.map((value) => (value === null ? null : Math.min(value, MOST_EVIDENCE)));
  const evidence = [
    ["evidence of rows", overTime.evidence_of_rows, up, {}],
    ["evidence of labels", overTime.evidence_of_labels, down, { type: "dashed" }],
  ].filter(([, values]) => values);
  return [
    { ...line("from", 0, lower, up), ...hidden },
    {
      ...line("its interval", 0, width, up),
      ...hidden,
      itemStyle: { color: up, opacity: 0.3, decal: PLAIN },
      areaStyle: { color: up, opacity: 0.18, decal: PLAIN },
    },
    marked(line("error expected", 0, overTime.expected_error, up), 0, [
      level(overTime.calibration_error, "calibration rows"),
    ]),
    {
      ...line("error known", 0, overTime.known_error, down),
      type: "scatter",
      symbol: "diamond",
      itemStyle: { color: down, decal: PLAIN },
      symbolSize: positions.length <= FEW_BATCHES ? 9 : 5,
    },
    marked(line("alarms", 1, overTime.share_alarmed, up), 1, [
      level(overTime.calibration_share_alarmed, "calibration rows"),
    ]),
    ...evidence.map(([name, values, color, look], k) =>
      k ? line(name, 2, capped(values), color, look) : marked(line(name, 2, capped(values), color, look), 2, [
        level(0, "enough for an alarm", "solid"),
      ]),
    ),
  ];
}

// A date, or for a few days the hour too, in the time zone of the positions.
function dateOf(at, span) {
  const text = new Date(at).toISOString();
  return span > 4 * 24 * 3600e3 ? text.slice(0, 10) : text.slice(5, 16).replace("T", " ");
}

function overTimeOption() {
  const { positions, axis: kind } = overTime;
  const low = overTime.begin;
  const high = positions.at(-1);
  const room = (high - low) * 0.01 || 1;
  const panel = (top) => ({ left: 72, right: 18, top, height: "22%", outerBoundsMode: "none" });
  const across = (gridIndex) => ({
    ...axis(gridIndex === 2 ? { time: "time, UTC", number: "time", row: "row" }[kind] : "", {
      type: kind === "time" ? "time" : "value",
      min: low - room,
      max: high + room,
      gridIndex,
      splitLine: { show: false },
    }),
    axisLabel: {
      show: gridIndex === 2,
      color: variable("muted"),
      fontSize: 11,
      hideOverlap: true,
      formatter: kind === "time" ? (at) => dateOf(at, high - low) : axisNumber,
      showMinLabel: false,
      showMaxLabel: false,
    },
  });
  const upward = (gridIndex, name, extra = {}) => axis(name, { gridIndex, ...atSide, splitNumber: 3, ...extra });
  return {
    useUTC: true,
    grid: [panel("11%"), panel("38%"), panel("65%")],
    legend: {
      top: 0,
      left: 0,
      type: "scroll",
      textStyle: { color: variable("text") },
      data: ["error expected", "its interval", "error known", "evidence of rows", "evidence of labels"],
    },
    axisPointer: { link: [{ xAxisIndex: "all" }] },
    xAxis: [0, 1, 2].map(across),
    yAxis: [
      upward(0, overTime.error_name, { min: 0, max: topOfLoss(), axisLabel: { showMaxLabel: false } }),
      upward(1, "rows with an alarm", {
        min: 0,
        max: ({ max }) => Math.min(1, 1.15 * Math.max(max, overTime.calibration_share_alarmed)) || 1,
        axisLabel: { showMaxLabel: false, formatter: (value) => percent(value) },
      }),
      upward(2, "evidence, powers of 10"),
    ],
    tooltip: tip((events) => overTimeTip(events[0].dataIndex), { trigger: "axis" }),
    series: timeSeries(),
  };
}

function overTimeTip(i) {
  const pairs = [
    ["rows", show(overTime.n_rows[i])],
    ["error expected", show(overTime.expected_error[i])],
    ["its interval", `${show(overTime.expected_lower[i])} to ${show(overTime.expected_upper[i])}`],
    ["rows with an alarm", percent(overTime.share_alarmed[i])],
  ];
  if (overTime.n_labelled[i])
    pairs.splice(3, 0, [`error of ${show(overTime.n_labelled[i])} labels`, show(overTime.known_error[i])]);
  for (const source of ["rows", "labels"])
    if (overTime[`evidence_of_${source}`])
      pairs.push([`evidence of ${source}`, show(overTime[`evidence_of_${source}`][i], true)]);
  return tipOf(`until ${overTime.axis === "row" ? "row " : ""}${overTime.ends[i]}`, pairs);
}

function startOverTime() {
  if (overTime) makeChart("time-chart", overTimeOption);
}
