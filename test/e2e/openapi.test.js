// A linter's opinion of /openapi.json; and the viewer of /docs must be the locked version.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { content, copied, manifest, packed, to } from './viewer.js';

const { GATEWAY_URL } = process.env;

for (const name of packed) {
  test(`the embedded ${name} is that of the package; make viewer writes it`, () => {
    assert.ok(gunzipSync(readFileSync(to(`${name}.gz`))).equals(content(name)));
  });
}

test('the licences and the manifest of the viewer are those of the package; make viewer writes them', () => {
  assert.deepEqual(JSON.parse(readFileSync(to('viewer.json'), 'utf8')), manifest());
  for (const name of copied) {
    assert.ok(readFileSync(to(name)).equals(readFileSync(new URL(`node_modules/swagger-ui-dist/${name}`, import.meta.url))));
  }
});

test('Redocly finds nothing wrong with /openapi.json', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'openapi-'));
  try {
    const file = join(dir, 'openapi.json');
    writeFileSync(file, await (await fetch(`${GATEWAY_URL}/openapi.json`)).text());
    const cli = fileURLToPath(new URL('node_modules/@redocly/cli/bin/cli.js', import.meta.url));
    const config = fileURLToPath(new URL('redocly.yaml', import.meta.url));
    // It checks for updates and sends telemetry unless told not to.
    const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
    execFileSync(process.execPath, [cli, 'lint', '--config', config, '--max-problems', '50', file], { env, encoding: 'utf8', stdio: 'pipe' });
  } catch (e) {
    assert.fail(`${e.stdout ?? ''}${e.stderr ?? ''}${e.message}`);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
