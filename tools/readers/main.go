// What the makers of Docker themselves read in a Dockerfile and in a compose file, as JSON: BuildKit's parser,
// and compose-go, the reader of Compose v2. The tests compare what needless writes with it.
//
//	readers dockerfile <texts.json    [{"env": {"TZ": "UTC"}} or {"refused": "why"}, …]
//	readers compose DIRECTORY…        the same for compose.yaml in each: {"web": {"TZ": "UTC"}}
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/buildkit/frontend/dockerfile/shell"
)

type answer struct {
	Env      map[string]string            `json:"env,omitempty"`
	Services map[string]map[string]*string `json:"services,omitempty"`
	Refused  string                       `json:"refused,omitempty"`
}

// The environment of the last stage.
func dockerfile(text string) (map[string]string, error) {
	parsed, err := parser.Parse(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	stages, _, err := instructions.Parse(parsed.AST)
	if err != nil {
		return nil, err
	}
	env := map[string]string{}
	lex := shell.NewLex(parsed.EscapeToken)
	for _, command := range stages[len(stages)-1].Commands {
		set, ok := command.(*instructions.EnvCommand)
		if !ok {
			continue
		}
		expand := func(word string) (string, error) {
			var all []string
			for name, value := range env {
				all = append(all, name+"="+value)
			}
			return lex.ProcessWord(word, all)
		}
		if err := set.Expand(expand); err != nil {
			return nil, err
		}
		for _, pair := range set.Env {
			env[pair.Key] = pair.Value
		}
	}
	return env, nil
}

// The environment of every service, of all profiles.
func compose(folder string) (map[string]map[string]*string, error) {
	file := filepath.Join(folder, "compose.yaml")
	details := types.ConfigDetails{
		WorkingDir:  folder,
		ConfigFiles: []types.ConfigFile{{Filename: file}},
		Environment: types.Mapping{"HOME": "wrong"},
	}
	project, err := loader.LoadWithContext(context.Background(), details, func(options *loader.Options) {
		options.SetProjectName("test", true)
		options.Profiles = []string{"*"}
	})
	if err != nil {
		return nil, err
	}
	found := map[string]map[string]*string{}
	for _, service := range project.Services {
		found[service.Name] = service.Environment
	}
	return found, nil
}

func main() {
	var answers []answer
	say := func(one answer, err error) {
		if err != nil {
			one = answer{Refused: err.Error()}
		}
		answers = append(answers, one)
	}
	switch {
	case len(os.Args) == 2 && os.Args[1] == "dockerfile":
		var texts []string
		if err := json.NewDecoder(os.Stdin).Decode(&texts); err != nil {
			fmt.Fprintln(os.Stderr, "readers:", err)
			os.Exit(2)
		}
		for _, text := range texts {
			env, err := dockerfile(text)
			say(answer{Env: env}, err)
		}
	case len(os.Args) > 2 && os.Args[1] == "compose":
		for _, folder := range os.Args[2:] {
			services, err := compose(folder)
			say(answer{Services: services}, err)
		}
	default:
		fmt.Fprintln(os.Stderr, "usage: readers dockerfile <TEXTS | readers compose DIRECTORY…")
		os.Exit(2)
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		fmt.Fprintln(os.Stderr, "readers:", err)
		os.Exit(2)
	}
}
