// A swarm of rows for each feature: across, what it adds to them; the colour, its value, from low to high.
const MOST_IN_SWARM = 400; // points of a feature
const SWARM_BINS = 90;
const SWARM_HEIGHT = 44; // pixels of a feature
const SWARM_POINT = 5;

function swarmOption() {
  const shown = [...report.features.dependences].sort((a, b) => rankOf(a) - rankOf(b));
  const swarms = shown.map(thinned);
  const [low, high] = frame(swarms.flatMap(({ adds }) => adds));
  const yAxis = names(
    shown.map((each) => featureName(each.feature)),
    "swarm-chart",
    { splitLine: { show: true, lineStyle: { color: variable("line") } }, axisTick: { show: false } },
  );
  const element = $("swarm-chart");
  element.style.height = `${Math.max(parseFloat(element.style.height), 70 + SWARM_HEIGHT * shown.length)}px`;
  return {
    grid: gridOf({ bottom: 30, top: 4 }),
    xAxis: axis(addsLabel(), { min: low, max: high, axisLabel: { showMinLabel: false, showMaxLabel: false } }),
    yAxis,
    tooltip: tip((event) => (event.data.row === undefined ? null : rowTip(event.data.row))),
    hoverLayerThreshold: 0,
    series: [
      {
        type: "scatter",
        symbolSize: SWARM_POINT,
        clip: true,
        itemStyle: { opacity: 0.8 },
        markLine: {
          silent: true,
          symbol: "none",
          label: { show: false },
          lineStyle: { color: variable("text"), type: "solid", width: 1 },
          data: low < 0 && high > 0 ? [{ xAxis: 0 }] : [],
        },
        data: swarms.flatMap((swarm, at) => pointsOf(swarm, at, low, high)),
      },
    ],
  };
}

const rankOf = (dependence) =>
  rankedImportances().findIndex((each) => each.feature === dependence.feature);

function thinned(dependence) {
  const step = Math.ceil(dependence.rows.length / MOST_IN_SWARM);
  const kept = (values) => values.filter((_, i) => i % step === 0);
  return {
    feature: dependence.feature,
    rows: kept(dependence.rows),
    adds: kept(dependence.adds[feature.output]),
  };
}

// Points at one place stand above and below each other, as close as their number asks for.
function pointsOf({ feature: own, rows, adds }, at, low, high) {
  const binOf = (value) => Math.floor((SWARM_BINS * (value - low)) / (high - low || 1));
  const counts = new Map();
  const ranks = adds.map((value) => {
    const bin = binOf(value);
    counts.set(bin, (counts.get(bin) ?? 0) + 1);
    return counts.get(bin) - 1;
  });
  const step = Math.min(SWARM_POINT - 1, (SWARM_HEIGHT - SWARM_POINT) / Math.max(...counts.values()));
  const colour = swarmColour(columnOf.get(own), rows);
  return rows.map((row, i) => {
    const side = ranks[i] % 2 ? 1 : -1;
    return {
      value: [adds[i], at],
      row,
      symbolOffset: [0, side * Math.ceil(ranks[i] / 2) * step],
      itemStyle: { color: colour(row) },
    };
  });
}

// A few far values shall not take all colours; categories have no order.
function swarmColour(column, rows) {
  if (column.kind !== "number") return () => palette().other;
  const known = sorted(rows.map((row) => column.values[row]));
  const [low, high] = [quantile(known, 0.05), quantile(known, 0.95)];
  return (row) => {
    const value = column.values[row];
    return value === null ? palette().other : sequential(high > low ? (value - low) / (high - low) : 0.5);
  };
}

function startSwarm() {
  const swarm = makeChart("swarm-chart", swarmOption, "canvas");
  if (!swarm) return null;
  swarm.chart.on("click", (event) => event.data?.row !== undefined && select(event.data.row));
  const paint = () => ($("swarm-colours").style.background = gradient(sequential));
  theme.listeners.push(paint);
  paint();
  return swarm;
}
