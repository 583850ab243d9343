// Runs the forms of the toolbox in place, and keeps the command next to each form up to date.
const part = "outcome";

const percent = (text) => encodeURIComponent(text)
  .replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
  .replaceAll("%2C", ",");
const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;
// Like the server's encoder, escapes U+2028 and U+2029.
const json = (value) => JSON.stringify(value).replace(/[\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16)}`);

// Returns the value of a field as text, without lone surrogates, which forms do not send either.
function typed(field) {
  if (field.type !== "checkbox") return field.value.toWellFormed?.() ?? field.value;
  if (field.checked) return "true";
  return "always" in field.dataset ? "false" : "";
}

// Returns the value of a field for JSON.
function valueOf(text, type) {
  if ((type === "integer" || type === "number") && /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text)) return Number(text);
  if (type === "boolean") return text === "true";
  if (type === "array") return text.split(",").map((item) => item.trim());
  return text;
}

// Returns the same command as the server (curl.go).
function command(tool) {
  let path = tool.dataset.route;
  const query = [];
  const body = [];
  for (const field of tool.querySelectorAll("[data-place]")) {
    const text = typed(field);
    const { place, type } = field.dataset;
    if (place === "path") path = path.replace(`{${field.name}}`, () => percent(text));
    else if (text === "" && !("always" in field.dataset)) continue;
    else if (place === "query") query.push(`${percent(field.name)}=${percent(text)}`);
    else body.push(`${json(field.name)}:${json(valueOf(text, type))}`);
  }
  if (query.length > 0) path += `?${query.join("&")}`;
  const lines = [`curl ${quoted(tool.dataset.base + path)}`, '-H "Authorization: Bearer $API_KEY"'];
  if (tool.dataset.method !== "GET") lines.push("-H 'Content-Type: application/json'", `-d ${quoted(`{${body.join(",")}}`)}`);
  return lines.join(" \\\n  ");
}

// Sets the elements that describe a field: its rule and its errors.
function describe(field, ...errors) {
  const about = [`${field.id}-rule`, ...errors].filter((id) => document.getElementById(id));
  field.setAttribute("aria-describedby", about.join(" "));
  field.setAttribute("aria-invalid", String(errors.length > 0));
}

// Shows errors below their fields and removes earlier ones.
function blame(tool, errors) {
  for (const old of tool.querySelectorAll("form .error")) old.remove();
  for (const field of tool.querySelectorAll("[aria-invalid]")) describe(field);
  for (const [at, { dataset, textContent }] of errors.entries()) {
    const field = document.getElementById(dataset.of);
    const error = document.createElement("span");
    error.className = "error";
    error.id = `${field.id}-error`;
    error.textContent = textContent;
    field.parentElement.append(error);
    describe(field, error.id);
    if (at === 0) field.focus();
  }
}

async function run(tool, form) {
  const said = tool.querySelector("[data-said]");
  const outcome = tool.querySelector("[data-outcome]");
  const values = new URLSearchParams(new FormData(form));
  const reads = form.getAttribute("method") === "get";
  const address = `/toolbox${reads ? `?${values}` : ""}`;
  said.textContent = "Running…";
  tool.dataset.busy = "yes";
  try {
    const answer = await fetch(address, { method: reads ? "GET" : "POST", body: reads ? undefined : values, headers: { "X-Part": part } });
    if (answer.headers.get("X-Part") !== part) { // an error page
      HTMLFormElement.prototype.submit.call(form);
      return;
    }
    outcome.innerHTML = await answer.text(); // from this server, which escapes it
    blame(tool, outcome.querySelectorAll("[data-errors] > li"));
    said.textContent = answer.ok ? "Answered below." : "Refused. The reason is below.";
    if (reads && location.pathname === "/toolbox") history.replaceState(null, "", `${address}#${tool.id}`);
  } catch {
    said.textContent = "The gateway did not answer. Check your connection and run it again.";
  } finally {
    delete tool.dataset.busy;
  }
}

for (const tool of document.querySelectorAll("[data-tool]")) {
  const form = tool.querySelector("form");
  const line = document.getElementById(`${tool.id}-curl`);
  if (!form) continue;
  const follow = () => { line.textContent = command(tool); };
  form.addEventListener("input", follow);
  addEventListener("pageshow", follow); // browsers restore form values
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!tool.dataset.busy) run(tool, form);
  });
}
