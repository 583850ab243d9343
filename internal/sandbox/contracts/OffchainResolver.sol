// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {IERC165, IExtendedResolver} from "./Resolvers.sol";

/// What the gateway is asked, and what it answers with.
interface IResolverService {
    function resolve(bytes calldata name, bytes calldata data)
        external
        view
        returns (bytes memory result, uint64 expires, bytes memory signature);
}

/// Keeps no records: it sends clients to a gateway (EIP-3668) and believes what the gateway signed.
contract OffchainResolver is IERC165, IExtendedResolver {
    error OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callbackFunction, bytes extraData);
    error SignatureExpired(uint64 expires);
    error NotSignedByGateway(address signer);

    bytes4 private constant FEATURES = 0x582de3e7; // supportsFeature(bytes4), ENSIP-22

    address public immutable owner;
    address public immutable signer;
    bool private immutable features;
    string public url;

    /// @param features_ whether it names its features, which tells the UniversalResolver that its gateway can be asked directly.
    constructor(address owner_, address signer_, bool features_) {
        owner = owner_;
        signer = signer_;
        features = features_;
    }

    /// @param url_ with {sender} and {data} to be asked by GET, without {data} by POST.
    function setURL(string calldata url_) external {
        require(msg.sender == owner, "not the owner");
        url = url_;
    }

    function resolve(bytes calldata name, bytes calldata data) external view returns (bytes memory) {
        string[] memory urls = new string[](1);
        urls[0] = url;
        bytes memory request = abi.encodeCall(IResolverService.resolve, (name, data));
        revert OffchainLookup(address(this), urls, request, this.resolveWithProof.selector, request);
    }

    function resolveWithProof(bytes calldata response, bytes calldata request) external view returns (bytes memory) {
        (bytes memory result, uint64 expires, bytes memory signature) = abi.decode(response, (bytes, uint64, bytes));
        if (expires < block.timestamp) revert SignatureExpired(expires);
        address found = recover(signedHash(expires, request, result), signature);
        if (found != signer) revert NotSignedByGateway(found);
        return result;
    }

    /// What the gateway signs: EIP-191, version 0, for this contract only.
    function signedHash(uint64 expires, bytes memory request, bytes memory result) public view returns (bytes32) {
        return keccak256(abi.encodePacked(hex"1900", address(this), expires, keccak256(request), keccak256(result)));
    }

    function supportsFeature(bytes4) external pure returns (bool) {
        return false;
    }

    function supportsInterface(bytes4 id) external view returns (bool) {
        return id == type(IERC165).interfaceId || id == type(IExtendedResolver).interfaceId || (features && id == FEATURES);
    }

    /// The zero address for what is no signature.
    function recover(bytes32 hash, bytes memory signature) private pure returns (address) {
        if (signature.length != 65) return address(0);
        bytes32 r;
        bytes32 s;
        assembly {
            r := mload(add(signature, 32))
            s := mload(add(signature, 64))
        }
        return ecrecover(hash, uint8(signature[64]), r, s);
    }
}
