// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

/// The registry of ENS (ENSIP-1, EIP-137): who owns a node, and which contract answers for it. Names are known by their namehash only.
contract ENSRegistry {
    event NewOwner(bytes32 indexed node, bytes32 indexed label, address owner);
    event Transfer(bytes32 indexed node, address owner);
    event NewResolver(bytes32 indexed node, address resolver);
    event NewTTL(bytes32 indexed node, uint64 ttl);
    event ApprovalForAll(address indexed owner, address indexed operator, bool approved);

    struct Record {
        address owner;
        address resolver;
        uint64 ttl;
    }

    mapping(bytes32 node => Record) private records;
    mapping(address owner => mapping(address operator => bool)) public isApprovedForAll;

    /// Whoever deploys the registry owns the root.
    constructor() {
        records[bytes32(0)].owner = msg.sender;
    }

    modifier authorised(bytes32 node) {
        address holder = records[node].owner;
        require(holder == msg.sender || isApprovedForAll[holder][msg.sender], "not authorised");
        _;
    }

    function setRecord(bytes32 node, address holder, address resolver_, uint64 ttl_) external {
        setOwner(node, holder);
        change(node, resolver_, ttl_);
    }

    function setSubnodeRecord(bytes32 node, bytes32 label, address holder, address resolver_, uint64 ttl_) external {
        change(setSubnodeOwner(node, label, holder), resolver_, ttl_);
    }

    function setOwner(bytes32 node, address holder) public authorised(node) {
        records[node].owner = holder;
        emit Transfer(node, holder);
    }

    function setSubnodeOwner(bytes32 node, bytes32 label, address holder) public authorised(node) returns (bytes32 subnode) {
        subnode = keccak256(abi.encodePacked(node, label));
        records[subnode].owner = holder;
        emit NewOwner(node, label, holder);
    }

    function setResolver(bytes32 node, address resolver_) external authorised(node) {
        change(node, resolver_, records[node].ttl);
    }

    function setTTL(bytes32 node, uint64 ttl_) external authorised(node) {
        change(node, records[node].resolver, ttl_);
    }

    function setApprovalForAll(address operator, bool approved) external {
        isApprovedForAll[msg.sender][operator] = approved;
        emit ApprovalForAll(msg.sender, operator, approved);
    }

    function owner(bytes32 node) external view returns (address) {
        address holder = records[node].owner;
        return holder == address(this) ? address(0) : holder;
    }

    function resolver(bytes32 node) external view returns (address) {
        return records[node].resolver;
    }

    function ttl(bytes32 node) external view returns (uint64) {
        return records[node].ttl;
    }

    function recordExists(bytes32 node) external view returns (bool) {
        return records[node].owner != address(0);
    }

    function change(bytes32 node, address resolver_, uint64 ttl_) private {
        Record storage record = records[node];
        if (record.resolver != resolver_) {
            record.resolver = resolver_;
            emit NewResolver(node, resolver_);
        }
        if (record.ttl != ttl_) {
            record.ttl = ttl_;
            emit NewTTL(node, ttl_);
        }
    }
}
