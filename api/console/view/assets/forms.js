// Prevents double submission of forms, and offers the browser's time zones.
for (const form of document.querySelectorAll("form[method=post]:not([data-theme-switch])")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) {
      event.preventDefault();
      return;
    }
    form.dataset.sent = "yes";
  });
}
addEventListener("pageshow", () => { // restored by the back button: it may be sent again
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

// A page that shows a secret once is replaced by the page of its object when it is reloaded.
const shown = document.querySelector("[data-shown-once]");
if (shown) history.replaceState(null, "", shown.dataset.shownOnce);
