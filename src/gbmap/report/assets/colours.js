// Colours that people with any colour vision can tell apart: viridis, a diverging scale, Okabe and Ito's.
const VIRIDIS = [
  "#440154",
  "#482475",
  "#414487",
  "#355f8d",
  "#2a788e",
  "#21918c",
  "#22a884",
  "#44bf70",
  "#7ad151",
  "#bddf26",
  "#fde725",
];
const OKABE_ITO = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#f0e442"];
const SHAPES = [
  "circle",
  "triangle",
  "rect",
  "diamond",
  "path://M4,0H6V4H10V6H6V10H4V6H0V4H4Z",
  "path://M5,0L6.5,3.5L10,4L7.3,6.5L8,10L5,8.2L2,10L2.7,6.5L0,4L3.5,3.5Z",
  "path://M0,0H10L5,10Z",
];
const SHAPE_PATHS = [
  "M5,0A5,5 0 1 1 4.99,0Z",
  "M5,0L10,10H0Z",
  "M0,0H10V10H0Z",
  "M5,0L10,5L5,10L0,5Z",
  ...SHAPES.slice(4).map((shape) => shape.slice("path://".length)),
];

const palette = () =>
  isDark()
    ? { up: "#56b4e9", down: "#e88447", other: "#8d96a0", faded: "#4a525b", ring: "#ffffff" }
    : { up: "#0072b2", down: "#d55e00", other: "#6b737d", faded: "#c3c9d0", ring: "#000000" };

const mix = (low, high, share) => {
  const parts = [1, 3, 5].map((at) => [
    parseInt(low.slice(at, at + 2), 16),
    parseInt(high.slice(at, at + 2), 16),
  ]);
  const hex = parts.map(([a, b]) =>
    Math.round(a + (b - a) * share)
      .toString(16)
      .padStart(2, "0"),
  );
  return `#${hex.join("")}`;
};

function along(colours, share) {
  const at = Math.min(Math.max(share, 0), 1) * (colours.length - 1);
  const low = Math.min(Math.floor(at), colours.length - 2);
  return mix(colours[low], colours[low + 1], at - low);
}

// The ends that would vanish in the page's own colour are left out.
const sequential = (share) => along(VIRIDIS, isDark() ? 0.18 + 0.82 * share : 0.92 * share);
const diverging = (share) =>
  along(isDark() ? ["#56b4e9", "#3b4750", "#e88447"] : ["#0072b2", "#d3d7db", "#d55e00"], share);

const levelColour = (level) => OKABE_ITO[level % OKABE_ITO.length];
const levelShape = (level) => (level + Math.floor(level / OKABE_ITO.length)) % SHAPES.length;

const swatch = (level) => drawSwatch(SHAPE_PATHS[levelShape(level)], levelColour(level));
const blankSwatch = () => drawSwatch(SHAPE_PATHS[0], palette().other);

function drawSwatch(shape, colour) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  svg.setAttribute("viewBox", "-0.5 -0.5 11 11");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", shape);
  path.setAttribute("fill", colour);
  svg.append(path);
  return svg;
}

const gradient = (scale) =>
  `linear-gradient(to right, ${Array.from({ length: 11 }, (_, i) => scale(i / 10)).join(", ")})`;
