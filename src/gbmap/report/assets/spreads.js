// What each column holds, as a small picture: bars of numbers or of categories, training beside new rows.
const FIRST_SPREADS = 12; // that are shown before the reader asks for more
const SPREAD = { width: 240, height: 72 };

function makeSvg(tag, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

const highest = (shares) => Math.max(...shares.flat(), 1e-9);

// The first table is filled, the second an outline over it.
function spreadBars({ edges, shares }) {
  const { width, height } = SPREAD;
  const top = highest(shares);
  const right = (i) => (((i + 1) * width) / (edges.length - 1)).toFixed(1);
  const picture = makeSvg("svg", {
    viewBox: `0 -1 ${width} ${height + 2}`,
    preserveAspectRatio: "none",
    "aria-hidden": "true",
  });
  shares.forEach((each, table) => {
    const steps = each.map((share, i) => `V${(height * (1 - share / top)).toFixed(1)}H${right(i)}`);
    const path = { d: `M0,${height}${steps.join("")}V${height}Z`, class: table ? "fresh" : "known" };
    picture.append(makeSvg("path", { ...path, "vector-effect": "non-scaling-stroke" }));
  });
  return picture;
}

// Of whole numbers, whose bins end between them, the numbers themselves.
function endsOf({ feature, edges, numbers }) {
  const areHalves = edges.every((edge) => Math.abs(edge % 1) === 0.5);
  const greatest = Math.max(...numbers.map((each) => each.greatest ?? -Infinity));
  const ends = areHalves ? [edges[0] + 0.5, Math.min(edges.at(-1) - 0.5, greatest)] : [edges[0], edges.at(-1)];
  const shown = ends.map((end) => make("span", {}, showOf(feature, end)));
  return make("p", { className: "ends" }, ...shown);
}

function levelBars({ levels, shares, missing }) {
  const known = shares.filter((_, table) => missing[table] < 1);
  const top = highest(known);
  const bar = (share, table) => {
    const length = make("span", { className: table ? "length fresh" : "length" });
    length.style.width = `${(100 * share) / top}%`;
    return make("span", { className: "track" }, length);
  };
  const rows = levels.map((level, i) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, nameOf(level, 20)),
      make("td", {}, ...known.map((each, table) => bar(each[i], table))),
      make("td", { className: "num" }, known.map((each) => percent(each[i])).join(" / ")),
    ),
  );
  return make("table", { className: "levels-bars" }, make("tbody", {}, ...rows));
}

function aboutSpread(column) {
  const told = [column.feature === null ? "to predict" : column.kind];
  if (column.unit) told.push(`in ${column.unit}`);
  if (column.kind === "category") told.push(`${show(column.n_distinct)} different`);
  column.missing.forEach((share, table) => {
    if (share === 1 && table) told.push("not known of new rows");
    else if (share) told.push(`${percent(share)} missing${table ? " in new rows" : ""}`);
  });
  return make("p", { className: "small-print" }, told.join(", "));
}

function spreadOf(column) {
  const isTarget = column.feature === null;
  const name = isTarget ? report.fitted.target : featureName(column.feature);
  const isKnown = column.shares.flat().some((share) => share > 0);
  const picture = column.levels ? [levelBars(column)] : isKnown ? [spreadBars(column), endsOf(column)] : [];
  const title = make("h3", {}, nameOf(name, 120));
  return make("li", { className: isTarget ? "target" : "" }, title, aboutSpread(column), ...picture);
}

function startSpreads() {
  const { target, columns } = report.data;
  const items = [...(target ? [target] : []), ...columns].map(spreadOf);
  const button = $("more-spreads");
  let all = false;
  const showSome = () => {
    const most = all || theme.isPrinting ? items.length : FIRST_SPREADS;
    items.forEach((item, i) => (item.hidden = i >= most));
    button.hidden = items.length <= most;
  };
  $("spreads").replaceChildren(...items);
  button.textContent = `Show all ${show(items.length)} columns`;
  button.addEventListener("click", () => {
    all = true;
    showSome();
  });
  theme.listeners.push(showSome);
  showSome();
}
