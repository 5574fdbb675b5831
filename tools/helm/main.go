// What Helm makes of a chart, as JSON: the tests compare what needless writes into values with it.
//
//	helm DIRECTORY…        for each chart: {"containers": {"web": {"TZ": "UTC"}}} or {"refused": "why"}
package main

import (
	"encoding/json"
	"os"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/yaml"
)

type answer struct {
	Containers map[string]map[string]string `json:"containers,omitempty"`
	Refused    string                       `json:"refused,omitempty"`
}

type pod struct {
	Spec struct {
		Containers []struct {
			Name string
			Env  []struct{ Name, Value string }
		}
	}
}

func rendered(folder string) (map[string]map[string]string, error) {
	chart, err := loader.Load(folder)
	if err != nil {
		return nil, err
	}
	options := chartutil.ReleaseOptions{Name: "r", Namespace: "n"}
	values, err := chartutil.ToRenderValues(chart, nil, options, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(chart, values)
	if err != nil {
		return nil, err
	}
	all := map[string]map[string]string{}
	for _, text := range files {
		var one pod
		// A number where Kubernetes wants a string is a mistake.
		whole, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(whole, &one); err != nil {
			return nil, err
		}
		for _, container := range one.Spec.Containers {
			env := map[string]string{}
			for _, variable := range container.Env {
				env[variable.Name] = variable.Value
			}
			all[container.Name] = env
		}
	}
	return all, nil
}

func main() {
	answers := []answer{}
	for _, folder := range os.Args[1:] {
		containers, err := rendered(folder)
		if err != nil {
			answers = append(answers, answer{Refused: err.Error()})
		} else {
			answers = append(answers, answer{Containers: containers})
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		panic(err)
	}
}
