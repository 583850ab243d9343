// Copy buttons, hidden where the clipboard is not available. They confirm a copy.
const patience = 2000;

for (const button of document.querySelectorAll("button[data-copy]")) {
  const source = document.getElementById(button.dataset.copy);
  if (!source || !navigator.clipboard) continue;
  const said = button.querySelector("[data-said]");
  const before = said.textContent;
  let timer;
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(source.textContent);
      said.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(source); // the clipboard is denied: select the text instead
      said.textContent = "Selected";
    }
    clearTimeout(timer);
    timer = setTimeout(() => { said.textContent = before; }, patience);
  });
}
