package column

import (
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

var nestedType = Type{Kind: Struct, Fields: []Field{
	{Name: "n", Type: Type{Kind: Int32}, Nullable: true},
	{Name: "tags", Type: Type{Kind: List, Fields: []Field{{Name: "element", Type: Type{Kind: String}, Nullable: true}}}, Nullable: true},
	{Name: "m", Type: Type{Kind: Map, Fields: []Field{{Name: "key", Type: Type{Kind: Int64}},
		{Name: "value", Type: Type{Kind: Decimal, Precision: 5, Scale: 2}, Nullable: true}}}},
}}

func TestAppendJSON(t *testing.T) {
	day := int64(time.Date(2021, 2, 3, 0, 0, 0, 0, time.UTC).Unix() / 86400)
	us := time.Date(2021, 2, 3, 4, 5, 6, 7000, time.UTC).UnixMicro()
	for _, c := range []struct {
		typ  Type
		d    datum
		want string
	}{
		{Type{Kind: Bool}, true, `true`},
		{Type{Kind: Int64}, int64(math.MinInt64), `-9223372036854775808`},
		{Type{Kind: Float64}, 1e21, `1e+21`}, {Type{Kind: Float64}, 0.1, `0.1`}, {Type{Kind: Float64}, 1e20, `100000000000000000000`},
		{Type{Kind: Float32}, float64(float32(0.1)), `0.1`},
		{Type{Kind: Float64}, math.NaN(), `"NaN"`}, {Type{Kind: Float32}, math.Inf(-1), `"-Infinity"`},
		{Type{Kind: Decimal, Precision: 38, Scale: 10}, Int128From(-5), `-0.0000000005`},
		{Type{Kind: String}, "a\"\\\n\x01é\xff", `"a\"\\\n\u0001é�"`},
		{Type{Kind: Binary}, "\x00\xab", `"00ab"`},
		{Type{Kind: Date}, day, `"2021-02-03"`}, {Type{Kind: Date}, int64(-1), `"1969-12-31"`},
		{Type{Kind: Time}, int64(3661000001), `"01:01:01.000001"`},
		{Type{Kind: Timestamp}, us, `"2021-02-03 04:05:06.000007"`},
		{Type{Kind: TimestampMilli}, us / 1000, `"2021-02-03 04:05:06.000000"`},
		{Type{Kind: Int32}, nil, `null`},
		{nestedType, []datum{nil, []datum{"x", nil}, [][2]datum{{int64(1), Int128From(150)}, {int64(-2), nil}}},
			`{"n":null,"tags":["x",null],"m":{"1":1.50,"-2":null}}`},
	} {
		v := build(c.typ, []datum{c.d}, false)
		if got := string(AppendJSON(nil, v, 0)); got != c.want {
			t.Errorf("%s: %s, want %s", c.typ, got, c.want)
		}
	}
}

func TestJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := drawType(t, 3)
		d := drawDatum(t, typ)
		v := build(typ, []datum{d}, false)
		text := AppendJSON(nil, v, 0)
		if !json.Valid(text) {
			t.Fatalf("not JSON: %s", text)
		}
		if !allUTF8(d) {
			return
		}
		b := NewBuilder(typ, 1)
		if err := b.AppendJSON(text); err != nil {
			// A null is no value of a map key or such; only decimals of 39 digits may fail.
			t.Fatalf("%s: %s: %v", typ, text, err)
		}
		got := b.Finish()
		check(t, got)
		if !sameData(read(got), []datum{d}) {
			t.Fatalf("%s: %s became %v, want %v", typ, text, read(got), d)
		}
	})
}

func allUTF8(d datum) bool {
	switch x := d.(type) {
	case string:
		return utf8.ValidString(x)
	case []datum:
		for _, e := range x {
			if !allUTF8(e) {
				return false
			}
		}
	case [][2]datum:
		for _, e := range x {
			if !allUTF8(e[0]) || !allUTF8(e[1]) {
				return false
			}
		}
	}
	return true
}

