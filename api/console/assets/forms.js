// Small helps for forms: nothing is sent twice, the zones of this browser are offered.
for (const form of document.querySelectorAll("form[method=post]:not([data-theme-switch])")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) {
      event.preventDefault();
      return;
    }
    form.dataset.sent = "yes";
  });
}
addEventListener("pageshow", () => { // back from the next page: it may be sent again
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});

for (const input of document.querySelectorAll("input[data-time-zone]")) {
  const list = document.getElementById(input.getAttribute("list"));
  if (!list || !Intl.supportedValuesOf) continue;
  const known = new Set([...list.options].map((option) => option.value));
  for (const zone of Intl.supportedValuesOf("timeZone")) {
    if (known.has(zone)) continue;
    const option = document.createElement("option");
    option.value = zone;
    list.append(option);
  }
}

// What is shown once does not come again when the page is loaded again: the address becomes that of the thing itself.
const shown = document.querySelector("[data-shown-once]");
if (shown) history.replaceState(null, "", shown.dataset.shownOnce);
