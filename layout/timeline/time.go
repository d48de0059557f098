package timeline

import (
	"fmt"
	"strings"
	"time"
)

const (
	timeDigits = "20060102150405" // and three digits of milliseconds
	lastTime   = "99999999999999999"
)

// TimeError reports text that is no point in time.
type TimeError struct {
	Text string
}

func (e *TimeError) Error() string {
	return fmt.Sprintf("%q is no instant: want yyyy-MM-dd, yyyy-MM-dd HH:mm:ss[.SSS], or 14 or 17 digits", e.Text)
}

// NextTime makes an instant time of 17 digits: now in loc, or, where that is not greater than
// after, the next millisecond after it. after may have 14 digits or be empty. Uniqueness among
// processes is up to the caller, who holds the table's lock and passes the greatest time in use.
//
// Only the time 9999…9 has no next one; it is returned itself then, and creating it fails.
func NextTime(now time.Time, loc *time.Location, after string) string {
	t := formatTime(now.In(loc))
	if t > after && len(t) == len(lastTime) {
		return t
	}
	if len(after) == len(timeDigits) {
		after += "999"
	}
	// The digits are counted up as they stand. Going through a time zone could step back where
	// the clocks are set back, or land in an hour that does not exist.
	if p, err := parseDigits(after); err == nil {
		if t := formatTime(p.Add(time.Millisecond)); t > after && len(t) == len(lastTime) {
			return t
		}
	}
	digits := []byte(after)
	for i := len(digits) - 1; i >= 0; i-- {
		if digits[i] < '9' {
			digits[i]++
			return string(digits)
		}
		digits[i] = '0'
	}
	return lastTime
}

func formatTime(t time.Time) string {
	return fmt.Sprintf("%s%03d", t.Format(timeDigits), t.Nanosecond()/1e6)
}

// parseDigits reads the digits of an instant time as a time in UTC. Fourteen digits mean the
// last millisecond of their second, longer ids their first 17 digits.
func parseDigits(s string) (time.Time, error) {
	if len(s) == len(timeDigits) {
		s += "999"
	}
	if len(s) < len(lastTime) {
		return time.Time{}, &TimeError{Text: s}
	}
	// A fraction needs a point to be parsed.
	t, err := time.Parse(timeDigits+".000", s[:14]+"."+s[14:17])
	if err != nil {
		return time.Time{}, &TimeError{Text: s}
	}
	return t, nil
}

// When returns the point in time an instant stands for, given the zone of the table's timeline.
func (i Instant) When(loc *time.Location) (time.Time, error) {
	t, err := parseDigits(i.Time)
	if err != nil {
		return time.Time{}, err
	}
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), loc), nil
}

// ParseTime reads the point in time of a time travel query: an instant time, yyyy-MM-dd (its
// first millisecond), or yyyy-MM-dd HH:mm:ss[.SSS] (without milliseconds, the last one of that
// second). The zone is that of the table's timeline. Errors are *TimeError.
func ParseTime(text string) (string, error) {
	s := strings.TrimSpace(text)
	if isTime(s) {
		// The instants before all others, such as those of a bootstrap, are no dates.
		if _, err := parseDigits(s); err != nil && !strings.HasPrefix(s, "0000000000000") {
			return "", &TimeError{Text: text}
		}
		return s, nil
	}
	switch len(s) {
	case len("2006-01-02"):
		if t, err := time.Parse("2006-01-02", s); err == nil {
			return formatTime(t), nil
		}
	case len("2006-01-02 15:04:05"):
		if t, err := time.Parse("2006-01-02 15:04:05", s); err == nil {
			return t.Format(timeDigits) + "999", nil
		}
	case len("2006-01-02 15:04:05.000"):
		// time.Parse would take a comma for the point.
		if t, err := time.Parse("2006-01-02 15:04:05.000", s); err == nil && !strings.Contains(s, ",") {
			return formatTime(t), nil
		}
	}
	return "", &TimeError{Text: text}
}
