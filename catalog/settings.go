package catalog

import (
	"net"
	"sort"
	"strings"
	"time"
	_ "time/tzdata" // zones must mean the same on every machine

	"sluice/fault"
	"sluice/option"
)

// Names of settings that are read by name elsewhere.
const (
	SettingZone            = "spark.sql.session.timeZone"
	SettingTriggerInterval = "pipelines.trigger.interval"
	SettingListen          = "sluice.listen"
	SettingTokenFile       = "sluice.token_file"
	SettingMemoryLimit     = "sluice.memory_limit"
	SettingSyncInterval    = "sluice.sync_interval"
	SettingGracePeriod     = "sluice.grace_period"
	SettingDrainTimeout    = "sluice.drain_timeout"
	SettingRetryTimeout    = "sluice.retry_timeout"
	SettingRefreshTimeout  = "sluice.refresh_timeout"
	SettingMaxBatchRows    = "sluice.max_batch_rows"
	SettingMaxBatchBytes   = "sluice.max_batch_bytes"
	SettingLogFormat       = "sluice.log_format"
	SettingLogLevel        = "sluice.log_level"
)

// Settings are the keys of configuration that Sluice itself reads (D-55). A setting is taken from the spec file, else
// its default; over that from the environment (sluice.memory_limit is SLUICE_MEMORY_LIMIT), over that from --set, over
// that from the flag of its own. All other keys of configuration are the user's, for ${name}.
var Settings = option.Set{
	{Name: SettingZone, Default: "UTC", Doc: "Zone of dates, of timestamps without one, and of current_date()."},
	{Name: SettingTriggerInterval, Kind: option.Duration, Default: "5s", Doc: "In continuous mode a flow starts a batch at most this often (PM-03)."},
	{Name: SettingListen, Default: "127.0.0.1:7070", Doc: "Address of metrics, status and SQL. Another address than a loopback one needs sluice.token_file."},
	{Name: SettingTokenFile, Doc: "File whose content clients must send as their bearer token."},
	{Name: SettingMemoryLimit, Kind: option.Size, Default: "2GiB", Doc: "Memory the daemon may use, all its parts together (D-30); at least 256MB."},
	{Name: SettingSyncInterval, Kind: option.Duration, Default: "100ms", Doc: "The store syncs its log at least this often."},
	{Name: SettingGracePeriod, Kind: option.Duration, Default: "30s", Doc: "How long a stop waits for the batch under way (D-39)."},
	{Name: SettingDrainTimeout, Kind: option.Duration, Default: "15m", Doc: "How long a once flow waits for an open transaction before its end (D-7)."},
	{Name: SettingRetryTimeout, Kind: option.Duration, Default: "10m", Doc: "How long a triggered run tries again what failed outside (D-51)."},
	{Name: SettingRefreshTimeout, Kind: option.Duration, Default: "2 days", Doc: "How long a refresh that a schedule starts may take; then it fails, and the table waits for its next turn (SC-07)."},
	{Name: SettingMaxBatchRows, Kind: option.Int, Default: "65536", Doc: "Records in one batch, at most; fewer where sluice.memory_limit has no room for them."},
	{Name: SettingMaxBatchBytes, Kind: option.Size, Default: "64MiB", Doc: "A batch ends with the record that passes this size, or a smaller one that sluice.memory_limit has room for."},
	{Name: SettingLogFormat, Kind: option.Enum, Values: []string{"text", "json"}, Default: "text", Doc: "Form of the log."},
	{Name: SettingLogLevel, Kind: option.Enum, Values: []string{"debug", "info", "warn", "error"}, Default: "info", Doc: "Least level that is logged."},
}

// LeastMemory is the least SettingMemoryLimit: what a daemon takes before it does anything, and as much
// again for what it does.
const LeastMemory = 256_000_000

// settingPrefixes begin the names that can only be settings: a name that is not in Settings is a mistake.
var settingPrefixes = []string{"sluice.", "pipelines.", "spark."}

