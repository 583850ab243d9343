package solana

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

const (
	signatureFee     = 5_000 // lamports per signature
	maxComputeUnits  = 1_400_000
	builtinUnits     = 3_000
	defaultUnits     = 200_000
	systemUnits      = 150
	memoUnits        = 5_400
	microPerLamport  = 1_000_000
	maxLogLineLength = 1_024
)

// bank is the ledger as of a slot.
type bank struct {
	ledger *ledger
	slot   uint64
	height uint64
}

// outcome is the result of a transaction's execution. Fees are charged only if it landed.
type outcome struct {
	landed    bool
	err       *txError
	fee       uint64
	unitPrice uint64 // micro-lamports per compute unit
	pre, post []uint64
	logs      []string
	units     uint64
	loaded    int // bytes of account data
	writes    map[key]account
}

// execution is the execution of a transaction on copies of its accounts.
type execution struct {
	*message
	bank     bank
	accounts []account
	exists   []bool
	out      *outcome
}

// execute runs a transaction against a bank without changing it. The caller holds the ledger's
// mutex.
func (l *ledger) execute(w *wire, b bank) outcome {
	out := outcome{}
	if !l.valid(w.blockhash, b.height) {
		out.err = errBlockhashNotFound
		return out
	}
	if done := l.bySignature[w.signatures[0]]; done != nil && done.slot <= b.slot {
		out.err = errAlreadyProcessed
		return out
	}
	return l.run(w, b)
}

// run is like execute, without the checks of the blockhash and of duplicates.
func (l *ledger) run(w *wire, b bank) outcome {
	out := outcome{}
	x := &execution{message: &w.message, bank: b, out: &out}
	x.load()
	out.fee, out.unitPrice = w.fee()
	out.pre = x.balances()
	if out.err = x.charge(); out.err != nil {
		return out
	}
	if out.err = x.checkPrograms(); out.err != nil {
		return out
	}
	out.landed = true
	charged := append([]account(nil), x.accounts...)
	for i := range w.instructions {
		if failed := x.step(w.instructions[i]); failed != nil {
			out.err = failed.at(i)
			break
		}
	}
	if out.err == nil {
		out.err = x.checkRent()
	}
	if out.err != nil {
		x.accounts = charged // the fee is charged even so
	}
	out.post = x.balances()
	out.writes = map[key]account{}
	for i, k := range w.keys {
		if w.isWritable(i) {
			out.writes[k] = x.accounts[i]
		}
	}
	return out
}

func (x *execution) load() {
	x.accounts, x.exists = make([]account, len(x.keys)), make([]bool, len(x.keys))
	for i, k := range x.keys {
		x.accounts[i], x.exists[i] = x.bank.ledger.at(k, x.bank.slot)
		x.out.loaded += len(x.accounts[i].data)
	}
}

func (x *execution) balances() []uint64 {
	all := make([]uint64, len(x.accounts))
	for i, a := range x.accounts {
		all[i] = a.lamports
	}
	return all
}

func (x *execution) charge() *txError {
	payer := &x.accounts[0]
	switch {
	case !x.exists[0]:
		return errAccountNotFound
	case payer.owner != systemProgram:
		return errInvalidFeePayer
	case payer.lamports < x.out.fee:
		return errFeeFunds
	}
	rest := payer.lamports - x.out.fee
	if rest > 0 && rest < rentExempt(len(payer.data)) {
		return errRent(0)
	}
	payer.lamports = rest
	return nil
}

func (x *execution) checkPrograms() *txError {
	for _, i := range x.instructions {
		if !x.exists[i.program] {
			return errProgramNotFound
		}
		if !x.accounts[i.program].executable {
			return errNotExecutable
		}
	}
	return nil
}

// checkRent returns an error when a balance ends above zero and below the rent-exempt minimum,
// unless it was already there and did not increase.
func (x *execution) checkRent() *txError {
	fresh := 0
	for i, a := range x.accounts {
		if !x.isWritable(i) {
			continue
		}
		least, before := rentExempt(len(a.data)), x.out.pre[i]
		if a.lamports > 0 && a.lamports < least && (before == 0 || before >= least || a.lamports > before) {
			return errRent(i)
		}
		if _, known := x.bank.ledger.accounts[x.keys[i]]; !known && a.lamports > 0 {
			fresh++
		}
	}
	if fresh > 0 && len(x.bank.ledger.accounts)+fresh > maxAccounts {
		return errTooManyAccounts
	}
	return nil
}

