// The contracts' artefacts must be what their sources compile to.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { artefactPath, compile, sources } from './contracts/compile.js';
import { usdc } from './contracts/usdc.js';

for (const each of sources) {
  test(`the artefact of ${each.source} is what it compiles to; make contracts writes it`, () => {
    assert.equal(readFileSync(artefactPath(each), 'utf8'), compile(each));
  });
}

test("USDC is its package's; make contracts takes it", () => {
  for (const { path, content } of usdc()) assert.equal(readFileSync(path, 'utf8'), content, path);
});
