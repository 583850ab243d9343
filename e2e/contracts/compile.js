// Compiles Sample.sol. `node contracts/compile.js` (make contracts) writes Sample.json; the tests compile again and compare.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import solc from 'solc';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
export const artefactPath = here('Sample.json');

export function compile() {
  const output = JSON.parse(
    solc.compile(
      JSON.stringify({
        language: 'Solidity',
        sources: { 'Sample.sol': { content: readFileSync(here('Sample.sol'), 'utf8') } },
        settings: {
          evmVersion: 'cancun',
          optimizer: { enabled: true, runs: 200 },
          metadata: { bytecodeHash: 'none', appendCBOR: false },
          outputSelection: { '*': { Sample: ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object'] } },
        },
      }),
    ),
  );
  const errors = (output.errors ?? []).filter((e) => e.severity === 'error');
  if (errors.length > 0) throw new Error(errors.map((e) => e.formattedMessage).join('\n'));
  const { abi, evm } = output.contracts['Sample.sol'].Sample;
  const artefact = {
    compiler: solc.version(),
    abi,
    bytecode: `0x${evm.bytecode.object}`,
    deployedBytecode: `0x${evm.deployedBytecode.object}`,
  };
  return `${JSON.stringify(artefact, null, 2)}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(artefactPath, compile());
