// Copies the viewer of /docs from its npm package into the API. `node viewer.js` (make viewer)
// writes the files; the tests compare them.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const from = (name) => fileURLToPath(new URL(`node_modules/swagger-ui-dist/${name}`, import.meta.url));
export const to = (name) => fileURLToPath(new URL(`../../api/internal/pages/viewer/${name}`, import.meta.url));

// Files that pages load are stored compressed; licences are stored as text.
export const packed = ['swagger-ui-bundle.js', 'swagger-ui.css'];
export const copied = ['LICENSE', 'NOTICE', 'swagger-ui-bundle.js.LICENSE.txt'];

// Source maps, which developer tools would request, are not served.
export const content = (name) => Buffer.from(readFileSync(from(name), 'utf8').replace(/\s*(\/\/|\/\*)# sourceMappingURL=.*$/, '\n'));

export function manifest() {
  const { name, version, license } = JSON.parse(readFileSync(from('package.json'), 'utf8'));
  const files = Object.fromEntries(packed.map((f) => [f, createHash('sha256').update(content(f)).digest('hex')]));
  return { package: name, version, license, files };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const name of packed) writeFileSync(to(`${name}.gz`), gzipSync(content(name), { level: 9 }));
  for (const name of copied) writeFileSync(to(name), readFileSync(from(name)));
  writeFileSync(to('viewer.json'), `${JSON.stringify(manifest(), null, 2)}\n`);
}
