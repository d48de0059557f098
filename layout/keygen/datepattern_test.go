package keygen

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/shoaldb/shoal/layout/column"
)

func TestDatePatternsFormat(t *testing.T) {
	at := time.Date(2021, time.March, 4, 15, 6, 7, 89_012_345, time.FixedZone("", 19800)) // a Thursday
	for pattern, want := range map[string]string{
		"yyyy/MM/dd/HH": "2021/03/04/15", "yyyyMMddHHmmssSSS": "20210304150607089", "yy-M-d": "21-3-4",
		"yyyy-MM-dd'T'HH:mm:ss.SSSSSS": "2021-03-04T15:06:07.089012", "'o''clock' ''hh a": "o'clock '03 PM",
		"EEE EEEE MMM MMMM": "Thu Thursday Mar March", "DDD": "063", "xxxx-'W'ww": "2021-W09", "k K h": "15 3 3",
		"Z ZZ X XX XXX": "+0530 +05:30 +05 +0530 +05:30", "2006 Jan 15": "", "'2006 Jan 15'": "2006 Jan 15",
	} {
		p, err := parseDatePattern(pattern)
		if want == "" {
			if err == nil {
				t.Errorf("%s accepted", pattern)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		if got, err := p.append(nil, at); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", pattern, got, err, want)
		}
	}
	midnight, _ := parseDatePattern("hh kk KK a")
	if got, _ := midnight.append(nil, time.Unix(0, 0).UTC()); string(got) != "12 24 00 AM" {
		t.Errorf("midnight: %s", got)
	}
}

func TestDatePatternsParse(t *testing.T) {
	kolkata := time.FixedZone("", 19800)
	for _, c := range []struct {
		pattern, text string
		want          string // RFC 3339 with nanoseconds; "": refused
	}{
		{"yyyy-MM-dd", "2021-03-04", "2021-03-04T00:00:00+05:30"}, {"yyyy-MM-dd", "2021-3-4", "2021-03-04T00:00:00+05:30"},
		{"yyyyMMddHHmmssSSS", "20210304150607089", "2021-03-04T15:06:07.089+05:30"},
		{"yyyyMMdd", "2021304", ""}, {"yyyy-MM-dd", "2021-02-29", ""}, {"yyyy-MM-dd", "2021-03-04x", ""}, {"yyyy-MM-dd", "", ""},
		{"yyyy-MM-dd'T'HH:mm:ssZ", "2021-03-04T01:02:03+0100", "2021-03-04T01:02:03+01:00"},
		{"yyyy-MM-dd'T'HH:mm:ss.SXXX", "2021-03-04T01:02:03.5Z", "2021-03-04T01:02:03.5Z"},
		{"d MMM yy hh:mm a", "4 mar 69 12:30 pm", "2069-03-04T12:30:00+05:30"}, {"d MMM yy", "4 March 70", "1970-03-04T00:00:00+05:30"},
		{"yyyy-DDD", "2020-366", "2020-12-31T00:00:00+05:30"}, {"yyyy-DDD", "2021-366", ""}, {"HH", "24", ""}, {"kk", "24", "1970-01-01T00:00:00+05:30"},
		{"yyyy-MM-dd HH", "2021-03-04", ""}, {"MM", "13", ""}, {"Z", "+9", ""},
	} {
		p, err := parseDatePattern(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := p.parse(c.text, kolkata)
		if ok != (c.want != "") || ok && got.Format(time.RFC3339Nano) != c.want {
			t.Errorf("%s by %s: %v, %v; want %s", c.text, c.pattern, got, ok, c.want)
		}
	}
}

func TestDatePatternRoundTrip(t *testing.T) {
	patterns := []string{"yyyy-MM-dd HH:mm:ss.SSSSSSSSS", "yyyyMMddHHmmssSSSSSSSSS", "d MMMM yyyy h:m:s.SSSSSSSSS a", "yyyy-DDD kk:mm:ss,SSSSSSSSSXXX", "dMMMyyyy'H'HHmmss.SSSSSSSSSZ"}
	rapid.Check(t, func(t *rapid.T) {
		p, err := parseDatePattern(rapid.SampledFrom(patterns).Draw(t, "pattern"))
		if err != nil || p.readable() != nil {
			t.Fatal(err, p.readable())
		}
		at := time.Unix(rapid.Int64Range(-62135596800, 253402300799).Draw(t, "s"), rapid.Int64Range(0, 999999999).Draw(t, "ns")).UTC()
		text, err := p.append(nil, at)
		if err != nil {
			t.Fatal(err)
		}
		if back, ok := p.parse(string(text), time.UTC); !ok || !back.Equal(at) {
			t.Fatalf("%s as %s reads as %s, %v", at, text, back, ok)
		}
	})
}

func FuzzDatePattern(f *testing.F) {
	f.Add("yyyy-MM-dd'T'HH:mm:ss.SSS", "2021-03-04T01:02:03.004")
	f.Add("d MMM yy hh:mm a Z", "4 Mar 21 01:02 PM +0100")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		p, err := parseDatePattern(pattern)
		if err != nil {
			return
		}
		if at, ok := p.parse(text, time.UTC); ok {
			if _, err := p.append(nil, at); err != nil {
				t.Fatalf("%q by %q gives %v, which it cannot write: %v", text, pattern, at, err)
			}
		}
	})
}

