package server

import (
	"bufio"
	"errors"
	"io"
	"net"
	"reflect"
	"strings"
	"sync/atomic"

	"github.com/dolthub/vitess/go/mysql"
)

// maxPacket is the longest payload of one packet; a payload of this length goes on in the next.
const maxPacket = 1<<24 - 1

// Commands that a pipe looks at (the first byte of a packet with sequence number 0).
const (
	comStatistics = 0x09
	comChangeUser = 0x11
	comPrepare    = 0x16
)

// packet frames a payload shorter than maxPacket.
func packet(sequence byte, payload []byte) []byte {
	n := len(payload)
	return append([]byte{byte(n), byte(n >> 8), byte(n >> 16), sequence}, payload...)
}

// errPacket is the payload of an error; state has five characters.
func errPacket(code int, state, message string) []byte {
	return append([]byte{0xff, byte(code), byte(code >> 8), '#'}, state+message...)
}

// commander does what a pipe finds in the stream of an authenticated connection.
type commander interface {
	// prepare returns the text to prepare instead, or the payload of an error to answer with.
	prepare(text string) (rewritten string, failure []byte)
	// statistics is the payload that answers COM_STATISTICS.
	statistics() []byte
	// closing is whether no further command is to be taken.
	closing() bool
}

var errChangeUser = errPacket(1047, "08S01", "COM_CHANGE_USER is not supported; open a new connection")

// pipe is the connection under the wire library, which asks it for the bytes of the next command.
// It rewrites the text of COM_STMT_PREPARE and answers commands that the library has no handler
// for; everything else passes as it is (I5). One goroutine reads at a time.
type pipe struct {
	net.Conn
	r    *bufio.Reader
	do   commander
	out  []byte // to be read before anything else
	left int    // bytes of the packet that is being passed on
	// raw says that the packets are those of a file that the client sends. Their sequence numbers
	// come round to 0, too.
	raw atomic.Bool
}

// newPipe puts a pipe over the connection that c has, TLS included, and makes c use it.
func newPipe(c *mysql.Conn, do commander) (*pipe, error) {
	library, err := readerOf(c)
	if err != nil {
		return nil, err
	}
	// What a hasty client has sent already is on the near side of where the pipe goes.
	early, err := library.Peek(library.Buffered())
	if err != nil {
		return nil, err
	}
	p := &pipe{Conn: c.Conn, do: do}
	p.r = bufio.NewReader(io.MultiReader(strings.NewReader(string(early)), c.Conn))
	library.Reset(p)
	c.Conn = p
	return p, nil
}

// readerOf is the buffer that the wire library reads a connection through. There is no other way
// in: without a buffer, which it can be told, the library fails when a client asks for TLS.
func readerOf(c *mysql.Conn) (*bufio.Reader, error) {
	f := reflect.ValueOf(c).Elem().FieldByName("bufferedReader")
	if !f.IsValid() || f.Type() != reflect.TypeFor[*bufio.Reader]() || f.IsNil() {
		return nil, errors.New("this version of the wire library reads connections in a way that is not known")
	}
	return (*bufio.Reader)(f.UnsafePointer()), nil
}

// Read implements net.Conn.
func (p *pipe) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	for len(p.out) == 0 && p.left == 0 {
		if err := p.next(); err != nil {
			return 0, err
		}
	}
	if len(p.out) > 0 {
		n := copy(b, p.out)
		p.out = p.out[n:]
		return n, nil
	}
	n, err := p.r.Read(b[:min(len(b), p.left)])
	p.left -= n
	return n, err
}

// next looks at the packet that begins here. Having answered it itself, it leaves nothing to read.
func (p *pipe) next() error {
	raw := p.raw.Load()
	if !raw && p.do.closing() {
		return io.EOF
	}
	head, err := p.r.Peek(4)
	if err != nil {
		return ended(err, len(head))
	}
	n := int(head[0]) | int(head[1])<<8 | int(head[2])<<16
	if raw || head[3] != 0 || n == 0 || n == maxPacket {
		p.left = 4 + n
		return nil
	}
	if head, err = p.r.Peek(5); err != nil {
		return ended(err, len(head))
	}
	switch head[4] {
	case comPrepare:
		payload, err := p.payload(n)
		if err != nil {
			return err
		}
		text, failure := p.do.prepare(string(payload[1:]))
		if failure != nil {
			return p.answer(failure)
		}
		if len(text)+1 < maxPacket {
			payload = append(payload[:1], text...)
		}
		p.out = packet(0, payload)
	case comStatistics:
		if _, err := p.payload(n); err != nil {
			return err
		}
		return p.answer(p.do.statistics())
	case comChangeUser:
		if _, err := p.payload(n); err != nil {
			return err
		}
		if err := p.answer(errChangeUser); err != nil {
			return err
		}
		return io.EOF
	default:
		p.left = 4 + n
	}
	return nil
}

// payload reads a whole packet and returns its n bytes of payload.
func (p *pipe) payload(n int) ([]byte, error) {
	b := make([]byte, 4+n)
	if _, err := io.ReadFull(p.r, b); err != nil {
		return nil, err
	}
	return b[4:], nil
}

// answer writes the one packet of a reply. The library is waiting for a command, so nothing of its
// own is on the way.
func (p *pipe) answer(payload []byte) error {
	_, err := p.Write(packet(1, payload))
	return err
}

// ended makes the end of a stream within a packet an error.
func ended(err error, got int) error {
	if got > 0 && errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
