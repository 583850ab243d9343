// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

/// Answers with another contract's code on its own storage.
abstract contract Delegating {
    function target() internal view virtual returns (address);

    fallback() external payable {
        address code = target();
        assembly {
            calldatacopy(0, 0, calldatasize())
            let ok := delegatecall(gas(), code, 0, calldatasize(), 0, 0)
            returndatacopy(0, 0, returndatasize())
            if ok {
                return(0, returndatasize())
            }
            revert(0, returndatasize())
        }
    }

    receive() external payable {}
}

/// A proxy that says in its storage where its code is (EIP-1967), which its owner changes.
contract StorageProxy is Delegating {
    event Upgraded(address indexed implementation);

    bytes32 private constant IMPLEMENTATION = bytes32(uint256(keccak256("eip1967.proxy.implementation")) - 1);
    bytes32 private constant ADMIN = bytes32(uint256(keccak256("eip1967.proxy.admin")) - 1);

    constructor(address implementation) {
        bytes32 slot = ADMIN;
        assembly {
            sstore(slot, caller())
        }
        write(implementation);
    }

    function upgradeTo(address implementation) external {
        bytes32 slot = ADMIN;
        address admin;
        assembly {
            admin := sload(slot)
        }
        require(msg.sender == admin, "not the admin");
        write(implementation);
    }

    function write(address implementation) private {
        bytes32 slot = IMPLEMENTATION;
        assembly {
            sstore(slot, implementation)
        }
        emit Upgraded(implementation);
    }

    function target() internal view override returns (address code) {
        bytes32 slot = IMPLEMENTATION;
        assembly {
            code := sload(slot)
        }
    }
}

/// Says for many proxies where their code is.
contract Beacon {
    event Upgraded(address indexed implementation);

    address public immutable owner = msg.sender;
    address public implementation;

    constructor(address implementation_) {
        implementation = implementation_;
    }

    function upgradeTo(address implementation_) external {
        require(msg.sender == owner, "not the owner");
        implementation = implementation_;
        emit Upgraded(implementation_);
    }
}

/// A proxy that says in its storage whom to ask where its code is (EIP-1967).
contract BeaconProxy is Delegating {
    event BeaconUpgraded(address indexed beacon);

    bytes32 private constant BEACON = bytes32(uint256(keccak256("eip1967.proxy.beacon")) - 1);

    constructor(address beacon) {
        bytes32 slot = BEACON;
        assembly {
            sstore(slot, beacon)
        }
        emit BeaconUpgraded(beacon);
    }

    function target() internal view override returns (address) {
        bytes32 slot = BEACON;
        Beacon beacon;
        assembly {
            beacon := sload(slot)
        }
        return beacon.implementation();
    }
}
