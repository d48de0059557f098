package server

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// gone reports whether the other side of a socket has closed it. It neither reads nor waits, and
// also sees the end behind bytes that nobody has read, such as the farewell of TLS.
func gone(socket syscall.RawConn) bool {
	closed := false
	err := socket.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(p, 0)
		closed = err == nil && n > 0 && p[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
	})
	return err != nil || closed // Control fails once the socket is closed
}
