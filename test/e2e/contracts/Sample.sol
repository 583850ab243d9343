// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

/// What clients meet in a contract: storage, an event, and each way to revert.
contract Sample {
    event Stored(address indexed by, uint256 value, string note);

    error TooLarge(uint256 value, uint256 most);

    uint256 public constant MOST = 1_000;

    uint256 public value;
    mapping(address => uint256) public times;

    constructor(uint256 first) {
        value = first;
    }

    function store(uint256 next, string calldata note) external returns (uint256 before) {
        if (next > MOST) revert TooLarge(next, MOST);
        before = value;
        value = next;
        times[msg.sender]++;
        emit Stored(msg.sender, next, note);
    }

    function refuse() external pure {
        revert("not today");
    }

    function divide(uint256 by) external pure returns (uint256) {
        return MOST / by;
    }

    function forever() external pure {
        while (true) {}
    }
}
