// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

/// Fills blocks: uses gas without work, by an instruction that takes all that it is given.
contract Workload {
    function use(uint256 amount) external {
        try this.spend{gas: amount}() {} catch {}
    }

    function spend() external pure {
        assembly {
            invalid()
        }
    }
}
