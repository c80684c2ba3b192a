startTheme();
startSpreads();
startPerformance();
startMap();
startRow();
startLearners();
startFeatures();
startRegions();
startDrift();
startOverTime();
startCharts();
redrawMap();
select(Math.max(0, map.kind.indexOf(1)));
$("row-status").textContent = ""; // nothing to announce before the reader chooses

// In the frame of a notebook, a link to a section would lead out of the frame.
if (location.protocol === "about:")
  for (const link of document.querySelectorAll('a[href^="#"]'))
    link.addEventListener("click", (event) => {
      event.preventDefault();
      $(link.getAttribute("href").slice(1)).scrollIntoView();
    });