func TestTimeFormats(t *testing.T) {
	str, long, dbl := column.Type{Kind: column.String}, column.Type{Kind: column.Int64}, column.Type{Kind: column.Float64}
	date, dec := column.Type{Kind: column.Date}, column.Type{Kind: column.Decimal, Precision: 20, Scale: 2}
	for _, c := range []struct {
		props string // key=value;…, without the prefix
		typ   column.Type
		json  string
		want  string // "": an error
	}{
		{"timestamp.type=UNIX_TIMESTAMP;output.dateformat=yyyy/MM/dd", long, "1705311000", "2024/01/15"},
		{"timestamp.type=UNIX_TIMESTAMP;output.dateformat=yyyy/MM/dd", str, `"1705311000"`, "2024/01/15"},
		{"timestamp.type=UNIX_TIMESTAMP;output.dateformat=yyyy/MM/dd", dbl, `1705311000.9`, "2024/01/15"},
		{"timestamp.type=UNIX_TIMESTAMP;output.dateformat=yyyy/MM/dd", dec, `1705311000.99`, "2024/01/15"},
		{"timestamp.type=UNIX_TIMESTAMP;output.dateformat=yyyy/MM/dd", long, "null", "1970/01/01"},
		{"timestamp.type=unix_timestamp;output.dateformat=yyyy-MM-dd HH;timezone=GMT+8:00", long, "0", "1970-01-01 08"},
		{"timestamp.type=UNIX_TIMESTAMP;output.dateformat=HH;output.timezone=America/New_York", long, "1705311000", "04"},
		{"timestamp.type=EPOCHMILLISECONDS;output.dateformat=yyyyMMddHHmmssSSS", long, "-1", "19691231235959999"},
		{"timestamp.type=EPOCHMICROSECONDS;output.dateformat=ss.SSS", long, "1999999", "01.999"},
		{"timestamp.type=SCALAR;timestamp.scalar.time.unit=days;output.dateformat=yyyy-MM-dd hh", long, "19737", "2024-01-15 12"},
		{"timestamp.type=SCALAR;timestamp.scalar.time.unit=DAYS;output.dateformat=yyyy", long, "null", "1970"},
		{"timestamp.type=SCALAR;timestamp.scalar.time.unit=DAYS;output.dateformat=yyyy", long, "9223372036854775807", ""},
		{"timestamp.type=EPOCHMILLISECONDS;output.dateformat=yyyy", long, "9223372036854775807", ""},
		{"timestamp.type=DATE_STRING;input.dateformat=yyyy-MM-dd'T'HH:mm:ssZ,yyyy-MM-dd;output.dateformat=yyyyMMddHH", str, `"2021-03-04T23:00:00-0200"`, "2021030423"},
		{"timestamp.type=DATE_STRING;input.dateformat=yyyy-MM-dd'T'HH:mm:ssZ,yyyy-MM-dd;output.dateformat=yyyyMMddHH;output.timezone=UTC", str, `"2021-03-04T23:00:00-0200"`, "2021030501"},
		{"timestamp.type=DATE_STRING;input.dateformat=yyyy-MM-dd'T'HH:mm:ssZ,yyyy-MM-dd;output.dateformat=yyyyMMddHH", str, `"2021-03-04"`, "2021030400"},
		{"timestamp.type=DATE_STRING;input.dateformat=yyyy-MM-dd;output.dateformat=yyyyMMdd", str, "null", "19700101"},
		{"timestamp.type=DATE_STRING;input.dateformat=yyyy-MM-dd;output.dateformat=yyyyMMdd", str, `"yesterday"`, ""},
		{"timestamp.type=DATE_STRING;input.dateformat=yyyy-MM-dd;output.dateformat=yyyyMMdd", long, `5`, ""},
		{"timestamp.type=MIXED;input.dateformat=yyyy-MM-dd;output.dateformat=yyyyMMdd", str, `"1705311000000"`, "20240115"},
		{"timestamp.type=MIXED;input.dateformat=yyyy-MM-dd;output.dateformat=yyyyMMdd", long, `1705311000000`, "20240115"},
		{"timestamp.type=MIXED;input.dateformat=yyyy-MM-dd|dd.MM.yyyy;input.dateformat.list.delimiter.regex=\\|;output.dateformat=yyyyMMdd", str, `"05.03.2021"`, "20210305"},
		{"timestamp.type=EPOCHMILLISECONDS;output.dateformat=yyyyMMdd", date, `"2021-03-05"`, "20210305"},
	} {
		props := map[string]string{}
		for _, kv := range strings.Split(c.props, ";") {
			k, v, _ := strings.Cut(kv, "=")
			props["hoodie.keygen.timebased."+k] = v
		}
		f, err := newTimeFormat(props)
		if err != nil {
			t.Errorf("%s: %v", c.props, err)
			continue
		}
		b := column.NewBuilder(c.typ, 1)
		if err := b.AppendJSON([]byte(c.json)); err != nil {
			t.Fatal(err)
		}
		got, err := f.append(nil, b.Finish(), 0)
		if (err == nil) != (c.want != "") || err == nil && string(got) != c.want {
			t.Errorf("%s of %s: %s, %v; want %s", c.props, c.json, got, err, c.want)
		}
	}
	for _, bad := range []string{"timestamp.type=NOW", "timestamp.type=SCALAR;timestamp.scalar.time.unit=YEARS", "timestamp.type=UNIX_TIMESTAMP",
		"timestamp.type=UNIX_TIMESTAMP;output.dateformat=Q", "timestamp.type=UNIX_TIMESTAMP;output.dateformat='x", "timestamp.type=DATE_STRING;output.dateformat=yyyy",
		"timestamp.type=DATE_STRING;output.dateformat=yyyy;input.dateformat=EEE", "timestamp.type=UNIX_TIMESTAMP;output.dateformat=yyyy;timezone=Mars/Base",
		"timestamp.type=UNIX_TIMESTAMP;output.dateformat=yyyy;timezone=GMT+99", "timestamp.type=UNIX_TIMESTAMP;output.dateformat=yyyy;output.timezone=Local"} {
		props := map[string]string{}
		for _, kv := range strings.Split(bad, ";") {
			k, v, _ := strings.Cut(kv, "=")
			props["hoodie.keygen.timebased."+k] = v
		}
		if _, err := newTimeFormat(props); err == nil || !strings.Contains(err.Error(), "hoodie.keygen.timebased.") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
