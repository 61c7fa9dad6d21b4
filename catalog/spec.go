package catalog

import (
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"sluice/fault"
	"sluice/option"
	"sluice/strictyaml"
)

// Overrides are what a command adds to the spec file.
type Overrides struct {
	Set   map[string]string           // --set name=value: over configuration
	Flags map[string]string           // settings that have a flag of their own, by the setting's name: over all else
	Env   func(string) (string, bool) // the environment, for ${env:NAME} and SLUICE_*; os.LookupEnv in a program
}

// ParseSet reads the arguments of --set. A name given twice has its last value.
func ParseSet(args []string) (map[string]string, *fault.Error) {
	out := map[string]string{}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || !variableName.MatchString(name) {
			return nil, fault.New(fault.InvalidSettingText, "--set %s is not of the form name=value", name)
		}
		out[name] = value
	}
	return out, nil
}

// Features are the names features: may hold.
var Features = []string{FeatureManyFlows}

// FeatureManyFlows lets several REPLACE USING flows, once flows included, write one table (D-13).
const FeatureManyFlows = "replace_using_many_flows"

// EnvStorage is the environment variable that goes over storage: an image sets it, so that every verb in a container finds
// the state in its volume, whatever the pipeline says.
const EnvStorage = "SLUICE_STORAGE"

// Default parts of names where the spec file gives none; they are Spark's.
const (
	DefaultCatalog = "spark_catalog"
	DefaultSchema  = "default"
)

// Spec is a spec file that has been read (section 19).
type Spec struct {
	Path       string // as it was named
	Dir        string // its folder, absolute
	Name       string
	Storage    string // the folder of the state, absolute
	Catalog    string // first part of names that have fewer than three
	Schema     string // second part of names that have only one
	Continuous bool
	Features   []string
	Settings   option.Values // of the set Settings
	Complete   bool          // every library could be understood

	libraries []scalar
	vars      *variables
	texts     map[string]string // of the definition files, by name
}

// HasFeature reports whether features: names f.
func (s *Spec) HasFeature(f string) bool {
	return slices.Contains(s.Features, f)
}

// Libraries lists the patterns of the definition files, as written.
func (s *Spec) Libraries() []string {
	out := make([]string, len(s.libraries))
	for i, l := range s.libraries {
		out[i] = l.text
	}
	return out
}

const servers = "kafka.bootstrap.servers"

// Servers is kafka.bootstrap.servers, from --set or configuration: the brokers of sources and sinks that name none.
func (s *Spec) Servers() string {
	if value, ok := s.vars.set[servers]; ok {
		return value
	}
	if c, ok := s.vars.config[servers]; ok && c.err == nil {
		return c.text
	}
	return ""
}

// SecretServers is Servers where they came from the environment, else nothing.
func (s *Spec) SecretServers() []string {
	if c, ok := s.vars.config[servers]; ok && c.secret && c.text == s.Servers() {
		return []string{c.text}
	}
	return nil
}

// Secrets returns the values of the environment that the pipeline uses, which no output shows (D-54).
func (s *Spec) Secrets() []string { return slices.Sorted(maps.Keys(s.vars.secrets)) }

// ReadSpec reads the spec file at path, which may also be a folder that holds one.
func ReadSpec(path string, o Overrides) (*Spec, fault.List) {
	path, problem := NamedSpec(path)
	if problem != nil {
		return nil, fault.List{problem}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fault.List{fault.New(fault.SpecFileDoesNotExist, "cannot read %s", path).Because(err)}
	}
	return ParseSpec(path, string(text), o)
}

// specFields are the fields a spec file may have; schema is another name of database.
var specFields = []string{"name", "storage", "libraries", "catalog", "schema", "database", "configuration", "continuous", "features"}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// ParseSpec reads the text of the spec file at path.
func ParseSpec(path, text string, o Overrides) (*Spec, fault.List) {
	if o.Env == nil {
		o.Env = func(string) (string, bool) { return "", false }
	}
	r := specReader{document: newDocument(path), fields: map[string]strictyaml.Entry{}}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, fault.List{fault.New(fault.SpecFileDoesNotExist, "no folder for %s", path).Because(err)}
	}
	r.spec = &Spec{Path: path, Dir: dir, Catalog: DefaultCatalog, Schema: DefaultSchema}
	root := r.Root(text, "it needs name, storage and libraries")
	if root == nil {
		return nil, r.Problems
	}
	entries, ok := r.Map(root, "the spec file")
	if !ok {
		return nil, r.Problems
	}
	r.collect(entries)
	r.configuration(o)
	r.read()
	if dir, ok := o.Env(EnvStorage); ok {
		r.storage(scalar{text: dir, pos: fault.Pos{File: "environment variable " + EnvStorage}})
	}
	if len(r.Problems) > 0 {
		r.Problems.Sort()
		return r.spec, r.Problems
	}
	return r.spec, nil
}

