package server

import (
	"fmt"
	"os"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
)

// clientVariables are system variables that clients ask for or set when they connect, and that
// go-mysql-server lacks. Setting them changes nothing.
func clientVariables() []sql.SystemVariable {
	text := func(name, value string, dynamic bool) sql.SystemVariable {
		return &sql.MysqlSystemVariable{Name: name, Scope: sql.GetMysqlScope(sql.SystemVariableScope_Both), Dynamic: dynamic,
			Type: types.NewSystemStringType(name), Default: value}
	}
	return []sql.SystemVariable{
		text("have_ssl", "DISABLED", false),
		text("have_openssl", "DISABLED", false),
		text("optimizer_switch", "", true),
		&sql.MysqlSystemVariable{Name: "max_statement_time", Scope: sql.GetMysqlScope(sql.SystemVariableScope_Both), Dynamic: true,
			Type: types.NewSystemDoubleType("max_statement_time", 0, 31536000), Default: float64(0)},
	}
}

// setVariables gives the system variables, which are the process's, their values.
func setVariables(version string) error {
	var missing []sql.SystemVariable
	for _, v := range clientVariables() {
		if _, _, ok := sql.SystemVariables.GetGlobal(v.GetName()); !ok {
			missing = append(missing, v)
		}
	}
	sql.SystemVariables.AddSystemVariables(missing)
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	err = sql.SystemVariables.AssignValues(map[string]any{
		"version":         version,
		"version_comment": "ShoalDB",
		"hostname":        host,
		"have_ssl":        "DISABLED", // until a server of the process has a certificate
		"have_openssl":    "DISABLED",
		// Clients may send files; which files of the server may be read is the warehouse's to say.
		"local_infile":     int8(1),
		"secure_file_priv": "",
	})
	if err != nil {
		return fmt.Errorf("system variables: %w", err)
	}
	return nil
}
