// The official inspector's command line, unmodified: one process per message, with its own home
// directory, so that it neither reads nor changes anything of the user's.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after } from 'node:test';

const root = dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/inspector/package.json'));
const launcher = join(root, 'clients', 'launcher', 'build', 'index.js');
const home = mkdtempSync(join(tmpdir(), 'inspector-'));
after(() => rmSync(home, { recursive: true, force: true }));

// Runs the inspector against an endpoint and returns its exit code and output.
export function inspect(url, key, ...args) {
  const header = key ? ['--header', `Authorization: Bearer ${key}`] : [];
  return new Promise((resolve) => {
    execFile(process.execPath, [launcher, '--cli', url, '--transport', 'http', ...header, '--format', 'json', '--stored-auth-only', ...args], {
      timeout: 60_000, maxBuffer: 8 << 20, env: { PATH: process.env.PATH, HOME: home, NO_COLOR: '1' },
    }, (error, out, err) => resolve({ code: error ? error.code ?? error.signal : 0, out, err }));
  });
}
