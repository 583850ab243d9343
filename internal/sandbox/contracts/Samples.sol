// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

/// Functions of one name, told apart by what they take.
contract Overloads {
    event Noted(address indexed by, string note);
    event Noted(address indexed by, uint256 indexed number, string note);

    error Refused(string why);
    error Uneven(uint256 numbers, uint256 texts);

    mapping(address by => uint256) public count;

    function note(string calldata text) external {
        note(++count[msg.sender], text);
        emit Noted(msg.sender, text);
    }

    function note(uint256 number, string calldata text) public {
        if (number == 0) revert Refused("numbers begin with 1");
        emit Noted(msg.sender, number, text);
    }

    function note(uint256[] calldata numbers, string[] calldata texts) external {
        if (numbers.length != texts.length) revert Uneven(numbers.length, texts.length);
        for (uint256 i; i < numbers.length; ++i) note(numbers[i], texts[i]);
    }

    function note(bytes32 hash) external view returns (bytes32) {
        return keccak256(abi.encode(hash, msg.sender));
    }
}

/// Takes every type that the ABI knows and gives it back.
contract Arguments {
    enum Colour {
        Red,
        Green,
        Blue
    }

    struct Point {
        int128 x;
        int128 y;
    }

    struct Order {
        address maker;
        Point[] path;
        bytes payload;
        string[2] labels;
    }

    type Price is uint96;

    function numbers(uint8 small, uint256 large, int64 signed_, int256 wide, Price price)
        external
        pure
        returns (uint8, uint256, int64, int256, Price)
    {
        return (small, large, signed_, wide, price);
    }

    function words(bool flag, address who, bytes1 one, bytes32 word, Colour colour)
        external
        pure
        returns (bool, address, bytes1, bytes32, Colour)
    {
        return (flag, who, one, word, colour);
    }

    function dynamic(bytes calldata raw, string calldata text) external pure returns (bytes calldata, string calldata) {
        return (raw, text);
    }

    function arrays(uint256[] calldata many, int16[3] calldata three, address[][2] calldata nested, string[] calldata texts)
        external
        pure
        returns (uint256[] calldata, int16[3] calldata, address[][2] calldata, string[] calldata)
    {
        return (many, three, nested, texts);
    }

    function tuples(Point calldata point, Order[] calldata orders) external pure returns (Point calldata, Order[] calldata) {
        return (point, orders);
    }

    /// A function is an address and a selector.
    function callback(function(uint256) external returns (bool) f) external pure returns (address, bytes4) {
        return (f.address, f.selector);
    }

    function unnamed(uint256, address) external pure {}

    function nothing() external payable {}
}
