// The curve of the loss explained, and which learners have a card open.
function explainedOption() {
  const { training_explained: training, held_out_explained: heldOut } = report.learners;
  const line = (name, values, color, type, symbol) => ({
    name,
    type: "line",
    data: values.map((value, i) => [i, value]),
    symbol,
    symbolSize: 6,
    lineStyle: { color, type, width: 2 },
    itemStyle: { color },
  });
  return {
    grid: framed({ top: 40 }),
    legend: { top: 0, left: 0, itemWidth: 34, textStyle: { color: variable("text") } },
    xAxis: axis(manyOutputs ? "learners per class" : "learners", {
      minInterval: 1,
      max: training.length - 1,
      splitLine: { show: false },
    }),
    yAxis: axis("", { axisLabel: { formatter: (value) => percent(value) } }),
    tooltip: tip(
      (events) =>
        tipOf(
          `After ${events[0].value[0]} learners`,
          events.map((event) => [event.seriesName, percent(event.value[1])]),
        ),
      { trigger: "axis" },
    ),
    series: [
      line("training rows", training, palette().other, "dashed", "circle"),
      line("held-out rows", heldOut, palette().up, "solid", "diamond"),
    ],
  };
}

function showCards(output, all) {
  let nHidden = 0;
  for (const card of $("cards").children) {
    const isOther = manyOutputs && Number(card.dataset.output) !== output;
    const isMore = !all && card.classList.contains("more");
    card.hidden = isOther || isMore;
    nHidden += !isOther && isMore;
  }
  $("more-cards").hidden = nHidden === 0;
  $("more-cards").textContent = `Show ${show(nHidden)} more`;
}

function startLearners() {
  if (!report.learners) return;
  makeChart("explained-chart", explainedOption);
  let output = 0,
    all = false;
  chooseOutput("learner-output", (k) => showCards((output = k), all));
  $("more-cards").addEventListener("click", () => showCards(output, (all = true)));
  theme.listeners.push(() => showCards(output, all || theme.isPrinting));
  showCards(output, all);
}