// specReader turns the entries of a spec file into a Spec.
type specReader struct {
	document
	spec   *Spec
	fields map[string]strictyaml.Entry
}

func (r *specReader) collect(entries []strictyaml.Entry) {
	for _, e := range entries {
		name := e.Key
		if !slices.Contains(specFields, name) {
			problem := r.Report(fault.SpecUnexpectedField, e.Pos, "the spec file has no field %q", name)
			if near := option.Nearest(name, specFields); near != "" {
				problem.WithHint("did you mean %q?", near)
			} else {
				problem.WithHint("the fields are %s", strings.Join(specFields, ", "))
			}
			continue
		}
		if name == "database" {
			name = "schema"
		}
		if first, twice := r.fields[name]; twice {
			r.Report(fault.SpecDuplicateField, e.Pos, "schema and database are one field, given twice").WithDetail("first at line %d", first.Pos.Line)
			continue
		}
		r.fields[name] = e
	}
	for _, name := range []string{"name", "storage", "libraries"} {
		if _, ok := r.fields[name]; !ok {
			r.Report(fault.SpecMissingField, r.Start(), "the spec file has no field %q", name)
		}
	}
}

// configuration reads the map of that name, works out its values and takes the settings among them.
func (r *specReader) configuration(o Overrides) {
	vars := &variables{set: o.Set, config: map[string]*variable{}, env: o.Env, secrets: map[string]bool{}, named: map[string]bool{}}
	r.spec.vars = vars
	var names []string
	if e, ok := r.fields["configuration"]; ok {
		entries, _ := r.Map(e.Value, "configuration")
		for _, c := range entries {
			if value, ok := r.text(c.Value, "configuration "+c.Key, fault.SpecDictValueNotString); ok {
				names = append(names, c.Key)
				vars.config[c.Key] = &variable{scalar: value}
			}
		}
	}
	var given []option.Given
	for _, name := range names {
		if _, overridden := o.Set[name]; overridden {
			continue
		}
		c := vars.config[name]
		if err := vars.resolve(name, c, c.pos); err != nil {
			if !slices.Contains(r.Problems, err) { // several values may be made of a broken one
				r.Problems = append(r.Problems, err)
			}
		} else if isSetting(name) {
			given = append(given, option.Given{Name: name, Value: c.text, Secret: c.secret, Pos: c.pos})
		}
	}
	values, problems := settings(given, o)
	r.spec.Settings = values
	r.Problems = append(r.Problems, problems...)
}

func (r *specReader) read() {
	if v, ok := r.field("name"); ok {
		if r.spec.Name = v.text; !plainName.MatchString(v.text) {
			r.Report(fault.InvalidIdentifier, v.pos, "%q is not a name for a pipeline", v.text).WithHint("use letters, digits, _ and - only")
		}
	}
	if v, ok := r.field("catalog"); ok {
		r.spec.Catalog = v.text
	}
	if v, ok := r.field("schema"); ok {
		r.spec.Schema = v.text
	}
	if v, ok := r.field("storage"); ok {
		r.storage(v)
	}
	if e, ok := r.fields["continuous"]; ok {
		r.spec.Continuous = r.boolean(e.Value, "continuous")
	}
	if e, ok := r.fields["features"]; ok {
		r.features(e.Value)
	}
	if e, ok := r.fields["libraries"]; ok {
		r.libraries(e)
	}
}

// field returns the text of a field with its variables replaced.
func (r *specReader) field(name string) (scalar, bool) {
	e, ok := r.fields[name]
	if !ok {
		return scalar{}, false
	}
	return r.public(e.Value, name)
}

