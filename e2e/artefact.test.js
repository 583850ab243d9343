// The contracts' artefacts are what their sources compile to.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { artefactPath, compile, sources } from './contracts/compile.js';

for (const each of sources) {
  test(`the artefact of ${each.source} is what it compiles to; make contracts writes it`, () => {
    assert.equal(readFileSync(artefactPath(each), 'utf8'), compile(each));
  });
}
