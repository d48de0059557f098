package timeline

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestNextTime(t *testing.T) {
	now := time.Date(2024, 3, 31, 1, 30, 15, 123_999_999, time.UTC)
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zones here")
	}
	for _, c := range []struct {
		claim string
		loc   *time.Location
		after string
		want  string
	}{
		{"the first one is now", time.UTC, "", "20240331013015123"},
		{"in the zone of the table", berlin, "", "20240331033015123"},
		{"later than an older one", time.UTC, "20240331013015122", "20240331013015123"},
		{"within the same millisecond", time.UTC, "20240331013015123", "20240331013015124"},
		{"behind a clock that runs ahead", time.UTC, "20250101000000000", "20250101000000001"},
		{"over the end of a year", time.UTC, "20241231235959999", "20250101000000000"},
		{"over a leap day", time.UTC, "20280228235959999", "20280229000000000"},
		{"an hour that the zone skips is no trouble", berlin, "20240331015959999", "20240331033015123"},
		{"nor when the clock stands before it", berlin, "20250330015959999", "20250330020000000"},
		{"14 digits are a whole second", time.UTC, "20240331013015", "20240331013015123"},
		{"14 digits of the future", time.UTC, "20250101000000", "20250101000001000"},
		{"digits that are no date are counted up", time.UTC, "99999999999999998", "99999999999999999"},
		{"with carry", time.UTC, "20249931013015999", "20249931013016000"},
		{"the year 9999 ends without a date after it", time.UTC, "99991231235959999", "99991231235960000"},
		{"after the last there is none", time.UTC, "99999999999999999", "99999999999999999"},
	} {
		if got := NextTime(now, c.loc, c.after); got != c.want {
			t.Errorf("%s: %s, want %s", c.claim, got, c.want)
		}
	}
}

func TestNextTimeIsAlwaysGreater(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.UnixMilli(rapid.Int64Range(0, 253402300799999).Draw(t, "now")).UTC()
		after := rapid.StringMatching(`[0-9]{14}|[0-9]{17}`).Draw(t, "after")
		got := NextTime(now, time.UTC, after)
		if after == lastTime {
			return
		}
		if got <= after || len(got) != 17 || !isTime(got) {
			t.Fatalf("%s does not follow %s", got, after)
		}
		if again := NextTime(now, time.UTC, got); again <= got && got != lastTime {
			t.Fatalf("%s does not follow %s", again, got)
		}
	})
}

func TestParseTime(t *testing.T) {
	for text, want := range map[string]string{
		"2024-04-18":              "20240418000000000",
		"2024-04-18 17:35:50":     "20240418173550999",
		"2024-04-18 17:35:50.988": "20240418173550988",
		"2024-02-29":              "20240229000000000",
		"20240418173550988":       "20240418173550988",
		"20211022144701":          "20211022144701",
		" 20211022144701\n":       "20211022144701",
		"00000000000000":          "00000000000000",
		"00000000000001":          "00000000000001",
		"00000000000000000":       "00000000000000000",
	} {
		if got, err := ParseTime(text); err != nil || got != want {
			t.Errorf("%q is %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "now", "2024-04-31", "2023-02-29", "2024-4-18", "18.04.2024", "2024-04-18T17:35:50", "2024-04-18 17:35",
		"2024-04-18 25:00:00", "2024-04-18 17:35:50,988", "2024-04-18 17:35:50.98", "2024041817355098", "20241318173550",
		"20240418176050988", "2024041817355098x",
	} {
		_, err := ParseTime(text)
		var te *TimeError
		if !errors.As(err, &te) || te.Text != text || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestWhen(t *testing.T) {
	est := time.FixedZone("EST", -5*3600)
	for in, want := range map[string]string{
		"20240418173550988":    "2024-04-18T17:35:50.988-05:00",
		"20211022144701":       "2021-10-22T14:47:01.999-05:00",
		"20240418173550988001": "2024-04-18T17:35:50.988-05:00", // a suffix is ignored
	} {
		got, err := Instant{Time: in}.When(est)
		if err != nil || got.Format("2006-01-02T15:04:05.000Z07:00") != want {
			t.Errorf("%s is %v, %v; want %s", in, got, err, want)
		}
	}
	if _, err := (Instant{Time: "00000000000001"}).When(est); err == nil {
		t.Error("a special instant has a time")
	}
}

func FuzzParseTime(f *testing.F) {
	f.Add("2024-04-18 17:35:50.988")
	f.Add("20240418173550988")
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := ParseTime(text); err == nil && !isTime(got) {
			t.Errorf("%q gives %q", text, got)
		}
	})
}
