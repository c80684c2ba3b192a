// What all charts share: making, redrawing on a new theme or size, the look of axes and tips.
const charts = [];

// The library measures text before it is on the page, so it must know the font by name.
const font = () => getComputedStyle(document.body).fontFamily;

// `option` is called at each drawing, so that colours follow the theme.
function makeChart(id, option, renderer = "svg") {
  const element = $(id);
  if (!element) return null;
  const chart = echarts.init(element, null, { renderer, devicePixelRatio: Math.max(2, devicePixelRatio) });
  const label = element.dataset.label;
  const draw = () =>
    chart.setOption(
      {
        animation: false,
        textStyle: { fontFamily: font(), color: variable("text") },
        aria: { enabled: true, label: { description: label }, decal: { show: true } },
        ...option(),
      },
      true,
    );
  charts.push({ chart, draw });
  let width = element.clientWidth;
  new ResizeObserver(() => {
    chart.resize();
    if (element.clientWidth !== width && chart.getOption()) draw(); // labels break at other places
    width = element.clientWidth;
  }).observe(element);
  return { chart, draw, element };
}

function startCharts() {
  const redraw = () =>
    charts.forEach(({ chart, draw }) => {
      chart.resize();
      draw();
    });
  theme.listeners.push(redraw);
  redraw();
}

const gridOf = (extra = {}) => ({ left: 8, right: 16, top: 16, bottom: 8, containLabel: true, ...extra });

// Room for the labels and the name of an axis that is not one of names.
const framed = (extra = {}) => ({ left: 72, right: 14, top: 14, bottom: 46, ...extra });
const atSide = { nameGap: 56 };
const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumSignificantDigits: 3 });
const axisNumber = (value) => (Math.abs(value) < 1e5 ? show(value) : compact.format(value).replace("-", "−"));

// Of an axis whose labels are texts already, or values of a feature.
const textLabels = { formatter: (text) => text };
const labelsOf = (feature) => ({
  formatter: (value) =>
    report.features.scales[feature] === "number" && Math.abs(value) >= 1e4
      ? axisNumber(value)
      : showOf(feature, value),
});
const wholeOf = (feature) => (report.features.scales[feature] === "number" ? {} : { minInterval: 1 });

function axis(name, { axisLabel, ...extra } = {}) {
  return {
    type: "value",
    name,
    nameLocation: "middle",
    nameGap: 26,
    nameTextStyle: { color: variable("muted"), fontSize: 12 },
    axisLabel: { color: variable("muted"), fontSize: 11, hideOverlap: true, formatter: axisNumber, ...axisLabel },
    axisLine: { lineStyle: { color: variable("line") } },
    axisTick: { show: false },
    splitLine: { lineStyle: { color: variable("line") } },
    ...extra,
  };
}

// As much of a name as there is room for below a chart.
const titleOf = (name, id) => short(name, Math.floor(($(id).clientWidth || 400) / 8));

// Names beside bars are whole: on as many lines as they need, within a share of the chart.
const LONGEST_LABEL = 120;
const SHARE_OF_LABELS = 0.42;
const CHARACTER = 6.7; // pixels, of text of this size
const WIDEST_CHARACTER = 9; // in short names of capitals, on average
const LINE = 15;

const labelOf = (name) => short(name.replace(/\s+/g, " "), LONGEST_LABEL);

function names(list, id, extra = {}) {
  const element = $(id);
  const labels = list.map(labelOf);
  const longest = Math.max(0, ...labels.map((label) => label.length));
  const needed = Math.ceil(longest * WIDEST_CHARACTER);
  const width = Math.min(needed, Math.floor(SHARE_OF_LABELS * (element.clientWidth || 400)));
  const nLines = Math.ceil((1.1 * longest * CHARACTER) / width);
  element.style.height = `${70 + Math.max(26, LINE * nLines + 6) * Math.max(labels.length, 2)}px`;
  return axis("", {
    type: "category",
    data: labels,
    inverse: true,
    axisLabel: { ...textLabels, color: variable("text"), fontSize: 12, lineHeight: LINE, interval: 0, hideOverlap: false, width, overflow: "break" },
    splitLine: { show: false },
    ...extra,
  });
}

// Tips are elements, never strings of HTML.
function tip(formatter, extra = {}) {
  return {
    confine: true,
    backgroundColor: variable("page"),
    borderColor: variable("line"),
    textStyle: { color: variable("text") },
    extraCssText: "max-width: 18rem; white-space: normal;",
    formatter,
    ...extra,
  };
}

function tipOf(title, pairs) {
  const rows = pairs.map(([name, value]) =>
    make("tr", {}, make("th", {}, nameOf(name, 60)), make("td", {}, nameOf(value, 40))),
  );
  return make("div", { className: "tip" }, make("strong", {}, nameOf(title, 40)), make("table", {}, ...rows));
}

const PLAIN = { symbol: "none" };
const STRIPES = { symbol: "rect", dashArrayX: [1, 0], dashArrayY: [2, 4], rotation: -Math.PI / 4 };

// Bars of signed numbers: colour and decal both tell the sign.
function signedBar(value) {
  const isUp = value >= 0;
  const decal = isUp ? PLAIN : STRIPES;
  return { value, itemStyle: { color: isUp ? palette().up : palette().down, decal } };
}
