// Copy buttons: hidden until there is something to copy with, and they say when it is done.
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
      getSelection().selectAllChildren(source); // the clipboard is denied: one key press is left
      said.textContent = "Selected";
    }
    clearTimeout(timer);
    timer = setTimeout(() => { said.textContent = before; }, patience);
  });
}
