// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {ENSRegistry} from "./ENSRegistry.sol";
import {Names} from "./Names.sol";
import {IAddrResolver, IAddressResolver, IERC165, IExtendedResolver, INameResolver} from "./Resolvers.sol";

interface IBatchGateway {
    struct Request {
        address sender;
        string[] urls;
        bytes data;
    }

    function query(Request[] memory requests) external view returns (bool[] memory failures, bytes[] memory responses);
}

interface IMulticallable {
    function multicall(bytes[] calldata calls) external view returns (bytes[] memory);
}

/// The one entrance to ENS (ENSIP-23): finds the resolver of a name (ENSIP-10), asks it, and takes its off-chain answers on the way
/// (EIP-3668), in batches that the client resolves (ENSIP-21) or, from resolvers that say what they can (ENSIP-22), one by one.
/// Nothing is stored: what is under way travels in the extraData of OffchainLookup.
contract UniversalResolver is IERC165 {
    error ResolverNotFound(bytes name);
    error ResolverNotContract(bytes name, address resolver);
    error UnsupportedResolverProfile(bytes4 selector);
    error ResolverError(bytes errorData);
    error ReverseAddressMismatch(string primary, bytes primaryAddress);
    error HttpError(uint16 status, string message);
    error EmptyAddress();
    error InvalidBatchGatewayResponse();
    error OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callbackFunction, bytes extraData);

    struct ResolverInfo {
        bytes name;
        uint256 offset; // into the name: where the part begins that the resolver stands for
        bytes32 node;
        address resolver;
        bool extended; // answers for the names below its own
    }

    struct Lookup {
        bytes4 profile; // what was asked for
        bytes answer; // or the error; while open, the parameters of an OffchainLookup
        bool open;
        bool failed;
        bool byGateway; // failed there, not at the resolver
    }

    struct Session {
        Lookup[] lookups;
        string[] gateways;
        bool many; // the question was a multicall
        bool extended;
        bool direct; // the client asks the resolver's own gateways
        bytes context; // of the function that asked
    }

    struct Reverse {
        bytes lookupAddress;
        uint256 coinType;
        string[] gateways;
        address resolver;
    }

    bytes4 private constant UNIVERSAL = 0xcd191b34; // findResolver, resolve, reverse
    bytes4 private constant FEATURES = 0x582de3e7; // supportsFeature(bytes4)
    uint256 private constant ETHER = 60;
    uint256 private constant ANY_EVM = 0x80000000;
    uint256 private constant PROBE_GAS = 30_000; // EIP-165

    ENSRegistry public immutable registry;

    constructor(ENSRegistry registry_) {
        registry = registry_;
    }

    function supportsInterface(bytes4 id) external pure returns (bool) {
        return id == type(IERC165).interfaceId || id == UNIVERSAL;
    }

    /// The nearest resolver on the way from a name to the root; the zero address when there is none.
    function findResolver(bytes memory name) public view returns (address resolver, bytes32 node, uint256 offset) {
        node = Names.namehash(name, 0);
        while (name[offset] != 0) {
            resolver = registry.resolver(Names.namehash(name, offset));
            if (resolver != address(0)) return (resolver, node, offset);
            (, offset) = Names.labelhash(name, offset);
        }
    }

    /// The same, and it is fit to answer: it stands for the very name, or for those below its own.
    function requireResolver(bytes memory name) public view returns (ResolverInfo memory info) {
        (info.resolver, info.node, info.offset) = findResolver(name);
        info.name = name;
        if (info.resolver == address(0)) revert ResolverNotFound(name);
        info.extended = speaks(info.resolver, type(IExtendedResolver).interfaceId);
        if (!info.extended && info.offset != 0) revert ResolverNotFound(name);
        if (info.resolver.code.length == 0) revert ResolverNotContract(name, info.resolver);
    }

    function resolve(bytes calldata name, bytes calldata data) external view returns (bytes memory, address) {
        return resolveWithGateways(name, data, clientGateways());
    }

    /// @param name DNS-encoded and normalised
    /// @param data the call of a resolver's profile, or multicall(bytes[]) of several
    /// @param gateways for batches; x-batch-gateway:true asks the client to do it itself
    /// @return result what the resolver's function returned, encoded
    /// @return resolver that answered
    function resolveWithGateways(bytes calldata name, bytes calldata data, string[] memory gateways)
        public
        view
        returns (bytes memory result, address resolver)
    {
        ResolverInfo memory info = requireResolver(name);
        return (ask(info, data, gateways, this.resolveCallback.selector, abi.encode(info.resolver)), info.resolver);
    }

    function resolveCallback(bytes calldata response, bytes calldata extraData) external view returns (bytes memory, address) {
        (bytes memory result, bytes memory context) = resume(response, extraData, this.resolveCallback.selector);
        return (result, abi.decode(context, (address)));
    }

    function reverse(bytes calldata lookupAddress, uint256 coinType) external view returns (string memory, address, address) {
        return reverseWithGateways(lookupAddress, coinType, clientGateways());
    }

    /// The primary name of an address (ENSIP-19), which must resolve to that address again.
    function reverseWithGateways(bytes calldata lookupAddress, uint256 coinType, string[] memory gateways)
        public
        view
        returns (string memory primary, address resolver, address reverseResolver)
    {
        ResolverInfo memory info = requireResolver(Names.encode(reverseName(lookupAddress, coinType)));
        bytes memory context = abi.encode(Reverse(lookupAddress, coinType, gateways, info.resolver));
        bytes memory call = abi.encodeCall(INameResolver.name, (info.node));
        return confirm(ask(info, call, gateways, this.reverseNameCallback.selector, context), context);
    }

    function reverseNameCallback(bytes calldata response, bytes calldata extraData)
        external
        view
        returns (string memory, address, address)
    {
        (bytes memory answer, bytes memory context) = resume(response, extraData, this.reverseNameCallback.selector);
        return confirm(answer, context);
    }

    function reverseAddressCallback(bytes calldata response, bytes calldata extraData)
        external
        view
        returns (string memory, address, address)
    {
        (bytes memory answer, bytes memory context) = resume(response, extraData, this.reverseAddressCallback.selector);
        return compare(answer, context);
    }

    /// Second half of a reverse look-up: asks the name for its address.
    function confirm(bytes memory answer, bytes memory context) private view returns (string memory, address, address) {
        Reverse memory r = abi.decode(context, (Reverse));
        string memory primary = abi.decode(answer, (string));
        if (bytes(primary).length == 0) return ("", address(0), r.resolver);
        ResolverInfo memory info = requireResolver(Names.encode(primary));
        bytes memory call = r.coinType == ETHER
            ? abi.encodeCall(IAddrResolver.addr, (info.node))
            : abi.encodeCall(IAddressResolver.addr, (info.node, r.coinType));
        bytes memory next = abi.encode(r, primary, info.resolver);
        return compare(ask(info, call, r.gateways, this.reverseAddressCallback.selector, next), next);
    }

    function compare(bytes memory answer, bytes memory context) private pure returns (string memory, address, address) {
        (Reverse memory r, string memory primary, address resolver) = abi.decode(context, (Reverse, string, address));
        bytes memory found = r.coinType == ETHER ? abi.encodePacked(abi.decode(answer, (address))) : abi.decode(answer, (bytes));
        if (keccak256(found) != keccak256(r.lookupAddress)) revert ReverseAddressMismatch(primary, found);
        return (primary, resolver, r.resolver);
    }

    function reverseName(bytes memory lookupAddress, uint256 coinType) private pure returns (string memory) {
        if (lookupAddress.length == 0) revert EmptyAddress();
        string memory space = "addr";
        if (coinType == ANY_EVM) {
            space = "default";
        } else if (coinType != ETHER) {
            space = hexNumber(coinType);
        }
        return string.concat(Names.hexOf(lookupAddress), ".", space, ".reverse");
    }

    /// Hexadecimal without leading zeros.
    function hexNumber(uint256 n) private pure returns (string memory text) {
        do {
            text = string.concat(string(abi.encodePacked(bytes16("0123456789abcdef")[n & 15])), text);
            n >>= 4;
        } while (n != 0);
    }

    /// Asks a resolver. Answers from the chain come back at once; for others it reverts, and `callback` goes on with resume.
    function ask(ResolverInfo memory info, bytes memory data, string[] memory gateways, bytes4 callback, bytes memory context)
        private
        view
        returns (bytes memory)
    {
        Session memory s;
        s.many = bytes4(data) == IMulticallable.multicall.selector;
        s.extended = info.extended;
        s.direct = !s.many && speaks(info.resolver, FEATURES);
        s.gateways = gateways;
        s.context = context;
        bytes[] memory calls = questions(data, s.many);
        s.lookups = new Lookup[](calls.length);
        for (uint256 i; i < calls.length; ++i) {
            s.lookups[i].profile = bytes4(calls[i]);
            if (s.extended) calls[i] = abi.encodeCall(IExtendedResolver.resolve, (info.name, calls[i]));
            step(s.lookups[i], info.resolver, calls[i]);
        }
        return finish(s, callback);
    }

    function questions(bytes memory data, bool many) private pure returns (bytes[] memory calls) {
        if (!many) {
            calls = new bytes[](1);
            calls[0] = data;
            return calls;
        }
        return abi.decode(behindSelector(data), (bytes[]));
    }

    /// One call of a resolver, the first or one with what a gateway answered.
    function step(Lookup memory lookup, address target, bytes memory call) private view {
        (bool ok, bytes memory answer) = target.staticcall(call);
        lookup.open = !ok && bytes4(answer) == OffchainLookup.selector;
        lookup.failed = !ok && !lookup.open;
        lookup.answer = lookup.open ? behindSelector(answer) : answer;
    }

    /// Goes on with what the client brought from the gateways.
    function resume(bytes calldata response, bytes calldata extraData, bytes4 callback)
        private
        view
        returns (bytes memory answer, bytes memory context)
    {
        Session memory s = abi.decode(extraData, (Session));
        if (s.direct) {
            take(s.lookups[0], response);
        } else {
            (bool[] memory failures, bytes[] memory responses) = abi.decode(response, (bool[], bytes[]));
            if (failures.length != responses.length || failures.length != unanswered(s)) revert InvalidBatchGatewayResponse();
            uint256 next;
            for (uint256 i; i < s.lookups.length; ++i) {
                Lookup memory lookup = s.lookups[i];
                if (!lookup.open) continue;
                if (failures[next]) {
                    (lookup.answer, lookup.open, lookup.failed, lookup.byGateway) = (responses[next], false, true, true);
                } else {
                    take(lookup, responses[next]);
                }
                ++next;
            }
        }
        return (finish(s, callback), s.context);
    }

    function take(Lookup memory lookup, bytes memory response) private view {
        (address sender, , , bytes4 callback, bytes memory extraData) = decode(lookup.answer);
        step(lookup, sender, abi.encodeWithSelector(callback, response, extraData));
    }

    /// The answer, or the next OffchainLookup when some of it is still open.
    function finish(Session memory s, bytes4 callback) private view returns (bytes memory) {
        uint256 open = unanswered(s);
        if (open > 0 && s.direct) {
            (, string[] memory urls, bytes memory callData, , ) = decode(s.lookups[0].answer);
            revert OffchainLookup(address(this), urls, callData, callback, abi.encode(s));
        }
        if (open > 0) {
            IBatchGateway.Request[] memory requests = new IBatchGateway.Request[](open);
            for (uint256 i = s.lookups.length; i > 0; --i) {
                if (!s.lookups[i - 1].open) continue;
                (address sender, string[] memory urls, bytes memory data, , ) = decode(s.lookups[i - 1].answer);
                requests[--open] = IBatchGateway.Request(sender, urls, data);
            }
            revert OffchainLookup(address(this), s.gateways, abi.encodeCall(IBatchGateway.query, (requests)), callback, abi.encode(s));
        }
        if (!s.many) return single(s.lookups[0], s.extended);
        bytes[] memory answers = new bytes[](s.lookups.length);
        for (uint256 i; i < answers.length; ++i) {
            Lookup memory lookup = s.lookups[i];
            bool wrapped = s.extended && !lookup.failed && lookup.answer.length > 0;
            answers[i] = wrapped ? abi.decode(lookup.answer, (bytes)) : lookup.answer;
        }
        return abi.encode(answers);
    }

    function single(Lookup memory lookup, bool extended) private pure returns (bytes memory) {
        bytes memory answer = lookup.answer;
        if (lookup.byGateway || (lookup.failed && bytes4(answer) == UnsupportedResolverProfile.selector)) {
            assembly {
                revert(add(answer, 32), mload(answer))
            }
        }
        if (lookup.failed) revert ResolverError(answer);
        if (answer.length == 0) revert UnsupportedResolverProfile(lookup.profile);
        return extended ? abi.decode(answer, (bytes)) : answer;
    }

    function unanswered(Session memory s) private pure returns (uint256 open) {
        for (uint256 i; i < s.lookups.length; ++i) {
            if (s.lookups[i].open) ++open;
        }
    }

    function decode(bytes memory lookup) private pure returns (address, string[] memory, bytes memory, bytes4, bytes memory) {
        return abi.decode(lookup, (address, string[], bytes, bytes4, bytes));
    }

    function behindSelector(bytes memory data) private pure returns (bytes memory rest) {
        rest = new bytes(data.length < 4 ? 0 : data.length - 4);
        for (uint256 i; i < rest.length; ++i) rest[i] = data[i + 4];
    }

    /// EIP-165, with the gas that it allows.
    function speaks(address target, bytes4 id) private view returns (bool) {
        bytes memory call = abi.encodeCall(IERC165.supportsInterface, (id));
        (bool ok, bytes memory answer) = target.staticcall{gas: PROBE_GAS}(call);
        return ok && answer.length >= 32 && abi.decode(answer, (uint256)) == 1;
    }

    function clientGateways() private pure returns (string[] memory gateways) {
        gateways = new string[](1);
        gateways[0] = "x-batch-gateway:true";
    }
}
