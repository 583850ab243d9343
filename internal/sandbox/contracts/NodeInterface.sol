// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

/// What Arbitrum's nodes answer at 0x00000000000000000000000000000000000000C8, an address that no transaction reaches: the gas of a
/// transaction, and how much of it pays for its data on Ethereum. Here it is code like any other.
contract NodeInterface {
    uint256 private constant PER_BYTE = 16; // gas of Ethereum
    uint256 private constant OVERHEAD = 140; // bytes that a transaction has around its data
    uint64 private constant TRANSFER = 21_000;
    uint64 private constant CREATION = 53_000;

    uint256 private immutable floor; // eth_call runs at a base fee of zero, Arbitrum's node answers with the real one
    uint256 private immutable l1BaseFee;

    constructor(uint256 floor_, uint256 l1BaseFee_) {
        floor = floor_;
        l1BaseFee = l1BaseFee_;
    }

    /// @return gasEstimate for everything
    /// @return gasEstimateForL1 the part of it that pays for data
    /// @return baseFee wei a unit of gas, of this chain
    /// @return l1BaseFeeEstimate wei a unit of gas, of Ethereum
    function gasEstimateComponents(address to, bool contractCreation, bytes calldata data)
        external
        payable
        returns (uint64 gasEstimate, uint64 gasEstimateForL1, uint256 baseFee, uint256 l1BaseFeeEstimate)
    {
        (gasEstimateForL1, baseFee, l1BaseFeeEstimate) = gasEstimateL1Component(to, contractCreation, data);
        gasEstimate = gasEstimateForL1 + (contractCreation ? CREATION : TRANSFER) + intrinsic(data);
        if (!contractCreation && to.code.length > 0) {
            uint256 before = gasleft();
            (bool ok, bytes memory reason) = to.call{value: msg.value}(data);
            if (!ok) {
                assembly {
                    revert(add(reason, 32), mload(reason))
                }
            }
            gasEstimate += uint64(before - gasleft());
        }
    }

    function gasEstimateL1Component(address, bool, bytes calldata data)
        public
        payable
        returns (uint64 gasEstimateForL1, uint256 baseFee, uint256 l1BaseFeeEstimate)
    {
        baseFee = block.basefee > floor ? block.basefee : floor;
        l1BaseFeeEstimate = l1BaseFee;
        gasEstimateForL1 = uint64(((data.length + OVERHEAD) * PER_BYTE * l1BaseFee) / baseFee);
    }

    function intrinsic(bytes calldata data) private pure returns (uint64 gas) {
        for (uint256 i; i < data.length; ++i) gas += data[i] == 0 ? 4 : 16;
    }
}
