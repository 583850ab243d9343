// The protocol's conformance suite: the scenarios for a server with tools and without sessions. It
// sends no key.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';

if (!process.env.GATEWAY_URL) throw new Error('set GATEWAY_URL: see README.md');

const require = createRequire(import.meta.url);
const manifest = require.resolve('@modelcontextprotocol/conformance/package.json');
const { bin } = JSON.parse(readFileSync(manifest, 'utf8'));
const program = join(dirname(manifest), typeof bin === 'string' ? bin : Object.values(bin)[0]);
const folder = mkdtempSync(join(tmpdir(), 'conformance-')); // it writes its results to the working directory
after(() => rmSync(folder, { recursive: true, force: true }));

for (const scenario of ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection']) {
  test(scenario, async () => {
    const { code, said } = await new Promise((resolve) => {
      execFile(process.execPath, [program, 'server', '--url', `${process.env.GATEWAY_URL}/mcp`, '--scenario', scenario], {
        cwd: folder, timeout: 60_000, maxBuffer: 8 << 20,
      }, (error, out, err) => resolve({ code: error ? error.code ?? error.signal : 0, said: out + err }));
    });
    assert.equal(code, 0, said);
    const passed = Number(said.match(/Passed: (\d+)/)?.[1]);
    assert.ok(passed > 0, said);
    assert.match(said, /\b0 failed/, said);
  });
}
