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
  new ResizeObserver(() => chart.resize()).observe(element);
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

// As high as its bars need.
function fitBars(element, n) {
  element.style.height = `${70 + 26 * Math.max(n, 2)}px`;
}

const gridOf = (extra = {}) => ({ left: 8, right: 16, top: 16, bottom: 8, containLabel: true, ...extra });

// Room for the labels and the name of an axis that is not one of names.
const framed = (extra = {}) => ({ left: 58, right: 14, top: 14, bottom: 46, ...extra });
const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumSignificantDigits: 3 });
const axisNumber = (value) => (Math.abs(value) < 1e4 ? show(value) : compact.format(value).replace("-", "−"));

function axis(name, extra = {}) {
  return {
    type: "value",
    name,
    nameLocation: "middle",
    nameGap: 26,
    nameTextStyle: { color: variable("muted"), fontSize: 12 },
    axisLabel: { color: variable("muted"), fontSize: 11, hideOverlap: true, formatter: axisNumber },
    axisLine: { lineStyle: { color: variable("line") } },
    axisTick: { show: false },
    splitLine: { lineStyle: { color: variable("line") } },
    ...extra,
  };
}

const names = (list, extra = {}) =>
  axis("", {
    type: "category",
    data: list.map((name) => short(name.replace(/\s+/g, " "), innerWidth < 500 ? 16 : 24)),
    inverse: true,
    axisLabel: { color: variable("text"), fontSize: 12, interval: 0 },
    splitLine: { show: false },
    ...extra,
  });

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
    make("tr", {}, make("th", {}, nameOf(name, 28)), make("td", {}, nameOf(value, 28))),
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