func isSetting(name string) bool {
	for _, p := range settingPrefixes {
		if len(name) >= len(p) && strings.EqualFold(name[:len(p)], p) {
			return true
		}
	}
	return false
}

// EnvName is the environment variable that overrides a setting, "" when there is none.
func EnvName(setting string) string {
	rest, ok := strings.CutPrefix(setting, "sluice.")
	if !ok {
		return ""
	}
	return "SLUICE_" + strings.ToUpper(rest)
}

// settings puts together what the file, the environment, --set and flags say, the strongest last.
func settings(file []option.Given, o Overrides) (option.Values, fault.List) {
	merged := map[string]option.Given{}
	put := func(g option.Given) { merged[strings.ToLower(g.Name)] = g }
	for _, g := range file {
		put(g)
	}
	for _, s := range Settings {
		if env := EnvName(s.Name); env != "" && o.Env != nil {
			if value, ok := o.Env(env); ok {
				put(option.Given{Name: s.Name, Value: value, Pos: fault.Pos{File: "environment variable " + env}})
			}
		}
	}
	for name, value := range o.Set {
		if isSetting(name) {
			put(option.Given{Name: name, Value: value, Pos: fault.Pos{File: "--set " + name}})
		}
	}
	for name, value := range o.Flags {
		flag := strings.ReplaceAll(strings.TrimPrefix(name, "sluice."), "_", "-")
		put(option.Given{Name: name, Value: value, Pos: fault.Pos{File: "--" + flag}})
	}
	var given []option.Given
	for _, g := range merged {
		given = append(given, g)
	}
	sort.Slice(given, func(i, j int) bool { return given[i].Name < given[j].Name })
	values, problems := Settings.Parse("configuration", given, fault.Pos{})
	problems = append(problems, checkSettings(values)...)
	if !knownZone(values.String(SettingZone)) { // that has been told; every query would tell it again
		values = values.Without(func(name string) bool { return name == SettingZone })
	}
	return values, problems
}

// checkSettings holds the rules that a Set cannot express.
func checkSettings(v option.Values) (problems fault.List) {
	if zone := v.String(SettingZone); !knownZone(zone) {
		g, _ := v.Given(SettingZone)
		problems = append(problems, fault.New(fault.InvalidTimeZone, "no time zone %q", zone).At(g.Pos).
			WithHint("use a name such as Europe/Berlin or UTC"))
	}
	listen, _ := v.Given(SettingListen)
	host, _, err := net.SplitHostPort(v.String(SettingListen))
	switch {
	case err != nil:
		problems = append(problems, fault.New(fault.InvalidOption, "option %q of configuration: %q is not an address such as 127.0.0.1:7070", SettingListen, listen.Value).At(listen.Pos))
	case !loopback(host) && v.String(SettingTokenFile) == "":
		problems = append(problems, fault.New(fault.MissingOption, "listening on %s needs the option %q, since SQL runs through it (D-55)", listen.Value, SettingTokenFile).At(listen.Pos))
	}
	for _, name := range []string{SettingMaxBatchRows, SettingMaxBatchBytes, SettingMemoryLimit} {
		if g, ok := v.Given(name); ok && v.Size(name) <= 0 {
			problems = append(problems, fault.New(fault.InvalidOption, "option %q of configuration: %q is not above zero", name, g.Value).At(g.Pos))
		} else if ok && name == SettingMemoryLimit && v.Size(name) < LeastMemory {
			problems = append(problems, fault.New(fault.InvalidOption, "option %q of configuration: %q is too little, the least is 256MB", name, g.Value).At(g.Pos).
				WithHint("half of that is the program itself"))
		}
	}
	return problems
}

func knownZone(name string) bool {
	if name == "" || strings.EqualFold(name, "local") {
		return false
	}
	_, err := time.LoadLocation(name)
	return err == nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
