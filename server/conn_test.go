package server

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// scripted is a commander and the connection under a pipe.
type scripted struct {
	net.Conn
	in     io.Reader
	wrote  bytes.Buffer
	closed bool
}

func (s *scripted) Read(b []byte) (int, error)  { return s.in.Read(b) }
func (s *scripted) Write(b []byte) (int, error) { return s.wrote.Write(b) }
func (s *scripted) closing() bool               { return s.closed }
func (s *scripted) statistics() []byte          { return []byte("statistics") }

func (s *scripted) prepare(text string) (string, []byte) {
	if strings.HasPrefix(text, "bad") {
		return "", errPacket(1064, "42000", text)
	}
	return strings.ReplaceAll(text, "=>", "arrow"), nil
}

func pipeOver(s *scripted) *pipe {
	return &pipe{Conn: s, r: bufio.NewReader(s), do: s}
}

func TestPipeRewritesAndAnswers(t *testing.T) {
	long := strings.Repeat("=>", maxPacket/4) // grows beyond what one packet holds
	for _, c := range []struct{ name, in, out, wrote string }{
		{"nothing", "", "", ""},
		{"a query", string(packet(0, []byte("\x03a => b"))), string(packet(0, []byte("\x03a => b"))), ""},
		{"a prepare", string(packet(0, []byte("\x16a => b"))), string(packet(0, []byte("\x16a arrow b"))), ""},
		{"data that looks like one", string(packet(1, []byte("\x16a => b"))), string(packet(1, []byte("\x16a => b"))), ""},
		{"an empty packet", string(packet(0, nil)), string(packet(0, nil)), ""},
		{"what cannot be parsed", string(packet(0, []byte("\x16bad"))) + string(packet(0, []byte("\x0e"))),
			string(packet(0, []byte("\x0e"))), string(packet(1, []byte("\xff\x28\x04#42000bad")))},
		{"statistics", string(packet(0, []byte("\x09"))) + string(packet(0, []byte("\x0e"))),
			string(packet(0, []byte("\x0e"))), string(packet(1, []byte("statistics")))},
		{"no room for what it would become", string(packet(0, []byte("\x16"+long))), string(packet(0, []byte("\x16"+long))), ""},
		{"a prepare of several packets", "\xff\xff\xff\x00\x16" + strings.Repeat("=", maxPacket-1) + string(packet(1, []byte(">"))),
			"\xff\xff\xff\x00\x16" + strings.Repeat("=", maxPacket-1) + string(packet(1, []byte(">"))), ""},
	} {
		s := &scripted{in: strings.NewReader(c.in)}
		out, err := io.ReadAll(pipeOver(s))
		if err != nil || string(out) != c.out || s.wrote.String() != c.wrote {
			t.Errorf("%s: read %.60q, wrote %.60q, %v", c.name, out, s.wrote.String(), err)
		}
	}
}

func TestPipeEndsAfterChangeUser(t *testing.T) {
	s := &scripted{in: strings.NewReader(string(packet(0, []byte("\x11root\x00"))) + string(packet(0, []byte("\x0e"))))}
	out, err := io.ReadAll(pipeOver(s))
	if len(out) != 0 || err != nil || !strings.Contains(s.wrote.String(), "08S01") {
		t.Errorf("%q, %v, wrote %q", out, err, s.wrote.String())
	}
}

func TestPipeTakesNoCommandWhenClosing(t *testing.T) {
	s := &scripted{in: strings.NewReader(string(packet(0, []byte("\x0e")))), closed: true}
	if out, err := io.ReadAll(pipeOver(s)); len(out) != 0 || err != nil {
		t.Errorf("%q, %v", out, err)
	}
}

func TestPipeSaysThatAPacketIsTorn(t *testing.T) {
	whole := packet(0, []byte("\x16SELECT 1"))
	for n := 1; n < len(whole); n++ {
		s := &scripted{in: bytes.NewReader(whole[:n])}
		if _, err := io.ReadAll(pipeOver(s)); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
}

// Whatever is no command of the pipe's passes byte for byte, however it arrives.
func TestPipePassesEverythingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var in []byte
		for range rapid.IntRange(0, 20).Draw(t, "packets") {
			payload := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "payload")
			sequence := byte(rapid.IntRange(0, 3).Draw(t, "sequence"))
			if sequence == 0 && len(payload) > 0 {
				switch payload[0] {
				case comPrepare, comStatistics, comChangeUser:
					payload[0] = 3
				}
			}
			in = append(in, packet(sequence, payload)...)
		}
		s := &scripted{in: bytes.NewReader(in)}
		if rapid.Bool().Draw(t, "by bytes") {
			s.in = iotest.OneByteReader(s.in)
		}
		out, err := io.ReadAll(pipeOver(s))
		if err != nil || !bytes.Equal(out, in) || s.wrote.Len() > 0 {
			t.Fatalf("%q became %q, %v", in, out, err)
		}
	})
}

// A file that a client sends is left alone, whatever its packets look like.
func TestPipeLeavesFilesAlone(t *testing.T) {
	in := append(packet(0, []byte("\x16a => b")), packet(0, []byte("\x09"))...)
	s := &scripted{in: bytes.NewReader(in)}
	p := pipeOver(s)
	p.raw.Store(true)
	if out, err := io.ReadAll(p); err != nil || !bytes.Equal(out, in) {
		t.Errorf("%q, %v", out, err)
	}
}

func FuzzPipe(f *testing.F) {
	f.Add([]byte(""), false)
	f.Add(packet(0, []byte("\x16CALL p(a => 1)")), true)
	f.Add([]byte("\x05\x00\x00\x00\x16=>"), false)
	f.Fuzz(func(t *testing.T, in []byte, byBytes bool) {
		s := &scripted{in: bytes.NewReader(in)}
		if byBytes {
			s.in = iotest.OneByteReader(s.in)
		}
		out, err := io.ReadAll(pipeOver(s))
		if err == nil && len(out) > 4*len(in)+64 {
			t.Errorf("%d bytes became %d", len(in), len(out))
		}
	})
}
