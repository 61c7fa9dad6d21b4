package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
)

// result are the samples of one thing measured, each with the plain consume right before it.
type result struct {
	name    string
	base    string // another result of the same rounds, to which it is a ratio as well
	samples []sample
	plain   []sample
}

// report prints the table. other, where a second build was measured, is shown by its own ratio to the first.
func report(w io.Writer, keys int, plain []sample, results []*result) {
	records := float64(keys * versions)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\trecords/s\tof plain\tleast to most\tCPU µs/record\tpeak MiB\t")
	line := func(name string, samples []sample, ratio string) {
		fmt.Fprintf(t, "%s\t%.0f\t%s\t%.2f\t%.0f\t\n", name, records/middle(samples, seconds), ratio,
			middle(samples, func(s sample) float64 { return s.cpu.Seconds() })*1e6/records,
			middle(samples, func(s sample) float64 { return float64(s.memory) })/(1<<20))
	}
	line("plain consume", plain, "1.00\t")
	for _, r := range results {
		ratios := speedups(r.plain, r.samples)
		line(r.name, r.samples, spread(ratios))
	}
	t.Flush()
	for _, r := range results {
		for _, base := range results {
			if base.name == r.base {
				fmt.Fprintf(w, "%s: %s of %s\n", r.name, strings.Replace(spread(speedups(base.samples, r.samples)), "\t", ", ", 1), base.name)
			}
		}
	}
}

// seconds is a sample's time.
func seconds(s sample) float64 { return s.took.Seconds() }

// speedups are the ratios of the speeds of b to those of a, pair by pair.
func speedups(a, b []sample) []float64 {
	out := make([]float64, len(b))
	for i := range b {
		out[i] = seconds(a[i]) / seconds(b[i])
	}
	return out
}

// spread prints the median of ratios, the least and the most.
func spread(ratios []float64) string {
	return fmt.Sprintf("%.2f\t%.2f to %.2f", middle(ratios, func(x float64) float64 { return x }), slices.Min(ratios), slices.Max(ratios))
}

// middle is the median of what f says of each of xs.
func middle[T any](xs []T, f func(T) float64) float64 {
	values := make([]float64, len(xs))
	for i, x := range xs {
		values[i] = f(x)
	}
	slices.SortFunc(values, cmp.Compare)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// machine says what this runs on.
func machine() string {
	model := runtime.GOARCH
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%d cores, %s, %s, %s", runtime.NumCPU(), model, runtime.GOOS, runtime.Version())
}
