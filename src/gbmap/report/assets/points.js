// The rows of the map: what they can be coloured and placed by, and which of them are shown.
const map = report.map;
const nRows = map.kind.length;
const columnOf = new Map(map.columns.map((column) => [column.feature, column]));
const featureName = (feature) => report.features.names[feature];

const number = (key, name, values, scale = "sequential", about = name) => ({
  key,
  name,
  kind: "number",
  values,
  scale,
  about,
});
const category = (key, name, values, levels, about = name) => ({
  key,
  name,
  kind: "category",
  values,
  levels,
  about,
});

function outcomes() {
  const { target } = report.fitted;
  if (isRegression)
    return [
      number("target", "target", map.target, "sequential", `Target: ${target}`),
      number("prediction", "prediction", map.prediction),
      number("error", "error", map.error, "diverging", `Error: ${map.error_name}`),
    ];
  const { classes } = report.fitted;
  return [
    category("target", "target", map.target, classes, `Target: ${target}`),
    category("prediction", "prediction", map.prediction, classes),
    number("error", "error", map.error, "sequential", `Error: ${map.error_name}`),
    ...(map.probability || []).map((p, k) => number(`p${k}`, `probability of ${report.outputs[k]}`, p)),
  ];
}

function columnColouring(column) {
  const key = `column${column.feature}`;
  const name = featureName(column.feature);
  return column.kind === "number"
    ? { ...number(key, name, column.values), shown: (value) => showOf(column.feature, value) }
    : category(key, name, column.values, column.levels);
}

const colourings = [
  ...outcomes(),
  category("kind", "kind of row", map.kind, map.kinds),
  ...(report.drift ? [number("indicator", "drift indicator", report.drift.indicator)] : []),
  ...map.columns.map(columnColouring),
];

const withShare = (name, share) => (share === null ? name : `${name} (${percent(share)})`);
const placings = [
  ...map.embedding_pca.values.map((values, i) => ({
    key: `pca${i + 1}`,
    name: withShare(`PCA ${i + 1}`, map.embedding_pca.shares[i]),
    label: withShare(`PCA ${i + 1} of the embedding`, map.embedding_pca.shares[i]),
    values,
  })),
  ...map.coordinates.map((coordinate) => ({
    key: coordinate.name,
    name: coordinate.name,
    values: coordinate.values,
  })),
  ...map.scores.map((values, k) => ({
    key: `score${k}`,
    name: isRegression ? "prediction" : manyOutputs ? `score of ${report.outputs[k]}` : "score",
    values,
  })),
  ...(isRegression
    ? [{ key: "target", name: "target", values: map.target, label: `target: ${report.fitted.target}` }]
    : []),
];

const view = {
  colouring: colourings[0],
  x: placings[0],
  y:
    placings.length > 1 && map.embedding_pca.values.length > 1
      ? placings[1]
      : placings.find((each) => each.key === "score0"),
  kinds: new Set(map.kinds.map((_, kind) => kind)),
  region: null, // [output, region]
  range: null, // [low, high] of a number
  hiddenLevels: new Set(),
  encircled: null, // the rows within a line drawn on a map
  selected: null,
  listeners: [],
};

function passes(row) {
  if (!view.kinds.has(map.kind[row]) || view.encircled?.has(row) === false) return false;
  if (view.region && report.regions.outputs[view.region[0]].of_points[row] !== view.region[1]) return false;
  const value = view.colouring.values[row];
  if (view.colouring.kind === "category") return !view.hiddenLevels.has(value);
  if (!view.range) return true;
  return value !== null && value >= view.range[0] && value <= view.range[1];
}

const rowName = (row) => `${map.kinds[map.kind[row]].replace(" ", "-")} row ${map.labels[row]}`;

function outcome(row, key) {
  const value = map[key][row];
  return isRegression || value === null ? show(value) : short(report.fitted.classes[value], 40);
}

function columnValue(feature, row) {
  const column = columnOf.get(feature);
  if (!column) return "–";
  const value = column.values[row];
  if (value === null) return "missing";
  return column.kind === "number" ? showOf(feature, value) : short(column.levels[value], 30);
}

const quantile = (sorted, share) => sorted[Math.round(share * (sorted.length - 1))];
const sorted = (values) => values.filter((value) => value !== null).sort((a, b) => a - b);

function colourRange(colouring) {
  const known = sorted(colouring.values);
  if (!known.length) return [0, 1];
  let [low, high] = [quantile(known, 0.02), quantile(known, 0.98)];
  if (low === high) [low, high] = [known[0], known[known.length - 1]];
  if (colouring.scale !== "diverging") return [low, high];
  const end = Math.max(Math.abs(low), Math.abs(high));
  return [-end, end];
}

const scaleOf = (colouring) => (colouring.scale === "diverging" ? diverging : sequential);

// The look of each row: a colour, and a shape where the colour is that of a category or the row is new.
function looks() {
  const { colouring } = view;
  if (colouring.kind === "category")
    return (row) => {
      const level = colouring.values[row];
      if (level === null) return [palette().other, "circle"];
      return [levelColour(level), SHAPES[levelShape(level)]];
    };
  const [low, high] = colourRange(colouring);
  const scale = scaleOf(colouring);
  return (row) => {
    const value = colouring.values[row];
    const shape = map.kinds[map.kind[row]] === "new" ? "diamond" : "circle";
    if (value === null) return [palette().other, shape];
    return [scale(high > low ? (value - low) / (high - low) : 0.5), shape];
  };
}
