package keygen

import (
	"fmt"
	"strings"
	"time"
)

// A datePattern is a date format in the letters of Java's and Joda's formatters, in which Hudi's
// configuration is written. Letters have their meaning by their number; text stands in single
// quotes, two of which are one; other characters stand for themselves.
type datePattern []patternPart

type patternPart struct {
	letter byte // 0 for text
	count  int
	text   string
}

// formatted are the letters that can be written, readable those that can be read back as well.
const (
	formatted = "yYuxMLwDdEaHkKhmsSZX"
	readable  = "yYuMLDdaHkKhmsSZX"
)

func parseDatePattern(s string) (datePattern, error) {
	var p datePattern
	text := func(t string) {
		if n := len(p); n > 0 && p[n-1].letter == 0 {
			p[n-1].text += t
		} else {
			p = append(p, patternPart{text: t})
		}
	}
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '\'':
			t, n, ok := quoted(s[i:])
			if !ok {
				return nil, fmt.Errorf("a quote is not closed")
			}
			text(t)
			i += n
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			n := 1
			for i+n < len(s) && s[i+n] == c {
				n++
			}
			if strings.IndexByte(formatted, c) < 0 || n > 9 {
				return nil, fmt.Errorf("%s is not supported, only the letters %s", s[i:i+n], formatted)
			}
			p = append(p, patternPart{letter: c, count: n})
			i += n
		default:
			text(s[i : i+1])
			i++
		}
	}
	if len(p) == 0 {
		return nil, fmt.Errorf("it is empty")
	}
	return p, nil
}

// quoted reads quoted text at the start of s; n is the length of what it read.
func quoted(s string) (text string, n int, ok bool) {
	if strings.HasPrefix(s, "''") {
		return "'", 2, true
	}
	for i := 1; i < len(s); i++ {
		if s[i] != '\'' {
			text += s[i : i+1]
			continue
		}
		if i+1 < len(s) && s[i+1] == '\'' {
			text += "'"
			i++
			continue
		}
		return text, i + 1, true
	}
	return "", 0, false
}

// readable reports whether text in the pattern tells a point in time.
func (p datePattern) readable() error {
	for _, part := range p {
		if part.letter != 0 && strings.IndexByte(readable, part.letter) < 0 {
			return fmt.Errorf("%s cannot be read, only the letters %s", strings.Repeat(string(part.letter), part.count), readable)
		}
	}
	return nil
}

// append appends a time in its zone. Years have four digits at most.
func (p datePattern) append(dst []byte, t time.Time) ([]byte, error) {
	if y := t.Year(); y < 0 || y > 9999 {
		return dst, fmt.Errorf("the year %d is out of range", y)
	}
	for _, part := range p {
		n := part.count
		switch part.letter {
		case 0:
			dst = append(dst, part.text...)
		case 'y', 'Y', 'u':
			dst = appendYear(dst, t.Year(), n)
		case 'x':
			y, _ := t.ISOWeek()
			dst = appendYear(dst, y, n)
		case 'w':
			_, w := t.ISOWeek()
			dst = appendPadded(dst, w, n)
		case 'M', 'L':
			switch {
			case n <= 2:
				dst = appendPadded(dst, int(t.Month()), n)
			case n == 3:
				dst = append(dst, t.Month().String()[:3]...)
			default:
				dst = append(dst, t.Month().String()...)
			}
		case 'E':
			day := t.Weekday().String()
			if n < 4 {
				day = day[:3]
			}
			dst = append(dst, day...)
		case 'D':
			dst = appendPadded(dst, t.YearDay(), n)
		case 'd':
			dst = appendPadded(dst, t.Day(), n)
		case 'a':
			dst = t.AppendFormat(dst, "PM")
		case 'H':
			dst = appendPadded(dst, t.Hour(), n)
		case 'k':
			dst = appendPadded(dst, (t.Hour()+23)%24+1, n)
		case 'K':
			dst = appendPadded(dst, t.Hour()%12, n)
		case 'h':
			dst = appendPadded(dst, (t.Hour()+11)%12+1, n)
		case 'm':
			dst = appendPadded(dst, t.Minute(), n)
		case 's':
			dst = appendPadded(dst, t.Second(), n)
		case 'S':
			at := len(dst)
			dst = appendPadded(dst, t.Nanosecond(), 9)
			dst = dst[:at+n]
		case 'Z', 'X':
			dst = t.AppendFormat(dst, offsetLayout(part.letter, n))
		}
	}
	return dst, nil
}

func offsetLayout(letter byte, n int) string {
	switch {
	case letter == 'Z' && n == 1:
		return "-0700"
	case letter == 'Z':
		return "-07:00"
	case n == 1:
		return "Z07"
	case n == 2:
		return "Z0700"
	}
	return "Z07:00"
}

func appendYear(dst []byte, year, n int) []byte {
	if n == 2 {
		year %= 100
	}
	return appendPadded(dst, year, n)
}

