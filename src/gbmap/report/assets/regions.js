// Which class has its regions open, and the way from a region to its rows on the map.
function startRegions() {
  const tables = [...document.querySelectorAll(".region-table")];
  for (const table of tables)
    for (const button of table.querySelectorAll("[data-region]"))
      button.addEventListener("click", () =>
        showOnMap("region", `${table.dataset.output}:${button.dataset.region}`),
      );
  chooseOutput("region-output", (k) =>
    tables.forEach((table) => (table.hidden = Number(table.dataset.output) !== k)),
  );
}
