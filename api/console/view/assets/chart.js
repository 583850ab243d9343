// Shows the values of a bar on hover and with the arrow keys. Without scripts, the table below the chart has the same numbers.
for (const chart of document.querySelectorAll("[data-chart]")) {
  const plot = chart.querySelector("[data-plot]");
  const days = [...chart.querySelectorAll(".day")];
  const readout = chart.querySelector(".readout");
  if (!plot || days.length === 0) continue;
  const resting = readout.textContent;
  let chosen = days.length - 1;

  const choose = (index) => {
    days[chosen].classList.remove("chosen");
    chosen = Math.min(Math.max(index, 0), days.length - 1);
    days[chosen].classList.add("chosen");
    readout.textContent = days[chosen].dataset.says;
    plot.setAttribute("aria-valuenow", String(chosen + 1));
    plot.setAttribute("aria-valuetext", days[chosen].dataset.says);
  };
  const rest = () => {
    days[chosen].classList.remove("chosen");
    readout.textContent = resting;
  };

  plot.tabIndex = 0;
  plot.setAttribute("role", "slider");
  plot.setAttribute("aria-valuemin", "1");
  plot.setAttribute("aria-valuemax", String(days.length));
  choose(chosen);
  rest();

  const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -7, PageUp: 7, Home: -days.length, End: days.length };
  plot.addEventListener("keydown", (event) => {
    if (!(event.key in steps)) return;
    event.preventDefault();
    choose(chosen + steps[event.key]);
  });
  plot.addEventListener("focus", () => choose(chosen));
  plot.addEventListener("blur", rest);
  plot.addEventListener("pointerover", (event) => {
    const day = event.target.closest(".day");
    if (day) choose(days.indexOf(day));
  });
  plot.addEventListener("pointerleave", rest);
}