func appendPadded(dst []byte, x, width int) []byte { return fmt.Appendf(dst, "%0*d", width, x) }

// civil is what has been read of a time so far.
type civil struct {
	year, month, day, yearDay  int
	hour, minute, second, nano int
	half                       int // 1 AM, 2 PM, 0 not said
	zone                       *time.Location
}

// parse reads a time. Without an offset in the text it is one of the zone.
func (p datePattern) parse(s string, zone *time.Location) (time.Time, bool) {
	c := civil{year: 1970, month: 1, day: 1, zone: zone}
	for i, part := range p {
		var ok bool
		if part.letter == 0 {
			if s, ok = strings.CutPrefix(s, part.text); !ok {
				return time.Time{}, false
			}
			continue
		}
		abuts := i+1 < len(p) && p[i+1].numeric()
		if s, ok = c.read(s, part, abuts); !ok {
			return time.Time{}, false
		}
	}
	if s != "" {
		return time.Time{}, false
	}
	return c.time()
}

// numeric reports a part that reads digits, so that a number before it must have a fixed width.
func (p patternPart) numeric() bool {
	switch p.letter {
	case 0, 'a', 'Z', 'X':
		return false
	case 'M', 'L':
		return p.count <= 2
	}
	return true
}

// read reads one part off s and returns the rest.
func (c *civil) read(s string, part patternPart, abuts bool) (rest string, ok bool) {
	switch part.letter {
	case 'a':
		if len(s) < 2 {
			return s, false
		}
		switch strings.ToUpper(s[:2]) {
		case "AM":
			c.half = 1
		case "PM":
			c.half = 2
		default:
			return s, false
		}
		return s[2:], true
	case 'Z', 'X':
		return c.readOffset(s)
	case 'M', 'L':
		if part.count > 2 {
			return c.readMonth(s)
		}
	}
	width := 2
	switch part.letter {
	case 'y', 'Y', 'u':
		width = 4
	case 'D':
		width = 3
	case 'S':
		width = 9
	}
	if abuts {
		width = part.count
	}
	n, x := 0, 0
	for n < len(s) && n < width && s[n] >= '0' && s[n] <= '9' {
		x = x*10 + int(s[n]-'0')
		n++
	}
	if n == 0 || abuts && n < width {
		return s, false
	}
	rest = s[n:]
	switch part.letter {
	case 'y', 'Y', 'u':
		if c.year = x; part.count == 2 && n == 2 {
			c.year += 2000
			if x >= 70 {
				c.year -= 100
			}
		}
		return rest, true
	case 'M', 'L':
		c.month = x
		return rest, x >= 1 && x <= 12
	case 'D':
		c.yearDay = x
		return rest, x >= 1 && x <= 366
	case 'd':
		c.day = x
		return rest, x >= 1 && x <= 31
	case 'H':
		c.hour = x
		return rest, x < 24
	case 'k':
		c.hour = x % 24
		return rest, x >= 1 && x <= 24
	case 'K':
		c.hour = x
		return rest, x < 12
	case 'h':
		c.hour = x % 12
		return rest, x >= 1 && x <= 12
	case 'm':
		c.minute = x
		return rest, x < 60
	case 's':
		c.second = x
		return rest, x < 60
	case 'S':
		for ; n < 9; n++ {
			x *= 10
		}
		c.nano = x
		return rest, true
	}
	return s, false
}

func (c *civil) readMonth(s string) (string, bool) {
	for m := time.January; m <= time.December; m++ {
		for _, name := range []string{m.String(), m.String()[:3]} {
			if len(s) >= len(name) && strings.EqualFold(s[:len(name)], name) {
				c.month = int(m)
				return s[len(name):], true
			}
		}
	}
	return s, false
}

// readOffset reads Z, ±hh, ±hhmm or ±hh:mm.
func (c *civil) readOffset(s string) (string, bool) {
	if strings.HasPrefix(s, "Z") {
		c.zone = time.UTC
		return s[1:], true
	}
	for _, layout := range []string{"-07:00", "-0700", "-07"} {
		if len(s) < len(layout) {
			continue
		}
		if t, err := time.Parse(layout, s[:len(layout)]); err == nil {
			_, offset := t.Zone()
			c.zone = time.FixedZone("", offset)
			return s[len(layout):], true
		}
	}
	return s, false
}

func (c *civil) time() (time.Time, bool) {
	if c.half == 2 && c.hour < 12 {
		c.hour += 12
	}
	if c.yearDay > 0 {
		c.month, c.day = 1, c.yearDay
	}
	t := time.Date(c.year, time.Month(c.month), c.day, c.hour, c.minute, c.second, c.nano, c.zone)
	// A date that does not exist has become another one.
	date := time.Date(c.year, time.Month(c.month), c.day, 0, 0, 0, 0, time.UTC)
	if c.yearDay > 0 {
		return t, date.Year() == c.year
	}
	return t, date.Day() == c.day
}
