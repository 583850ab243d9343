// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

/// A Chainlink feed as its readers see it (AggregatorV3Interface behind its proxy): rounds of one phase, each with its answer. Anybody may
/// submit the next answer, dated as they like: nothing here is worth anything.
contract PriceFeed {
    event AnswerUpdated(int256 indexed current, uint256 indexed roundId, uint256 updatedAt);

    struct Round {
        int256 answer;
        uint64 updatedAt;
    }

    uint80 private constant PHASE = 1;

    uint8 public immutable decimals;
    uint256 public constant version = 4;
    string public description;
    uint64 private rounds;
    mapping(uint64 round => Round) private answers;

    /// The first answer is as old as the block that deploys the feed.
    constructor(string memory description_, uint8 decimals_, int256 answer) {
        description = description_;
        decimals = decimals_;
        submit(answer, uint64(block.timestamp));
    }

    function submit(int256 answer, uint64 updatedAt) public {
        answers[++rounds] = Round(answer, updatedAt);
        emit AnswerUpdated(answer, rounds, updatedAt);
    }

    /// The next answer is the one before, as of now.
    function refresh() external {
        submit(answers[rounds].answer, uint64(block.timestamp));
    }

    function latestRoundData() external view returns (uint80, int256, uint256, uint256, uint80) {
        return getRoundData(uint80((PHASE << 64) | rounds));
    }

    function getRoundData(uint80 roundId)
        public
        view
        returns (uint80, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)
    {
        Round memory round = answers[uint64(roundId)];
        require(roundId >> 64 == PHASE && uint64(roundId) != 0 && uint64(roundId) <= rounds, "No data present");
        return (roundId, round.answer, round.updatedAt, round.updatedAt, roundId);
    }

    function latestAnswer() external view returns (int256) {
        return answers[rounds].answer;
    }

    function latestTimestamp() external view returns (uint256) {
        return answers[rounds].updatedAt;
    }

    function latestRound() external view returns (uint256) {
        return (PHASE << 64) | rounds;
    }
}
