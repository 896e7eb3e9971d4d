package envtest

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
)

// ending holds how commands end and that nothing of them is left.
var ending = []check{
	{"ENG-14_TermComesFirstAndIsHeard", "", func(t *testing.T, s *suite) {
		f := string(join(s.dir(t), "ready"))
		res, out := s.cutWhen(t, "[ -e "+f+" ]", environment.Command{
			Script: `trap 'echo cleaning; exit 0' TERM; echo ready; : >` + f + `; while :; do sleep 0.05; done`, Grace: patience,
		})
		if res.Reason != environment.TimedOut || !strings.HasPrefix(out, "ready\n") || !strings.HasSuffix(out, "cleaning\n") {
			t.Errorf("%+v, %q", res, out)
		}
	}},
	{"ENG-14_WhatIgnoresTermIsKilled", "", func(t *testing.T, s *suite) {
		res, _ := s.run(t, environment.Command{Script: `trap '' TERM; sleep 60; sleep 60`, Timeout: 200 * time.Millisecond, Grace: 100 * time.Millisecond})
		if res.Reason != environment.TimedOut || res.ExitCode != 124 {
			t.Errorf("%+v", res)
		}
		s.noSurvivor(t, res)
	}},
	{"ENG-14_AStoppedProcessEndsToo", "", func(t *testing.T, s *suite) {
		f := join(s.dir(t), "pid")
		stopped := `grep -q '^State:.T' /proc/$(cat ` + string(f) + `)/status`
		res, _ := s.cutWhen(t, stopped, environment.Command{Script: `sleep 600 & echo $! >` + string(f) + `; kill -STOP $!; kill -STOP $$`, Grace: 100 * time.Millisecond})
		if res.Reason != environment.TimedOut {
			t.Errorf("%+v", res)
		}
		s.gone(t, s.pidIn(t, f))
	}},
	{"GRP-2_WhoeverGetsAwayEndsToo", "", whoeverGetsAway},
	{"GRP-3_AForkingTargetEnds", "", func(t *testing.T, s *suite) {
		f := join(s.dir(t), "n")
		res, _ := s.run(t, environment.Command{
			Script:  `trap '' TERM; f() { echo x >>` + string(f) + `; [ $(wc -l <` + string(f) + `) -lt 100 ] && { f & f & }; sleep 60; }; f`,
			Timeout: 700 * time.Millisecond, Grace: 50 * time.Millisecond,
		})
		if res.Reason != environment.TimedOut {
			t.Errorf("%+v", res)
		}
		s.noSurvivor(t, res)
	}},
	{"ENG-15_TheEndIsTheExitOfTheShell", "", holders},
	{"ENG-15_LateOutputIsStillRead", "", func(t *testing.T, s *suite) {
		res, out := s.run(t, environment.Command{Script: "(sleep 0.02; echo late) & echo early"})
		if out != "early\nlate\n" || res.ExitCode != 0 {
			t.Errorf("%+v, %q", res, out)
		}
	}},
	{"ENG-16_WhatGoesOnIsNamed", "", func(t *testing.T, s *suite) {
		const begun = "i=0; until [ \"$(cat /proc/$!/comm)\" = sleep ] || [ $i -ge 100 ]; do sleep 0.05; i=$((i+1)); done" // bounded: some shells sleep themselves
		res, _ := s.run(t, environment.Command{Script: "sleep 61.25 >/dev/null 2>&1 & " + begun})
		if len(res.Left) != 1 || !strings.Contains(res.Left[0].Command, "sleep 61.25") {
			t.Fatalf("left %+v", res.Left)
		}
		pid := strconv.Itoa(res.Left[0].PID)
		s.sh(t, "kill "+pid)
		s.gone(t, pid)
		if res, _ = s.run(t, environment.Command{Script: "true & wait; (true)"}); len(res.Left) > 0 {
			t.Errorf("nothing went on, but %+v", res.Left)
		}
	}},
	{"ENG-16_EndLeftEndsIt", "", func(t *testing.T, s *suite) {
		res, out := s.run(t, environment.Command{
			Script: "setsid sleep 60 >/dev/null 2>&1 & sleep 60 & echo $!; exit 5", EndLeft: true, Grace: 50 * time.Millisecond,
		})
		if len(res.Left) != 2 || res.ExitCode != 5 {
			t.Errorf("%+v", res)
		}
		s.noSurvivor(t, res)
		for _, left := range res.Left {
			s.gone(t, strconv.Itoa(left.PID))
		}
		s.gone(t, strings.TrimSpace(out))
	}},
	{"GRP-5_OneCommandsEndTouchesNoOther", "", func(t *testing.T, s *suite) {
		started := make(chan struct{})
		done := make(chan environment.Result, 1)
		go func() {
			res, _ := s.env.Run(context.Background(), environment.Command{Script: "sleep 1.5; exit 9", OnStart: func(int) { close(started) }})
			done <- res
		}()
		<-started
		s.run(t, environment.Command{Script: "sleep 60", Timeout: 100 * time.Millisecond, Grace: 50 * time.Millisecond})
		if res := <-done; res.ExitCode != 9 {
			t.Errorf("the other ended with %+v", res)
		}
	}},
}

