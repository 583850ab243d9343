// The theme switch without a page load. The cookie is set by the server, as without this script.
const forms = document.querySelectorAll("form[data-theme-switch]");

function show(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  for (const button of document.querySelectorAll("form[data-theme-switch] button")) {
    button.setAttribute("aria-pressed", String(button.value === theme));
  }
}

for (const form of forms) {
  form.addEventListener("submit", async (event) => {
    if (!event.submitter) return;
    event.preventDefault();
    const body = new URLSearchParams(new FormData(form, event.submitter));
    show(event.submitter.value);
    try {
      await fetch(form.action, { method: "POST", body, redirect: "manual" });
    } catch {
      // Without a connection the page keeps the theme until it is loaded again.
    }
  });
}
