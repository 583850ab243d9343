// Shows the document with the viewer, which is large, once somebody asks for it. Until then, and without scripts, the page's own list of operations stands.
const dark = matchMedia('(prefers-color-scheme: dark)');
const chosen = document.documentElement.dataset.theme; // by the switch; otherwise the system's holds
const follow = () => document.documentElement.classList.toggle('dark-mode', chosen ? chosen === 'dark' : dark.matches);
follow();
dark.addEventListener('change', follow);

// What the viewer lacks for keyboards and screen readers: names of its lists of choices, and examples that can be scrolled.
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
  persistAuthorization: false, // a key stays in the page's memory and nowhere else
  syntaxHighlight: { theme: 'monokai' },
  queryConfigEnabled: false, // an address cannot make it show another document
  validatorUrl: null, // no other host is asked
  onComplete: () => {
    document.getElementById('index').hidden = true;
  },
});

// Both files before the viewer begins: without its style sheet it cannot be read.
const loaded = (tag, attributes) => new Promise((resolve, reject) => {
  const element = Object.assign(document.createElement(tag), attributes);
  element.addEventListener('load', resolve);
  element.addEventListener('error', () => { element.remove(); reject(new Error(attributes.src ?? attributes.href)); });
  document.head.prepend(element); // docs.css comes after it, and wins
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