// whoeverGetsAway tries the ways out of a group at once, each with a child that ignores TERM.
func whoeverGetsAway(t *testing.T, s *suite) {
	d := s.dir(t)
	ways := map[string]string{
		"session":       `setsid sh -c 'trap "" TERM; echo $$ >FILE; sleep 60' &`,
		"nohup":         `setsid nohup sh -c 'trap "" TERM; echo $$ >FILE; sleep 60' >/dev/null 2>&1 &`,
		"double-fork":   `( ( trap "" TERM; sh -c 'echo $$ >FILE; exec sleep 60' ) & )`,
		"double-apart":  `( setsid sh -c '(trap "" TERM; sh -c "echo \$\$ >FILE; exec sleep 60") & exit' & )`,
		"grandchild":    `sh -c 'sh -c "trap \"\" TERM; echo \$\$ >FILE; sleep 60" & wait' &`,
		"holds-nothing": `setsid sh -c 'trap "" TERM; exec >/dev/null 2>&1 </dev/null; cd /; echo $$ >FILE; sleep 60' &`,
	}
	script, away := "", "true"
	for name, way := range ways {
		f := string(join(d, name))
		script += strings.ReplaceAll(way, "FILE", f) + "\n"
		away += " && [ -s " + f + " ]"
	}
	script += "sleep 600"
	res, _ := s.cutWhen(t, away, environment.Command{Script: script, Grace: 100 * time.Millisecond})
	if res.Reason != environment.TimedOut {
		t.Errorf("%+v", res)
	}
	s.noSurvivor(t, res)
	for name := range ways {
		s.gone(t, s.pidIn(t, join(d, name)))
	}
}

// holders leave someone behind who holds the output.
func holders(t *testing.T, s *suite) {
	for name, script := range map[string]string{
		"silent":        "sleep 20 & echo out",
		"flooding":      "echo out; yes & true",
		"other session": "setsid sleep 20 & echo out; sleep 0.2",
		"its own pipe":  "sleep 20 | cat & echo out",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var head limited
			res, err := s.env.Run(context.Background(), environment.Command{Script: script, Output: &head, Timeout: patience})
			if err != nil || res.Reason != environment.Exited {
				t.Fatalf("%+v, %v", res, err)
			}
			if !strings.HasPrefix(head.String(), "out\n") {
				t.Errorf("output begins with %.40q", head.String())
			}
			if len(res.Left) == 0 {
				t.Error("nobody is named as left")
			}
			for _, p := range res.Left {
				s.run(t, environment.Command{Script: "kill -KILL " + strconv.Itoa(p.PID)})
			}
		})
	}
}

// limited keeps the first bytes of what may be a flood.
type limited struct{ buffer }

func (l *limited) Write(p []byte) (int, error) {
	if keep := 4096 - len(l.String()); keep > 0 {
		_, _ = l.buffer.Write(p[:min(keep, len(p))])
	}
	return len(p), nil
}