// fee returns the fee in lamports: per signature, plus the compute budget's price per unit, rounded
// up.
func (m *message) fee() (lamports, unitPrice uint64) {
	limit, asked := uint64(0), uint64(0)
	for _, i := range m.instructions {
		switch program := m.keys[i.program]; program {
		case systemProgram, computeProgram, voteProgram, stakeProgram:
			limit += builtinUnits
		default:
			limit += defaultUnits
		}
		if m.keys[i.program] != computeProgram {
			continue
		}
		switch {
		case len(i.data) == 5 && i.data[0] == 2:
			asked = uint64(binary.LittleEndian.Uint32(i.data[1:]))
		case len(i.data) == 9 && i.data[0] == 3:
			unitPrice = binary.LittleEndian.Uint64(i.data[1:])
		}
	}
	if asked > 0 {
		limit = asked
	}
	high, low := bits.Mul64(min(limit, maxComputeUnits), unitPrice)
	priority := ^uint64(0)
	if high < microPerLamport {
		quotient, rest := bits.Div64(high, low, microPerLamport)
		if priority = quotient; rest > 0 {
			priority++
		}
	}
	base := uint64(m.required) * signatureFee //nolint:gosec // at most 255
	if sum := base + priority; sum >= base {
		return sum, unitPrice
	}
	return ^uint64(0), unitPrice
}

// step runs one instruction and writes its log as validators do.
func (x *execution) step(i instruction) *instructionError {
	program := x.keys[i.program]
	x.logf("Program %s invoke [1]", program)
	units := uint64(systemUnits)
	var failed *instructionError
	switch program {
	case systemProgram:
		failed = x.system(i)
	case computeProgram:
		failed = computeBudget(i)
	case memoProgram, memoProgramV1:
		units, failed = memoUnits, x.memo(i)
		x.logf("Program %s consumed %d of %d compute units", program, units, defaultUnits)
	default:
		failed = insUnsupported
	}
	x.out.units += units
	if failed != nil {
		x.logf("Program %s failed: %s", program, failed.text)
		return failed
	}
	x.logf("Program %s success", program)
	return nil
}

func (x *execution) logf(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	x.out.logs = append(x.out.logs, line[:min(len(line), maxLogLineLength)])
}

// system runs the system program. The scripted node supports only Transfer (2).
func (x *execution) system(i instruction) *instructionError {
	if len(i.data) < 12 || binary.LittleEndian.Uint32(i.data) != 2 {
		return insInvalidData
	}
	if len(i.accounts) < 2 {
		return insNotEnoughKeys
	}
	from, to := int(i.accounts[0]), int(i.accounts[1])
	amount := binary.LittleEndian.Uint64(i.data[4:])
	if !x.isSigner(from) {
		x.logf("Transfer: `from` account %s must sign", x.keys[from])
		return insMissingSignature
	}
	if len(x.accounts[from].data) > 0 {
		x.logf("Transfer: `from` must not carry data")
		return insInvalidArgument
	}
	if amount > x.accounts[from].lamports {
		x.logf("Transfer: insufficient lamports %d, need %d", x.accounts[from].lamports, amount)
		return insCustom(1)
	}
	switch {
	case x.accounts[from].owner != systemProgram:
		return insExternalSpend
	case amount > 0 && (!x.isWritable(from) || !x.isWritable(to)):
		return insReadonlyChange
	}
	x.accounts[from].lamports -= amount
	if x.accounts[to].lamports+amount < amount {
		return insOverflow
	}
	x.accounts[to].lamports += amount
	return nil
}

// computeBudget accepts the program's four instructions, which fee has already read.
func computeBudget(i instruction) *instructionError {
	sizes := map[byte]int{1: 5, 2: 5, 3: 9, 4: 5}
	if len(i.data) == 0 || sizes[i.data[0]] != len(i.data) {
		return insInvalidData
	}
	return nil
}

func (x *execution) memo(i instruction) *instructionError {
	for _, a := range i.accounts {
		if !x.isSigner(int(a)) {
			return insMissingSignature
		}
	}
	x.logf("Program log: Memo (len %d): %q", len(i.data), i.data)
	return nil
}
