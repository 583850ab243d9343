package contracts_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/chainaccess/gateway/identity/wallet"
)

// judged is one call of Verify and its result; nil means verified.
type judged struct {
	name      string
	address   wallet.Address
	signature []byte
	want      error
}

func (n *node) judge(t *testing.T, hash [32]byte, all []judged) {
	t.Helper()
	for _, c := range all {
		if err := wallet.Verify(t.Context(), n, c.address, hash, c.signature); !errors.Is(err, c.want) ||
			(err == nil) != (c.want == nil) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
}

func TestContractWallet_IsJudgedByItsContract(t *testing.T) {
	t.Parallel()
	n := ethereum(t)
	owner, ownerAddress := key(t, "owner")
	stranger, _ := key(t, "stranger")
	hash, other := wallet.TextHash("a message"), wallet.TextHash("another message")
	owned := n.deploy(t, "OwnedWallet", common.Address(ownerAddress))
	approving := n.deploy(t, "ApprovingWallet", hash)
	high := sign(t, owner, hash)
	high[32] |= 0x80
	n.judge(t, hash, []judged{
		{"its owner", owned, sign(t, owner, hash), nil},
		{"its owner, by the key's own address", ownerAddress, sign(t, owner, hash), nil},
		{"a stranger", owned, sign(t, stranger, hash), wallet.ErrSignatureMismatch},
		{"its owner over another message", owned, sign(t, owner, other), wallet.ErrSignatureMismatch},
		{"a form that this contract does not take", owned, sign(t, owner, hash)[:64], wallet.ErrSignatureMismatch},
		{"nothing", owned, nil, wallet.ErrSignatureMismatch},
		{"approved beforehand", approving, nil, nil},
		{"approved beforehand, with a signature", approving, sign(t, owner, hash), wallet.ErrSignatureMismatch},
		{"no wallet, another key", ownerAddress, sign(t, stranger, hash), wallet.ErrSignatureMismatch},
		{"no wallet, a high s", ownerAddress, high, wallet.ErrSignatureMalleable},
		{"no wallet, a short signature", ownerAddress, []byte{1, 2, 3}, wallet.ErrSignatureForm},
		{"no wallet, nothing", ownerAddress, nil, wallet.ErrSignatureForm},
		{"the zero address", wallet.Address{}, sign(t, owner, hash), wallet.ErrSignatureMismatch},
	})
	zeros := [32]byte{} // the precompile that answers its input would answer the magic value
	for precompile := byte(1); precompile < 18; precompile++ {
		at := wallet.Address{19: precompile}
		n.judge(t, hash, []judged{
			{fmt.Sprintf("precompile %d", precompile), at, sign(t, owner, hash), wallet.ErrSignatureMismatch},
		})
		n.judge(t, zeros, []judged{
			{fmt.Sprintf("precompile %d, zeros", precompile), at, sign(t, owner, zeros), wallet.ErrSignatureMismatch},
		})
	}
	n.judge(t, other, []judged{{"another message was approved", approving, nil, wallet.ErrSignatureMismatch}})
	if err := wallet.VerifyMessage(t.Context(), n, owned, "a message",
		fmt.Sprintf("0x%x", sign(t, owner, hash))); err != nil {
		t.Error(err)
	}
	if err := wallet.VerifyMessage(t.Context(), n, owned, "a message", "0x0"); !errors.Is(err,
		wallet.ErrSignatureForm) {
		t.Error(err)
	}
}

func TestContractWallet_UndeployedIsJudgedByWhatItWillBe(t *testing.T) {
	t.Parallel()
	n := ethereum(t)
	owner, ownerAddress := key(t, "owner")
	stranger, strangerAddress := key(t, "stranger")
	hash := wallet.TextHash("a message")
	factory := n.deploy(t, "WalletFactory")
	salt := [32]byte{1}
	deployment := n.input(t, "WalletFactory", "deploy", common.Address(ownerAddress), salt)
	future := n.addressFrom(t, factory, "WalletFactory", "addressOf", common.Address(ownerAddress), salt)
	elsewhere := n.addressFrom(t, factory, "WalletFactory", "addressOf", common.Address(ownerAddress), [32]byte{2})
	good := sign(t, owner, hash)
	n.judge(t, hash, []judged{
		{"its owner", future, wrap(t, factory, deployment, good), nil},
		{"its owner, again: the first time deployed nothing", future, wrap(t, factory, deployment, good), nil},
		{"its owner, bare", future, good, wallet.ErrSignatureMismatch},
		{"a stranger", future, wrap(t, factory, deployment, sign(t, stranger, hash)), wallet.ErrSignatureMismatch},
		{
			"another wallet of the same owner", elsewhere, wrap(t, factory, deployment, good),
			wallet.ErrSignatureMismatch,
		},
		{
			"a stranger's wallet", future,
			wrap(t, factory, n.input(t, "WalletFactory", "deploy", common.Address(strangerAddress), salt),
				sign(t, stranger, hash)), wallet.ErrSignatureMismatch,
		},
		{"a key's address", strangerAddress, wrap(t, factory, deployment, good), wallet.ErrSignatureMismatch},
		{
			"a key's address and its own signature, wrapped", ownerAddress, wrap(t, factory, deployment, good),
			wallet.ErrSignatureMismatch,
		},
		{
			"a factory that refuses", future, wrap(t, factory, n.input(t, "WalletFactory", "refuse"), good),
			wallet.ErrSignatureMismatch,
		},
		{
			"a factory that burns all gas", future, wrap(t, factory, n.input(t, "WalletFactory", "burn"), good),
			wallet.ErrSignatureMismatch,
		},
		{"a factory that is none", future, wrap(t, strangerAddress, deployment, good), wallet.ErrSignatureMismatch},
		{
			"a factory that is a precompile", future, wrap(t, wallet.Address{19: 4}, deployment, good),
			wallet.ErrSignatureMismatch,
		},
		{"no factory", future, wrap(t, wallet.Address{}, nil, good), wallet.ErrSignatureMismatch},
		{
			"twice wrapped", future, wrap(t, factory, deployment, wrap(t, factory, deployment, good)),
			wallet.ErrSignatureMismatch,
		},
	})
	if n.hasCode(t, future) {
		t.Fatal("asking deployed the wallet")
	}
	n.send(t, &factory, deployment)
	n.judge(t, hash, []judged{
		{"deployed meanwhile", future, wrap(t, factory, deployment, good), nil},
		{
			"deployed meanwhile, with a factory that burns all gas", future,
			wrap(t, factory, n.input(t, "WalletFactory", "burn"), good), nil,
		},
		{"deployed meanwhile, bare", future, good, nil},
		{
			"deployed meanwhile, a stranger", future, wrap(t, factory, deployment, sign(t, stranger, hash)),
			wallet.ErrSignatureMismatch,
		},
	})
}

func TestContractWallet_DeployedMayBePreparedForTheQuestionOnly(t *testing.T) {
	t.Parallel()
	n := ethereum(t)
	owner, ownerAddress := key(t, "owner")
	hash := wallet.TextHash("a message")
	started := n.deploy(t, "StartedWallet")
	good := sign(t, owner, hash)
	n.judge(t, hash, []judged{
		{"not started", started, good, wallet.ErrSignatureMismatch},
		{
			"started by the way", started,
			wrap(t, started, n.input(t, "StartedWallet", "start", common.Address(ownerAddress)), good), nil,
		},
		{"still not started", started, good, wallet.ErrSignatureMismatch},
	})
	if by := n.addressFrom(t, started, "StartedWallet", "owner"); !by.IsZero() {
		t.Errorf("asking started the wallet: its owner is %s", by)
	}
}

func TestContractWallet_MisbehavingIsNoMatch(t *testing.T) {
	t.Parallel()
	n := ethereum(t)
	owner, _ := key(t, "owner")
	hash := wallet.TextHash("a message")
	good := sign(t, owner, hash)
	for way := range 12 {
		bad := n.deploy(t, "Misbehaving", big.NewInt(int64(way)))
		n.judge(t, hash, []judged{
			{fmt.Sprintf("way %d", way), bad, good, wallet.ErrSignatureMismatch},
			{
				fmt.Sprintf("way %d, long signature", way), bad, make([]byte, wallet.MaxSignature),
				wallet.ErrSignatureMismatch,
			},
			{
				fmt.Sprintf("way %d, as its own factory", way), bad, wrap(t, bad, []byte{1, 2, 3, 4}, good),
				wallet.ErrSignatureMismatch,
			},
			{
				fmt.Sprintf("way %d, as the factory of nothing", way),
				wallet.Address{1},
				wrap(t, bad, nil, good),
				wallet.ErrSignatureMismatch,
			},
		})
	}
}

func TestContractWallet_OutOfGasIsNoMatchAndAFailureIsNoVerdict(t *testing.T) {
	t.Parallel()
	n := ethereum(t)
	owner, ownerAddress := key(t, "owner")
	stranger, _ := key(t, "stranger")
	hash := wallet.TextHash("a message")
	burning := n.deploy(t, "Misbehaving", common.Big3)
	long := bytes.Repeat([]byte{1}, wallet.MaxSignature)
	n.gas = 400_000 // the call begins, and cannot end
	n.judge(t, hash, []judged{{"out of gas", burning, long, wallet.ErrSignatureMismatch}})
	n.gas = 21_000 // the node refuses to begin
	n.judge(t, hash, []judged{{"refused by the node", burning, long, wallet.ErrChainUnreachable}})
	n.gas = 0
	if err := n.upstream.Stop(); err != nil {
		t.Fatal(err)
	}
	n.judge(t, hash, []judged{
		{"a key's own signature needs no chain", ownerAddress, sign(t, owner, hash), nil},
		{"whose is it", ownerAddress, sign(t, stranger, hash), wallet.ErrChainUnreachable},
	})
}
