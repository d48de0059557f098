package keygen

import (
	"fmt"
	"math"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // zones must mean the same on every machine that writes a table (I2)

	"github.com/shoaldb/shoal/layout/column"
)

// timeFormat makes the text of a timestamp key generator out of a value (docs/format.md: keys).
//
// Numbers count the unit that the type names; text is read by the first input format that fits, and
// under MIXED may be a number of milliseconds too. Date and timestamp columns are points in time by
// themselves. A null stands for one unit after the epoch, as Hudi has it.
type timeFormat struct {
	text   bool // text is read: DATE_STRING and MIXED
	number bool // numbers are: all but DATE_STRING
	// A number counts perSecond a second or, when that is 0, seconds each.
	perSecond, seconds int64
	in                 []datePattern
	out                datePattern
	inZone             *time.Location // of text without an offset
	outZone            *time.Location // nil: that of the text, else UTC
}

// timeUnits are the names of java.util.concurrent.TimeUnit.
var timeUnits = map[string]timeFormat{
	"NANOSECONDS":  {perSecond: 1e9},
	"MICROSECONDS": {perSecond: 1e6},
	"MILLISECONDS": {perSecond: 1e3},
	"SECONDS":      {seconds: 1},
	"MINUTES":      {seconds: 60},
	"HOURS":        {seconds: 3600},
	"DAYS":         {seconds: 86400},
}

// timeKeys are the prefixes of the generator's keys, the older one last.
var timeKeys = []string{"hoodie.keygen.timebased.", "hoodie.deltastreamer.keygen.timebased."}

// newTimeFormat reads the configuration of a timestamp generator.
func newTimeFormat(props map[string]string) (*timeFormat, error) {
	get := func(key string) (string, bool) {
		for _, prefix := range timeKeys {
			if v, ok := props[prefix+key]; ok {
				return strings.TrimSpace(v), true
			}
		}
		return "", false
	}
	bad := func(key, value, why string) error {
		return fmt.Errorf("%s%s = %q: %s", timeKeys[0], key, value, why)
	}
	kind, _ := get("timestamp.type")
	unit := ""
	f := timeFormat{}
	switch strings.ToUpper(kind) {
	case "UNIX_TIMESTAMP":
		unit = "SECONDS"
	case "EPOCHMILLISECONDS":
		unit = "MILLISECONDS"
	case "EPOCHMICROSECONDS":
		unit = "MICROSECONDS"
	case "SCALAR":
		const key = "timestamp.scalar.time.unit"
		unit, _ = get(key)
		if unit == "" {
			unit = "SECONDS"
		}
		if _, ok := timeUnits[strings.ToUpper(unit)]; !ok {
			return nil, bad(key, unit, "allowed are NANOSECONDS, MICROSECONDS, MILLISECONDS, SECONDS, MINUTES, HOURS and DAYS")
		}
	case "DATE_STRING":
		f.text = true
	case "MIXED":
		f.text, unit = true, "MILLISECONDS"
	default:
		return nil, bad("timestamp.type", kind, "allowed are UNIX_TIMESTAMP, DATE_STRING, MIXED, EPOCHMILLISECONDS, EPOCHMICROSECONDS and SCALAR")
	}
	if unit != "" {
		u := timeUnits[strings.ToUpper(unit)]
		f.number, f.perSecond, f.seconds = true, u.perSecond, u.seconds
	}
	text, _ := get("output.dateformat")
	var err error
	if f.out, err = parseDatePattern(text); err != nil {
		return nil, bad("output.dateformat", text, err.Error())
	}
	if f.text {
		text, _ := get("input.dateformat")
		delimiter, _ := get("input.dateformat.list.delimiter.regex")
		if delimiter == "" {
			delimiter = ","
		}
		split, err := regexp.Compile(delimiter)
		if err != nil {
			return nil, bad("input.dateformat.list.delimiter.regex", delimiter, err.Error())
		}
		for _, s := range split.Split(text, -1) {
			p, err := parseDatePattern(strings.TrimSpace(s))
			if err == nil {
				err = p.readable()
			}
			if err != nil {
				return nil, bad("input.dateformat", text, err.Error())
			}
			f.in = append(f.in, p)
		}
	}
	zone := func(key string) (*time.Location, error) {
		if v, ok := get("timezone"); ok { // for both directions
			key = "timezone"
			return parseZone(v, func(why string) error { return bad(key, v, why) })
		}
		v, _ := get(key)
		return parseZone(v, func(why string) error { return bad(key, v, why) })
	}
	if f.inZone, err = zone("input.timezone"); err != nil {
		return nil, err
	}
	if f.outZone, err = zone("output.timezone"); err != nil {
		return nil, err
	}
	return &f, nil
}

