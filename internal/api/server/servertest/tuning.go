package servertest

import (
	"context"
	"strconv"
	"strings"

	"taproom/internal/api/server"
)

// CompareCPU implements server.Processors: a processor with "martian" in it does not fit.
func (f *Fake) CompareCPU(_ context.Context, _ server.DomainCapabilitiesQuery, xml string) (int32, []string, error) {
	if strings.Contains(xml, "martian") {
		return server.CPUIncompatible, []string{"antennae"}, f.enter("CompareCPU")
	}
	return server.CPUSuperset, nil, f.enter("CompareCPU")
}

// BaselineCPU implements server.Processors.
func (f *Fake) BaselineCPU(_ context.Context, _ server.DomainCapabilitiesQuery, xml []string, expand bool) (string, error) {
	return "<cpu><model>common of " + strconv.Itoa(len(xml)) + "</model></cpu>\n", f.enter("BaselineCPU")
}
