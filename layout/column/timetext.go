package column

import (
	"errors"
	"fmt"
	"math"
)

// ErrTimeText is wrapped by the errors of ParseDate and ParseTimestamp.
var ErrTimeText = errors.New("not a date or time")

// ParseDate reads 2006-01-02, with any number of digits of the year from four on and a sign for
// years before 0, as days since 1970-01-01.
func ParseDate(s string) (int32, error) {
	days, rest, ok := scanDate(s)
	if !ok || rest != "" || days < math.MinInt32 || days > math.MaxInt32 {
		return 0, fmt.Errorf("%w: %.40q is not like 2006-01-02", ErrTimeText, s)
	}
	return int32(days), nil
}

// ParseTimestamp reads a date, then optionally a space or T, 15:04:05 and a fraction of at most six
// digits, then optionally Z, as µs since the epoch.
func ParseTimestamp(s string) (int64, error) {
	bad := fmt.Errorf("%w: %.40q is not like 2006-01-02 15:04:05.000000", ErrTimeText, s)
	days, rest, ok := scanDate(s)
	if !ok {
		return 0, bad
	}
	var us int64
	if rest != "" {
		if rest[0] != ' ' && rest[0] != 'T' {
			return 0, bad
		}
		if us, rest, ok = scanTime(rest[1:]); !ok || rest != "" && rest != "Z" {
			return 0, bad
		}
	}
	const perDay int64 = secondsPerDay * 1e6
	if days < math.MinInt64/perDay-1 || days > math.MaxInt64/perDay {
		return 0, bad
	}
	if days < 0 { // counted back from the end of the day, as the range may begin within it
		sum := (days+1)*perDay + (us - perDay)
		if sum >= 0 {
			return 0, bad
		}
		return sum, nil
	}
	sum := days*perDay + us
	if sum < 0 {
		return 0, bad
	}
	return sum, nil
}

func parseTimeOfDay(s string) (int64, error) {
	us, rest, ok := scanTime(s)
	if !ok || rest != "" {
		return 0, fmt.Errorf("%w: %.40q is not like 15:04:05.000000", ErrTimeText, s)
	}
	return us, nil
}

// scanDate reads a date at the start of s.
func scanDate(s string) (days int64, rest string, ok bool) {
	neg := s != "" && s[0] == '-'
	if neg {
		s = s[1:]
	}
	n := 0
	var year int64
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		if n == 7 {
			return 0, "", false
		}
		year = year*10 + int64(s[n]-'0')
		n++
	}
	if n < 3 || n < 4 && !neg || len(s) < n+6 || s[n] != '-' || s[n+3] != '-' {
		return 0, "", false
	}
	month, ok1 := twoDigits(s[n+1:])
	day, ok2 := twoDigits(s[n+4:])
	if neg {
		year = -year
	}
	if !ok1 || !ok2 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return 0, "", false
	}
	return daysFromCivil(year, int64(month), int64(day)), s[n+6:], true
}

// scanTime reads a time of day with an optional fraction at the start of s.
func scanTime(s string) (us int64, rest string, ok bool) {
	if len(s) < 8 || s[2] != ':' || s[5] != ':' {
		return 0, "", false
	}
	h, ok1 := twoDigits(s)
	m, ok2 := twoDigits(s[3:])
	sec, ok3 := twoDigits(s[6:])
	if !ok1 || !ok2 || !ok3 || h > 23 || m > 59 || sec > 59 {
		return 0, "", false
	}
	us = int64(h*3600+m*60+sec) * 1e6
	s = s[8:]
	if s == "" || s[0] != '.' {
		return us, s, true
	}
	unit := int64(1e5)
	n := 1
	for ; n < len(s) && s[n] >= '0' && s[n] <= '9'; n++ {
		if unit == 0 {
			return 0, "", false
		}
		us += int64(s[n]-'0') * unit
		unit /= 10
	}
	return us, s[n:], n > 1
}

func twoDigits(s string) (int, bool) {
	if len(s) < 2 || s[0] < '0' || s[0] > '9' || s[1] < '0' || s[1] > '9' {
		return 0, false
	}
	return int(s[0]-'0')*10 + int(s[1]-'0'), true
}

func daysIn(year int64, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// daysFromCivil counts the days from 1970-01-01 in the proleptic Gregorian calendar. Years begin
// in March here, so that the leap day is the last of its year.
func daysFromCivil(year, month, day int64) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	era := year / 400
	if year < 0 {
		era = (year - 399) / 400
	}
	yearOfEra := year - era*400
	dayOfYear := (153*(month-3)+2)/5 + day - 1
	return era*146097 + yearOfEra*365 + yearOfEra/4 - yearOfEra/100 + dayOfYear - 719468
}
