// Rows encircled on a map: the line that is drawn, what sets its rows apart, and the rows as a file.
const LEAST_LINE = 12; // pixels; a shorter line is a click that missed
const MOST_APART = 6;
const drawing = { isOn: false };

function startSelection() {
  for (const scatter of scatters) addPen(scatter);
  $("zoom-in").addEventListener("click", () => zoom(scatters[0], ZOOM));
  $("zoom-out").addEventListener("click", () => zoom(scatters[0], 1 / ZOOM));
  $("whole-map").addEventListener("click", () => scatters.forEach((each) => setWindows(each, [WHOLE, WHOLE])));
  $("encircle").addEventListener("click", () => draws(!drawing.isOn));
  $("clear-selection").addEventListener("click", () => {
    encircle(null);
    $("encircle").focus({ preventScroll: true });
  });
  $("download").addEventListener("click", download);
}

function draws(isOn) {
  drawing.isOn = isOn;
  $("encircle").setAttribute("aria-pressed", String(isOn));
  for (const { element } of scatters) element.parentElement.classList.toggle("drawing", isOn);
}

function encircle(rows) {
  view.encircled = rows;
  draws(false);
  list.page = 0;
  redrawMap();
}

// A sheet above the chart that takes the pointer while a line is drawn.
function addPen(scatter) {
  const { element } = scatter;
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "polygon");
  svg.setAttribute("class", "sheet");
  svg.setAttribute("aria-hidden", "true");
  svg.append(line);
  element.parentElement.append(svg);
  let points = null;
  const draw = () => line.setAttribute("points", (points ?? []).map((point) => point.join()).join(" "));
  const placeOf = ({ clientX, clientY }) => {
    const { left, top } = svg.getBoundingClientRect();
    return [clientX - left, clientY - top];
  };
  const end = () => {
    if (points && lengthOf(points) > LEAST_LINE) encircle(rowsWithin(scatter, points));
    points = null;
    draw();
  };
  svg.addEventListener("pointerdown", (event) => {
    svg.setPointerCapture(event.pointerId);
    points = [placeOf(event)];
  });
  svg.addEventListener("pointermove", (event) => {
    if (!points) return;
    points.push(placeOf(event));
    draw();
  });
  svg.addEventListener("pointerup", end);
  svg.addEventListener("pointercancel", end);
}

const lengthOf = (points) =>
  points.slice(1).reduce((sum, [x, y], i) => sum + Math.hypot(x - points[i][0], y - points[i][1]), 0);

function rowsWithin(scatter, points) {
  const [x, y] = scatter.placing();
  const isWithin = (row) => {
    const place = scatter.chart.convertToPixel({ gridIndex: 0 }, [x.values[row], y.values[row]]);
    return scatter.chart.containPixel({ gridIndex: 0 }, place) && isInPolygon(place, points);
  };
  return new Set(scatter.rowsDrawn.filter(isWithin));
}

// A ray to the right crosses the sides of the polygon an odd number of times.
function isInPolygon([x, y], points) {
  let isInside = false;
  for (let i = 0, j = points.length - 1; i < points.length; j = i++) {
    const [[x1, y1], [x2, y2]] = [points[i], points[j]];
    if (y1 > y !== y2 > y && x < x1 + ((y - y1) / (y2 - y1)) * (x2 - x1)) isInside = !isInside;
  }
  return isInside;
}

function saySelection(n) {
  const all = show(nRows);
  $("shown").textContent =
    n === nRows ? `All ${all} rows shown.` : `${show(n)} of ${all} rows chosen; the others are faded.`;
  $("clear-selection").hidden = view.encircled === null;
  $("download").textContent = n === 1 ? "Download 1 row (CSV)" : `Download ${show(n)} rows (CSV)`;
  $("download").disabled = n === 0;
  sayApart(n);
}

// What the rows chosen have more or less of than all rows.
function sayApart(n) {
  const area = $("apart");
  area.hidden = n === 0 || n === nRows;
  if (area.hidden) return;
  const chosen = scatters[0].rowsDrawn;
  const apart = colourings
    .filter((each) => each.key === "target" || each.key === "prediction" || each.key.startsWith("column"))
    .flatMap((each) => (each.kind === "number" ? numberApart(each, chosen) : levelApart(each, chosen)))
    .sort((a, b) => b.size - a.size)
    .slice(0, MOST_APART);
  fillTable(
    $("apart-table"),
    "What sets the chosen rows apart",
    ["", "Chosen", "All"],
    apart.map(({ name, chosen, all }) => [nameOf(name, 70), chosen, all]),
  );
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const isKnown = (value) => value !== null;

// The difference of the means, in standard deviations of all rows.
function numberApart({ name, values }, chosen) {
  const [all, some] = [values.filter(isKnown), chosen.map((row) => values[row]).filter(isKnown)];
  if (!some.length) return [];
  const middle = mean(all);
  const spread = Math.sqrt(mean(all.map((value) => (value - middle) ** 2)));
  if (!spread) return [];
  const size = Math.abs(mean(some) - middle) / spread;
  return [{ name: `mean of ${name}`, chosen: show(mean(some)), all: show(middle), size }];
}

// The category whose share differs the most, in standard deviations of belonging to it.
function levelApart({ name, values, levels }, chosen) {
  const share = (level, rows) => rows.filter((value) => value === level).length / rows.length;
  const some = chosen.map((row) => values[row]);
  const [best] = levels
    .map((text, level) => {
      const [here, all] = [share(level, some), share(level, values)];
      const size = all > 0 && all < 1 ? Math.abs(here - all) / Math.sqrt(all * (1 - all)) : 0;
      return { name: `${name} is ${text}`, chosen: percent(here), all: percent(all), size };
    })
    .sort((a, b) => b.size - a.size);
  return best && best.size ? [best] : [];
}

// A file is made here and handed to the browser: nothing leaves the page.
function download() {
  const link = make("a", {
    href: URL.createObjectURL(new Blob([asCsv(list.rows)], { type: "text/csv" })),
    download: "rows.csv",
  });
  link.click();
  URL.revokeObjectURL(link.href);
}

function asCsv(rows) {
  const valueOf = ({ kind, values, levels }, row) =>
    values[row] === null ? "" : kind === "number" ? values[row] : levels[values[row]];
  const told = colourings.map((each) => [each.name, (row) => valueOf(each, row)]);
  const columns = [["row", (row) => map.labels[row]], ...told];
  const lines = [columns.map(([name]) => name), ...rows.map((row) => columns.map(([, of]) => of(row)))];
  return lines.map((cells) => cells.map(quoted).join() + "\r\n").join("");
}

const quoted = (cell) => (/[",\r\n]/.test(cell) ? `"${String(cell).replaceAll('"', '""')}"` : String(cell));
