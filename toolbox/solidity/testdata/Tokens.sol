// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

/// Tokens of every kind that TokenFacts may read. Each has a balance for one owner, and emits its
/// Transfer event.
abstract contract Token {
    event Transfer(address indexed from, address indexed to, uint256 value);

    address private immutable owner;
    uint256 private immutable amount;

    constructor(address owner_, uint256 amount_) {
        owner = owner_;
        amount = amount_;
        emit Transfer(address(0), owner_, amount_);
    }

    function balanceOf(address who) external view returns (uint256) {
        return who == owner ? amount : 0;
    }
}

contract PlainToken is Token {
    constructor(address owner_) Token(owner_, 1_500_000) {}

    function name() external pure returns (string memory) {
        return "Plain Token";
    }

    function symbol() external pure returns (string memory) {
        return "PLAIN";
    }

    function decimals() external pure returns (uint8) {
        return 6;
    }
}

/// Like some early tokens.
contract Bytes32Token is Token {
    bytes32 public constant name = "Old Token";
    bytes32 public constant symbol = "OLD";
    uint256 public constant decimals = 18;

    constructor(address owner_) Token(owner_, 2 ether) {}
}

contract SilentToken is Token {
    constructor(address owner_) Token(owner_, 3) {}
}

/// Answers every call but balanceOf with these bytes.
contract RawToken is Token {
    bytes private answer;

    constructor(address owner_, bytes memory answer_) Token(owner_, 4) {
        answer = answer_;
    }

    fallback(bytes calldata) external returns (bytes memory) {
        return answer;
    }
}

/// Burns all gas.
contract BurningToken is Token {
    constructor(address owner_) Token(owner_, 5) {}

    fallback() external {
        assembly {
            invalid()
        }
    }
}

/// Returns answers of a given size.
contract LongToken is Token {
    uint256 private immutable size;

    constructor(address owner_, uint256 size_) Token(owner_, 6) {
        size = size_;
    }

    fallback() external {
        uint256 length = size;
        assembly {
            mstore(0, 32)
            mstore(32, sub(length, 64))
            return(0, length)
        }
    }
}

/// Makes many plain tokens at once.
contract Mint {
    constructor(address owner, uint256 count) {
        for (uint256 i = 0; i < count; i++) new PlainToken(owner);
    }
}
