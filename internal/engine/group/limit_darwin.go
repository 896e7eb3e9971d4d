package group

// Limits are the bounds that cgroups can hold for a whole group.
type Limits struct {
	MemoryMB  int
	Processes int
}

// Held says which of them cgroups hold: none here.
type Held struct {
	Memory    bool
	Processes bool
	Join      []string
}

type count struct{}

// Limit holds nothing here.
func (g *Group) Limit(Limits) Held { return Held{} }

// Struck tells which bounds have struck: none here.
func (g *Group) Struck() (memory, processes bool) { return false, false }

func (g *Group) removeV1() bool { return true }

func tidyV1() {}
