// The two scatter plots: drawn from the view, linked by hover and by the row chosen. They zoom and move.
const scatters = [];
const WHOLE = [0, 100]; // of an axis, in percent
const ZOOM = 1.6; // of one press of a button
const isTouched = matchMedia("(pointer: coarse)").matches; // where a drag is to scroll the page
const ALL = { size: 7, least: 2.5 };

const originalPlacing = (i) => {
  const { values, shares } = map.original_pca;
  if (i < values.length)
    return { name: withShare(`PCA ${i + 1} of the columns`, shares[i]), values: values[i] };
  return { name: isRegression ? "prediction" : "score", values: map.scores[0] };
};

// A few far-away rows would press all others together: the frame leaves them out, and says so.
function frame(values) {
  const known = sorted(values);
  if (!known.length) return [0, 1];
  const [low, high] = [quantile(known, 0.01), quantile(known, 0.99)];
  const pad = 0.12 * (high - low) || 1;
  const [least, most] = [known[0], known[known.length - 1]];
  const isTight = most - least < 1.8 * (high - low) || high === low;
  return isTight
    ? [least - pad / 2, most + pad / 2]
    : [Math.max(low - 2 * pad, least - pad / 2), Math.min(high + 2 * pad, most + pad / 2)];
}

const clamp = (value, frame) => (frame ? Math.min(Math.max(value, frame[0]), frame[1]) : value);
const isInside = (value, [low, high]) => value === null || (value >= low && value <= high);

function makeScatter(id, placing) {
  const scatter = makeChart(id, () => scatterOption(scatter), "canvas");
  Object.assign(scatter, { placing, showsAll: false, rowsDrawn: [], indexOf: new Map(), windows: [WHOLE, WHOLE] });
  scatters.push(scatter);
  scatter.chart.on("datazoom", () => {
    scatter.windows = scatter.chart.getOption().dataZoom.map(({ start, end }) => [start, end]);
  });
  scatter.chart.on("click", (event) => event.data && select(event.data.row));
  scatter.chart.on("mouseover", (event) => event.data && highlight(event.data.row, scatter));
  scatter.chart.on("mouseout", () => highlight(null, scatter));
  return scatter;
}

function scatterOption(scatter) {
  const [x, y] = scatter.placing();
  const look = looks();
  const shown = [],
    faded = [];
  for (let row = 0; row < nRows; row++) (passes(row) ? shown : faded).push(row);
  const isKnown = (row) => view.colouring.values[row] !== null;
  shown.sort((a, b) => isKnown(a) - isKnown(b)); // those without a value lie below
  scatter.rowsDrawn = shown;
  scatter.indexOf = new Map(shown.map((row, i) => [row, i]));
  const at = (row) => [x.values[row], y.values[row]];
  const frames = scatter.showsAll ? [null, null] : [frame(x.values), frame(y.values)];
  sayOutside(scatter, x, y, frames);
  const size = Math.max(ALL.least, ALL.size - Math.log10(nRows / 100 + 1) * 1.7);
  const edge = view.colouring.kind === "category" && !isDark() ? "rgba(0, 0, 0, 0.45)" : variable("page");
  const limits = (frame) => (frame ? { min: frame[0], max: frame[1] } : { scale: true });
  const tick = {
    axisLabel: { showMinLabel: false, showMaxLabel: false },
    splitNumber: 4,
  };
  return {
    grid: framed(),
    dataZoom: scatter.windows.map(windowOption),
    hoverLayerThreshold: 0, // what is pointed at is drawn above the others, which stay as they are
    xAxis: axis(short(x.label || x.name, 40), { ...limits(frames[0]), ...tick }),
    yAxis: axis(short(y.label || y.name, 40), { ...limits(frames[1]), ...tick, ...atSide }),
    tooltip: tip((event) => (event.data ? rowTip(event.data.row) : null)),
    aria: { enabled: true, label: { description: scatter.element.dataset.label } },
    series: [
      {
        type: "scatter",
        silent: true,
        symbolSize: size,
        data: faded.map(at),
        itemStyle: { color: palette().faded, opacity: 0.35 },
        z: 1,
      },
      {
        type: "scatter",
        z: 2,
        data: shown.map((row) => {
          const [color, symbol] = look(row);
          return {
            value: at(row),
            row,
            symbol,
            symbolSize: symbol === "circle" ? size : size + 1.5,
            itemStyle: { color },
          };
        }),
        itemStyle: { opacity: 0.85, borderColor: edge, borderWidth: 0.5 },
        emphasis: { scale: 2.2, itemStyle: { opacity: 1, borderColor: palette().ring, borderWidth: 2 } },
      },
      {
        type: "scatter",
        silent: true,
        z: 3,
        symbolSize: 18,
        clip: false,
        data: view.selected === null ? [] : [at(view.selected).map((value, i) => clamp(value, frames[i]))],
        itemStyle: { color: "transparent", borderColor: palette().ring, borderWidth: 2.5 },
      },
    ],
  };
}

