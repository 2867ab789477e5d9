package firewalld

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatIsSeenFollowsSignals(t *testing.T) {
	t.Parallel()
	answer := map[string]string{"virbr0": "taproom", "virbr1": "taproom", "eth0": "public"}
	for name, c := range map[string]struct {
		does func(s *seen, asked int)
		want map[string]string
	}{
		"nobody follows":          {func(s *seen, asked int) { s.follow(false); s.learn(asked, answer) }, nil},
		"an answer":               {func(s *seen, asked int) { s.learn(asked, answer) }, answer},
		"after a signal":          {func(s *seen, asked int) { s.learn(asked, answer); s.note("virbr0", "work"); s.note("eth0", "") }, map[string]string{"virbr0": "work", "virbr1": "taproom"}},
		"news overtake it":        {func(s *seen, asked int) { s.note("virbr0", "work"); s.note("eth0", ""); s.learn(asked, answer) }, map[string]string{"virbr0": "work", "virbr1": "taproom"}},
		"a reload meanwhile":      {func(s *seen, asked int) { s.forget(); s.learn(asked, answer) }, nil},
		"forgotten":               {func(s *seen, asked int) { s.learn(asked, answer); s.forget(); s.note("virbr0", "work") }, nil},
		"an answer that was late": {func(s *seen, asked int) { s.learn(asked, answer); s.note("virbr0", "work"); s.learn(asked, answer) }, map[string]string{"virbr0": "work", "virbr1": "taproom", "eth0": "public"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &seen{}
			s.follow(true)
			c.does(s, s.forgot)
			if d := cmp.Diff(c.want, s.bound); d != "" {
				t.Error(d)
			}
		})
	}
}
