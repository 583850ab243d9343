// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

/// A wallet with one owner (EIP-1271).
contract OwnedWallet {
    address public owner;

    constructor(address first) {
        owner = first;
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        if (signature.length != 65) return 0xffffffff;
        address signer = ecrecover(hash, uint8(signature[64]), bytes32(signature[:32]), bytes32(signature[32:64]));
        return signer != address(0) && signer == owner ? this.isValidSignature.selector : bytes4(0xffffffff);
    }
}

/// A wallet that has no owner before somebody starts it, which changes its state.
contract StartedWallet {
    address public owner;

    function start(address first) external {
        require(owner == address(0), "started already");
        owner = first;
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        require(owner != address(0), "not started");
        address signer = ecrecover(hash, uint8(signature[64]), bytes32(signature[:32]), bytes32(signature[32:64]));
        return signer == owner ? this.isValidSignature.selector : bytes4(0);
    }
}

/// Deploys owned wallets at addresses that are known beforehand (CREATE2).
contract WalletFactory {
    function deploy(address owner, bytes32 salt) external returns (address) {
        return address(new OwnedWallet{salt: salt}(owner));
    }

    function addressOf(address owner, bytes32 salt) external view returns (address) {
        bytes32 code = keccak256(abi.encodePacked(type(OwnedWallet).creationCode, abi.encode(owner)));
        return address(uint160(uint256(keccak256(abi.encodePacked(bytes1(0xff), address(this), salt, code)))));
    }

    function refuse() external pure {
        revert("no wallets today");
    }

    /// More and more memory is what burns gas in the least time.
    function burn() external view {
        assembly {
            for { let i := 0 } 1 { i := add(i, 1) } { pop(staticcall(0, 0, 0, mul(i, 65536), 0, 0)) }
        }
    }
}

/// Accepts a message that was approved beforehand, with an empty signature.
contract ApprovingWallet {
    bytes32 public immutable approved;

    constructor(bytes32 hash) {
        approved = hash;
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        return signature.length == 0 && hash == approved ? this.isValidSignature.selector : bytes4(0);
    }
}

/// Misbehaves in the way that it is made for, whatever it is called with.
contract Misbehaving {
    uint256 public immutable way;

    constructor(uint256 chosen) {
        way = chosen;
    }

    fallback() external {
        uint256 chosen = way;
        assembly {
            let magic := shl(224, 0x1626ba7e)
            switch chosen
            // Reverts, with the magic value as the reason.
            case 0 {
                mstore(0, magic)
                revert(0, 32)
            }
            // Answers nothing.
            case 1 { return(0, 0) }
            // Answers too little.
            case 2 {
                mstore(0, magic)
                return(0, 4)
            }
            // Answers the magic value with more behind it in the same word.
            case 3 {
                mstore(0, or(magic, 1))
                return(0, 32)
            }
            // Answers the magic value at the other end of the word.
            case 4 {
                mstore(0, 0x1626ba7e)
                return(0, 32)
            }
            // Answers true, as an older form of the interface did.
            case 5 {
                mstore(0, 1)
                return(0, 32)
            }
            // Answers half a megabyte.
            case 6 { return(0, 524288) }
            // Burns all the gas that there is.
            case 7 {
                for { let i := 0 } 1 { i := add(i, 1) } { pop(staticcall(0, 0, 0, mul(i, 65536), 0, 0)) }
            }
            // Fails by an invalid instruction.
            case 8 { invalid() }
            // Writes, which a static call may not.
            case 9 {
                sstore(0, 1)
                mstore(0, magic)
                return(0, 32)
            }
            // Calls itself for ever.
            case 10 {
                pop(staticcall(gas(), address(), 0, 0, 0, 0))
                return(0, 0)
            }
            // Answers noise.
            default {
                mstore(0, keccak256(0, 64))
                return(0, 32)
            }
        }
    }
}
