package basefile

import (
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// Extension ends the names of the base files that this package reads and writes.
const Extension = ".parquet"

// Name is the name of a base file, <file id>_<write token>_<instant>.parquet (docs/format.md: base
// files). The file id names the file group; a new version keeps it and takes a later instant.
type Name struct {
	FileID     string // <uuid>-<n>; holds no "_"
	WriteToken string // <partition>-<stage>-<attempt> of the writing task; tells attempts apart
	Instant    string // instant of the commit that wrote the file
}

// String returns the file name.
func (n Name) String() string { return n.FileID + "_" + n.WriteToken + "_" + n.Instant + Extension }

// ParseName takes apart the name of a base file, without directories.
func ParseName(s string) (Name, error) {
	stem, ok := strings.CutSuffix(s, Extension)
	if !ok {
		return Name{}, fmt.Errorf("%q is not the name of a base file: it does not end in %s", s, Extension)
	}
	parts := strings.Split(stem, "_")
	if len(parts) != 3 {
		return Name{}, fmt.Errorf("%q is not the name of a base file: want <file id>_<write token>_<instant>%s", s, Extension)
	}
	n := Name{FileID: parts[0], WriteToken: parts[1], Instant: parts[2]}
	n.Instant, _, _ = strings.Cut(n.Instant, ".")
	if n.FileID == "" || n.WriteToken == "" || n.Instant == "" || strings.ContainsAny(s, "/\\") || strings.HasPrefix(s, ".") {
		return Name{}, fmt.Errorf("%q is not the name of a base file: file id, write token or instant is missing or malformed", s)
	}
	return n, nil
}

// NewFileID returns a file id that no other file group has.
func NewFileID() string { return uuid.NewString() + "-0" }
