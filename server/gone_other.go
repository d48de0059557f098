//go:build !linux

package server

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// gone reports whether the other side of a socket has closed it. It neither reads nor waits.
func gone(socket syscall.RawConn) bool {
	closed := false
	err := socket.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		closed = err == nil && n == 0
	})
	return err != nil || closed // Control fails once the socket is closed
}