func TestBuilderAppendJSONRefuses(t *testing.T) {
	list := Type{Kind: List, Fields: []Field{{Name: "element", Type: Type{Kind: Int32}}}}
	for _, c := range []struct {
		typ  Type
		text string
	}{
		{Type{Kind: Int32}, `2147483648`}, {Type{Kind: Int32}, `1.5`}, {Type{Kind: Int32}, `"1"`}, {Type{Kind: Int32}, ``},
		{Type{Kind: Int32}, `1 2`}, {Type{Kind: Int32}, `01`}, {Type{Kind: Int32}, `-`}, {Type{Kind: Int32}, `nul`},
		{Type{Kind: Bool}, `1`}, {Type{Kind: Float64}, `1e999`}, {Type{Kind: Float64}, `"x"`},
		{Type{Kind: Decimal, Precision: 3, Scale: 1}, `1.25`}, {Type{Kind: Decimal, Precision: 3, Scale: 1}, `100`},
		{Type{Kind: String}, `"a`}, {Type{Kind: String}, `"\q"`}, {Type{Kind: String}, `5`}, {Type{Kind: String}, "\"\n\""}, {Type{Kind: String}, `"\`},
		{Type{Kind: Binary}, `"abc"`}, {Type{Kind: Binary, FixedSize: 2}, `"ab"`},
		{Type{Kind: Date}, `"2021-02-29"`}, {Type{Kind: Date}, `"2021-2-1"`}, {Type{Kind: Time}, `"24:00:00"`},
		{Type{Kind: Timestamp}, `"2021-02-03 04:05"`}, {Type{Kind: TimestampMilli}, `"2021-02-03 04:05:06.000001"`},
		{list, `[1,null]`}, {list, `[1,]`}, {list, `[1`}, {list, `{}`},
		{nestedType, `{"m":{},"x":1}`}, {nestedType, `{"n":1}`}, {nestedType, `{"m":{},"m":{}}`}, {nestedType, `{"m":{"a":1}}`},
		{nestedType, `{"m":{"1":1}} x`},
	} {
		b := NewBuilder(c.typ, 1)
		b.AppendNull()
		if err := b.AppendJSON([]byte(c.text)); !errors.Is(err, ErrJSON) {
			t.Errorf("%s from %s: %v, want ErrJSON", c.typ, c.text, err)
		}
		v := b.Finish()
		check(t, v)
		if v.Len != 1 || len(v.Children) > 0 && v.Type.Kind == List && v.Children[0].Len != 0 {
			t.Errorf("%s from %s: the failed row left something", c.typ, c.text)
		}
	}
}

func TestTimestampText(t *testing.T) {
	for _, c := range []struct {
		text string
		want int64
		ok   bool
	}{
		{"1970-01-01", 0, true}, {"1970-01-01T00:00:01Z", 1e6, true}, {"1969-12-31 23:59:59.999999", -1, true},
		{"2020-01-01 00:00:00.001", 1577836800001000, true},
		{"294247-01-10 04:00:54.775807", math.MaxInt64, true}, {"294247-01-10 04:00:54.775808", 0, false},
		{"-290308-12-21 19:59:05.224192", math.MinInt64, true}, {"-290308-12-21 19:59:05.224191", 0, false},
		{"2020-01-01 00:00:00.0000001", 0, false}, {"2020-01-01 00:00:00.", 0, false}, {"2020-13-01", 0, false}, {"", 0, false},
		{"9999999-01-01", 0, false}, {"-9999999-01-01", 0, false},
	} {
		got, err := ParseTimestamp(c.text)
		if (err == nil) != c.ok || c.ok && got != c.want {
			t.Errorf("%s: %d, %v; want %d", c.text, got, err, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		us := rapid.Int64().Draw(t, "us")
		text := string(appendInstant(nil, Timestamp, us))
		if got, err := ParseTimestamp(text); err != nil || got != us {
			t.Fatalf("%d as %s reads as %d, %v", us, text, got, err)
		}
		days := rapid.Int32().Draw(t, "days")
		date := string(AppendDate(nil, days))
		if got, err := ParseDate(date); err != nil || got != days {
			t.Fatalf("%d as %s reads as %d, %v", days, date, got, err)
		}
	})
}

func FuzzBuilderAppendJSON(f *testing.F) {
	f.Add([]byte(`{"n":1,"tags":["a\u00e9",null],"m":{"1":1.50}}`))
	f.Add([]byte(`{"m":{"-2":null},"tags":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		b := NewBuilder(nestedType, 1)
		err := b.AppendJSON(text)
		if err == nil && !json.Valid(text) {
			t.Fatalf("accepted %q, which is not JSON", text)
		}
		v := b.Finish()
		check(t, v)
		if err == nil && v.Len != 1 || err != nil && v.Len != 0 {
			t.Fatalf("%d rows after %v", v.Len, err)
		}
	})
}
