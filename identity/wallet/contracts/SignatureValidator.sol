// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

interface ISignatureWallet {
    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4);
}

/// Judges a contract wallet's signature (EIP-1271), also before the wallet is deployed (EIP-6492). It is never deployed: eth_call runs
/// the constructor, whose answer is one byte, and throws away whatever it changed.
contract SignatureValidator {
    uint8 private constant NO_CODE = 0;
    uint8 private constant ACCEPTED = 1;
    uint8 private constant REFUSED = 2;

    /// @param factory the contract to call with factoryData when the wallet has no code, or does not accept yet; zero for none.
    constructor(address wallet, bytes32 hash, bytes memory signature, address factory, bytes memory factoryData) {
        bool accepted = accepts(wallet, hash, signature);
        if (!accepted && factory != address(0)) {
            prepare(factory, factoryData);
            accepted = accepts(wallet, hash, signature);
        }
        uint8 verdict = accepted ? ACCEPTED : wallet.code.length == 0 ? NO_CODE : REFUSED;
        assembly ("memory-safe") {
            mstore8(0, verdict)
            return(0, 1)
        }
    }

    /// Of the answer one word is looked at, however long it is; a revert is a refusal.
    function accepts(address wallet, bytes32 hash, bytes memory signature) private view returns (bool accepted) {
        if (wallet.code.length == 0) return false;
        bytes memory input = abi.encodeCall(ISignatureWallet.isValidSignature, (hash, signature));
        bytes32 magic = bytes32(ISignatureWallet.isValidSignature.selector);
        assembly ("memory-safe") {
            accepted := staticcall(gas(), wallet, add(input, 32), mload(input), 0, 32)
            accepted := and(accepted, gt(returndatasize(), 31))
            accepted := and(accepted, eq(mload(0), magic))
        }
    }

    /// Whether it worked shows in what the wallet answers afterwards; nothing of the answer is copied.
    function prepare(address factory, bytes memory factoryData) private {
        assembly ("memory-safe") {
            pop(call(gas(), factory, 0, add(factoryData, 32), mload(factoryData), 0, 0))
        }
    }
}
