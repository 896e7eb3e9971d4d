package approval

// scriptKey is what the question about a script's text was remembered by in older lists. It opens that question only.
const scriptKey = "execute_code"

// aliases are names under which rows stood in older lists: descriptions, and pieces of the expressions that they were matched by.
var aliases = map[string]string{
	"delete in root path":                                  "delete.protected",
	"recursive delete (long flag)":                         "delete.recursive",
	"find -delete":                                         "delete.bulk",
	"find -exec rm":                                        "delete.bulk",
	"find -exec/-execdir rm":                               "delete.bulk",
	"xargs with rm":                                        "delete.bulk",
	"overwrite system file via tee":                        "sysconf.write",
	"overwrite system file via redirection":                "sysconf.write",
	"copy/move file into system config path":               "sysconf.write",
	"in-place edit of system config":                       "sysconf.write",
	"in-place edit of system config (long flag)":           "sysconf.write",
	"recursive world/other-writable (long flag)":           "perm.world",
	"recursive chown to root":                              "perm.recursive",
	"recursive chown to root (long flag)":                  "perm.recursive",
	"force kill processes":                                 "proc.broad",
	"stop/disable system service":                          "service.stop",
	"pipe remote content to shell":                         "remote.pipe",
	"execute remote script via process substitution":       "remote.pipe",
	"git reset --hard (destroys uncommitted changes)":      "git.discard",
	"git clean with force (deletes untracked files)":       "git.clean",
	"git branch force delete":                              "git.history",
	"git force push (rewrites remote history)":             "git.force",
	"git force push short flag (rewrites remote history)":  "git.force",
	`rm\s+(-[^\s]*\s+)*/`:                                  "delete.protected",
	`rm\s+-[^\s]*r`:                                        "delete.recursive",
	`rm\s+--recursive`:                                     "delete.recursive",
	`chmod\s+(-[^\s]*\s+)*777`:                             "perm.world",
	`chmod\s+(-[^\s]*\s+)*(777|666|o\+[rwx]*w|a\+[rwx]*w)`: "perm.world",
	`chown\s+(-[^\s]*)?R\s+root`:                           "perm.recursive",
	`dd\s+.*if=`:                                           "disk.copy",
	`DROP\s+(TABLE|DATABASE)`:                              "sql.drop",
	`DELETE\s+FROM`:                                        "sql.delete",
	`TRUNCATE\s+(TABLE)?\s*\w`:                             "sql.truncate",
	`>\s*/etc/`:                                            "sysconf.write",
	`systemctl\s+(stop|disable|mask)`:                      "service.stop",
	`systemctl\s+(-[^\s]+\s+)*(stop|restart|disable|mask)`: "service.stop",
	`pkill\s+-9`:                                           "proc.broad",
	`(curl|wget)`:                                          "remote.pipe",
	`xargs\s+.*`:                                           "delete.bulk",
}

const (
	tooWide  = "was too wide: what it covered is now read, and what is found in it has keys of its own"
	notAsked = "stands for something that isn't asked about any more"
)

// knownNothing are names of older lists that open nothing, and why.
var knownNothing = map[string]string{
	"script execution via -e/-c flag":                                               tooWide,
	"script execution via heredoc":                                                  tooWide,
	"chmod +x followed by immediate execution":                                      tooWide,
	"sudo with privilege flag (stdin/askpass/shell/login)":                          tooWide,
	"sudo with stdin password (-S)":                                                 tooWide,
	"sudo with askpass (-A)":                                                        tooWide,
	"sudo with shell (-s)":                                                          tooWide,
	"sudo with login shell (-i)":                                                    tooWide,
	"kill hermes/gateway process (self-termination)":                                tooWide,
	"kill process via pgrep expansion (self-termination)":                           tooWide,
	"kill process via backtick pgrep expansion (self-termination)":                  tooWide,
	"stop/restart hermes gateway (kills running agents)":                            tooWide,
	"hermes update (restarts gateway, kills running agents)":                        tooWide,
	"start gateway outside systemd (use 'systemctl --user restart hermes-gateway')": tooWide,
	"shell command via -c/-lc flag":                                                 notAsked + ": the text behind the flag is read",
	"overwrite project env/config file":                                             notAsked,
	"overwrite project env/config via tee":                                          notAsked,
	"overwrite project env/config via redirection":                                  notAsked,
	"docker restart/stop/kill (container lifecycle)":                                notAsked,
	"docker compose restart/stop/kill/down (container lifecycle)":                   notAsked,
}
