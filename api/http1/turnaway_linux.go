package http1

import (
	"net"
	"syscall"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// TurnAway makes the kernel drop new connection attempts (SYN) to a TCP listener, and reports
// whether it does. Connections made before can still be accepted. Without it, closing the listener
// resets connections that were not accepted yet, and their clients lose calls. The client's kernel
// retries a dropped attempt about a second later, and is refused once the listener is closed.
func TurnAway(l net.Listener) bool {
	raw, ok := l.(syscall.Conn)
	if !ok {
		return false
	}
	const (
		flagsAt  = 13 // of the TCP header
		syn, ack = 0x02, 0x10
	)
	program, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: flagsAt, Size: 1},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: syn | ack},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: syn, SkipFalse: 1},
		bpf.RetConstant{Val: 0},           // dropped
		bpf.RetConstant{Val: 0xffff_ffff}, // kept whole
	})
	if err != nil {
		return false
	}
	filter := make([]unix.SockFilter, len(program))
	for i, in := range program {
		filter[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	control, err := raw.SyscallConn()
	if err != nil {
		return false
	}
	attached := false
	err = control.Control(func(fd uintptr) {
		//nolint:gosec // a file descriptor
		attached = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
			&unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}) == nil //nolint:gosec // five instructions
	})
	return err == nil && attached
}
