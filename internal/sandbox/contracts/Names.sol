// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

/// Names in the form of DNS (RFC 1035, section 3.1): labels led by their lengths, up to an empty one. Labels may have 255 bytes.
library Names {
    error DNSDecodingFailed(bytes dns);
    error DNSEncodingFailed(string ens);

    /// @return hash of the label at offset, zero for the empty one that ends a name
    /// @return next the offset of the label behind it
    function labelhash(bytes memory name, uint256 offset) internal pure returns (bytes32 hash, uint256 next) {
        if (offset >= name.length) revert DNSDecodingFailed(name);
        uint256 size = uint8(name[offset]);
        next = offset + 1 + size;
        if (size == 0 ? next != name.length : next >= name.length) revert DNSDecodingFailed(name);
        if (size == 0) return (bytes32(0), next);
        assembly {
            hash := keccak256(add(add(name, 33), offset), size)
        }
    }

    /// ENSIP-1's namehash of what stands at offset and behind.
    function namehash(bytes memory name, uint256 offset) internal pure returns (bytes32) {
        (bytes32 label, uint256 next) = labelhash(name, offset);
        return label == bytes32(0) ? bytes32(0) : keccak256(abi.encode(namehash(name, next), label));
    }

    /// "alice.eth" to 05 alice 03 eth 00.
    function encode(string memory ens) internal pure returns (bytes memory name) {
        bytes memory text = bytes(ens);
        if (text.length == 0) return new bytes(1);
        name = bytes.concat(bytes1(0), text, bytes1(0)); // a length before each label, in the place of the dots
        uint256 start;
        for (uint256 i = 1; i < name.length; ++i) {
            if (i != name.length - 1 && name[i] != ".") continue;
            uint256 size = i - start - 1;
            if (size == 0 || size > 255) revert DNSEncodingFailed(ens);
            name[start] = bytes1(uint8(size));
            start = i;
        }
        name[start] = 0;
    }

    /// Lower-case hexadecimal digits, two for each byte.
    function hexOf(bytes memory raw) internal pure returns (string memory) {
        bytes16 digits = "0123456789abcdef";
        bytes memory text = new bytes(2 * raw.length);
        for (uint256 i; i < raw.length; ++i) {
            text[2 * i] = digits[uint8(raw[i]) >> 4];
            text[2 * i + 1] = digits[uint8(raw[i]) & 15];
        }
        return string(text);
    }
}