// parseZone reads a zone id as Java does: a name, or GMT±h, GMT±hh:mm. An empty one gives nil.
func parseZone(v string, bad func(why string) error) (*time.Location, error) {
	if v == "" {
		return nil, nil
	}
	for _, prefix := range []string{"GMT", "UTC"} {
		offset, ok := strings.CutPrefix(v, prefix)
		if !ok || offset == "" || offset[0] != '+' && offset[0] != '-' {
			continue
		}
		hours, minutes, _ := strings.Cut(offset[1:], ":")
		h, err1 := strconv.ParseUint(hours, 10, 8)
		m, err2 := strconv.ParseUint("0"+minutes, 10, 8)
		if err1 != nil || err2 != nil || h > 23 || m > 59 {
			return nil, bad("it is no time zone")
		}
		seconds := int(h*3600 + m*60)
		if offset[0] == '-' {
			seconds = -seconds
		}
		return time.FixedZone(v, seconds), nil
	}
	loc, err := time.LoadLocation(v)
	if err != nil || v == "Local" {
		return nil, bad("it is no time zone")
	}
	return loc, nil
}

// append formats the value of a row.
func (f *timeFormat) append(dst []byte, v *column.Vector, i int) ([]byte, error) {
	t, err := f.time(v, i)
	if err != nil {
		return dst, err
	}
	if f.outZone != nil {
		t = t.In(f.outZone)
	}
	return f.out.append(dst, t)
}

// time is the point in time of a row's value, in the zone to write it in unless one is configured.
func (f *timeFormat) time(v *column.Vector, i int) (time.Time, error) {
	if v.Null(i) {
		return f.nullTime()
	}
	switch v.Type.Kind {
	case column.Date:
		return time.Unix(int64(v.I32[i])*86400, 0).UTC(), nil
	case column.Timestamp:
		return time.UnixMicro(v.I64[i]).UTC(), nil
	case column.TimestampMilli:
		return time.UnixMilli(v.I64[i]).UTC(), nil
	case column.Int32:
		return f.fromNumber(int64(v.I32[i]))
	case column.Int64:
		return f.fromNumber(v.I64[i])
	case column.Float32:
		return f.fromFloat(float64(v.F32[i]))
	case column.Float64:
		return f.fromFloat(v.F64[i])
	case column.Decimal:
		text := string(column.AppendDecimal(nil, v.Decimal(i), v.Type.Scale))
		whole, _, _ := strings.Cut(text, ".")
		n, err := strconv.ParseInt(whole, 10, 64)
		if err != nil {
			return time.Time{}, fmt.Errorf("%s is out of range", text)
		}
		return f.fromNumber(n)
	case column.String:
		return f.fromText(string(v.Bytes(i)))
	}
	return time.Time{}, fmt.Errorf("a %s is no time", v.Type)
}

// nullTime is the time of a null: the number one or, for text, what is left of the first
// millisecond in the first input format.
func (f *timeFormat) nullTime() (time.Time, error) {
	if !f.text {
		return f.fromNumber(1)
	}
	zone := time.UTC
	switch {
	case f.inZone != nil:
		zone = f.inZone
	case f.outZone != nil:
		zone = f.outZone
	}
	text, err := f.in[0].append(nil, time.UnixMilli(1).In(zone))
	if err != nil {
		return time.Time{}, err
	}
	return f.fromText(string(text))
}

func (f *timeFormat) fromFloat(x float64) (time.Time, error) {
	if !(x > -1<<63 && x < 1<<63) {
		return time.Time{}, fmt.Errorf("%v is out of range", x)
	}
	return f.fromNumber(int64(x))
}

// maxSeconds keeps a time in seconds far enough from overflow for the time package.
const maxSeconds = math.MaxInt64 / 1000

func (f *timeFormat) fromNumber(n int64) (time.Time, error) {
	if !f.number {
		return time.Time{}, fmt.Errorf("%d is a number where text in the input format is expected", n)
	}
	if f.perSecond > 0 {
		// Hudi goes through milliseconds, cut towards zero.
		ms := n
		if f.perSecond > 1e3 {
			ms = n / (f.perSecond / 1e3)
		}
		return time.UnixMilli(ms).UTC(), nil
	}
	abs := uint64(n)
	if n < 0 {
		abs = -abs
	}
	if over, product := bits.Mul64(abs, uint64(f.seconds)); over != 0 || product > maxSeconds {
		return time.Time{}, fmt.Errorf("%d is out of range", n)
	}
	return time.Unix(n*f.seconds, 0).UTC(), nil
}

func (f *timeFormat) fromText(s string) (time.Time, error) {
	if !f.text {
		// Text of a number, as tables have it whose column is a string.
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return time.Time{}, fmt.Errorf("%.60q is no number", s)
		}
		return f.fromNumber(n)
	}
	zone := f.inZone
	if zone == nil {
		zone = time.UTC
	}
	for _, p := range f.in {
		if t, ok := p.parse(s, zone); ok {
			if f.inZone != nil {
				t = t.In(f.inZone)
			}
			return t, nil
		}
	}
	if f.number {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return f.fromNumber(n)
		}
	}
	return time.Time{}, fmt.Errorf("%.60q fits no input date format", s)
}
