package keygen

import (
	"fmt"
	"strings"
	"time"

	"github.com/shoaldb/shoal/layout/column"
)

// timeFormat turns a value into the text of a timestamp key generator (docs/format.md: keys).
type timeFormat struct {
	kind   string // UNIX_TIMESTAMP, DATE_STRING, MIXED, EPOCHMILLISECONDS, EPOCHMICROSECONDS, SCALAR
	unit   time.Duration
	in     []string // Go layouts
	out    string   // Go layout
	inZone *time.Location
	zone   *time.Location
}

// newTimeFormat reads hoodie.keygen.timebased.*, and the older prefix of the same keys.
func newTimeFormat(props map[string]string) (*timeFormat, error) {
	get := func(key string) string {
		for _, prefix := range []string{"hoodie.keygen.timebased.", "hoodie.deltastreamer.keygen.timebased."} {
			if v, ok := props[prefix+key]; ok {
				return strings.TrimSpace(v)
			}
		}
		return ""
	}
	f := &timeFormat{kind: strings.ToUpper(get("timestamp.type"))}
	switch f.kind {
	case "UNIX_TIMESTAMP":
		f.unit = time.Second
	case "EPOCHMILLISECONDS":
		f.unit = time.Millisecond
	case "EPOCHMICROSECONDS":
		f.unit = time.Microsecond
	case "SCALAR":
		units := map[string]time.Duration{"NANOSECONDS": 1, "MICROSECONDS": time.Microsecond, "MILLISECONDS": time.Millisecond,
			"SECONDS": time.Second, "MINUTES": time.Minute, "HOURS": time.Hour, "DAYS": 24 * time.Hour}
		unit := strings.ToUpper(get("timestamp.scalar.time.unit"))
		if unit == "" {
			unit = "SECONDS"
		}
		if f.unit = units[unit]; f.unit == 0 {
			return nil, fmt.Errorf("hoodie.keygen.timebased.timestamp.scalar.time.unit = %q is not a time unit", unit)
		}
	case "DATE_STRING", "MIXED":
		f.unit = time.Millisecond // of numbers in a MIXED column
	default:
		return nil, fmt.Errorf("hoodie.keygen.timebased.timestamp.type = %q is not valid: allowed is UNIX_TIMESTAMP, DATE_STRING, MIXED, EPOCHMILLISECONDS, EPOCHMICROSECONDS or SCALAR", f.kind)
	}
	var err error
	if f.out, err = goLayout(get("output.dateformat")); err != nil || f.out == "" {
		return nil, fmt.Errorf("hoodie.keygen.timebased.output.dateformat = %q cannot be used", get("output.dateformat"))
	}
	if f.kind == "DATE_STRING" || f.kind == "MIXED" {
		for _, p := range strings.Split(get("input.dateformat"), ",") {
			l, err := goLayout(p)
			if err != nil || l == "" {
				return nil, fmt.Errorf("hoodie.keygen.timebased.input.dateformat = %q cannot be used", get("input.dateformat"))
			}
			f.in = append(f.in, l)
		}
	}
	zone := func(keys ...string) (*time.Location, error) {
		for _, k := range keys {
			if v := get(k); v != "" {
				loc, err := time.LoadLocation(v)
				if err != nil {
					return nil, fmt.Errorf("hoodie.keygen.timebased.%s = %q is not a time zone", k, v)
				}
				return loc, nil
			}
		}
		return time.UTC, nil
	}
	if f.inZone, err = zone("timestamp.input.timezone", "input.timezone", "timestamp.timezone", "timezone"); err != nil {
		return nil, err
	}
	if f.zone, err = zone("timestamp.output.timezone", "output.timezone", "timestamp.timezone", "timezone"); err != nil {
		return nil, err
	}
	return f, nil
}

// append formats one value.
func (f *timeFormat) append(dst []byte, v *column.Vector, i int) ([]byte, error) {
	var t time.Time
	switch v.Type.Kind {
	case column.Date:
		t = time.Unix(int64(v.I32[i])*86400, 0)
	case column.Timestamp:
		t = time.UnixMicro(v.I64[i])
	case column.TimestampMilli:
		t = time.UnixMilli(v.I64[i])
	case column.Int32:
		t = f.fromNumber(int64(v.I32[i]))
	case column.Int64:
		t = f.fromNumber(v.I64[i])
	case column.Float64:
		t = f.fromNumber(int64(v.F64[i]))
	case column.String:
		text := string(v.Bytes(i))
		var err error
		if t, err = f.fromText(text); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("a %s has no time", v.Type)
	}
	return t.In(f.zone).AppendFormat(dst, f.out), nil
}

func (f *timeFormat) fromNumber(n int64) time.Time {
	switch f.unit {
	case time.Second:
		return time.Unix(n, 0)
	case time.Millisecond:
		return time.UnixMilli(n)
	case time.Microsecond:
		return time.UnixMicro(n)
	case 1:
		return time.Unix(0, n)
	}
	return time.Unix(n*int64(f.unit/time.Second), 0)
}

func (f *timeFormat) fromText(text string) (time.Time, error) {
	for _, l := range f.in {
		if t, err := time.ParseInLocation(l, text, f.inZone); err == nil {
			return t, nil
		}
	}
	var n int64
	if _, err := fmt.Sscanf(text, "%d", &n); err == nil && fmt.Sprint(n) == text && f.kind != "DATE_STRING" {
		return f.fromNumber(n), nil
	}
	return time.Time{}, fmt.Errorf("%q is not a time in the configured format", text)
}

// goLayout translates a Java date pattern. Letters without a counterpart are an error.
func goLayout(pattern string) (string, error) {
	pattern = strings.TrimSpace(pattern)
	var out strings.Builder
	for i := 0; i < len(pattern); {
		c := pattern[i]
		if c == '\'' {
			end := strings.IndexByte(pattern[i+1:], '\'')
			if end < 0 {
				return "", fmt.Errorf("unbalanced quote in %q", pattern)
			}
			if end == 0 {
				out.WriteByte('\'')
			}
			out.WriteString(pattern[i+1 : i+1+end])
			i += end + 2
			continue
		}
		if c|0x20 < 'a' || c|0x20 > 'z' {
			out.WriteByte(c)
			i++
			continue
		}
		n := 1
		for i+n < len(pattern) && pattern[i+n] == c {
			n++
		}
		l, ok := javaLetters[pattern[i:i+n]]
		if !ok && c == 'S' {
			if k := out.Len(); k == 0 || out.String()[k-1] != '.' && out.String()[k-1] != ',' {
				return "", fmt.Errorf("%q: a fraction needs a point before it", pattern)
			}
			l, ok = strings.Repeat("0", n), true
		}
		if !ok {
			return "", fmt.Errorf("%q: %s is not understood", pattern, pattern[i:i+n])
		}
		out.WriteString(l)
		i += n
	}
	return out.String(), nil
}

var javaLetters = map[string]string{
	"yyyy": "2006", "yy": "06", "uuuu": "2006", "MM": "01", "M": "1", "MMM": "Jan", "MMMM": "January",
	"dd": "02", "d": "2", "HH": "15", "hh": "03", "h": "3", "mm": "04", "m": "4", "ss": "05", "s": "5",
	"a": "PM", "z": "MST", "Z": "-0700", "XXX": "Z07:00", "X": "Z07", "EEE": "Mon", "EEEE": "Monday", "DDD": "002",
}
