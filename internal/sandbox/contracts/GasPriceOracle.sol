// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

/// What a transaction of an OP-stack chain pays for its data on Ethereum, as of the Fjord upgrade: predeploy
/// 0x420000000000000000000000000000000000000F. On the real chains a system transaction writes the figures of Ethereum's newest block;
/// here they stay as they were deployed.
contract GasPriceOracle {
    uint256 public constant decimals = 6;
    string public constant version = "1.4.0";
    bool public constant isEcotone = true;
    bool public constant isFjord = true;

    // The line that estimates a compressed size from FastLZ's, in millionths of a byte.
    int256 private constant INTERCEPT = -42_585_600;
    int256 private constant SLOPE = 836_500;
    int256 private constant SMALLEST = 100_000_000;
    uint256 private constant SIGNATURE = 68; // bytes that an unsigned transaction lacks

    uint256 public immutable l1BaseFee;
    uint256 public immutable blobBaseFee;
    uint32 public immutable baseFeeScalar;
    uint32 public immutable blobBaseFeeScalar;

    constructor(uint256 l1BaseFee_, uint256 blobBaseFee_, uint32 baseFeeScalar_, uint32 blobBaseFeeScalar_) {
        l1BaseFee = l1BaseFee_;
        blobBaseFee = blobBaseFee_;
        baseFeeScalar = baseFeeScalar_;
        blobBaseFeeScalar = blobBaseFeeScalar_;
    }

    function gasPrice() external view returns (uint256) {
        return block.basefee;
    }

    function baseFee() external view returns (uint256) {
        return block.basefee;
    }

    /// @param transaction unsigned, fully RLP-encoded; the signature is added here
    /// @return wei
    function getL1Fee(bytes memory transaction) external view returns (uint256) {
        return fee(fastLZ(transaction) + SIGNATURE);
    }

    /// @return wei for any unsigned transaction of that size, even one that does not compress
    function getL1FeeUpperBound(uint256 unsignedSize) external view returns (uint256) {
        uint256 size = unsignedSize + SIGNATURE;
        return fee(size + size / 255 + 16);
    }

    /// @return gas of Ethereum that the data would cost in calldata
    function getL1GasUsed(bytes memory transaction) external pure returns (uint256) {
        return (estimate(fastLZ(transaction) + SIGNATURE) * 16) / 1e6;
    }

    function fee(uint256 compressed) private view returns (uint256) {
        uint256 price = baseFeeScalar * 16 * l1BaseFee + blobBaseFeeScalar * blobBaseFee;
        return (estimate(compressed) * price) / 10 ** (decimals * 2);
    }

    function estimate(uint256 compressed) private pure returns (uint256) {
        int256 size = INTERCEPT + SLOPE * int256(compressed);
        return uint256(size < SMALLEST ? SMALLEST : size);
    }

    /// The length that FastLZ (level 1) makes of some bytes: runs of literals, a byte more for every 32, and references of two or three
    /// bytes to what stood up to 8,192 bytes before, which is found by a hash of its first three bytes.
    function fastLZ(bytes memory data) private pure returns (uint256 length) {
        uint256[8192] memory seen; // where a hash was met last
        uint256 literals; // where the run of literals begins
        uint256 at = 2;
        while (at + 13 < data.length) {
            uint256 slot = hash(data, at);
            uint256 from = seen[slot];
            seen[slot] = at;
            if (at - from >= 8192 || triple(data, from) != triple(data, at)) {
                ++at;
                continue;
            }
            uint256 more = same(data, from + 3, at + 3);
            length += run(at - literals) + (more / 262) * 3 + (more % 262 >= 6 ? 3 : 2);
            at += more + 3;
            seen[hash(data, at - 2)] = at - 2;
            seen[hash(data, at - 1)] = at - 1;
            literals = at;
        }
        return length + run(data.length - literals);
    }

    function triple(bytes memory data, uint256 at) private pure returns (uint256) {
        return uint8(data[at]) | (uint256(uint8(data[at + 1])) << 8) | (uint256(uint8(data[at + 2])) << 16);
    }

    function hash(bytes memory data, uint256 at) private pure returns (uint256) {
        return ((2654435769 * triple(data, at)) >> 19) & 8191;
    }

    /// How many bytes are alike at two places; FastLZ leaves the last four alone.
    function same(bytes memory data, uint256 a, uint256 b) private pure returns (uint256 n) {
        while (b + n + 4 < data.length && data[a + n] == data[b + n]) ++n;
    }

    function run(uint256 n) private pure returns (uint256) {
        return (n / 32) * 33 + (n % 32 == 0 ? 0 : (n % 32) + 1);
    }
}
