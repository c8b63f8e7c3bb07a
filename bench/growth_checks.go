package bench

import "time"

const checkRounds = 7 // of each rule, in turns

// checks measures how long a gateway takes to publish a catalog of n tools whose definitions it checks, and the ratio to one that does not check
// them (tools.invalid: hide and show). Both start in turns, in front of the same servers.
func (g *growthRun) checks() error {
	for _, n := range g.sizes("checks") {
		g.say("tools, checked and not", n)
		servers, tools := (n+growthTools-1)/growthTools, min(n, growthTools)
		ready, cpu := map[string][]float64{}, map[string][]float64{}
		err := g.own(func() error {
			first, entries, err := g.servers(servers, tools)
			if err != nil {
				return err
			}
			defer first.close()
			for range checkRounds {
				for _, rule := range []string{"hide", "show"} {
					took, used, err := g.publish(entries, rule)
					if err != nil {
						return err
					}
					ready[rule], cpu[rule] = append(ready[rule], took), append(cpu[rule], used)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		g.growth.Rows = append(g.growth.Rows, GrowthRow{Of: "checks", N: n, Ready: median(ready["hide"]),
			Checked: median(ready["hide"]) / median(ready["show"]), CheckedCPU: median(cpu["hide"]) / max(median(cpu["show"]), 1)})
	}
	return nil
}

// publish starts a gateway with that rule for invalid tools, waits until its catalog is complete, and ends it. It returns milliseconds and
// microseconds of the processor.
func (g *growthRun) publish(entries map[string]any, rule string) (took, cpu float64, err error) {
	err = g.own(func() error {
		for _, entry := range entries {
			entry.(map[string]any)["tools"] = map[string]any{"invalid": rule}
		}
		began := time.Now()
		gate, err := g.gateway(entries)
		if err != nil {
			return err
		}
		took, cpu = millis(time.Since(began)), float64(gate.usage().cpu.Microseconds())
		return nil
	})
	return took, cpu, err
}
