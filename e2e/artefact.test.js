// The contract's artefact is what its source compiles to.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { artefactPath, compile } from './contracts/compile.js';

test('Sample.json is what Sample.sol compiles to; make contracts writes it', () => {
  assert.equal(readFileSync(artefactPath, 'utf8'), compile());
});
