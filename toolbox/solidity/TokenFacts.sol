// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

/// Reads name, symbol and decimals of many tokens (EIP-20) in one eth_call. It is never deployed:
/// eth_call runs the constructor, which returns the answer in place of the code. A token can burn
/// CALL_GAS three times, and only a bounded part of its answers is copied.
///
/// The answer is a byte 1, then a record for each token: one byte of NOT_ASKED (which ends the
/// record), WITHOUT_DECIMALS or WITH_DECIMALS, one byte with the decimals, then the symbol and the
/// name, each as a length byte and that many bytes. Length 0 means none.
contract TokenFacts {
    uint8 private constant VERSION = 1; // not 0xEF, which code must not begin with (EIP-3541)

    uint8 private constant NOT_ASKED = 0; // not enough gas left
    uint8 private constant WITHOUT_DECIMALS = 1;
    uint8 private constant WITH_DECIMALS = 2;

    uint256 private constant CALL_GAS = 100_000;
    uint256 private constant MOST_SYMBOL = 32; // bytes
    uint256 private constant MOST_NAME = 64;
    uint256 private constant MOST_RECORD = 4 + MOST_SYMBOL + MOST_NAME;
    uint256 private constant BYTE_GAS = 200; // per byte of the answer, charged as deployed code

    constructor(address[] memory tokens) {
        bytes memory answer = new bytes(1 + tokens.length * MOST_RECORD);
        uint256 reserve = 200_000 + answer.length * BYTE_GAS + 4 * CALL_GAS;
        uint256 end;
        assembly ("memory-safe") {
            end := add(answer, 32)
        }
        end = put(end, VERSION);
        for (uint256 i = 0; i < tokens.length; i++) {
            end = gasleft() < reserve ? put(end, NOT_ASKED) : record(end, tokens[i]);
        }
        assembly ("memory-safe") {
            let begin := add(answer, 32)
            return(begin, sub(end, begin))
        }
    }

    function record(uint256 end, address token) private view returns (uint256) {
        (bool known, uint8 decimals) = decimalsOf(token);
        end = put(end, known ? WITH_DECIMALS : WITHOUT_DECIMALS);
        end = put(end, decimals);
        end = text(end, token, 0x95d89b41, MOST_SYMBOL); // symbol()
        return text(end, token, 0x06fdde03, MOST_NAME); // name()
    }

    function decimalsOf(address token) private view returns (bool known, uint8 decimals) {
        assembly ("memory-safe") {
            mstore(0, shl(224, 0x313ce567)) // decimals()
            known := staticcall(CALL_GAS, token, 0, 4, 0, 32)
            known := and(known, gt(returndatasize(), 31))
            known := and(known, lt(mload(0), 256))
            decimals := mul(known, and(mload(0), 255))
        }
    }

    /// Writes the length and the bytes of a token's answer: a string, or the bytes32 that some tokens
    /// return instead.
    function text(uint256 end, address token, uint256 selector, uint256 most) private view returns (uint256 next) {
        assembly ("memory-safe") {
            mstore(0, shl(224, selector))
            let answered := staticcall(CALL_GAS, token, 0, 4, 0, 0)
            let size := mul(answered, returndatasize())
            let from := 0
            let length := 0
            if eq(size, 32) {
                length := 32
            }
            if gt(size, 63) {
                returndatacopy(0, 0, 32)
                let at := mload(0)
                if lt(at, sub(size, 31)) {
                    returndatacopy(0, at, 32)
                    length := mload(0)
                    from := add(at, 32)
                    if gt(length, sub(size, from)) {
                        length := sub(size, from)
                    }
                }
            }
            if gt(length, most) {
                length := most
            }
            mstore8(end, length)
            returndatacopy(add(end, 1), from, length)
            next := add(add(end, 1), length)
        }
    }

    function put(uint256 end, uint8 value) private pure returns (uint256) {
        assembly ("memory-safe") {
            mstore8(end, value)
        }
        return end + 1;
    }
}
