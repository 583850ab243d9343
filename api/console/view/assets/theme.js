// Switches the theme without a page load. The server sets the cookie, as it does without scripts.
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
      // Without a connection the theme lasts until the page is reloaded.
    }
  });
}
