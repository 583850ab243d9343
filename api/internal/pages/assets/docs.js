// Loads the viewer on demand, because it is large. Until then, and without scripts, the page shows its own list of operations.
const dark = matchMedia('(prefers-color-scheme: dark)');
const chosen = document.documentElement.dataset.theme; // from the switch; otherwise the system's applies
const follow = () => document.documentElement.classList.toggle('dark-mode', chosen ? chosen === 'dark' : dark.matches);
follow();
dark.addEventListener('change', follow);

// Adds what the viewer lacks for keyboards and screen readers: labels of selections, and examples that can be scrolled.
const viewer = document.getElementById('viewer');
const nameOf = (select) => select.closest('tr[data-param-name]')?.dataset.paramName
  ?? (select.id === 'servers' ? 'Server' : select.classList.contains('content-type') ? 'Media type' : 'Example');
new MutationObserver(() => {
  for (const select of viewer.querySelectorAll('select:not([aria-label])')) select.setAttribute('aria-label', nameOf(select));
  for (const block of viewer.querySelectorAll('pre:not([tabindex])')) block.tabIndex = 0;
}).observe(viewer, { childList: true, subtree: true });

const show = () => window.SwaggerUIBundle({
  url: viewer.dataset.document,
  dom_id: '#viewer',
  deepLinking: true,
  displayOperationId: true,
  displayRequestDuration: true,
  docExpansion: 'list',
  operationsSorter: (a, b) => (a.get('method') === 'options') - (b.get('method') === 'options'),
  defaultModelsExpandDepth: 0,
  filter: true,
  persistAuthorization: false, // keep the key in memory only
  syntaxHighlight: { theme: 'monokai' },
  queryConfigEnabled: false, // a URL must not make it show another document
  validatorUrl: null, // call no other host
  onComplete: () => {
    document.getElementById('index').hidden = true;
  },
});

// Loads both files before the viewer starts: without its style sheet it is unreadable.
const loaded = (tag, attributes) => new Promise((resolve, reject) => {
  const element = Object.assign(document.createElement(tag), attributes);
  element.addEventListener('load', resolve);
  element.addEventListener('error', () => { element.remove(); reject(new Error(attributes.src ?? attributes.href)); });
  document.head.prepend(element); // before docs.css, which overrides it
});

const open = document.getElementById('open');
const said = document.getElementById('said');
open.addEventListener('click', async () => {
  open.disabled = true;
  said.textContent = 'Loading the viewer.';
  try {
    await Promise.all([loaded('link', { rel: 'stylesheet', href: open.dataset.sheet }), loaded('script', { src: open.dataset.program })]);
    show();
  } catch {
    said.textContent = 'The viewer could not be loaded. Try again.';
    open.disabled = false;
  }
});
document.getElementById('offer').hidden = false;
