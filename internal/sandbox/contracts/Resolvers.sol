// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {ENSRegistry} from "./ENSRegistry.sol";
import {Names} from "./Names.sol";

/// Answers for every name below the one that names it as its resolver (ENSIP-10).
interface IExtendedResolver {
    function resolve(bytes calldata name, bytes calldata data) external view returns (bytes memory);
}

/// The profiles that are spoken here: addresses (ENSIP-1, ENSIP-9), names (ENSIP-3), text (ENSIP-5), content (ENSIP-7).
interface IAddrResolver {
    function addr(bytes32 node) external view returns (address payable);
}

interface IAddressResolver {
    function addr(bytes32 node, uint256 coinType) external view returns (bytes memory);
}

interface INameResolver {
    function name(bytes32 node) external view returns (string memory);
}

interface ITextResolver {
    function text(bytes32 node, string calldata key) external view returns (string memory);
}

interface IContentHashResolver {
    function contenthash(bytes32 node) external view returns (bytes memory);
}

interface IERC165 {
    function supportsInterface(bytes4 interfaceId) external view returns (bool);
}

/// Holds the records of many names, which their owners in the registry write.
contract PublicResolver is IERC165 {
    event AddrChanged(bytes32 indexed node, address a);
    event AddressChanged(bytes32 indexed node, uint256 coinType, bytes newAddress);
    event NameChanged(bytes32 indexed node, string name);
    event TextChanged(bytes32 indexed node, string indexed indexedKey, string key, string value);
    event ContenthashChanged(bytes32 indexed node, bytes hash);

    uint256 private constant ETHER = 60;

    ENSRegistry public immutable ens;
    mapping(bytes32 node => mapping(uint256 coinType => bytes)) private addresses;
    mapping(bytes32 node => mapping(string key => string)) private texts;
    mapping(bytes32 node => bytes) private contents;
    mapping(bytes32 node => string) private names;

    constructor(ENSRegistry ens_) {
        ens = ens_;
    }

    modifier authorised(bytes32 node) {
        address holder = ens.owner(node);
        require(holder == msg.sender || ens.isApprovedForAll(holder, msg.sender), "not authorised");
        _;
    }

    function setAddr(bytes32 node, address a) external {
        setAddr(node, ETHER, abi.encodePacked(a));
    }

    function setAddr(bytes32 node, uint256 coinType, bytes memory a) public authorised(node) {
        require(coinType != ETHER || a.length == 0 || a.length == 20, "not an address");
        addresses[node][coinType] = a;
        emit AddressChanged(node, coinType, a);
        if (coinType == ETHER) emit AddrChanged(node, addr(node));
    }

    function setName(bytes32 node, string calldata name_) external authorised(node) {
        names[node] = name_;
        emit NameChanged(node, name_);
    }

    function setText(bytes32 node, string calldata key, string calldata value) external authorised(node) {
        texts[node][key] = value;
        emit TextChanged(node, key, key, value);
    }

    function setContenthash(bytes32 node, bytes calldata hash) external authorised(node) {
        contents[node] = hash;
        emit ContenthashChanged(node, hash);
    }

    function addr(bytes32 node) public view returns (address payable) {
        return payable(address(bytes20(addresses[node][ETHER])));
    }

    function addr(bytes32 node, uint256 coinType) external view returns (bytes memory) {
        return addresses[node][coinType];
    }

    function name(bytes32 node) external view returns (string memory) {
        return names[node];
    }

    function text(bytes32 node, string calldata key) external view returns (string memory) {
        return texts[node][key];
    }

    function contenthash(bytes32 node) external view returns (bytes memory) {
        return contents[node];
    }

    function supportsInterface(bytes4 id) external pure returns (bool) {
        return
            id == type(IERC165).interfaceId ||
            id == type(IAddrResolver).interfaceId ||
            id == type(IAddressResolver).interfaceId ||
            id == type(INameResolver).interfaceId ||
            id == type(ITextResolver).interfaceId ||
            id == type(IContentHashResolver).interfaceId;
    }
}

/// Gives every name an address that follows from its first label: the last 20 bytes of the label's hash.
contract WildcardResolver is IERC165, IExtendedResolver {
    error UnsupportedResolverProfile(bytes4 selector);

    function resolve(bytes calldata name, bytes calldata data) external pure returns (bytes memory) {
        if (bytes4(data) != IAddrResolver.addr.selector) revert UnsupportedResolverProfile(bytes4(data));
        (bytes32 label, ) = Names.labelhash(name, 0);
        return abi.encode(address(uint160(uint256(label))));
    }

    function supportsInterface(bytes4 id) external pure returns (bool) {
        return id == type(IERC165).interfaceId || id == type(IExtendedResolver).interfaceId;
    }
}

/// Refuses whatever it is asked.
contract RevertingResolver is IERC165 {
    error OutOfOffice(string reason);

    function supportsInterface(bytes4 id) external pure returns (bool) {
        return id == type(IERC165).interfaceId;
    }

    fallback() external {
        revert OutOfOffice("this resolver refuses to answer");
    }
}

/// Speaks no profile: it answers every call with nothing.
contract SilentResolver {
    fallback() external {}
}
