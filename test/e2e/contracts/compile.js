// Compiles the project's contracts. `node contracts/compile.js` (make contracts) writes the
// artefacts; the tests compile again and compare.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import solc from 'solc';
import { usdc } from './usdc.js';

const root = new URL('../../../', import.meta.url);
const pathOf = (name) => fileURLToPath(new URL(name, root));

// One contract per artefact, or all contracts of a source by name.
const sandbox = readdirSync(pathOf('internal/sandbox/contracts')).filter((name) => name.endsWith('.sol'));
export const sources = [
  { source: 'test/e2e/contracts/Sample.sol', contract: 'Sample' },
  { source: 'identity/wallet/contracts/SignatureValidator.sol', contract: 'SignatureValidator' },
  { source: 'identity/wallet/contracts/testdata/Wallets.sol' },
  { source: 'toolbox/solidity/TokenFacts.sol', contract: 'TokenFacts' },
  { source: 'toolbox/solidity/testdata/Tokens.sol' },
  ...sandbox.map((name) => ({ source: `internal/sandbox/contracts/${name}` })),
];

export const artefactPath = ({ source }) => pathOf(source.replace(/\.sol$/, '.json'));

export function compile({ source, contract }) {
  const output = JSON.parse(
    solc.compile(
      JSON.stringify({
        language: 'Solidity',
        sources: { [source]: { content: readFileSync(pathOf(source), 'utf8') } },
        settings: {
          evmVersion: 'cancun',
          optimizer: { enabled: true, runs: 200 },
          metadata: { bytecodeHash: 'none', appendCBOR: false },
          outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object'] } },
        },
      }),
      { import: (path) => ({ contents: readFileSync(pathOf(path), 'utf8') }) },
    ),
  );
  const errors = (output.errors ?? []).filter((e) => e.severity === 'error');
  if (errors.length > 0) throw new Error(errors.map((e) => e.formattedMessage).join('\n'));
  const contracts = output.contracts[source];
  const parts = ({ abi, evm }) => ({
    abi,
    bytecode: `0x${evm.bytecode.object}`,
    deployedBytecode: `0x${evm.deployedBytecode.object}`,
  });
  const deployed = Object.entries(contracts).filter(([, made]) => made.evm.bytecode.object !== ''); // no interfaces
  const content = contract
    ? parts(contracts[contract])
    : { contracts: Object.fromEntries(deployed.map(([name, made]) => [name, parts(made)])) };
  return `${JSON.stringify({ compiler: solc.version(), ...content }, null, 2)}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const each of sources) writeFileSync(artefactPath(each), compile(each));
  for (const { path, content } of usdc()) writeFileSync(path, content);
}
