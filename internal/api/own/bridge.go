package own

// What a BridgeRequest asks for.
const (
	BridgePlan = "plan" // say what Move would do
	BridgeMove = "move" // make the bridge, on trial
	BridgeKeep = "keep" // end the trial well
	BridgeUndo = "undo" // go back, during the trial or later
	BridgeList = "list"
)

// BridgeRequest asks for a bridge that takes a NIC's place on the network.
type BridgeRequest struct {
	Do      string `json:"do"`                 // one of the above
	NIC     string `json:"nic,omitempty"`      // of plan and move
	Bridge  string `json:"bridge,omitempty"`   // of all but list
	TrialMS int64  `json:"trial_ms,omitempty"` // of move: it goes back when nobody keeps it for so long
}

// BridgeResult is what was done, or would be.
type BridgeResult struct {
	Bridge     LANBridge   `json:"bridge"`
	Steps      []string    `json:"steps,omitempty"` // of plan
	Warnings   []string    `json:"warnings,omitempty"`
	SwitchUS   int64       `json:"switch_us,omitempty"`  // how long packets could notice
	Interface  string      `json:"interface,omitempty"`  // the element that puts a guest on the bridge
	Network    string      `json:"network,omitempty"`    // the document of a network of it
	Bridges    []LANBridge `json:"bridges,omitempty"`    // of list
	Candidates []string    `json:"candidates,omitempty"` // of list: links that a bridge can be made of
}

// LANBridge is a bridge that was made of a NIC.
type LANBridge struct {
	Bridge  string       `json:"bridge,omitempty"`
	NIC     string       `json:"nic,omitempty"`
	State   string       `json:"state,omitempty"`   // waiting (for somebody to keep it), kept, undone, or moving, keeping, undoing
	LeftMS  int64        `json:"left_ms,omitempty"` // of a trial
	Manager string       `json:"manager,omitempty"` // who configures the NIC
	Then    string       `json:"then,omitempty"`    // the command that has the manager take its files up
	Notes   []string     `json:"notes,omitempty"`
	Files   []FileChange `json:"files,omitempty"` // that are written once it is kept
}

// FileChange is what becomes of a file, by lines: those that go begin with -, those that come with +.
type FileChange struct {
	Path string `json:"path"`
	Diff string `json:"diff"`
}