// Drags move and pinches zoom; the wheel does so with Ctrl, since without it scrolls the page.
const windowOption = ([start, end], i) => ({
  type: "inside",
  [i ? "yAxisIndex" : "xAxisIndex"]: 0,
  start,
  end,
  filterMode: "none",
  zoomOnMouseWheel: "ctrl",
  moveOnMouseMove: !isTouched,
  moveOnMouseWheel: false,
});

function zoom(scatter, factor) {
  const windows = scatter.windows.map(([start, end]) => {
    const half = Math.min((end - start) / factor, 100) / 2;
    const middle = Math.min(Math.max((start + end) / 2, half), 100 - half);
    return [middle - half, middle + half];
  });
  setWindows(scatter, windows);
}

function setWindows(scatter, windows) {
  windows.forEach(([start, end], dataZoomIndex) =>
    scatter.chart.dispatchAction({ type: "dataZoom", dataZoomIndex, start, end }),
  );
}

function sayOutside(scatter, x, y, [frameX, frameY]) {
  const note = $(`${scatter.element.id}-outside`);
  const isFar = (row) => frameX && !(isInside(x.values[row], frameX) && isInside(y.values[row], frameY));
  const nOutside = scatter.rowsDrawn.filter(isFar).length;
  note.hidden = nOutside === 0 && !scatter.showsAll;
  const toggle = make(
    "button",
    { type: "button", className: "link" },
    scatter.showsAll ? "Zoom to most rows" : "Show all",
  );
  toggle.addEventListener("click", () => {
    Object.assign(scatter, { showsAll: !scatter.showsAll, windows: [WHOLE, WHOLE] });
    scatter.draw();
  });
  const and = view.selected !== null && isFar(view.selected) ? ", also the chosen one" : "";
  const far =
    nOutside === 1
      ? `1 row lies outside this frame${and}. `
      : `${show(nOutside)} rows lie outside this frame${and}. `;
  note.replaceChildren(scatter.showsAll ? "" : far, toggle);
}

function rowTip(row) {
  const pairs = [
    ["target", outcome(row, "target")],
    ["prediction", outcome(row, "prediction")],
    ["error", show(map.error[row])],
  ];
  const { colouring } = view;
  const isColumn = colouring.key.startsWith("column");
  const features = map.columns.slice(0, 8).map((column) => column.feature);
  const own = isColumn ? Number(colouring.key.slice("column".length)) : null;
  if (own !== null && !features.includes(own)) features.push(own);
  for (const feature of features) pairs.push([featureName(feature), columnValue(feature, row)]);
  return tipOf(rowName(row), pairs);
}

function highlight(row, from) {
  for (const scatter of scatters) {
    if (scatter === from) continue;
    scatter.chart.dispatchAction({ type: "downplay", seriesIndex: 1 });
    const dataIndex = row === null ? undefined : scatter.indexOf.get(row);
    if (dataIndex !== undefined)
      scatter.chart.dispatchAction({ type: "highlight", seriesIndex: 1, dataIndex });
  }
}

function redrawMap() {
  scatters.forEach((scatter) => scatter.draw());
  saySelection(scatters[0].rowsDrawn.length);
  view.listeners.forEach((listener) => listener());
}

function drawLegend() {
  const { colouring } = view;
  const legend = $("legend");
  const title = make("p", { className: "legend-title" }, nameOf(colouring.about, 70));
  if (colouring.kind === "category") return legend.replaceChildren(title, levelList(colouring));
  const [low, high] = colourRange(colouring);
  const shown = colouring.shown ?? show;
  const bar = make("div", {
    className: "gradient",
    role: "img",
    ariaLabel: `Colours from ${shown(low)} to ${shown(high)}`,
  });
  bar.style.background = gradient(scaleOf(colouring));
  const known = sorted(colouring.values);
  const [below, above] = [known[0] < low ? "≤ " : "", known[known.length - 1] > high ? "≥ " : ""];
  const ends = make(
    "div",
    { className: "ends" },
    make("span", {}, below + shown(low)),
    make("span", {}, above + shown(high)),
  );
  legend.replaceChildren(
    title,
    make("div", { className: "scale" }, make("div", {}, bar, ends), ...rangeFields(colouring)),
  );
}