// public reads a text that appears in messages and paths, so that it cannot be a secret; only a path to the storage may
// come from the environment.
func (r *specReader) public(n ast.Node, what string) (scalar, bool) {
	v, ok := r.text(n, what, fault.SpecFieldNotString)
	if !ok {
		return v, false
	}
	vars := *r.spec.vars
	if what == "storage" {
		vars.secrets = nil // a path to the storage is shown, wherever it is from
	}
	text, secret, err := vars.substitute(v.text, v.pos)
	switch {
	case err != nil:
		r.Problems = append(r.Problems, err)
		return v, false
	case secret && what != "storage":
		r.Report(fault.InvalidVariable, v.pos, "%s cannot come from the environment, since such values are kept secret", what).WithHint("use ${name} with --set")
		return v, false
	case strings.TrimSpace(text) == "":
		r.Report(fault.SpecFieldNotString, v.pos, "%s is empty", what)
		return v, false
	}
	return scalar{text: text, pos: v.pos}, true
}

// storage takes a path, relative to the spec file or absolute, or a file:// URI (D-61).
func (r *specReader) storage(v scalar) {
	path := v.text
	if strings.TrimSpace(path) == "" { // it would be the pipeline's own folder
		r.Report(fault.StorageRootInvalid, v.pos, "storage %q is not a place Sluice can keep state in", path).WithHint("name a folder, or leave the variable unset")
		return
	}
	if scheme, _, ok := strings.Cut(path, ":"); ok && schemeName.MatchString(scheme) {
		u, err := url.Parse(path)
		if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" || !strings.HasPrefix(u.Path, "/") || u.RawQuery != "" || u.Fragment != "" {
			r.Report(fault.StorageRootInvalid, v.pos, "storage %q is not a place Sluice can keep state in", path).
				WithHint("use a path, or a URI such as file:///var/lib/sluice")
			return
		}
		path = u.Path
	}
	r.spec.Storage = r.spec.Resolve(path)
}

var schemeName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`)

// Resolve gives a path of the pipeline its absolute form.
func (s *Spec) Resolve(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(s.Dir, path)
}

func (r *specReader) features(n ast.Node) {
	for _, item := range r.List(n, "features") {
		v, ok := r.public(item, "a feature")
		if !ok {
			continue
		}
		if !slices.Contains(Features, v.text) {
			e := r.Report(fault.SpecUnknownFeature, v.pos, "no feature %q", v.text)
			if near := option.Nearest(v.text, Features); near != "" {
				e.WithHint("did you mean %q?", near)
			} else {
				e.WithHint("the features are %s", strings.Join(Features, ", "))
			}
			continue
		}
		r.spec.Features = append(r.spec.Features, v.text)
	}
}

// libraries reads the list of `glob: {include: pattern}` (CL-06, CL-07).
func (r *specReader) libraries(e strictyaml.Entry) {
	before := len(r.Problems)
	items := r.List(e.Value, "libraries")
	if len(items) == 0 && e.Value.Type() == ast.SequenceType {
		r.Report(fault.SpecMissingField, e.Pos, "libraries is empty").WithHint("write - glob: {include: transformations/**}")
	}
	for _, item := range items {
		glob, ok := r.only(item, "a library", "glob")
		if !ok {
			continue
		}
		include, ok := r.only(glob, "glob", "include")
		if !ok {
			continue
		}
		v, ok := r.public(include, "include")
		if !ok {
			continue
		}
		if strings.ContainsAny(strings.TrimSuffix(v.text, "/**"), `*?[`) {
			r.Report(fault.SpecInvalidGlob, v.pos, "%q is neither the path of a file nor a folder that ends in /**", v.text)
			continue
		}
		r.spec.libraries = append(r.spec.libraries, v)
	}
	r.spec.Complete = len(r.Problems) == before
}

// only reads a map that has one field, and returns its value.
func (r *specReader) only(n ast.Node, what, field string) (ast.Node, bool) {
	entries, ok := r.Map(n, what)
	if !ok {
		return nil, false
	}
	var found ast.Node
	for _, e := range entries {
		if e.Key == field {
			found = e.Value
			continue
		}
		r.Report(fault.SpecUnexpectedField, e.Pos, "%s has no field %q", what, e.Key).WithHint("it has %q only", field)
	}
	if found == nil {
		r.Report(fault.SpecMissingField, r.Pos(n), "%s has no field %q", what, field)
	}
	return found, found != nil
}