function levelList(colouring) {
  const counts = new Map();
  colouring.values.forEach((value) => counts.set(value, (counts.get(value) || 0) + 1));
  const item = (level, text, mark) => {
    const box = make("input", { type: "checkbox", checked: !view.hiddenLevels.has(level) });
    box.addEventListener("change", () => {
      if (box.checked) view.hiddenLevels.delete(level);
      else view.hiddenLevels.add(level);
      redrawMap();
    });
    const count = make("span", { className: "muted" }, show(counts.get(level) || 0));
    return make("li", {}, make("label", {}, box, mark, nameOf(text, 36), count));
  };
  const items = colouring.levels.map((text, level) => item(level, text, swatch(level)));
  if (counts.has(null)) items.push(item(null, "no value", blankSwatch()));
  return make("ul", { className: "levels" }, ...items);
}

function rangeFields(colouring) {
  const known = sorted(colouring.values);
  const field = (label, value) => {
    const input = make("input", {
      type: "number",
      step: "any",
      value: value === undefined ? "" : String(value),
      id: `range-${label}`,
    });
    return [make("div", { className: "field" }, make("label", { htmlFor: input.id }, label), input), input];
  };
  const [fromField, from] = field("from", known[0]);
  const [toField, to] = field("to", known[known.length - 1]);
  const apply = () => {
    const ends = [
      from.value === "" ? -Infinity : Number(from.value),
      to.value === "" ? Infinity : Number(to.value),
    ];
    view.range = ends[0] <= known[0] && ends[1] >= known[known.length - 1] ? null : ends;
    redrawMap();
  };
  from.addEventListener("change", apply);
  to.addEventListener("change", apply);
  return [fromField, toField];
}

function startMap() {
  makeScatter("map-chart", () => [view.x, view.y]);
  makeScatter("original-chart", () => [originalPlacing(0), originalPlacing(1)]);
  const options = (list) => list.map((each) => [each.key, each.name]);
  const find = (list, select) => list.find((each) => each.key === select.value);
  fill($("colour"), options(colourings), view.colouring.key);
  fill($("axis-x"), options(placings), view.x.key);
  fill($("axis-y"), options(placings), view.y.key);
  $("colour").addEventListener("change", (event) => {
    Object.assign(view, { colouring: find(colourings, event.target), range: null, hiddenLevels: new Set() });
    drawLegend();
    redrawMap();
  });
  for (const axis of ["x", "y"])
    $(`axis-${axis}`).addEventListener("change", (event) => {
      view[axis] = find(placings, event.target);
      Object.assign(scatters[0], { showsAll: false, windows: [WHOLE, WHOLE] });
      redrawMap();
    });
  startRegionFilter();
  startKindFilter();
  startSelection();
  $("map-controls").addEventListener("submit", (event) => event.preventDefault());
  theme.listeners.push(drawLegend);
  drawLegend();
}

function startRegionFilter() {
  const options = (report.regions?.outputs ?? []).flatMap((output, k) =>
    output.regions.map((region, r) => [
      `${k}:${r}`,
      `${manyOutputs ? `${short(report.outputs[k], 16)} · ` : ""}${r + 1}: ${region.words}`,
    ]),
  );
  fill($("region"), [["", "all"], ...options], "");
  $("region").addEventListener("change", (event) => {
    view.region = event.target.value ? event.target.value.split(":").map(Number) : null;
    redrawMap();
  });
}

// Buttons elsewhere on the page set a control of the map and go there.
function showOnMap(control, value) {
  $(control).value = value;
  $(control).dispatchEvent(new Event("change"));
  $("map").scrollIntoView();
  $(control).focus({ preventScroll: true });
}

function startKindFilter() {
  const boxes = map.kinds.map((name, kind) => {
    const box = make("input", { type: "checkbox", checked: true, value: name });
    box.addEventListener("change", () => {
      if (box.checked) view.kinds.add(kind);
      else view.kinds.delete(kind);
      redrawMap();
    });
    return make("label", {}, box, name);
  });
  $("kinds").append(make("span", {}, ...boxes));
}
